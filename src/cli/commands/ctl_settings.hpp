#pragma once
#include <sys/types.h>

#include <filesystem>
#include <optional>
#include <string>
#include <utility>
#include <vector>

/// Parts of `nearfield ctl get` and `nearfield ctl save` that read the configuration in effect, the text of to_yaml().
namespace nearfield::cli {

using NamedValues = std::vector<std::pair<std::string, std::string>>;

/// Every setting with its dotted key, and its value as YAML in one line.
NamedValues values_of(const std::string& yaml);

/// The settings that the keys name, in their order: a setting, or all of a section. Throws ConfigError with the nearest
/// key for one that is neither.
NamedValues chosen_values(const std::string& yaml, const std::vector<std::string>& keys);

struct SavedConfiguration {
  std::filesystem::path path;                   ///< saved file; for a link its target
  std::optional<std::filesystem::path> backup;  ///< copy of the previous file
};

/// The file that a daemon reports as its configuration. Throws Error with kNoPermission unless root or this user runs
/// the daemon (`user`), as another one could have this user replace any of his files, and IoError if the file is not a
/// regular one.
std::filesystem::path file_of_daemon(const std::string& file, uid_t user);

/// Writes the configuration to `path` atomically, with this user's rights. An existing file is first copied in its
/// folder, under an unused name, as its comments are lost; its mode is kept, and its owner if this user may set it.
/// Throws IoError, ConfigError or DataError if `yaml` is not the text of a configuration.
SavedConfiguration save_configuration(const std::string& yaml, const std::string& version,
                                      const std::filesystem::path& path);

}  // namespace nearfield::cli
