#pragma once
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "core/system/files.hpp"
#include "daemon/live/epoch.hpp"

namespace nearfield::daemon {

/// Origin of a configuration.
struct ConfigurationSource {
  std::string path;
  std::vector<std::string> overrides;  ///< from the command line
  double reading_limit_s = 55.0;       ///< for a child to read a new one, and for this process to make its epoch
  double compiling_limit_s = 300.0;    ///< for the child to compile it: PoCL on a busy machine takes minutes
};

/// Reads, checks and plans new configurations while the current one continues, and puts them into effect. A child
/// process does all of it first (WarmProcess), within a time limit: faults of files and compilers end only that
/// process, and this process finds its kernels in the caches on disk. After any error the last good configuration
/// remains in effect, and the reason is thrown. Any thread but the engine's may call; calls are serialised.
class Configurator {
 public:
  struct Hooks {
    /// Makes an epoch in this process.
    std::function<std::unique_ptr<Epoch>(const Settings& settings, std::uint64_t number)> make;
    /// Puts an epoch into effect between two hops; returns the old one. If it throws, nothing has changed.
    std::function<std::unique_ptr<Epoch>(std::unique_ptr<Epoch> next)> install;
  };

  Configurator(ConfigurationSource source, Settings settings, LiveInput input, Hooks hooks);

  /// Result of a configuration that took effect.
  struct Change {
    std::uint64_t epoch = 0;
    std::vector<std::string> warnings;  ///< warnings of the new epoch, a sentence each
  };

  /// Applies settings KEY=VALUE in addition to those set so far.
  Change set(const std::vector<std::string>& overrides);
  /// Reads the file again, with the command line's overrides; changes by set() are dropped. Throws ConfigError if the
  /// configuration was read from standard input.
  Change reload();
  /// Refuses the change whose child process runs, without waiting for it, and all later ones. From any thread.
  void close();

 private:
  Change change(std::vector<std::string> set_so_far);
  void judge(const Settings& next) const;

  ConfigurationSource source_;
  LiveInput input_;
  Hooks hooks_;
  std::uint64_t ring_elements_;  ///< size when the source was made
  FileDescriptor closed_;        ///< readable after close()
  std::mutex mutex_;             ///< guards the following members
  Settings settings_;
  std::vector<std::string> set_;  ///< applied by set() since the last reload
  std::uint64_t epoch_ = 1;
};

}  // namespace nearfield::daemon
