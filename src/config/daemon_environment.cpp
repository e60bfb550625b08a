#include <fmt/format.h>

#include <filesystem>
#include <optional>

#include "config/daemon_rules.hpp"

namespace nearfield {
namespace {

using LookUp = std::optional<std::uint32_t> (*)(const std::string& name);

void check_names(const std::vector<std::string>& names, const std::string& key, LookUp look_up,
                 std::vector<Contradiction>& found) {
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (!look_up(names[i])) {
      found.push_back({key, fmt::format("[{}]", i),
                       fmt::format("expected one of this system's names, or a number, found \"{}\"", names[i])});
    }
  }
}

void check_access(const DaemonSettings::Access& access, const std::string& key, std::vector<Contradiction>& found) {
  check_names(access.allowed_users, key + ".allowed_users", user_id, found);
  check_names(access.allowed_groups, key + ".allowed_groups", group_id, found);
}

void check_file(const std::string& path, const std::string& key, const IsSettled& is_settled,
                std::vector<Contradiction>& found) {
  std::error_code unreachable;
  const bool names_file = !path.empty() && path != "-" && !path.starts_with("credential:");
  if (names_file && is_settled(key) && !std::filesystem::exists(path, unreachable)) {
    found.push_back({key, "", fmt::format("expected an existing file, found none at {}", path)});
  }
}

}  // namespace

std::vector<Contradiction> missing_here(const Settings& settings, const IsSettled& is_settled) {
  const DaemonSettings& daemon = settings.daemon;
  std::vector<Contradiction> found;
  check_access(daemon.publish.ring.access, "daemon.publish.ring", found);
  check_access(daemon.control.access, "daemon.control", found);
  check_file(settings.array.calibration_path, "array.calibration", is_settled, found);
  const DaemonSettings::SourceKind kind = daemon.source.kind;
  if (kind == DaemonSettings::SourceKind::kPipe || kind == DaemonSettings::SourceKind::kFile) {
    check_file(daemon.source.path, "daemon.source.path", is_settled, found);
  }
  if (kind == DaemonSettings::SourceKind::kSimulate) {
    check_file(daemon.source.scene, "daemon.source.scene", is_settled, found);
  }
  if (!daemon.publish.zmq.endpoint.empty()) {
    check_file(daemon.publish.zmq.curve_secret_file, "daemon.publish.zmq.curve_secret_file", is_settled, found);
  }
  return found;
}

}  // namespace nearfield
