#include "cli/commands/ctl_settings.hpp"

#include <fmt/chrono.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <sstream>
#include <system_error>

#include "config/words.hpp"
#include "config/yaml_reader.hpp"
#include "core/error.hpp"
#include "core/system/files.hpp"
#include "core/system/network.hpp"
#include "files/facts.hpp"

namespace nearfield::cli {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kIndent = 2;  ///< in to_yaml()

bool is_within(const std::string& key, const std::string& section) {
  return key.size() > section.size() && key.starts_with(section) && key[section.size()] == '.';
}

/// Nearest key of a setting or section.
std::string nearest_key(const std::string& unknown, const NamedValues& all) {
  Suggestion suggestion(unknown);
  for (const auto& [key, value] : all) {
    suggestion.offer(key, key);
    suggestion.offer(key.substr(key.rfind('.') + 1), key);
    for (std::size_t point = key.find('.'); point != std::string::npos; point = key.find('.', point + 1)) {
      suggestion.offer(key.substr(0, point), key.substr(0, point));
    }
  }
  return suggestion.best().empty() ? "" : fmt::format("; did you mean {}?", suggestion.best());
}

std::string now_text() {
  return fmt::format("{:%Y-%m-%dT%H%M%SZ}",
                     fmt::gmtime(std::chrono::system_clock::to_time_t(std::chrono::system_clock::now())));
}

/// Copies the file in its folder, under an unused name.
fs::path back_up(const fs::path& path) {
  const std::string name = fmt::format("{}.{}", path.string(), now_text());
  for (int number = 1;; ++number) {
    fs::path backup = number == 1 ? name + ".bak" : fmt::format("{}-{}.bak", name, number);
    std::error_code error;
    if (fs::copy_file(path, backup, fs::copy_options::none, error)) {
      return backup;
    }
    if (error != std::errc::file_exists) {
      throw IoError(fmt::format("{}: can't copy {} there: {}", backup.string(), path.string(), error.message()));
    }
  }
}

}  // namespace

NamedValues values_of(const std::string& yaml) {
  NamedValues values;
  std::vector<std::string> sections;
  std::istringstream lines(yaml);
  for (std::string line; std::getline(lines, line);) {
    const std::size_t indent = line.find_first_not_of(' ');
    const std::size_t colon = line.find(':');
    if (indent == std::string::npos || colon == std::string::npos) {
      continue;
    }
    sections.resize(std::min(sections.size(), indent / kIndent));
    std::string key;
    for (const std::string& section : sections) {
      key += section + '.';
    }
    key += line.substr(indent, colon - indent);
    if (colon + 1 == line.size()) {
      sections.push_back(line.substr(indent, colon - indent));
    } else {
      values.emplace_back(key, line.substr(colon + 2));
    }
  }
  return values;
}

NamedValues chosen_values(const std::string& yaml, const std::vector<std::string>& keys) {
  const NamedValues all = values_of(yaml);
  NamedValues chosen;
  for (const std::string& key : keys) {
    const std::size_t before = chosen.size();
    for (const auto& one : all) {
      if (one.first == key || is_within(one.first, key)) {
        chosen.push_back(one);
      }
    }
    if (chosen.size() == before) {
      throw ConfigError(fmt::format("{}: expected a setting or a section of the running configuration, found none{}",
                                    key, nearest_key(key, all)));
    }
  }
  return chosen;
}

fs::path file_of_daemon(const std::string& file, uid_t user) {
  if (user != 0 && user != geteuid()) {
    throw Error(ExitCode::kNoPermission,
                fmt::format("save: expected a daemon of root or of this user, {}, as the daemon names the file that is "
                            "replaced, found one of user {}; give the file by -o FILE",
                            geteuid(), user == PeerProcess::kUnknown ? "unknown" : std::to_string(user)));
  }
  struct stat status {};
  if (lstat(file.c_str(), &status) != 0) {
    throw IoError(fmt::format("{}: {}; give another file by -o FILE", without_controls(file),
                              std::generic_category().message(errno)));
  }
  if (!S_ISREG(status.st_mode)) {
    throw IoError(
        fmt::format("{}: expected the daemon's configuration to be a regular file, found {}; give the file "
                    "by -o FILE",
                    without_controls(file), S_ISLNK(status.st_mode) ? "a link" : "another kind of file"));
  }
  return file;
}

SavedConfiguration save_configuration(const std::string& yaml, const std::string& version, const fs::path& path) {
  if (!parse_yaml(yaml, "the daemon's configuration").IsMap()) {
    throw DataError("save: expected the daemon's configuration as YAML with sections, found something else");
  }
  SavedConfiguration saved{.path = path, .backup = std::nullopt};
  struct stat status {};
  const bool is_there = stat(path.c_str(), &status) == 0;
  if (is_there) {
    saved.path = fs::canonical(path);
    require_replaceable(saved.path);
    saved.backup = back_up(saved.path);
  } else if (errno != ENOENT) {
    throw IoError(fmt::format("{}: {}", path.string(), std::generic_category().message(errno)));
  }
  const std::string head = fmt::format(
      "# The settings of a running nearfieldd {}, saved by `nearfield ctl save` at {}.\n{}", without_controls(version),
      now_text(),
      saved.backup ? fmt::format("# The file before, with its comments: {}\n", saved.backup->string()) : "");
  PartialFile file(saved.path, is_there ? status.st_mode & ALLPERMS : PartialFile::kMode);
  file.write(head + yaml);
  if (is_there) {
    file.set_rights(status.st_uid, status.st_gid, status.st_mode & ALLPERMS);
  }
  file.finish_on_disk();
  return saved;
}

}  // namespace nearfield::cli
