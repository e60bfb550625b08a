#pragma once
#include <Eigen/Dense>
#include <complex>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "imaging/search.hpp"
#include "imaging/sources/field_source.hpp"
#include "imaging/sources/source_space.hpp"
#include "imaging/sources/usable_weights.hpp"

namespace nearfield {

/// Amplitudes of given sources beside a prior, and what they leave.
struct SourceFit {
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

/// Finds the sources of one frequency that a prior does not explain (docs/sonah.md): the largest output of a whitened
/// matched filter over grids of candidates, then all of them together by Gauss-Newton steps, until no output exceeds
/// the threshold. Everything is in the prior's modes.
class SourceFinder {
 public:
  explicit SourceFinder(std::unique_ptr<SourceSpace> space);
  /// field [row][column], or [microphone], Pa, in which those of `mask` are filled, none of them where it is null; up
  /// to kMostLeftOut of these are left out of fits. Starts with the sources that it found before, as of Search. `mask`
  /// must outlive what is asked of the last find() below.
  void find(std::span<const std::complex<double>> field, std::uint64_t number, const MicrophoneMask* mask = nullptr);
  /// The same from given sources, which it remembers no longer than until sources() is read.
  void find_from(Sources sources, std::span<const std::complex<double>> field, const MicrophoneMask* mask = nullptr);
  /// Nothing was found before.
  void restart() { before_.clear(); }

  // Of what the last find() found:
  [[nodiscard]] const Sources& sources() const { return sources_; }
  [[nodiscard]] const SourceFit& fit() const { return fit_; }
  /// All but the table.
  [[nodiscard]] FoundWaves found() const;
  /// Schwarz's criterion of the measurement under this prior, nepers, but for a constant: the negative logarithm
  /// of its marginal likelihood at the most probable noise and power, and half the logarithm of its real values for
  /// each real parameter of the sources.
  [[nodiscard]] double criterion() const;
  /// Expected squared error of an image of the first plane for prior power 1, because of the errors of amplitudes,
  /// places and wavenumbers. images: of the sources, (pixel, source).
  [[nodiscard]] double expected_error(const Eigen::MatrixXcd& images) const;

  [[nodiscard]] const SourceSpace& space() const { return *space_; }
  [[nodiscard]] const UsableWeights& weights() const { return weights_; }

 private:
  void use(const MicrophoneMask* mask);
  [[nodiscard]] double criterion_of(const Sources& sources, const SourceFit& fit) const;
  void search_from(Sources sources, std::span<const std::complex<double>> field);
  void weigh_residual(SourceFit& fit) const;
  [[nodiscard]] SourceFit fit_of(const Sources& sources, const Eigen::VectorXcd& y, double noise) const;
  [[nodiscard]] SourceFit settle(Sources& sources, const Eigen::VectorXcd& y, double noise) const;
  [[nodiscard]] Eigen::MatrixXcd tangents(const Sources& sources, const SourceFit& fit) const;
  [[nodiscard]] double step(Sources& sources, const SourceFit& fit, double damping) const;
  [[nodiscard]] std::vector<double> tried_of(const Sources& sources) const;
  /// Whether each source is strong enough among the others.
  [[nodiscard]] bool are_tried(const Sources& sources, const SourceFit& fit) const;
  void grow(Sources& sources, SourceFit& fit, const Eigen::VectorXcd& y, std::vector<double>& least, bool takes_points);
  [[nodiscard]] std::optional<std::size_t> weakest_point(const Sources& sources, const SourceFit& fit,
                                                         std::size_t first, std::size_t kept) const;
  [[nodiscard]] bool spread(Sources& sources, SourceFit& fit, const Eigen::VectorXcd& y, std::size_t first,
                            std::vector<double>& least) const;
  void gather(Sources& sources, SourceFit& fit, const Eigen::VectorXcd& y, std::size_t first) const;
  void drop_weak(Sources& sources, SourceFit& fit, const Eigen::VectorXcd& y, std::vector<double>& least) const;
  [[nodiscard]] bool drop_points(Sources& sources, SourceFit& fit, const Eigen::VectorXcd& y,
                                 std::vector<double>& least) const;
  [[nodiscard]] std::vector<Candidate> candidates(const SourceFit& fit);
  [[nodiscard]] Eigen::MatrixXcd image_tangents(const Eigen::MatrixXcd& images) const;

  std::unique_ptr<SourceSpace> space_;
  std::vector<std::int32_t> left_out_;  ///< masked microphones that fits leave out
  UsableWeights weights_;
  Sources sources_;  ///< found last
  SearchMemory<Sources> before_;
  SourceFit fit_;  ///< of the last measurement
};

}  // namespace nearfield
