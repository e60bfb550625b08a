#include "cli/bugreport/redaction.hpp"

#include <arpa/inet.h>
#include <pwd.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cstdlib>
#include <fstream>
#include <nlohmann/json.hpp>
#include <regex>
#include <sstream>
#include <string_view>

#include "core/daemon_settings.hpp"
#include "core/system/host.hpp"

namespace nearfield::cli {
namespace {

constexpr uid_t kFirstPerson = 1000;
constexpr uid_t kNobody = 65534;
constexpr std::size_t kShortestName = 2;

/// Replaces every match of `pattern` for which `is_secret` returns true.
template <typename IsSecret>
std::string replaced(const std::string& text, const std::regex& pattern, const std::string& instead,
                     const IsSecret& is_secret) {
  std::string result;
  auto last = text.begin();
  for (std::sregex_iterator match(text.begin(), text.end(), pattern), end; match != end; ++match) {
    result.append(last, text.begin() + match->position());
    result += is_secret(match->str()) ? instead : match->str();
    last = text.begin() + match->position() + match->length();
  }
  return result.append(last, text.end());
}

bool is_of_another_machine(const std::string& address) {
  in_addr four{};
  in6_addr six{};
  const bool is_address =
      inet_pton(AF_INET, address.c_str(), &four) == 1 || inet_pton(AF_INET6, address.c_str(), &six) == 1;
  return is_address && !is_loopback(address) && address != "0.0.0.0" && address != "::";
}

bool is_of_hardware(const std::string& address) { return address.find_first_not_of("0:-") != std::string::npos; }

bool is_of_a_word(char character) {
  return std::isalnum(static_cast<unsigned char>(character)) != 0 || character == '_' || character == '-';
}

bool equals_without_case(std::string_view a, std::string_view b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](unsigned char x, unsigned char y) { return std::tolower(x) == std::tolower(y); });
}

/// Replaces each occurrence of `word` that is not part of a longer word.
std::string without_word(const std::string& text, const std::string& word, std::string_view instead) {
  std::string result;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = at + word.size();
    if (end <= text.size() && equals_without_case(std::string_view(text).substr(at, word.size()), word) &&
        (at == 0 || !is_of_a_word(text[at - 1])) && (end == text.size() || !is_of_a_word(text[end]))) {
      result += instead;
      at = end;
    } else {
      result += text[at++];
    }
  }
  return result;
}

/// Sorts names, longest first, so that none cuts another in two.
std::vector<std::string> by_length(std::vector<std::string> names) {
  std::sort(names.begin(), names.end(), [](const std::string& a, const std::string& b) {
    return a.size() != b.size() ? a.size() > b.size() : a < b;
  });
  names.erase(std::unique(names.begin(), names.end()), names.end());
  return names;
}

void add_name(std::vector<std::string>& names, const char* name) {
  const std::string text = name == nullptr ? "" : name;
  if (text.size() >= kShortestName && text != "root" && text != "nearfield" && text != "localhost") {
    names.push_back(text);
  }
}

/// Adds a person's own home folder; not / and the system's placeholders for users without one.
void add_home(std::vector<std::string>& homes, const char* home) {
  std::string path = home == nullptr ? "" : home;
  while (path.size() > 1 && path.ends_with('/')) {
    path.pop_back();
  }
  constexpr std::array<std::string_view, 6> kNobodys = {"/",    "/nonexistent",       "/home",
                                                        "/tmp", "/var/lib/nearfield", "/dev/null"};
  if (path.starts_with('/') && std::find(kNobodys.begin(), kNobodys.end(), path) == kNobodys.end()) {
    homes.push_back(path);
  }
}

void add_people(PrivateNames& names) {
  setpwent();
  while (const passwd* const user = getpwent()) {
    const bool is_person = user->pw_uid >= kFirstPerson && user->pw_uid != kNobody;
    if (is_person) {
      add_name(names.users, user->pw_name);
    }
    if (is_person || user->pw_uid == 0) {
      add_home(names.homes, user->pw_dir);
    }
  }
  endpwent();
  for (const char* variable : {"USER", "LOGNAME", "SUDO_USER"}) {
    add_name(names.users, std::getenv(variable));
  }
  add_home(names.homes, std::getenv("HOME"));
}

