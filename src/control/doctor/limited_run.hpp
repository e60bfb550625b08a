#pragma once
#include <sys/types.h>

#include <chrono>
#include <functional>
#include <string>
#include <vector>

#include "core/system/file_descriptor.hpp"

namespace nearfield::control {

/// Work that may hang (a driver, a disk), in a child process that is killed when its time is over, and with it all the
/// processes that it has started. Signals of the terminal, such as Ctrl-C, do not reach them: they are a process group
/// of their own. The calling process must have one thread.
class LimitedRun {
 public:
  enum class End { kDone, kLate, kDied };
  struct Outcome {
    End end = End::kDied;
    int exit_code = 0;   ///< of kDone
    int signal = 0;      ///< of kDied: what ended it; 0: not known
    std::string output;  ///< of kDone

    /// How it ended, as "ended with exit code 3".
    [[nodiscard]] std::string ending() const;
  };

  /// Starts `work`; what it returns is the output. Its standard error goes nowhere. Throws IoError.
  LimitedRun(const std::function<std::string()>& work, double limit_s);
  /// Starts a program as execvp() finds it, whose standard input holds `input`; its standard output is the output. Exit
  /// code kNotFound: there is none.
  LimitedRun(const std::vector<std::string>& line, double limit_s, const std::string& input = "");
  static constexpr int kNotFound = 127;
  LimitedRun(const LimitedRun&) = delete;
  LimitedRun& operator=(const LimitedRun&) = delete;
  /// Kills it where it still runs.
  ~LimitedRun();

  /// Waits for its end, at most until its time is over, or until `is_stopped` holds, which is asked ten times a second:
  /// that is kLate, too. Once.
  Outcome wait(bool (*is_stopped)() = nullptr);

 private:
  /// Reads until the other end is closed; false where the time was over or `is_stopped` held before.
  bool read_all(std::string& output, bool (*is_stopped)()) const;
  void kill_it();

  std::chrono::steady_clock::time_point end_;
  FileDescriptor output_;
  pid_t process_ = 0;
};

}  // namespace nearfield::control
