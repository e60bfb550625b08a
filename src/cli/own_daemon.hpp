#pragma once
#include <sys/types.h>

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

/// A nearfieldd that a command starts for itself, and the folder of its files.
namespace nearfield::cli {

/// TMPDIR, or /tmp. Throws IoError if TMPDIR is not a folder.
std::filesystem::path temporary_folder();

/// A folder of this process that is removed with its contents in the destructor.
class OwnFolder {
 public:
  /// Makes a folder in `parent`, for this user only, with a name that begins with `name`. Throws IoError.
  OwnFolder(const std::filesystem::path& parent, const std::string& name);
  OwnFolder(const OwnFolder&) = delete;
  OwnFolder& operator=(const OwnFolder&) = delete;
  ~OwnFolder();
  [[nodiscard]] std::filesystem::path path() const { return path_; }

 private:
  std::string path_;
};

/// The process of a nearfieldd. It ends in the destructor, and when this process ends.
class OwnDaemon {
 public:
  static constexpr const char* kProgram = "nearfieldd";

  /// Starts the nearfieldd in this program's folder, or else the one in PATH, with `arguments` and its default sockets
  /// in `sockets`. Its output goes to the file `log`, or, if that is empty, to this process's output. Throws IoError if
  /// no process can be started; a program that is not found results in the exit code kNoInput.
  OwnDaemon(std::vector<std::string> arguments, const std::filesystem::path& sockets,
            const std::filesystem::path& log = {});
  OwnDaemon(const OwnDaemon&) = delete;
  OwnDaemon& operator=(const OwnDaemon&) = delete;
  /// Calls end().
  ~OwnDaemon();

  /// Exit code once it has ended, kInternal if a signal ended it other than the SIGTERM of end(); nullopt while it
  /// runs.
  std::optional<int> exit_code();
  /// Requests its end with SIGTERM, waits, and kills it after kTimeout_s. Returns exit_code().
  int end();

 private:
  static constexpr double kTimeout_s = 5.0;
  void ask_to_end();

  pid_t process_ = 0;
  bool is_asked_ = false;
  std::optional<int> exit_code_;
};

}  // namespace nearfield::cli
