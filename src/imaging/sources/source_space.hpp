#pragma once
#include <Eigen/Dense>
#include <complex>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "imaging/shared/microphone_mask.hpp"
#include "imaging/sources/field_source.hpp"

namespace nearfield {

/// A source that a matched filter proposes, and the filter's output: |g^H (C + n)^{-1} r|^2 / (g^H (C + n)^{-1} g t).
struct Candidate {
  FieldSource source;
  double strength = 0.0;
};

/// Interface of SourceFinder to an imager at one frequency: the modes of its prior, in which the covariance of the
/// microphones is diagonal, sources in these modes and on images, and bounds of sources.
class SourceSpace {
 public:
  SourceSpace() = default;
  SourceSpace(const SourceSpace&) = delete;
  SourceSpace& operator=(const SourceSpace&) = delete;
  virtual ~SourceSpace() = default;
  /// The prior's power of each mode; the mean over microphones is 1. [mode]
  [[nodiscard]] virtual const Eigen::ArrayXd& powers() const = 0;
  /// Number of modes without a microphone.
  [[nodiscard]] virtual Eigen::Index missing() const { return 0; }
  /// Largest number of sources to search for; 0: the microphones are too few.
  [[nodiscard]] virtual std::size_t most_sources() const = 0;
  /// Fills masked microphones of fields as in the measurement, so that the residual of a source's own field is 0; null:
  /// none. `mask` must outlive the calls that follow.
  virtual void use(const MicrophoneMask* mask) = 0;
  /// Masked microphones that fits leave out, ascending, and their unit fields in modes, (mode, microphone); for spaces
  /// with real modes.
  [[nodiscard]] virtual std::vector<std::int32_t> left_out() const { return {}; }
  [[nodiscard]] virtual Eigen::MatrixXd unit_fields(const std::vector<std::int32_t>& channels) const;
  /// A measured field [row][column], or [microphone], in modes. [mode]
  [[nodiscard]] virtual Eigen::VectorXcd of_field(std::span<const std::complex<double>> field) const = 0;
  /// Fields of sources for amplitude 1: of a plane wave at the array's centre, of a point source e^{-jkr} / r. (mode,
  /// source)
  [[nodiscard]] virtual Eigen::MatrixXcd fields(const Sources& sources) const = 0;
  /// Derivatives by each of the sources' coordinates; 0 for sources that do not have it. [coordinate](mode, source)
  [[nodiscard]] virtual std::vector<Eigen::MatrixXcd> slopes(const Sources& sources) const = 0;
  /// The strongest outputs of the matched filter: one for each kind of source, or for parts of its grid. white: the
  /// residual, weighted with noise number `step`; `prior` is the residual's power t.
  [[nodiscard]] virtual std::vector<Candidate> strongest(const Eigen::VectorXcd& white, int step, double prior) = 0;
  /// Moves a source by `by` along its coordinates, within its bounds; returns the largest change in steps of the grids.
  [[nodiscard]] virtual double move(FieldSource& source, const Eigen::Ref<const Eigen::VectorXd>& by) const = 0;
  /// The disc, in the lowest imaged plane, whose field at the microphones decays about like the point's; nullopt if no
  /// disc is allowed.
  [[nodiscard]] virtual std::optional<PointSource> disc_of(const PointSource& point) const = 0;
  /// The point whose field decays about like the disc's.
  [[nodiscard]] virtual PointSource point_of(const PointSource& disc) const = 0;
  /// Planes that are imaged; 1 on a surface.
  [[nodiscard]] virtual std::size_t planes() const = 0;
  /// Image of weighted modes by the prior, on the first plane. (mode, column) to (pixel, column)
  [[nodiscard]] virtual Eigen::MatrixXcd image_of_modes(const Eigen::MatrixXcd& white) const = 0;
  /// The plan's quantity of a source for amplitude 1, 0 at pixels that are not imaged. [pixel]
  [[nodiscard]] virtual Eigen::VectorXcd image_of(const FieldSource& source, std::size_t plane) const = 0;
};

}  // namespace nearfield
