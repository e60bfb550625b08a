#include "daemon/configurator.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <utility>

#include "config/config.hpp"
#include "nearfield/error.hpp"

namespace nearfield::daemon {

Configurator::Configurator(ConfigurationSource source, Settings settings, LiveInput input, Install install)
    : source_(std::move(source)),
      input_(std::move(input)),
      install_(std::move(install)),
      ring_elements_(source_settings(settings).ring_elements),
      settings_(std::move(settings)) {}

std::uint64_t Configurator::set(const std::vector<std::string>& overrides) {
  const std::lock_guard lock(mutex_);
  std::vector<std::string> all = set_;
  all.insert(all.end(), overrides.begin(), overrides.end());
  return change(std::move(all));
}

std::uint64_t Configurator::reload() {
  const std::lock_guard lock(mutex_);
  return change({});
}

std::uint64_t Configurator::change(std::vector<std::string> set_so_far) {
  std::vector<std::string> overrides = source_.overrides;
  overrides.insert(overrides.end(), set_so_far.begin(), set_so_far.end());
  Settings next = load_daemon_settings(source_.path, overrides);
  if (const std::vector<std::string> fixed = fixed_changes(settings_, next); !fixed.empty()) {
    throw ConfigError(
        fmt::format("{}: expected no change while the daemon runs; restart it for that", fmt::join(fixed, ", ")));
  }
  if (source_settings(next).ring_elements > ring_elements_) {
    throw ConfigError(
        fmt::format("front_end.window_samples, hop_samples: expected a window and a hop that, with "
                    "daemon.source.reorder_bit_times, fill at most a quarter of the ring of {} bit-times, found {} and "
                    "{}; restart the daemon for that",
                    ring_elements_, next.front_end.window_samples, next.front_end.hop_samples));
  }
  const std::unique_ptr<Epoch> old = install_(make_epoch(next, input_, epoch_ + 1));
  ++epoch_;
  settings_ = std::move(next);
  set_ = std::move(set_so_far);
  return epoch_;
}

Settings Configurator::settings() const {
  const std::lock_guard lock(mutex_);
  return settings_;
}

}  // namespace nearfield::daemon
