#pragma once
#include <Eigen/Dense>
#include <complex>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "imaging/shared/search.hpp"
#include "imaging/sources/field_source.hpp"
#include "imaging/sources/usable_weights.hpp"

namespace nearfield {

/// Amplitudes of given sources beside a prior, and their residual.
struct SourceFit {
  double noise = 0.0;           ///< microphone noise over the prior's power, for which the amplitudes are fitted
  double residual_noise = 0.0;  ///< likewise, most probable for the residual
  double prior = 0.0;           ///< power per microphone of the residual
  double cost = 0.0;            ///< -ln of the residual's marginal likelihood, without a constant
  Eigen::MatrixXcd modes;       ///< (mode, source)
  Eigen::MatrixXcd white;       ///< `modes` times the inverse of the covariance with `noise`
  Eigen::VectorXcd amplitudes;  ///< [source]
  Eigen::MatrixXcd covariance;  ///< (source, source), covariance of the amplitudes over `prior`
  Eigen::VectorXcd residual;    ///< [mode]
  /// |amplitude|^2 over its variance. [source]
  [[nodiscard]] Eigen::ArrayXd significance() const;
};

/// Finds the sources of one frequency that a prior does not explain (docs/how/sonah.md): the largest output of a
/// whitened matched filter over grids of candidates, then all of them together by Gauss-Newton steps, until no output
/// exceeds the threshold. Everything is in the prior's modes.
class SourceFinder {
 public:
  explicit SourceFinder(std::unique_ptr<SourceSpace> space);
  /// field [row][column], or [microphone], Pa, in which the microphones of `mask` are filled; null: none is masked.
  /// Fits leave out up to most_left_out() of these. Starts with the sources that it found before, as described at
  /// Search. `mask` must outlive the use of the results below. rival_cost: SourceFit::cost of the measurement under
  /// another prior without sources; point sources have to make it more probable than that, too.
  void find(std::span<const std::complex<double>> field, std::uint64_t number, const MicrophoneMask* mask = nullptr,
            double rival_cost = std::numeric_limits<double>::infinity());
  /// SourceFit::cost without sources.
  [[nodiscard]] double cost_without(std::span<const std::complex<double>> field, const MicrophoneMask* mask);
  /// Like find(), but from given sources; searches do not remember the result.
  void find_from(Sources sources, std::span<const std::complex<double>> field, const MicrophoneMask* mask = nullptr);
  /// Forgets the sources found before.
  void restart() { before_.clear(); }

  // Results of the last find():
  [[nodiscard]] const Sources& sources() const { return sources_; }
  [[nodiscard]] const SourceFit& fit() const { return fit_; }
  /// All members except the table.
  [[nodiscard]] FoundWaves found() const;
  /// Schwarz's criterion of the measurement under this prior, nepers, without a constant: the negative logarithm of its
  /// marginal likelihood at the most probable noise and power, and half the logarithm of its real values for each real
  /// parameter of the sources.
  [[nodiscard]] double criterion() const;
  /// Expected squared error of an image of the first plane for prior power 1, due to the errors of amplitudes,
  /// positions and wavenumbers. images: of the sources, (pixel, source).
  [[nodiscard]] double expected_error(const Eigen::MatrixXcd& images) const;

  [[nodiscard]] const SourceSpace& space() const { return *space_; }
  [[nodiscard]] const UsableWeights& weights() const { return weights_; }

 private:
  void use(const MicrophoneMask* mask);
  [[nodiscard]] double criterion_of(const Sources& sources, const SourceFit& fit) const;
  void search_from(Sources sources, std::span<const std::complex<double>> field);
  void weigh_residual(SourceFit& fit) const;
  /// modes: the sources' fields, (mode, source).
  [[nodiscard]] SourceFit fit_of(Eigen::MatrixXcd modes, const Eigen::VectorXcd& y, double noise) const;
  [[nodiscard]] SourceFit settle(Sources& sources, const Eigen::VectorXcd& y, double noise) const;
  [[nodiscard]] Eigen::MatrixXcd tangents(const Sources& sources, const SourceFit& fit) const;
  [[nodiscard]] double step(Sources& sources, const SourceFit& fit, double damping) const;
  [[nodiscard]] std::vector<double> tried_of(const Sources& sources) const;
  /// True if each source is strong enough among the others.
  [[nodiscard]] bool are_tried(const Sources& sources, const SourceFit& fit) const;
  void grow(Sources& sources, SourceFit& fit, const Eigen::VectorXcd& y, std::vector<double>& least, bool takes_points);
  [[nodiscard]] std::optional<std::size_t> weakest_point(const Sources& sources, const SourceFit& fit,
                                                         std::size_t first, std::size_t kept) const;
  [[nodiscard]] bool spread(Sources& sources, SourceFit& fit, const Eigen::VectorXcd& y, std::size_t first,
                            std::vector<double>& least) const;
  void gather(Sources& sources, SourceFit& fit, const Eigen::VectorXcd& y, std::size_t first) const;
  void drop_weak(Sources& sources, SourceFit& fit, const Eigen::VectorXcd& y, std::vector<double>& least) const;
  [[nodiscard]] bool drop_points(Sources& sources, SourceFit& fit, const Eigen::VectorXcd& y,
                                 std::vector<double>& least, bool behind) const;
  [[nodiscard]] std::vector<Candidate> candidates(const SourceFit& fit);
  [[nodiscard]] Eigen::MatrixXcd image_tangents(const Eigen::MatrixXcd& images) const;

  std::unique_ptr<SourceSpace> space_;
  std::vector<std::int32_t> left_out_;  ///< masked microphones left out of fits
  UsableWeights weights_;
  Sources sources_;  ///< last result
  SearchMemory<Sources> before_;
  SourceFit fit_;                                                ///< fit of the last measurement
  double rival_cost_ = std::numeric_limits<double>::infinity();  ///< rival of the last find()
};

}  // namespace nearfield
