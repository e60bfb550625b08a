#include <fmt/format.h>
#include <sys/stat.h>
#include <yaml-cpp/yaml.h>

#include <cerrno>
#include <cstring>
#include <optional>

#include "config/config.hpp"
#include "config/daemon_rules.hpp"
#include "config/schema/sections.hpp"
#include "core/daemon_settings.hpp"

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
  const bool names_file = !path.empty() && path != "-" && !path.starts_with("credential:");
  struct stat status {};
  if (!names_file || !is_settled(key) || stat(path.c_str(), &status) == 0) {
    return;
  }
  found.push_back({key, "",
                   errno == ENOENT ? fmt::format("expected an existing file, found none at {}", path)
                                   : fmt::format("expected a file that this user may reach at {}, found: {}", path,
                                                 std::strerror(errno))});
}

}  // namespace

std::vector<PathOfProcessor> paths_of_processors(const Settings& settings) {
  Settings described = settings;
  const schema::Section section = schema::describe(described);
  std::vector<PathOfProcessor> paths;
  for (const schema::NamedSetting& setting : schema::all_settings(section)) {
    const bool is_of_processor = setting.key.starts_with("holography.") || setting.key.starts_with("processors.");
    if (is_of_processor && setting.entry->facts.type == "path") {
      const YAML::Node value = YAML::Load(setting.entry->written());
      if (value.IsScalar() && !value.Scalar().empty()) {
        paths.push_back({.key = setting.key, .path = value.Scalar()});
      }
    }
  }
  return paths;
}

std::vector<Contradiction> missing_here(const Settings& settings, const IsSettled& is_settled) {
  const DaemonSettings& daemon = *settings.daemon;
  std::vector<Contradiction> found;
  check_access(daemon.publish.ring.access, "daemon.publish.ring", found);
  check_access(daemon.control.access, "daemon.control", found);
  check_file(settings.array.calibration_path, "array.calibration", is_settled, found);
  for (const PathOfProcessor& one : paths_of_processors(settings)) {
    check_file(one.path, one.key, is_settled, found);
  }
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
  if (!daemon.page.address.empty()) {
    check_file(daemon.page.token_file, "daemon.page.token_file", is_settled, found);
  }
  return found;
}

}  // namespace nearfield
