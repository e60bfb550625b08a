#include "health/monitor.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace nearfield::health {
namespace {

/// Of all microphones; where more alternate, the array is idle.
constexpr std::size_t kIdleShare = 4;

std::vector<std::size_t> spread(std::size_t count, std::size_t most) {
  const std::size_t chosen = std::min(count, most);
  std::vector<std::size_t> indices;
  for (std::size_t i = 0; i < chosen; ++i) {
    indices.push_back(chosen == 1 ? count / 2 : i * (count - 1) / (chosen - 1));
  }
  return indices;
}

}  // namespace

Monitor::Monitor(const MonitorPlan& plan)
    : channels_(static_cast<std::size_t>(plan.geometry.channels())),
      constant_blocks_(channels_),
      alternating_blocks_(channels_),
      votes_(channels_),
      conditions_(channels_, Condition::kOk) {
  use(plan);
}

void Monitor::use(const MonitorPlan& plan) {
  plan_frequencies_ = plan.frequencies_hz.size();
  chosen_ = spread(plan_frequencies_, kMostFrequencies);
  std::vector<double> wavenumbers;
  gains_.clear();
  for (const std::size_t f : chosen_) {
    wavenumbers.push_back(2.0 * std::numbers::pi * plan.frequencies_hz[f] / plan.sound_speed_m_s);
    if (!plan.gains.empty()) {
      const auto first = plan.gains.begin() + static_cast<std::ptrdiff_t>(f * channels_);
      gains_.insert(gains_.end(), first, first + static_cast<std::ptrdiff_t>(channels_));
    }
  }
  const auto acquit = [this](const std::vector<int>& channels) {
    std::vector<std::uint8_t> marks(channels_, 0);
    for (const int channel : channels) {
      marks[static_cast<std::size_t>(channel)] = 1;
      conditions_[static_cast<std::size_t>(channel)] = Condition::kOk;
      votes_[static_cast<std::size_t>(channel)] = {};
    }
    return marks;
  };
  excluded_ = acquit(plan.excluded);
  trusted_ = acquit(plan.trusted);
  judge_ = std::make_unique<SpectraJudge>(plan.geometry, wavenumbers, plan.standoff_m);
  forget();
}

void Monitor::forget() {
  spectra_.clear();
  fresh_ = 0;
  blocks_ = 0;
  std::fill(constant_blocks_.begin(), constant_blocks_.end(), 0);
  std::fill(alternating_blocks_.begin(), alternating_blocks_.end(), 0);
}

bool Monitor::add_spectra(std::span<const std::complex<float>> spectra) {
  const std::size_t frame_values = chosen_.size() * channels_;
  if (spectra_.size() == kSpan * frame_values) {
    spectra_.erase(spectra_.begin(), spectra_.begin() + static_cast<std::ptrdiff_t>(frame_values));
  }
  for (std::size_t f = 0; f < chosen_.size(); ++f) {
    for (std::size_t i = 0; i < channels_; ++i) {
      const std::complex<float> value = spectra[chosen_[f] * channels_ + i];
      spectra_.push_back(gains_.empty() ? value : value * gains_[f * channels_ + i]);
    }
  }
  if (++fresh_ < kStep) {
    return false;
  }
  decide();
  return true;
}

void Monitor::add_bits(const BitStatistics& bits) {
  ++blocks_;
  for (std::size_t i = 0; i < channels_; ++i) {
    constant_blocks_[i] += bits.toggles[i] == 0 ? 1U : 0U;
    alternating_blocks_[i] += bits.longest_run[i] == 0 ? 1U : 0U;
  }
}

void Monitor::decide() {
  std::vector<std::uint8_t> suspects(channels_);
  for (std::size_t i = 0; i < channels_; ++i) {
    suspects[i] = static_cast<std::uint8_t>(is_bad(conditions_[i]) || is_bad(condition_by_bits(i)));
  }
  const std::vector<Condition> found = judge_->judge(spectra_, excluded_, suspects);
  changes_.clear();
  for (std::size_t i = 0; i < channels_; ++i) {
    if (excluded_[i] == 0 && trusted_[i] == 0) {
      const Condition by_bits = condition_by_bits(i);
      vote(i, is_bad(by_bits) ? by_bits : found[i]);
    }
  }
  ++decisions_;
  fresh_ = 0;
  blocks_ = 0;
  std::fill(constant_blocks_.begin(), constant_blocks_.end(), 0);
  std::fill(alternating_blocks_.begin(), alternating_blocks_.end(), 0);
}

Condition Monitor::condition_by_bits(std::size_t channel) const {
  if (blocks_ == 0) {
    return Condition::kUnknown;
  }
  if (constant_blocks_[channel] == blocks_) {
    return Condition::kStuck;
  }
  const auto is_alternating = [this](std::uint32_t blocks) { return blocks == blocks_; };
  if (is_alternating(alternating_blocks_[channel])) {
    const auto alike = std::count_if(alternating_blocks_.begin(), alternating_blocks_.end(), is_alternating);
    return static_cast<std::size_t>(alike) * kIdleShare < channels_ ? Condition::kDead : Condition::kUnknown;
  }
  return Condition::kOk;
}

void Monitor::vote(std::size_t channel, Condition found) {
  Votes& votes = votes_[channel];
  Condition& condition = conditions_[channel];
  if (is_bad(found)) {
    votes.good = 0;
    votes.bad = std::min(votes.bad + 1, kEnter);
  } else if (found == Condition::kOk) {
    votes.bad = 0;
    votes.good = std::min(votes.good + 1, kLeave);
  }
  const Condition before = condition;
  if (votes.bad == kEnter && is_bad(found)) {
    condition = found;
  } else if (votes.good == kLeave) {
    condition = Condition::kOk;
  }
  // Among what is wrong the first word stays, but for what the bits say.
  if (is_bad(before) && is_bad(condition) && condition != Condition::kStuck) {
    condition = before;
  }
  if (condition != before) {
    changes_.push_back({.channel = static_cast<int>(channel), .before = before, .now = condition});
  }
}

std::vector<int> Monitor::bad() const {
  std::vector<int> channels;
  for (std::size_t i = 0; i < channels_; ++i) {
    if (is_bad(conditions_[i])) {
      channels.push_back(static_cast<int>(i));
    }
  }
  return channels;
}

}  // namespace nearfield::health
