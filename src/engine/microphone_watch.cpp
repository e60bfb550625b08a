#include "engine/microphone_watch.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>

namespace nearfield {
namespace {

constexpr int kFewestASide = 6;
constexpr double kMostWindows_hz = 32.0;

}  // namespace

bool are_watched(const ArraySettings& array) {
  return array.health.enabled && std::min(array.geometry.rows, array.geometry.columns) >= kFewestASide;
}

std::optional<health::MonitorPlan> monitor_plan(const Engine& engine, const Settings& settings) {
  const ArrayPlan& array = engine.array_plan();
  if (!are_watched(settings.array)) {
    return std::nullopt;
  }
  return health::MonitorPlan{.geometry = array.geometry,
                             .standoff_m = array.standoff_m,
                             .sound_speed_m_s = array.medium.sound_speed_m_s,
                             .frequencies_hz = array.frequencies_hz,
                             .gains = array.gains,
                             .excluded = array.dead_channels,
                             .trusted = settings.array.health.trusted_channels};
}

std::uint64_t watch_interval_samples(const Settings& settings, double sample_rate_hz) {
  const auto window = static_cast<std::uint64_t>(settings.front_end.window_samples);
  return std::max(window, static_cast<std::uint64_t>(std::ceil(sample_rate_hz / kMostWindows_hz)));
}

MicrophoneWatch::MicrophoneWatch(const Engine& engine, const EnginePlan& plan)
    : geometry_(plan.settings.array.geometry), mask_(plan.settings.array.health.mask) {
  if (const auto monitored = monitor_plan(engine, plan.settings)) {
    monitor_ = std::make_unique<health::Monitor>(*monitored);
    interval_ = plan.input == InputForm::kSpectra ? 1 : watch_interval_samples(plan.settings, plan.sample_rate_hz);
  }
}

std::optional<MicrophoneWatch::Found> MicrophoneWatch::add(std::uint64_t first_sample,
                                                           std::span<const std::complex<float>> spectra) {
  next_ = first_sample + interval_;
  if (!monitor_->add_spectra(spectra) || monitor_->changes().empty()) {
    return std::nullopt;
  }
  for (const health::Change& change : monitor_->changes()) {
    if (health::is_bad(change.now)) {
      found_.emplace(change.channel, change.now);
    }
  }
  std::vector<int> masked = maskable(monitor_->to_mask(mask_), geometry_);
  if (masked == masked_) {
    return std::nullopt;
  }
  masked_ = masked;
  return Found{.from_sample = next_, .channels = std::move(masked)};
}

std::vector<std::string> MicrophoneWatch::findings() const {
  std::vector<std::string> lines;
  for (const auto& [channel, condition] : found_) {
    lines.push_back(text_of({.channel = channel, .before = health::Condition::kOk, .now = condition}, geometry_));
  }
  return lines;
}

std::string text_of(const health::Change& change, const ArrayGeometry& geometry) {
  return fmt::format("{}: {}", text_of_microphone(geometry, change.channel), health::name_of(change.now));
}

std::vector<int> maskable(std::vector<int> bad, const ArrayGeometry& geometry) {
  if (bad.size() > most_maskable(geometry)) {
    bad.clear();
  }
  return bad;
}

const std::vector<int>& MaskSchedule::at(std::uint64_t first_sample) const {
  static const std::vector<int> kNone;
  const auto after = changes_.upper_bound(first_sample);
  return after == changes_.begin() ? kNone : std::prev(after)->second;
}

std::size_t MaskSchedule::together(std::uint64_t first_sample, std::size_t windows, std::uint64_t hop_samples) const {
  const auto next = changes_.upper_bound(first_sample);
  if (next == changes_.end()) {
    return windows;
  }
  const std::uint64_t until_change = (next->first - first_sample - 1) / hop_samples + 1;
  return static_cast<std::size_t>(std::min<std::uint64_t>(windows, until_change));
}

void MaskSchedule::forget_before(std::uint64_t first_sample) {
  const auto after = changes_.upper_bound(first_sample);
  if (after != changes_.begin()) {
    changes_.erase(changes_.begin(), std::prev(after));
  }
}

void ScheduledMask::use(const MaskSchedule& schedule, std::uint64_t first_sample) {
  const std::vector<int>& wanted = schedule.at(first_sample);
  if (in_effect_ != wanted) {
    in_effect_.reset();  // if use() throws, some processors may have the new mask
    engine_->use(make_masks(engine_->array_plans(), wanted));
    in_effect_ = wanted;
  }
}

}  // namespace nearfield