void add_hosts(PrivateNames& names) {
  std::vector<std::string> found = {host_name()};
  std::string line;
  if (std::ifstream file("/etc/hostname"); std::getline(file, line)) {
    found.push_back(line);
  }
  for (std::ifstream file("/etc/hosts"); std::getline(file, line);) {
    std::istringstream words(line.substr(0, line.find('#')));
    std::string word;
    words >> word;
    const bool is_own = word == "127.0.1.1";  // Debian's line for the name with its domain
    while (is_own && words >> word) {
      found.push_back(word);
    }
  }
  for (const std::string& name : found) {
    add_name(names.hosts, name.c_str());
    add_name(names.hosts, name.substr(0, name.find('.')).c_str());
  }
}

/// Replaces private texts of any machine: tokens, keys, and settings that name other machines.
std::string without_secrets(const std::string& text) {
  static const std::regex kHome(R"(/home/[^/\s"']+)");
  static const std::regex kKey(R"re((["'])[0-9A-Za-z.:+=^!/*?&<>()\[\]{}@%$#-]{40}(\\?["']))re");  // Z85
  static const std::regex kToken(R"(([?&#]|\b)token=[^&\s"']+)");
  static const std::regex kTokenValue(R"re(\b(token["']?\s*:\s*["']?)[^\s"',}]+)re");
  static const std::regex kBearer(R"((Bearer|Basic) [0-9A-Za-z+/=._~-]{8,})");
  static const std::regex kRemote(R"((allowed_hosts|allowed_origins|curve_clients|allowed_from):[^\n]*)");
  std::string result = std::regex_replace(text, kToken, "$1token=[token]");
  result = std::regex_replace(result, kTokenValue, "$1[token]");
  result = std::regex_replace(result, kBearer, "$1 [token]");
  result = std::regex_replace(result, kRemote, "$1: [left out]");
  result = std::regex_replace(result, kKey, "$1[key]$2");
  return std::regex_replace(result, kHome, "/home/[user]");
}

std::string without_addresses(const std::string& text) {
  static const std::regex kHardware(R"(\b[0-9A-Fa-f]{2}(?:[:-][0-9A-Fa-f]{2}){5}\b)");
  static const std::regex kFour(R"(\d{1,3}(?:\.\d{1,3}){3})");
  static const std::regex kSix(R"([0-9A-Fa-f]{0,4}(?::[0-9A-Fa-f]{0,4}){2,7})");
  std::string result = replaced(text, kHardware, "[address]", is_of_hardware);
  result = replaced(result, kFour, "[address]", is_of_another_machine);
  return replaced(result, kSix, "[address]", is_of_another_machine);
}

}  // namespace

PrivateNames private_names() {
  PrivateNames names;
  add_people(names);
  add_hosts(names);
  return {.users = by_length(names.users), .homes = by_length(names.homes), .hosts = by_length(names.hosts)};
}

std::string without_names(const std::string& text, const PrivateNames& names) {
  std::string result = text;
  for (const std::string& home : names.homes) {
    result = without_word(result, home, "[home]");
  }
  result = without_secrets(result);
  for (const std::string& host : names.hosts) {
    result = without_word(result, host, "[host]");
  }
  for (const std::string& user : names.users) {
    result = without_word(result, user, "[user]");
  }
  return result;
}

std::string redacted(const std::string& text, const PrivateNames& names) {
  return without_addresses(without_names(text, names));
}

nlohmann::json redacted(const nlohmann::json& object, const PrivateNames& names) {
  if (object.is_string()) {
    const std::string quoted = redacted('"' + object.get<std::string>() + '"', names);  // a key is matched in quotes
    return quoted.substr(1, quoted.size() - 2);
  }
  if (!object.is_structured()) {
    return object;
  }
  nlohmann::json result = object;
  for (auto& [key, value] : result.items()) {
    value =
        object.is_object() && key == "token" && value.is_string() ? nlohmann::json("[token]") : redacted(value, names);
  }
  return result;
}

}  // namespace nearfield::cli
