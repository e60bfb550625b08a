#pragma once
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "core/geometry.hpp"

namespace nearfield {

/// Spatial covariance of the pressures at two microphones, normalised to 1 at zero distance, for a field of which only
/// the origin is known: sources of any shape anywhere on a plane at `distance_m` behind the microphones. Its power at
/// wavenumber kr is 1 up to k and e^{-2 sqrt(kr^2 - k^2) distance} above, so that
///   covariance(r) = integral of that times J0(kr r) kr dkr, over the same at r = 0
/// with r the distance of two microphones; microphones that are not in one plane are treated as if they were, r apart
/// (a Gaussian process with the propagator as its prior; Rasmussen and Williams 2006, section 2.2, for what follows
/// from it). Values are computed on first use: one thread at a time.
class FieldCovariance {
 public:
  FieldCovariance(const ArrayGeometry& geometry, double wavenumber_rad_per_m, double distance_m);
  /// Covariance at an offset of so many rows and columns within the array; offsets may be negative.
  [[nodiscard]] double between(int rows, int columns);
  /// Covariance of two microphones of any array. For an irregular array it is computed at each call.
  [[nodiscard]] double between_channels(int one, int other);
  [[nodiscard]] const ArrayGeometry& geometry() const { return geometry_; }

 private:
  [[nodiscard]] double at_distance(double r_m) const;

  ArrayGeometry geometry_;
  double wavenumber_rad_per_m_;
  std::vector<double> nodes_rad_per_m_;  ///< wavenumbers above k
  std::vector<double> powers_;           ///< at the nodes, times kr dkr
  double whole_;                         ///< the integral at r = 0
  std::vector<double> known_;            ///< [rows apart][columns apart]; NaN: not computed yet
};

/// Linear prediction of a microphone: its pressure is approximately the sum of weights[i] times the pressure at
/// channels[i].
struct MicrophonePrediction {
  std::vector<int> channels;  ///< row * columns + column, nearest first
  std::vector<double> weights;
  double variance = 1.0;  ///< residual variance where the field's own is 1; includes noise of kPredictionNoise on each
};

/// Assumed power of a microphone's own noise and deviation relative to the field: 40 dB below it.
inline constexpr double kPredictionNoise = 1e-4;

/// Indices of the `most` usable microphones nearest to `channel`, excluding itself; ties go to the lower index. usable
/// [row][column], 1 = may be used. Distances are in space.
std::vector<int> nearest_usable(const ArrayGeometry& geometry, std::span<const std::uint8_t> usable, int channel,
                                std::size_t most);

/// The best linear prediction of `channel` from the microphones `from`: weights w = (K + noise I)^-1 k.
MicrophonePrediction predict_microphone(FieldCovariance& covariance, int channel, const std::vector<int>& from);

}  // namespace nearfield
