#pragma once
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "nearfield/geometry.hpp"

namespace nearfield {

/// How alike the pressures at two microphones are, 1 for one and the same, for a field of which nothing is known but
/// where it comes from: sources anywhere on a plane at `distance_m` behind the microphones, of any shape. Its power at
/// wavenumber kr is 1 up to k and e^{-2 sqrt(kr^2 - k^2) distance} above, so that
///   covariance(r) = integral of that times J0(kr r) kr dkr, over the same at r = 0
/// with r the distance of two microphones; where they stand on no plane, as if they stood on one, r apart
/// (a Gaussian process with the propagator as its prior; Rasmussen and Williams 2006, section 2.2, for what follows
/// from it). Values are computed at their first use: one thread at a time.
class FieldCovariance {
 public:
  FieldCovariance(const ArrayGeometry& geometry, double wavenumber_rad_per_m, double distance_m);
  /// Between microphones so many rows and columns apart, within the array, of either sign.
  [[nodiscard]] double between(int rows, int columns);
  /// Between two microphones of any array. Of an irregular one the value is computed at each call.
  [[nodiscard]] double between_channels(int one, int other);
  [[nodiscard]] const ArrayGeometry& geometry() const { return geometry_; }

 private:
  [[nodiscard]] double at_distance(double r_m) const;

  ArrayGeometry geometry_;
  double wavenumber_rad_per_m_;
  std::vector<double> nodes_rad_per_m_;  ///< wavenumbers above k
  std::vector<double> powers_;           ///< at the nodes, times kr dkr
  double whole_;                         ///< the integral at r = 0
  std::vector<double> known_;            ///< [rows apart][columns apart]; NaN: not yet
};

/// A microphone from others: its pressure is about the sum of weights[i] times the pressure at channels[i].
struct MicrophonePrediction {
  std::vector<int> channels;  ///< row * columns + column, nearest first
  std::vector<double> weights;
  double variance = 1.0;  ///< of what remains, where the field's own is 1; noise of kPredictionNoise on each included
};

/// Power of a microphone's own noise and deviation over the field's, as predictions expect it: 40 dB below.
inline constexpr double kPredictionNoise = 1e-4;

/// Indices of the `most` usable microphones nearest to `channel`, itself not among them; ties go to the lower index.
/// usable [row][column], 1 = may be used. Distances are those in space.
std::vector<int> nearest_usable(const ArrayGeometry& geometry, std::span<const std::uint8_t> usable, int channel,
                                std::size_t most);

/// The best linear prediction of `channel` from the microphones `from`: weights w = (K + noise I)^-1 k.
MicrophonePrediction predict_microphone(FieldCovariance& covariance, int channel, const std::vector<int>& from);

}  // namespace nearfield
