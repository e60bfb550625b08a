#pragma once
#include <Eigen/Dense>
#include <array>
#include <complex>
#include <span>
#include <utility>
#include <vector>

#include "imaging/search.hpp"
#include "imaging/sonah/field_source.hpp"
#include "imaging/sonah/point_grid.hpp"
#include "imaging/sonah/sonah_model.hpp"
#include "imaging/sonah/usable_weights.hpp"
#include "imaging/sonah/wave_table.hpp"

namespace nearfield {

/// The posterior mean of the field, over an image's plane.
struct FieldEstimate {
  Eigen::MatrixXcd image;  ///< (row, column), in the plan's quantity
  double noise_pa = 0.0;   ///< rms of a microphone
  /// Expected, summed over the pixels, as it is published: the prior's part times PnahPlan::error_calibration()
  /// squared, and that of the sources' amplitudes as it is, which fields from elsewhere say nothing of.
  double squared_error = 0.0;
};

/// Finds the plane waves and point sources of one frequency that sonah's prior does not explain (docs/sonah.md): the
/// largest output of a whitened matched filter over a grid in K-space and one of places behind the surface, then all of
/// them together by Gauss-Newton steps, until no output exceeds the threshold. Everything is in the prior's modes.
class WaveFinder {
 public:
  /// `model` must outlive it; its first image plane is used.
  WaveFinder(const PnahPlan& plan, std::size_t frequency, const SonahModel& model);
  /// field [row][column], Pa, in which those of `mask` are filled, none of them where it is null; up to kMostLeftOut of
  /// these are left out of fits. Starts with the sources that it found before, as of Search.
  FoundWaves find(std::span<const std::complex<double>> field, std::uint64_t number,
                  const MicrophoneMask* mask = nullptr);
  using Sources = std::vector<FieldSource>;
  /// The same from given sources, which it remembers no longer than until sources() is read.
  FoundWaves find_from(Sources sources, std::span<const std::complex<double>> field,
                       const MicrophoneMask* mask = nullptr);
  /// What the last find() found.
  [[nodiscard]] const Sources& sources() const { return sources_; }
  /// Schwarz's criterion of the last measurement under this prior, nepers, but for a constant: the negative logarithm
  /// of its marginal likelihood at the most probable noise and power, and half the logarithm of its real values for
  /// each real parameter of the sources.
  [[nodiscard]] double criterion() const;
  /// Nothing was found before.
  void restart() { before_.clear(); }
  /// The posterior mean of the field on the first plane after the last find(), sources included; of plans whose pixels
  /// are the microphones.
  [[nodiscard]] FieldEstimate estimate() const;

 private:
  /// Amplitudes of given sources, and what they leave.
  struct Fit {
    double noise = 0.0;           ///< of a microphone over the prior's power, at which the amplitudes are fitted
    double residual_noise = 0.0;  ///< likewise, most probable for what is left
    double prior = 0.0;           ///< power of a microphone that is left
    double cost = 0.0;            ///< -ln of the marginal likelihood of what is left, but for a constant
    Eigen::MatrixXcd modes;       ///< (mode, source)
    Eigen::MatrixXcd white;       ///< `modes` times the inverse of the covariance with `noise`
    Eigen::VectorXcd amplitudes;  ///< [source]
    Eigen::MatrixXcd covariance;  ///< (source, source) of the amplitudes, over `prior`
    Eigen::VectorXcd residual;    ///< [mode]
    /// |amplitude|^2 over its variance. [source]
    [[nodiscard]] Eigen::ArrayXd significance() const;
  };
  /// Half the microphones of an axis, and the grid's wavenumbers from 0 up.
  struct Axis {
    Eigen::ArrayXd places_m;
    Eigen::ArrayXd grid_rad_per_m;
    std::array<Eigen::MatrixXd, 2> waves;  ///< even, odd: (place, grid)
  };

  void use(const MicrophoneMask* mask);
  FoundWaves search_from(Sources sources, std::span<const std::complex<double>> field);
  [[nodiscard]] Axis make_axis(int microphones, double pitch_m) const;
  void weigh_residual(Fit& fit) const;
  [[nodiscard]] Fit fit(const Sources& sources, const Eigen::VectorXcd& y, double noise) const;
  [[nodiscard]] Fit settle(Sources& sources, const Eigen::VectorXcd& y, double noise) const;
  [[nodiscard]] Eigen::MatrixXcd tangents(const Sources& sources, const Fit& fit) const;
  [[nodiscard]] double step(Sources& sources, const Fit& fit) const;
  [[nodiscard]] double move(PlaneWave& wave, const Eigen::Ref<const Eigen::VectorXd>& by) const;
  [[nodiscard]] double move(PointSource& point, const Eigen::Ref<const Eigen::VectorXd>& by) const;
  void grow(Sources& sources, Fit& fit, const Eigen::VectorXcd& y, std::vector<double>& least);
  [[nodiscard]] bool spread(Sources& sources, Fit& fit, const Eigen::VectorXcd& y, std::size_t first) const;
  void gather(Sources& sources, Fit& fit, const Eigen::VectorXcd& y, std::size_t first) const;
  void drop_weak(Sources& sources, Fit& fit, const Eigen::VectorXcd& y, std::vector<double> least) const;
  [[nodiscard]] Candidate strongest_wave(const Fit& fit);
  [[nodiscard]] std::vector<Candidate> candidates(const Fit& fit);
  [[nodiscard]] const Eigen::MatrixXd& grid_powers();

  PnahPlan plan_;
  double k_;
  const SonahModel* model_;
  SourceModes modes_;
  PointGrid points_;
  std::size_t most_;
  double most_rad_per_m_;
  Eigen::ArrayXd powers_;               ///< [mode]
  std::vector<std::int32_t> left_out_;  ///< masked microphones that fits leave out
  UsableWeights weights_;
  Axis x_;
  Axis y_;
  Eigen::MatrixXd grid_powers_;  ///< of the matched filter over the prior's; (noise step, y and x)
  Sources sources_;              ///< found last
  SearchMemory<Sources> before_;
  Fit fit_;                     ///< of the last measurement
  double sources_error_ = 0.0;  ///< what its sources add to the expected squared error, for prior power 1
};

}  // namespace nearfield
