#pragma once
#include <complex>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "core/settings.hpp"
#include "health/bit_statistics.hpp"
#include "health/spectra_judge.hpp"

namespace nearfield::health {

/// Parameters of a monitor.
struct MonitorPlan {
  ArrayGeometry geometry;
  double standoff_m = 0.03;
  double sound_speed_m_s = 343.0;
  std::vector<double> frequencies_hz;      ///< frequencies of the spectra for add_spectra()
  std::vector<std::complex<float>> gains;  ///< [frequency][row][column], calibration; empty: none
  std::vector<int> excluded;               ///< masked by the settings: neither judged nor used
  std::vector<int> trusted;                ///< never bad
  /// Consecutive decisions that make a microphone bad. With three, noise cannot, as two decisions in a row share
  /// windows.
  int decisions_to_enter = 3;
};

/// A microphone whose condition has changed, or has become certain.
struct Change {
  int channel = 0;
  Condition before = Condition::kOk;
  Condition now = Condition::kOk;
  bool is_certain = false;  ///< masked by default
};

/// Judges every microphone from spectra and bits at intervals, with hysteresis: `decisions_to_enter` consecutive
/// decisions with a finding make it bad, kLeave consecutive ones without make it good again. Decisions without evidence
/// count neither way. One thread.
class Monitor {
 public:
  /// Spectra between two decisions, and most spectra of one.
  static constexpr std::size_t kStep = 8;
  static constexpr std::size_t kSpan = 16;
  static constexpr int kLeave = 12;
  /// Every kFromScratch-th decision starts without prior knowledge.
  static constexpr std::uint64_t kFromScratch = 4;
  /// Number of frequencies at which spectra are compared, spread over the plan's.
  static constexpr std::size_t kMostFrequencies = 4;

  explicit Monitor(const MonitorPlan& plan);
  /// Replaces the plan, for the same array: verdicts are kept.
  void use(const MonitorPlan& plan);

  /// Spectra of one window, [frequency][row][column], Pa as measured; windows that do not overlap, about 30 a second.
  /// True when a decision was made.
  bool add_spectra(std::span<const std::complex<float>> spectra);
  /// Counts of one block of bits, which must not contain missing ones.
  void add_bits(const BitStatistics& bits);
  /// Discards the data for the next decision, after a gap or a restart.
  void forget();

  /// Changes of the last decision.
  [[nodiscard]] const std::vector<Change>& changes() const { return changes_; }
  /// [row * columns + column], after hysteresis: kOk or the fault.
  [[nodiscard]] const std::vector<Condition>& conditions() const { return conditions_; }
  /// Channels with a fault, ascending; without excluded ones.
  [[nodiscard]] std::vector<int> bad() const;
  /// Channels of bad() to be masked, ascending. kAll omits weak, mismatched and swapped ones if they are more than 3
  /// and more than a 40th of all: then the field, or the order of the channels, may be the cause.
  [[nodiscard]] std::vector<int> to_mask(HealthMask mask) const;
  [[nodiscard]] std::uint64_t decisions() const { return decisions_; }

 private:
  struct Votes {
    int bad = 0;
    int certain = 0;
    int good = 0;
  };
  void decide();
  [[nodiscard]] std::vector<std::complex<float>> calibrated() const;
  [[nodiscard]] Condition condition_by_bits(std::size_t channel) const;
  [[nodiscard]] std::vector<int> twins() const;
  void name_copies(std::vector<Finding>& findings) const;
  void vote(std::size_t channel, const Finding& found);

  std::size_t channels_ = 0;
  std::size_t plan_frequencies_ = 0;
  int decisions_to_enter_ = 0;
  std::vector<std::size_t> chosen_;         ///< indices of the plan's frequencies
  std::vector<std::complex<float>> gains_;  ///< [chosen][channel]; empty: none
  std::vector<std::uint8_t> excluded_;      ///< [channel]
  std::vector<std::uint8_t> trusted_;       ///< [channel]
  std::unique_ptr<SpectraJudge> judge_;
  std::vector<std::complex<float>> spectra_;  ///< [frame][chosen][channel] as measured, the last kSpan at most
  std::size_t fresh_ = 0;                     ///< frames since the last decision
  // Since the last decision, [channel]:
  std::uint32_t blocks_ = 0;
  std::vector<std::uint32_t> constant_blocks_;
  std::vector<std::uint32_t> alternating_blocks_;
  std::vector<Votes> votes_;
  std::vector<Condition> conditions_;
  std::vector<std::uint8_t> certain_;    ///< [channel], among the bad ones
  std::vector<std::uint8_t> confirmed_;  ///< [channel], found bad by a decision from scratch
  std::vector<double> deviations_;       ///< [channel], deviation with which a bad one was found
  std::vector<Change> changes_;
  std::uint64_t decisions_ = 0;
};

}  // namespace nearfield::health
