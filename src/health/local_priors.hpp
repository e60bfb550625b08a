#pragma once
#include <array>
#include <memory>
#include <vector>

#include "core/field_prediction.hpp"
#include "health/neighbourhoods.hpp"

namespace nearfield::health {

/// Inverse covariance of a set of microphones, for a field of power 1.
struct Precision {
  std::array<double, Neighbourhoods::kSize * Neighbourhoods::kSize> matrix{};  ///< [member][member]
  double log_determinant = 0.0;
  bool is_identity = false;
};

/// The priors of the field at one frequency from which the data choose (docs/how/health.md):
///   - sources of any shape at 0.5, 1 and 2 times the standoff (field_prediction.hpp),
///     each with noise of 1e-5 and of 1e-3 of the field's power,
///   - rings of wavenumbers, 8 % wide and 20 % apart, from waves of 18 pitches to waves of 2.4 pitches: a mode or a
///     wave of a plate, with noise of 1e-4,
///   - sources at the standoff in a room: half of the power theirs, half that of a diffuse field, with the same noise,
///   - noise alone, without a field.
class LocalPriors {
 public:
  static constexpr std::array kDistanceFactors = {0.5, 1.0, 2.0};
  static constexpr std::array kNoises = {1e-5, 1e-3};
  static constexpr std::size_t kLayers = kDistanceFactors.size() * kNoises.size();
  static constexpr std::size_t kRings = 12;
  static constexpr double kNoiseOfRings = 1e-4;
  static constexpr std::size_t kCount = kLayers + kRings + 2;
  /// Index of the prior of sources at the standoff, with the larger noise.
  static constexpr std::size_t kStandoff = 3;
  /// Index of the prior of half such a field and half a diffuse one.
  static constexpr std::size_t kRoom = kLayers + kRings;
  /// Index of the prior without a field.
  static constexpr std::size_t kNoiseAlone = kCount - 1;

  /// `neighbourhoods` must outlive this.
  LocalPriors(const Neighbourhoods& neighbourhoods, const ArrayGeometry& geometry, double wavenumber_rad_per_m,
              double standoff_m);
  /// Computed on first use: one thread at a time.
  const Precision& precision(std::size_t prior, std::size_t shape);

 private:
  [[nodiscard]] double covariance(std::size_t prior, int rows, int columns);
  [[nodiscard]] std::unique_ptr<Precision> compute(std::size_t prior, std::size_t shape);

  const Neighbourhoods* neighbourhoods_;
  ArrayGeometry geometry_;
  double wavenumber_rad_per_m_;
  std::vector<FieldCovariance> layers_;                 ///< [distance factor]
  std::vector<std::unique_ptr<Precision>> precisions_;  ///< [prior][shape]; null: not computed yet
};

}  // namespace nearfield::health
