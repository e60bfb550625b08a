#pragma once
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "daemon/epoch.hpp"

namespace nearfield::daemon {

/// Where a configuration comes from.
struct ConfigurationSource {
  std::string path;
  std::vector<std::string> overrides;  ///< of the command line
};

/// Reads, judges and plans new configurations while the present one goes on, and puts them into effect. Whatever goes
/// wrong, the last good one stays, and the reason is thrown. Any thread but the engine's may call; one after another.
class Configurator {
 public:
  /// Puts an epoch into effect between two hops; gives the old one back. May throw, and then nothing has changed.
  using Install = std::function<std::unique_ptr<Epoch>(std::unique_ptr<Epoch> next)>;

  Configurator(ConfigurationSource source, Settings settings, LiveInput input, Install install);

  /// KEY=VALUE each, on top of what is set so far. The number of the new epoch.
  std::uint64_t set(const std::vector<std::string>& overrides);
  /// The file anew, with the command line's overrides; what set() changed is forgotten.
  std::uint64_t reload();
  /// Those in effect.
  [[nodiscard]] Settings settings() const;

 private:
  std::uint64_t change(std::vector<std::string> set_so_far);

  ConfigurationSource source_;
  LiveInput input_;
  Install install_;
  std::uint64_t ring_elements_;  ///< as the source was made
  mutable std::mutex mutex_;     ///< guards all below
  Settings settings_;
  std::vector<std::string> set_;  ///< by set(), since the last reload
  std::uint64_t epoch_ = 1;
};

}  // namespace nearfield::daemon
