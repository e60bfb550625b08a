#include "health/monitor.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <numbers>
#include <numeric>

namespace nearfield::health {
namespace {

/// Weak, mismatched and swapped microphones: if they are more than a few, and more than this share of all, a field that
/// no prior expects, or another order of the channels, is as likely the cause.
constexpr std::size_t kFewUnlike = 3;
constexpr std::size_t kUnlikeShare = 40;
/// Share of all microphones; if more alternate, the array is idle.
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
      conditions_(channels_, Condition::kOk),
      certain_(channels_),
      confirmed_(channels_),
      deviations_(channels_) {
  use(plan);
}

void Monitor::use(const MonitorPlan& plan) {
  plan_frequencies_ = plan.frequencies_hz.size();
  decisions_to_enter_ = plan.decisions_to_enter;
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
      certain_[static_cast<std::size_t>(channel)] = 0;
      deviations_[static_cast<std::size_t>(channel)] = 0.0;
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
  for (const std::size_t f : chosen_) {
    const auto values = spectra.subspan(f * channels_, channels_);
    spectra_.insert(spectra_.end(), values.begin(), values.end());
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

std::vector<std::complex<float>> Monitor::calibrated() const {
  std::vector<std::complex<float>> values = spectra_;
  for (std::size_t i = 0; i < values.size() && !gains_.empty(); ++i) {
    values[i] *= gains_[i % gains_.size()];
  }
  return values;
}

void Monitor::decide() {
  // Each second all microphones are included again: those that seemed bad only by what masks left of their neighbours
  // are not found again, and predict others from then on.
  const bool from_scratch = decisions_ % kFromScratch == 0;
  SpectraJudge::Known known{.excluded = excluded_, .suspects = {}, .deviations = deviations_};
  for (std::size_t i = 0; i < channels_; ++i) {
    const bool is_suspect = !from_scratch && is_bad(conditions_[i]) && confirmed_[i] != 0;
    known.suspects.push_back(is_suspect || is_bad(condition_by_bits(i)) ? 1 : 0);
  }
  std::vector<Finding> found = judge_->judge(calibrated(), known);
  for (std::size_t i = 0; i < channels_ && from_scratch; ++i) {
    confirmed_[i] = is_bad(found[i].condition) ? 1 : 0;
  }
  name_copies(found);
  changes_.clear();
  for (std::size_t i = 0; i < channels_; ++i) {
    if (excluded_[i] == 0 && trusted_[i] == 0) {
      const Condition by_bits = condition_by_bits(i);
      vote(i, is_bad(by_bits) ? Finding{.condition = by_bits, .is_certain = true} : found[i]);
    }
  }
  ++decisions_;
  fresh_ = 0;
  blocks_ = 0;
  std::fill(constant_blocks_.begin(), constant_blocks_.end(), 0);
  std::fill(alternating_blocks_.begin(), alternating_blocks_.end(), 0);
}

/// [channel], another channel with the same numbers in all windows; -1 if there is none, or all are 0.
std::vector<int> Monitor::twins() const {
  const std::size_t rows = spectra_.size() / channels_;
  const auto compare = [&](std::size_t a, std::size_t b) {
    for (std::size_t row = 0; row < rows; ++row) {
      const auto one = std::bit_cast<std::uint64_t>(spectra_[row * channels_ + a]);
      const auto other = std::bit_cast<std::uint64_t>(spectra_[row * channels_ + b]);
      if (one != other) {
        return one < other ? -1 : 1;
      }
    }
    return 0;
  };
  std::vector<std::size_t> order(channels_);
  std::iota(order.begin(), order.end(), 0U);
  std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    const int unlike = compare(a, b);
    return unlike != 0 ? unlike < 0 : a < b;
  });
  std::vector<int> twins(channels_, -1);
  for (std::size_t i = 1; i < channels_; ++i) {
    const bool is_silent = std::norm(spectra_[order[i]]) == 0.0F;
    if (!is_silent && compare(order[i - 1], order[i]) == 0) {
      twins[order[i]] = static_cast<int>(order[i - 1]);
      twins[order[i - 1]] = static_cast<int>(order[i]);
    }
  }
  return twins;
}

/// Marks as copied the channels that do not fit and have the numbers of one that does.
void Monitor::name_copies(std::vector<Finding>& findings) const {
  const bool has_any = std::any_of(findings.begin(), findings.end(), [](const Finding& finding) {
    return is_bad(finding.condition) && finding.deviation > 0.0;
  });
  if (!has_any) {
    return;
  }
  const std::vector<int> same = twins();
  for (std::size_t i = 0; i < channels_; ++i) {
    Finding& finding = findings[i];
    const bool has_fitting_twin = same[i] >= 0 && !is_bad(findings[static_cast<std::size_t>(same[i])].condition);
    if (is_bad(finding.condition) && finding.deviation > 0.0 && has_fitting_twin) {
      finding.condition = Condition::kCopied;
      finding.is_certain = true;
    }
  }
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

void Monitor::vote(std::size_t channel, const Finding& found) {
  Votes& votes = votes_[channel];
  Condition& condition = conditions_[channel];
  const bool is_found = is_bad(found.condition);
  if (is_found) {
    votes.good = 0;
    votes.bad = std::min(votes.bad + 1, decisions_to_enter_);
    votes.certain = found.is_certain ? std::min(votes.certain + 1, decisions_to_enter_) : 0;
  } else if (found.condition == Condition::kOk) {
    votes.bad = 0;
    votes.certain = 0;
    votes.good = std::min(votes.good + 1, kLeave);
  }
  const Condition before = condition;
  const std::uint8_t was_certain = certain_[channel];
  if (votes.good == kLeave) {
    condition = Condition::kOk;
    certain_[channel] = 0;
    deviations_[channel] = 0.0;
  } else if (is_found && votes.bad == decisions_to_enter_ && !is_bad(before)) {
    condition = found.condition;
    deviations_[channel] = found.deviation;
  }
  // The first condition found is kept, except that a certain one, or one found from the bits, replaces it.
  if (is_found && votes.certain == decisions_to_enter_ &&
      (certain_[channel] == 0 || found.condition == Condition::kStuck)) {
    condition = found.condition;
    certain_[channel] = 1;
    deviations_[channel] = found.deviation;
  }
  if (condition != before || certain_[channel] != was_certain) {
    changes_.push_back({.channel = static_cast<int>(channel),
                        .before = before,
                        .now = condition,
                        .is_certain = certain_[channel] != 0});
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

std::vector<int> Monitor::to_mask(HealthMask mask) const {
  std::vector<int> channels = mask == HealthMask::kNone ? std::vector<int>() : bad();
  const auto is_certain = [this](int channel) { return certain_[static_cast<std::size_t>(channel)] != 0; };
  const auto has_part_of_field = [&](int channel) {
    const Condition condition = conditions_[static_cast<std::size_t>(channel)];
    return !is_certain(channel) &&
           (condition == Condition::kWeak || condition == Condition::kMismatched || condition == Condition::kSwapped);
  };
  const auto unlike = std::count_if(channels.begin(), channels.end(), has_part_of_field);
  if (mask == HealthMask::kCertain) {
    std::erase_if(channels, [&](int channel) { return !is_certain(channel); });
  } else if (static_cast<std::size_t>(unlike) > std::max<std::size_t>(kFewUnlike, channels_ / kUnlikeShare)) {
    std::erase_if(channels, has_part_of_field);
  }
  return channels;
}

}  // namespace nearfield::health
