#pragma once
#include <Eigen/Dense>
#include <complex>
#include <cstddef>
#include <vector>

#include "imaging/sonah/field_source.hpp"
#include "imaging/sonah/sonah_model.hpp"

namespace nearfield {

/// Plane waves and point sources of a frequency at most.
inline constexpr int kMostWaves = 8;

/// How kernels/imaging/sonah.cl reads the plane waves and point sources of one frequency, in floats: how many they are,
/// what their errors add to the expected squared error of an image of the first plane for prior power 1, zeros up to
/// kHeader; then for each of them
///   amplitudes   [class][mode][re, im], what its amplitude is made of
///   modes        [class][mode][re, im], what it is made of
///   energies     [kMostWaves][re, im], what it shares with each of them of the energy of an image of the first plane
///   images       [plane][pixel][re, im], the plan's quantity for amplitude 1
struct WaveTable {
  static constexpr std::size_t kHeader = 8;
  std::size_t modes = 0;   ///< of all classes, with those that fill the last blocks
  std::size_t planes = 0;  ///< 1 on a surface
  std::size_t pixels = 0;  ///< of an image

  /// Floats of a wave.
  [[nodiscard]] std::size_t stride() const {
    return 4 * modes + 2 * (static_cast<std::size_t>(kMostWaves) + planes * pixels);
  }
  /// Floats of a frequency.
  [[nodiscard]] std::size_t size() const { return kHeader + static_cast<std::size_t>(kMostWaves) * stride(); }
};

/// What sources are in the prior's modes.
struct WaveModes {
  Eigen::MatrixXcd modes;       ///< (class and mode, source)
  Eigen::MatrixXcd white;       ///< `modes` times the inverse of the covariance with noise (UsableWeights)
  Eigen::MatrixXcd covariance;  ///< (source, source) of the amplitudes for prior power 1
  Eigen::VectorXcd amplitudes;  ///< of the measurement that they were found in. [source]
  /// What `modes` times `amplitudes` changes by with each unknown: real and imaginary part of each amplitude, then each
  /// source's coordinates. (class and mode, unknown)
  Eigen::MatrixXcd tangents;
  Eigen::MatrixXcd white_tangents;  ///< likewise times that inverse
};

/// The header and the sources that there are.
std::vector<float> make_wave_table(const PnahPlan& plan, double k, const SonahModel& model,
                                   const std::vector<FieldSource>& sources, const WaveModes& found);

}  // namespace nearfield
