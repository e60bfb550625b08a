#pragma once
#include <sys/types.h>

#include <chrono>
#include <functional>
#include <string>
#include <vector>

#include "core/system/files.hpp"

namespace nearfield {

/// Runs work that may hang (a driver, a disk) in a child process that is killed, with all the processes that it has
/// started, when its time limit is reached. Signals of the terminal, such as Ctrl-C, do not reach them: they form their
/// own process group. In a process of several threads, `work` must not need a lock that another thread may hold.
class LimitedRun {
 public:
  enum class End { kDone, kLate, kDied };
  struct Outcome {
    End end = End::kDied;
    int exit_code = 0;   ///< for kDone
    int signal = 0;      ///< for kDied: the signal that ended it; 0: unknown
    std::string output;  ///< for kDone

    /// The end as text, such as "ended with exit code 3".
    [[nodiscard]] std::string ending() const;
  };

  /// Starts `work`; its result is the output. Its standard error is discarded. Throws IoError.
  LimitedRun(const std::function<std::string()>& work, double limit_s);
  /// Starts a program, found like by execvp(), with `input` as its standard input; its standard output is the output.
  /// Exit code kNotFound: it does not exist.
  LimitedRun(const std::vector<std::string>& line, double limit_s, const std::string& input = "");
  static constexpr int kNotFound = 127;
  LimitedRun(const LimitedRun&) = delete;
  LimitedRun& operator=(const LimitedRun&) = delete;
  /// Kills the process if it still runs.
  ~LimitedRun();

  /// Waits for its end, at most until its time limit, or until `is_stopped` returns true, which is called ten times a
  /// second: the result is kLate then, too. May be called once.
  Outcome wait(bool (*is_stopped)() = nullptr);

 private:
  /// Reads until the other end is closed; false after the time limit, or once `is_stopped` returns true.
  bool read_all(std::string& output, bool (*is_stopped)()) const;
  void kill_it();

  std::chrono::steady_clock::time_point end_;
  FileDescriptor output_;
  pid_t process_ = 0;
};

}  // namespace nearfield
