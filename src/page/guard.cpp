#include "page/guard.hpp"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <sys/random.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <exception>
#include <sstream>
#include <system_error>
#include <utility>

#include "core/error.hpp"
#include "core/system/files.hpp"

namespace nearfield::page {
namespace {

std::string in_lower_case(std::string_view text) {
  std::string lower(text);
  std::transform(lower.begin(), lower.end(), lower.begin(),
                 [](char character) { return static_cast<char>(std::tolower(static_cast<unsigned char>(character))); });
  return lower;
}

bool is_port(std::string_view text) {
  constexpr std::size_t kMostDigits = 5;
  return text.size() <= kMostDigits &&
         std::all_of(text.begin(), text.end(), [](char digit) { return digit >= '0' && digit <= '9'; });
}

std::string_view without_spaces(std::string_view text) {
  const std::size_t begin = text.find_first_not_of(" \t");
  return begin == std::string_view::npos ? std::string_view()
                                         : text.substr(begin, text.find_last_not_of(" \t") - begin + 1);
}

/// Value after "name=" among parts that `separator` divides.
std::string value_among(std::string_view text, char separator, std::string_view name) {
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(separator), text.size());
    const std::string_view part = without_spaces(text.substr(0, end));
    if (part.size() > name.size() && part.starts_with(name) && part[name.size()] == '=') {
      return std::string(part.substr(name.size() + 1));
    }
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return "";
}

}  // namespace

std::string host_name(std::string_view header) {
  if (header.starts_with('[')) {
    const std::size_t end = header.find(']');
    const bool is_whole = end != std::string_view::npos &&
                          (end + 1 == header.size() || (header[end + 1] == ':' && is_port(header.substr(end + 2))));
    return is_whole ? in_lower_case(header.substr(1, end - 1)) : "";
  }
  const std::size_t colon = header.find(':');
  if (colon != std::string_view::npos && !is_port(header.substr(colon + 1))) {
    return "";
  }
  return in_lower_case(header.substr(0, colon));
}

std::string host_port(std::string_view header) {
  const std::size_t colon = header.rfind(':');
  const std::size_t bracket = header.rfind(']');  // the end of an IPv6 address
  const bool has_port = colon != std::string_view::npos && (bracket == std::string_view::npos || colon > bracket) &&
                        is_port(header.substr(colon + 1));
  return has_port ? std::string(header.substr(colon + 1)) : "";
}

bool is_host_allowed(std::string_view header, const std::vector<std::string>& allowed) {
  constexpr std::array<std::string_view, 3> kOwn = {"localhost", "127.0.0.1", "::1"};
  const std::string name = host_name(header);
  return !name.empty() && (std::find(kOwn.begin(), kOwn.end(), name) != kOwn.end() ||
                           std::any_of(allowed.begin(), allowed.end(),
                                       [&](const std::string& other) { return host_name(other) == name; }));
}

bool is_host_number(std::string_view header) {
  const std::string name = host_name(header);
  std::array<unsigned char, sizeof(in6_addr)> number{};
  return inet_pton(header.starts_with('[') ? AF_INET6 : AF_INET, name.c_str(), number.data()) == 1;
}

bool is_origin_allowed(std::string_view origin, std::string_view host, const std::vector<std::string>& allowed) {
  const std::string given = in_lower_case(origin);
  const std::string own = in_lower_case(host);
  return given == "http://" + own || given == "https://" + own ||
         std::any_of(allowed.begin(), allowed.end(),
                     [&](const std::string& other) { return in_lower_case(other) == given; });
}

std::string cookie_of(std::string_view header, std::string_view name) { return value_among(header, ';', name); }

std::string query_value(std::string_view query, std::string_view name) { return value_among(query, '&', name); }

bool is_token(std::string_view given, std::string_view token) {
  unsigned difference = given.size() == token.size() ? 0U : 1U;
  for (std::size_t i = 0; i < token.size(); ++i) {
    const char other = i < given.size() ? given[i] : '\0';
    difference |= static_cast<unsigned>(static_cast<unsigned char>(token[i]) ^ static_cast<unsigned char>(other));
  }
  return difference == 0U && !token.empty();
}

namespace {

constexpr std::size_t kFewestTokenCharacters = 16;
constexpr std::size_t kMostTokenCharacters = 256;
constexpr std::size_t kMostTokenBytes = 4096;
constexpr std::size_t kRandomBytes = 32;

std::string random_token() {
  std::array<std::uint8_t, kRandomBytes> bytes{};
  if (getrandom(bytes.data(), bytes.size(), 0) != static_cast<ssize_t>(bytes.size())) {
    throw IoError(fmt::format("can't make a random token: {}", std::strerror(errno)));
  }
  std::string token;
  for (const std::uint8_t byte : bytes) {
    token += fmt::format("{:02x}", byte);
  }
  return token;
}

}  // namespace

std::string read_token(const std::filesystem::path& path) {
  std::string token;
  std::istringstream(read_secret_file(path, "a token", kMostTokenBytes)) >> token;
  const bool is_plain =
      token.find_first_not_of("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_") == std::string::npos;
  if (!is_plain || token.size() < kFewestTokenCharacters || token.size() > kMostTokenCharacters) {
    throw ConfigError(fmt::format(
        "{}: expected a token of {} to {} letters, digits, \"-\" and \"_\", found {} characters{}", path.string(),
        kFewestTokenCharacters, kMostTokenCharacters, token.size(), is_plain ? "" : ", others among them"));
  }
  return token;
}

TokenFile::TokenFile(std::filesystem::path path) : path_(std::move(path)), token_(random_token()) {
  write_secret_file(path_, token_ + "\n");
}

TokenFile::~TokenFile() {
  try {
    if (read_token(path_) == token_) {
      std::error_code ignored;
      std::filesystem::remove(path_, ignored);
    }
  } catch (const std::exception&) {  // replaced by another daemon or removed: nothing to do
  }
}

}  // namespace nearfield::page
