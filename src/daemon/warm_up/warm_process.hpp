#pragma once
#include <sys/types.h>

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "core/system/file_descriptor.hpp"
#include "daemon/warm_up/warm_child.hpp"

namespace nearfield::daemon {

/// A child process, `nearfieldd --warm` of the same executable, that reads and compiles a new configuration before the
/// daemon does: damaged input, hangs and crashes end only that process, and compiled programs are in the caches on disk
/// when the daemon makes the same epoch. It runs at ordinary scheduling and low priority. For one thread, which waits.
class WarmProcess {
 public:
  /// Starts it. It must have read the settings within `limit_s`; `stop_descriptor` becomes readable when the daemon is
  /// to stop. Throws IoError if it can't be started.
  WarmProcess(const WarmRequest& request, double limit_s, int stop_descriptor);
  /// Kills the child if it still runs.
  ~WarmProcess();
  WarmProcess(const WarmProcess&) = delete;
  WarmProcess& operator=(const WarmProcess&) = delete;

  /// Waits until the child has read the settings. Throws what the child threw, with its exit code; ConfigError if it
  /// crashed, took too long, or the daemon is to stop.
  void wait_until_loaded();
  /// Lets it compile, for at most `limit_s`, and waits until it has ended and freed its memory; throws like
  /// wait_until_loaded().
  void warm(double limit_s);
  /// Throws ConfigError if a file that the child has read has changed since.
  void require_same_files() const;

 private:
  nlohmann::json next_message();
  void wait_for_bytes();
  [[noreturn]] void throw_end();

  double limit_s_;
  std::int64_t deadline_ns_;
  int stop_descriptor_;
  FileDescriptor messages_;  ///< the child's standard output
  FileDescriptor go_on_;
  pid_t process_ = 0;  ///< 0: its end has been collected
  std::string received_;
  std::vector<FileStamp> stamps_;
};

}  // namespace nearfield::daemon
