#pragma once
#include <sys/types.h>

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

/// A nearfieldd that a command starts for itself, and the folder in which it lives.
namespace nearfield::cli {

/// TMPDIR, or /tmp. Throws IoError where TMPDIR names no folder.
std::filesystem::path temporary_folder();

/// A folder of this process that is gone, with all in it, when this is destroyed.
class OwnFolder {
 public:
  /// Below `parent`, for this user alone, with a name that begins with `name`. Throws IoError.
  OwnFolder(const std::filesystem::path& parent, const std::string& name);
  OwnFolder(const OwnFolder&) = delete;
  OwnFolder& operator=(const OwnFolder&) = delete;
  ~OwnFolder();
  [[nodiscard]] std::filesystem::path path() const { return path_; }

 private:
  std::string path_;
};

/// The process of a nearfieldd. It ends when this is destroyed, and when this process ends.
class OwnDaemon {
 public:
  static constexpr const char* kProgram = "nearfieldd";

  /// Starts the nearfieldd beside this program, or else the one of PATH, with `arguments` and its default sockets in
  /// `sockets`. Its output goes to the file `log`, or, where that is empty, where this process's goes. Throws IoError
  /// when no process can be started; a program that is not found is an exit code of kNoInput.
  OwnDaemon(std::vector<std::string> arguments, const std::filesystem::path& sockets,
            const std::filesystem::path& log = {});
  OwnDaemon(const OwnDaemon&) = delete;
  OwnDaemon& operator=(const OwnDaemon&) = delete;
  /// end().
  ~OwnDaemon();

  /// Its exit code once it has ended, kInternal where a signal ended it other than the SIGTERM of end(); nothing while
  /// it runs.
  std::optional<int> exit_code();
  /// Asks it to end with SIGTERM, waits, and kills it after kPatience_s. Its exit code, as exit_code() has it.
  int end();

 private:
  static constexpr double kPatience_s = 5.0;
  void ask_to_end();

  pid_t process_ = 0;
  bool is_asked_ = false;
  std::optional<int> exit_code_;
};

}  // namespace nearfield::cli
