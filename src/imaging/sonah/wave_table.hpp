#pragma once
#include <Eigen/Dense>
#include <complex>
#include <cstddef>
#include <vector>

#include "imaging/search.hpp"
#include "imaging/sonah/sonah_model.hpp"

namespace nearfield {

/// Plane waves of a frequency at most.
inline constexpr int kMostWaves = 8;

/// How kernels/imaging/sonah.cl reads the plane waves of one frequency, in floats: how many they are, what their errors
/// add to the expected squared error of an image of the first plane for prior power 1, zeros up to kHeader; then for
/// each wave
///   amplitudes   [class][mode], what its amplitude is made of
///   modes        [class][mode], what it is made of
///   gains        [plane][re, im], from its amplitude at the microphones to the plane
///   columns      [column of pixels][re, im], its phases there
///   rows         [row of pixels][re, im]
///   energies     [kMostWaves][re, im], what it shares with each wave of the energy of an image
/// On a surface gains are 1, `columns` is the wave's image, [pixel][re, im], and there are no rows.
/// The phases of the classes, 1, j, j and -1, are in none of them.
struct WaveTable {
  static constexpr std::size_t kHeader = 8;
  std::size_t modes = 0;  ///< of all classes, with those that fill the last blocks
  std::size_t planes = 0;
  std::size_t pixel_rows = 0;
  std::size_t pixel_columns = 0;

  /// Floats of a wave.
  [[nodiscard]] std::size_t stride() const {
    return 2 * modes + 2 * (planes + pixel_columns + pixel_rows + static_cast<std::size_t>(kMostWaves));
  }
  /// Floats of a frequency.
  [[nodiscard]] std::size_t size() const { return kHeader + static_cast<std::size_t>(kMostWaves) * stride(); }
};

/// What waves are in the prior's modes, without the phases of the classes.
struct WaveModes {
  Eigen::MatrixXd modes;       ///< (class and mode, wave)
  Eigen::ArrayXd weights;      ///< 1 / (power + noise). [class and mode]
  Eigen::MatrixXd covariance;  ///< (wave, wave) of the amplitudes for prior power 1
};

/// The header and the waves that there are.
std::vector<float> make_wave_table(const PnahPlan& plan, double k, const SonahModel& model,
                                   const std::vector<PlaneWave>& waves, const WaveModes& found);

/// e^{j k x} and e^{-j k x} under the sign of a class, over its phase.
double mirrored_pair(double k_rad_per_m, double x_m, bool is_odd);
/// Its derivative by k.
double mirrored_slope(double k_rad_per_m, double x_m, bool is_odd);

/// From a wave's amplitude at the microphones to the plan's quantity on a plane.
std::complex<double> wave_gain(const PnahPlan& plan, double k, const PlaneWave& wave, double plane_m);

}  // namespace nearfield
