#include "daemon/configurator.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <spdlog/spdlog.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <utility>

#include "config/config.hpp"
#include "config/load_yaml.hpp"
#include "core/error.hpp"
#include "daemon/warm_up/warm_process.hpp"

namespace nearfield::daemon {

Configurator::Configurator(ConfigurationSource source, Settings settings, LiveInput input, Hooks hooks)
    : source_(std::move(source)),
      input_(std::move(input)),
      hooks_(std::move(hooks)),
      ring_elements_(ring_settings(source_settings(settings)).elements),
      closed_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)),
      settings_(std::move(settings)) {
  if (!closed_.valid()) {
    throw IoError("eventfd failed");
  }
}

void Configurator::close() {
  const std::uint64_t one = 1;
  (void)!write(closed_.get(), &one, sizeof one);  // fails only if the eventfd is readable already
}

Configurator::Change Configurator::set(const std::vector<std::string>& overrides) {
  const std::lock_guard lock(mutex_);
  std::vector<std::string> all = set_;
  all.insert(all.end(), overrides.begin(), overrides.end());
  return change(std::move(all));
}

Configurator::Change Configurator::reload() {
  if (source_.path == kStandardInput) {
    throw ConfigError(
        "reload: expected a configuration in a file, found one that came by standard input, which cannot be read "
        "again; `nearfield ctl set` changes single settings");
  }
  const std::lock_guard lock(mutex_);
  return change({});
}

void Configurator::judge(const Settings& next) const {
  if (const std::vector<std::string> fixed = changes_at_restart(settings_, next); !fixed.empty()) {
    throw ConfigError(
        fmt::format("{}: expected no change while the daemon runs; restart it for that", fmt::join(fixed, ", ")));
  }
  const auto places_of = [](const Settings& settings) {
    return settings.array.geometry.placement ? settings.array.geometry.placement->positions_m
                                             : std::vector<MicrophonePosition>();
  };
  if (places_of(settings_) != places_of(next)) {
    throw ConfigError(
        "array.positions: expected the positions that the daemon started with, found others in the file; restart the "
        "daemon for that");
  }
  if (ring_settings(source_settings(next)).elements > ring_elements_) {
    throw ConfigError(
        fmt::format("{}.window_samples, {}hop_samples: expected a window and a hop that, with "
                    "daemon.source.reorder_bit_times, fill at most a quarter of the ring of {} bit-times, found {} and "
                    "{}; restart the daemon for that",
                    section_of_longest_window(next), section_of_longest_window(next) == "front_end" ? "" : "front_end.",
                    ring_elements_, longest_window_samples(next), next.front_end.hop_samples));
  }
}

Configurator::Change Configurator::change(std::vector<std::string> set_so_far) {
  std::vector<std::string> overrides = source_.overrides;
  overrides.insert(overrides.end(), set_so_far.begin(), set_so_far.end());
  WarmProcess child({.path = source_.path,
                     .overrides = overrides,
                     .input = input_,
                     .standard_input = source_.path == kStandardInput ? standard_input_text() : ""},
                    source_.reading_limit_s, closed_.get());
  child.wait_until_loaded();
  Settings next = load_daemon_settings(source_.path, overrides);
  judge(next);
  child.warm(source_.compiling_limit_s);
  child.require_same_files();
  std::unique_ptr<Epoch> made = hooks_.make(next, epoch_ + 1);
  Change change{.epoch = epoch_ + 1, .warnings = made->warnings};
  const std::unique_ptr<Epoch> old = hooks_.install(std::move(made));
  ++epoch_;
  const std::vector<std::string> changed = changes(settings_, next);
  spdlog::info("configuration: epoch {} begins: {}", epoch_,
               changed.empty() ? "nothing is changed" : fmt::format("{}", fmt::join(changed, ", ")));
  settings_ = std::move(next);
  set_ = std::move(set_so_far);
  return change;
}

Settings Configurator::settings() const {
  const std::lock_guard lock(mutex_);
  return settings_;
}

}  // namespace nearfield::daemon
