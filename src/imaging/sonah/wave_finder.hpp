#pragma once
#include <Eigen/Dense>
#include <array>
#include <complex>
#include <span>
#include <utility>
#include <vector>

#include "imaging/search.hpp"
#include "imaging/sonah/sonah_model.hpp"
#include "imaging/sonah/wave_table.hpp"

namespace nearfield {

/// The posterior mean of the field, over an image's plane.
struct FieldEstimate {
  Eigen::MatrixXcd image;      ///< (row, column), in the plan's quantity
  double noise_pa = 0.0;       ///< rms of a microphone
  double squared_error = 0.0;  ///< expected, summed over the pixels
};

/// Finds the plane waves of one frequency that sonah's prior does not explain (docs/sonah.md): the largest output of a
/// whitened matched filter over a grid in K-space, then all waves together by Gauss-Newton steps, until no output
/// exceeds the threshold.
///
/// Everything is in the prior's modes. A plane wave's coefficients there are real but for a factor of a class, 1, j, j
/// and -1; that factor is taken out of the measurement, so that waves are real vectors over [class][mode].
class WaveFinder {
 public:
  /// `model` must outlive it; its first image plane is used.
  WaveFinder(const PnahPlan& plan, std::size_t frequency, const SonahModel& model);
  /// field [row][column], Pa. Starts with the waves that it found before, as of Search.
  FoundWaves find(std::span<const std::complex<double>> field, std::uint64_t number);
  /// Nothing was found before.
  void restart() { before_.clear(); }
  /// The posterior mean of the field on the first plane after the last find(), plane waves included; of plans whose
  /// pixels are the microphones.
  [[nodiscard]] FieldEstimate estimate() const;

 private:
  /// Amplitudes of given waves at given places in K-space, and what they leave.
  struct Fit {
    double noise = 0.0;           ///< of a microphone over the prior's power, at which the amplitudes are fitted
    double residual_noise = 0.0;  ///< likewise, most probable for what is left
    double prior = 0.0;           ///< power of a microphone that is left
    Eigen::MatrixXd modes;        ///< (mode, wave)
    Eigen::ArrayXd weights;       ///< 1 / (power + noise). [mode]
    Eigen::VectorXcd amplitudes;  ///< [wave]
    Eigen::MatrixXd covariance;   ///< (wave, wave) of the amplitudes, over `prior`
    Eigen::VectorXcd residual;    ///< [mode]
    /// |amplitude|^2 over its variance. [wave]
    [[nodiscard]] Eigen::ArrayXd significance() const;
  };
  /// Half the microphones of an axis, and the grid's wavenumbers from 0 up.
  struct Axis {
    Eigen::ArrayXd places_m;
    Eigen::ArrayXd grid_rad_per_m;
    std::array<Eigen::MatrixXd, 2> waves;  ///< even, odd: (place, grid)
  };
  using Waves = std::vector<PlaneWave>;
  enum class Slope { kNone, kX, kY };  ///< of a wave by one of its wavenumbers

  FoundWaves find_from(Waves waves, std::span<const std::complex<double>> field);
  [[nodiscard]] Axis make_axis(int microphones, double pitch_m) const;
  [[nodiscard]] Eigen::VectorXcd to_modes(std::span<const std::complex<double>> field) const;
  [[nodiscard]] Eigen::MatrixXd modes_of(const Waves& waves, Slope slope) const;
  void weigh_residual(Fit& fit) const;
  [[nodiscard]] Fit fit(const Waves& waves, const Eigen::VectorXcd& y, double noise) const;
  [[nodiscard]] Fit settle(Waves& waves, const Eigen::VectorXcd& y, double noise) const;
  [[nodiscard]] double step(Waves& waves, const Fit& fit) const;
  void drop_weak(Waves& waves, Fit& fit, const Eigen::VectorXcd& y, std::vector<double> least) const;
  [[nodiscard]] std::pair<PlaneWave, double> strongest(const Fit& fit);
  [[nodiscard]] const Eigen::MatrixXd& grid_powers();

  PnahPlan plan_;
  double k_;
  const SonahModel* model_;
  std::size_t most_;
  double most_rad_per_m_;
  Eigen::ArrayXd powers_;                 ///< [mode]
  std::vector<double> log_determinants_;  ///< of the prior with each step of noise
  Axis x_;
  Axis y_;
  Eigen::MatrixXd grid_powers_;  ///< of the matched filter over the prior's; (noise step, y and x)
  Waves waves_;                  ///< found last
  SearchMemory<Waves> before_;
  Fit fit_;                   ///< of the last measurement
  double waves_error_ = 0.0;  ///< what its waves add to the expected squared error, for prior power 1
};

}  // namespace nearfield
