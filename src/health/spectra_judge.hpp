#pragma once
#include <complex>
#include <cstdint>
#include <span>
#include <vector>

#include "health/condition.hpp"
#include "nearfield/field_prediction.hpp"

namespace nearfield::health {

/// Compares each microphone with what its neighbours predict (field_prediction.hpp), over several frames and
/// frequencies. For one frequency, with y what a microphone has, p the prediction, sums over frames:
///
///   g = sum y p* / sum |p|^2          its gain against the prediction
///   C = |1 - g|^2 mean |p|^2          what it has too little or too much of the field
///   R = (sum |y|^2 - |g|^2 sum |p|^2) / (frames - 1) / max(1, |g|^2)   what it has beside the field
///
/// Each frame counts with a weight, the reciprocal of the whole array's median |y - p|^2 in that frame: an event that
/// all microphones share, such as a seam of a repeated recording, is one frame among many and not the sum's largest
/// part. Each of C and R is held against the median of the 9 x 9 microphones round it, where each counts with its
/// predicted variance: how well neighbours predict here, with this field, this noise and these microphones. A gain is
/// judged only at frequencies where neighbours have a field in common: where C of a microphone that is lost would be
/// above what healthy ones have. Microphones that fail, and fail worst among those round them, are left out of all
/// predictions, and so on until none is new; those left out are then judged by the rest. docs/health.md has the
/// thresholds and what they come from.
class SpectraJudge {
 public:
  /// standoff_m: distance of the sources' plane.
  SpectraJudge(const ArrayGeometry& geometry, const std::vector<double>& wavenumbers_rad_per_m, double standoff_m);

  /// spectra [frame][frequency][row][column], Pa, calibrated, at least 2 frames. `excluded` and `suspects`
  /// [row][column], 1 = yes: the former are neither judged nor used, the latter are only judged, unless nothing is
  /// wrong with them.
  std::vector<Condition> judge(std::span<const std::complex<float>> spectra, std::span<const std::uint8_t> excluded,
                               std::span<const std::uint8_t> suspects);

 private:
  using Complex = std::complex<double>;
  /// Of a frequency and a microphone; means over frames with their weights.
  struct Sums {
    double y = 0.0;  ///< mean |y|^2
    double p = 0.0;  ///< mean |p|^2
    Complex gain;
    double coherent = 0.0;    ///< C
    double incoherent = 0.0;  ///< R
    double whole = 0.0;       ///< mean |y - p|^2
  };
  /// What to expect of a healthy one.
  struct Floors {
    double coherent = 0.0;
    double incoherent = 0.0;
    double whole = 0.0;
    double power = 0.0;  ///< mean |p|^2 in the neighbourhood
  };
  /// How far beyond its thresholds; above 1 it fails.
  struct Scores {
    double coherent = 0.0;
    double incoherent = 0.0;
  };

  [[nodiscard]] std::size_t at(std::size_t frequency, std::size_t channel) const {
    return frequency * channels_ + channel;
  }
  void leave_out_broken(std::span<const std::complex<float>> spectra);
  void update_predictions();
  void weigh_frames(std::span<const std::complex<float>> spectra);
  void update_sums(std::span<const std::complex<float>> spectra);
  void sum_up(std::span<const std::complex<float>> spectra, std::size_t frequency, std::size_t channel);
  void find_floors();
  void find_extrapolated();
  [[nodiscard]] static bool has_common_field(const Floors& floors);
  [[nodiscard]] Scores scores(std::size_t channel) const;
  [[nodiscard]] std::vector<std::size_t> new_outliers() const;
  [[nodiscard]] Condition condition_of(std::size_t channel) const;
  [[nodiscard]] bool is_silent(std::size_t channel) const;
  [[nodiscard]] bool says_something(std::size_t channel) const;
  void find_swapped(std::span<const std::complex<float>> spectra, std::vector<Condition>& conditions) const;
  [[nodiscard]] double mismatch(std::span<const std::complex<float>> spectra, std::size_t channel,
                                std::size_t place) const;
  [[nodiscard]] Complex predicted(std::span<const std::complex<float>> frame, std::size_t frequency,
                                  std::size_t channel) const;

  ArrayGeometry geometry_;
  std::size_t channels_;
  std::size_t frequencies_;
  std::size_t frames_ = 0;
  std::vector<FieldCovariance> covariances_;       ///< [frequency]
  std::vector<MicrophonePrediction> predictions_;  ///< [frequency][channel]
  std::vector<std::uint8_t> usable_;               ///< [channel]
  std::vector<std::uint8_t> predicted_with_;       ///< [channel], usable_ as predictions_ were made
  std::vector<std::uint8_t> excluded_;             ///< [channel]
  std::vector<std::uint8_t> broken_;               ///< [channel], not finite
  std::vector<std::uint8_t> stale_;                ///< [channel], sums are of other predictions
  std::vector<double> weights_;                    ///< [frame][frequency], at most 1
  std::vector<Sums> sums_;                         ///< [frequency][channel]
  std::vector<Floors> floors_;                     ///< [frequency][channel]
  std::vector<double> extrapolated_;   ///< [frequency][channel], harmless share of the local power, 0 inside
  std::vector<double> typical_whole_;  ///< [frequency], median of whole / predicted variance
  std::vector<double> mismatch2_;      ///< [frequency], median of |1 - g|^2
};

}  // namespace nearfield::health
