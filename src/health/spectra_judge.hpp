#pragma once
#include <array>
#include <complex>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "health/field_evidence.hpp"
#include "health/local_field.hpp"

namespace nearfield::health {

/// The condition of a microphone.
enum class Condition {
  kOk,          ///< agrees with its neighbours as far as these are informative
  kUnknown,     ///< nothing found, but its neighbours provide too little for a comparison
  kDead,        ///< silence, or nothing in common with its neighbours
  kStuck,       ///< its bits do not change
  kNoisy,       ///< much that none of its neighbours has
  kWeak,        ///< the neighbours' signal, but weaker
  kMismatched,  ///< the neighbours' signal, with another gain or phase
  kSwapped,     ///< another microphone's signal, and vice versa
  kCopied,      ///< exactly the numbers of another microphone in place of its own
};

std::string_view name_of(Condition condition);

inline constexpr std::size_t kConditions = static_cast<std::size_t>(Condition::kCopied) + 1;
/// All faults.
inline constexpr std::array kBadConditions = {Condition::kDead,  Condition::kStuck,      Condition::kNoisy,
                                              Condition::kWeak,  Condition::kMismatched, Condition::kSwapped,
                                              Condition::kCopied};

constexpr bool is_bad(Condition condition) { return condition > Condition::kUnknown; }

/// Result of one decision for one microphone.
struct Finding {
  Condition condition = Condition::kUnknown;
  /// True if fewer than one in a million healthy microphones is found so: it is masked by default.
  bool is_certain = false;
  /// |1 - gain| relative to the field; 0 if no field was needed for the finding.
  double deviation = 0.0;
};

/// Compares each microphone with what its neighbours predict, at several frequencies and in the patterns common to the
/// windows (window_patterns.hpp), and adds up the log odds that it is not healthy (field_evidence.hpp). Microphones
/// that fail, and fail worst in their neighbourhood, are left out of all predictions, repeatedly until there are no new
/// ones; those left out are then judged by the rest. A decision starts with all microphones: none is bad because it was
/// bad before, except those that the caller suspects. docs/how/health.md has the thresholds.
class SpectraJudge {
 public:
  /// standoff_m: distance of the sources' plane. Requires a grid of at least Neighbourhoods::kSize microphones.
  SpectraJudge(const ArrayGeometry& geometry, const std::vector<double>& wavenumbers_rad_per_m, double standoff_m);

  /// Prior knowledge of the caller, each [row][column].
  struct Known {
    std::vector<std::uint8_t> excluded;  ///< 1: neither judged nor used
    std::vector<std::uint8_t> suspects;  ///< 1: judged, but nothing is predicted from it
    /// Deviation with which a microphone was found bad, 0 for others: it is good again only where that deviation would
    /// be detectable.
    std::vector<double> deviations;
  };
  /// spectra [window][frequency][row][column], Pa, calibrated, at least 2 windows.
  std::vector<Finding> judge(std::span<const std::complex<float>> spectra, const Known& known);

  /// Log odds against a microphone at one frequency, from the last judge(). Frequencies are independent except for the
  /// microphones that are left out.
  [[nodiscard]] double log_odds(std::size_t frequency, std::size_t channel) const {
    return odds_[frequency * channels_ + channel];
  }
  /// Value of a microphone in the strongest pattern of the last judge(), and the log odds against it for another value
  /// there: how far the field reaches the microphone.
  [[nodiscard]] std::complex<double> tone(std::size_t frequency, std::size_t channel) const {
    return patterns_[frequency].front().value(channel);
  }
  [[nodiscard]] double log_odds_of(std::size_t frequency, std::size_t channel, std::complex<double> tone) const;

 private:
  /// The patterns at one frequency.
  using Patterns = std::vector<FieldEvidence>;

  void find_patterns(std::span<const std::complex<float>> spectra);
  [[nodiscard]] std::vector<std::complex<float>> weighted(std::span<const std::complex<float>> spectra,
                                                          std::size_t frequency);
  void find_noise(std::size_t frequency, std::span<const double> noise_power);
  void find_silent(std::span<const std::complex<float>> values, std::span<const double> noise_power);
  void choose_priors();
  void fill(std::size_t channel);
  void leave_out_outliers(std::span<const std::complex<float>> spectra);
  void judge_channel(std::size_t channel);
  [[nodiscard]] double contradiction(std::size_t channel) const;
  [[nodiscard]] double own_floor(std::size_t frequency, std::size_t channel) const;
  [[nodiscard]] FieldEvidence::Found found_in(std::size_t frequency, std::size_t pattern, std::size_t channel) const;
  [[nodiscard]] std::vector<std::size_t> new_outliers() const;
  [[nodiscard]] Finding finding_of(std::size_t channel, double deviation) const;
  [[nodiscard]] Finding well(std::size_t channel, double deviation) const;
  void find_swapped(std::vector<Finding>& findings) const;
  [[nodiscard]] bool could_stand_at(std::size_t channel, std::size_t place) const;

  ArrayGeometry geometry_;
  std::size_t channels_;
  std::size_t frequencies_;
  std::size_t windows_ = 0;
  Neighbourhoods neighbourhoods_;
  std::vector<LocalPriors> priors_;     ///< [frequency]
  std::vector<Patterns> patterns_;      ///< [frequency]
  std::vector<std::uint8_t> left_out_;  ///< [channel], excluded from predictions
  std::vector<std::uint8_t> broken_;    ///< [channel], number of windows with values that are not finite
  std::vector<std::uint8_t> silent_;    ///< [channel], number of frequencies without even noise
  std::vector<std::uint8_t> stale_;     ///< [channel], odds belong to other predictions
  std::vector<double> noise_;           ///< [frequency][channel], median power around it
  std::vector<double> odds_;            ///< [frequency][channel]
  std::vector<double> total_;           ///< [channel]
};

}  // namespace nearfield::health
