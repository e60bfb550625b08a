#pragma once
#include <sys/types.h>

#include <filesystem>
#include <optional>
#include <string>
#include <utility>
#include <vector>

/// What `nearfield ctl get` and `nearfield ctl save` make of the configuration in effect, the text of to_yaml().
namespace nearfield::cli {

using NamedValues = std::vector<std::pair<std::string, std::string>>;

/// Every setting with its dotted key, and its value as YAML in one line.
NamedValues values_of(const std::string& yaml);

/// Those that the keys name, in their order: a setting, or all of a section. Throws ConfigError with the nearest key
/// for one that is neither.
NamedValues chosen_values(const std::string& yaml, const std::vector<std::string>& keys);

struct SavedConfiguration {
  std::filesystem::path path;                   ///< where it is now; of a link the file that it leads to
  std::optional<std::filesystem::path> backup;  ///< of the file that was there
};

/// The file that a daemon says it was started with. Throws Error with kNoPermission unless root or this user runs the
/// daemon (`user`), as another one could have this user replace any file of his, and IoError where the file is not a
/// regular one.
std::filesystem::path file_of_daemon(const std::string& file, uid_t user);

/// Writes the configuration to `path`, whole or not at all, with this user's rights. A file that is there is copied
/// beside it first, under a name that was free, as its comments are lost; its mode stays, and its owner where this user
/// may say so. Throws IoError, ConfigError or DataError where `yaml` is not the text of a configuration.
SavedConfiguration save_configuration(const std::string& yaml, const std::string& version,
                                      const std::filesystem::path& path);

}  // namespace nearfield::cli
