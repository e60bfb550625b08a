#include "core/daemon_settings.hpp"

#include <arpa/inet.h>
#include <grp.h>
#include <pwd.h>

#include <array>
#include <charconv>

namespace nearfield {
namespace {

constexpr int kHighestPort = 65535;

template <typename Kind, std::size_t Count>
std::string_view pick(const std::array<std::string_view, Count>& names, Kind kind) {
  const auto index = static_cast<std::size_t>(kind);
  return index < Count ? names[index] : "?";
}

std::optional<int> parse_port(std::string_view text) {
  int port = 0;
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, port);
  const bool whole = error == std::errc{} && stop == end;
  return whole && port >= 0 && port <= kHighestPort ? std::optional(port) : std::nullopt;
}

constexpr std::size_t kLookUpBytes = 65536;

std::optional<std::uint32_t> number_of(const std::string& text) {
  std::uint32_t number = 0;
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, number);
  return error == std::errc{} && stop == end ? std::optional(number) : std::nullopt;
}

bool is_host_character(char character) {
  const auto byte = static_cast<unsigned char>(character);
  return byte > ' ' && byte < 0x7FU && character != ',' && character != '/' && character != '[' && character != ']';
}

}  // namespace

std::string_view name_of(DaemonSettings::SourceKind kind) {
  return pick(std::array<std::string_view, 5>{"udp", "pipe", "audio", "file", "simulate"}, kind);
}

std::string_view name_of(DaemonSettings::Payload payload) {
  return pick(std::array<std::string_view, 2>{"bits", "samples"}, payload);
}

std::string_view name_of(DaemonSettings::Pace pace) {
  return pick(std::array<std::string_view, 2>{"realtime", "fast"}, pace);
}

std::string_view name_of(PhaseReference reference) {
  return pick(std::array<std::string_view, 2>{"window", "stream"}, reference);
}

std::string_view name_of(DaemonSettings::RecordWhat what) {
  return pick(std::array<std::string_view, 3>{"bits", "images", "both"}, what);
}

std::string_view name_of(DaemonSettings::Trigger trigger) {
  return pick(std::array<std::string_view, 4>{"none", "level", "external", "limit"}, trigger);
}

std::string_view name_of(DaemonSettings::Statistic statistic) {
  return pick(std::array<std::string_view, 2>{"max", "mean"}, statistic);
}

std::string_view name_of(DaemonSettings::LogTarget target) {
  return pick(std::array<std::string_view, 3>{"auto", "journal", "stderr"}, target);
}

std::string_view name_of(DaemonSettings::LogLevel level) {
  return pick(std::array<std::string_view, 4>{"debug", "info", "warning", "error"}, level);
}

std::optional<std::uint32_t> user_id(const std::string& name) {
  std::vector<char> buffer(kLookUpBytes);
  passwd entry{};
  passwd* found = nullptr;
  getpwnam_r(name.c_str(), &entry, buffer.data(), buffer.size(), &found);
  return found != nullptr ? std::optional<std::uint32_t>(entry.pw_uid) : number_of(name);
}

std::optional<std::uint32_t> group_id(const std::string& name) {
  std::vector<char> buffer(kLookUpBytes);
  group entry{};
  group* found = nullptr;
  getgrnam_r(name.c_str(), &entry, buffer.data(), buffer.size(), &found);
  return found != nullptr ? std::optional<std::uint32_t>(entry.gr_gid) : number_of(name);
}

std::optional<HostPort> parse_host_port(std::string_view text) {
  const std::size_t colon = text.rfind(':');
  if (colon == std::string_view::npos || colon == 0) {
    return std::nullopt;
  }
  const std::optional<int> port = parse_port(text.substr(colon + 1));
  std::string_view host = text.substr(0, colon);
  const bool bracketed = host.size() > 2 && host.front() == '[' && host.back() == ']';
  if (bracketed) {
    host = host.substr(1, host.size() - 2);
  }
  for (const char character : host) {
    if (!is_host_character(character) || (character == ':' && !bracketed)) {
      return std::nullopt;
    }
  }
  return port ? std::optional(HostPort{std::string(host), *port}) : std::nullopt;
}

bool is_loopback(std::string_view host) {
  const std::string name(host);
  in_addr four{};
  in6_addr six{};
  constexpr std::uint32_t kLoopbackNet = 127;
  if (inet_pton(AF_INET, name.c_str(), &four) == 1) {
    return ntohl(four.s_addr) >> 24U == kLoopbackNet;
  }
  if (inet_pton(AF_INET6, name.c_str(), &six) == 1) {
    return IN6_IS_ADDR_LOOPBACK(&six);
  }
  return name == "localhost";
}

}  // namespace nearfield
