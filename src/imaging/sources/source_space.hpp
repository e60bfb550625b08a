#pragma once
#include <Eigen/Dense>
#include <complex>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "imaging/microphone_mask.hpp"
#include "imaging/sources/field_source.hpp"

namespace nearfield {

/// A source that a matched filter proposes, and the filter's output: |g^H (C + n)^{-1} r|^2 / (g^H (C + n)^{-1} g t).
struct Candidate {
  FieldSource source;
  double strength = 0.0;
};

/// What SourceFinder asks of an imager at one frequency: the modes of its prior, in which the covariance of the
/// microphones is diagonal, sources in these modes and on images, and where sources may be.
class SourceSpace {
 public:
  SourceSpace() = default;
  SourceSpace(const SourceSpace&) = delete;
  SourceSpace& operator=(const SourceSpace&) = delete;
  virtual ~SourceSpace() = default;
  /// The prior's power of each mode, the mean of a microphone's being 1. [mode]
  [[nodiscard]] virtual const Eigen::ArrayXd& powers() const = 0;
  /// Modes that stand for no microphone.
  [[nodiscard]] virtual Eigen::Index missing() const { return 0; }
  /// Sources that are looked for at most; 0: the microphones are too few.
  [[nodiscard]] virtual std::size_t most_sources() const = 0;
  /// Masked microphones of fields are filled as those of the measurement are, so that what a source leaves of a field
  /// of its own is 0; null: none. `mask` must outlive the calls that follow.
  virtual void use(const MicrophoneMask* mask) = 0;
  /// Masked microphones that fits leave out, ascending, and their unit fields in modes, (mode, microphone); of spaces
  /// whose modes are real.
  [[nodiscard]] virtual std::vector<std::int32_t> left_out() const { return {}; }
  [[nodiscard]] virtual Eigen::MatrixXd unit_fields(const std::vector<std::int32_t>& channels) const;
  /// A measured field [row][column], or [microphone], in modes. [mode]
  [[nodiscard]] virtual Eigen::VectorXcd of_field(std::span<const std::complex<double>> field) const = 0;
  /// Fields of sources for amplitude 1: of a plane wave at the array's centre, of a point source e^{-jkr} / r. (mode,
  /// source)
  [[nodiscard]] virtual Eigen::MatrixXcd fields(const Sources& sources) const = 0;
  /// Derivatives by one of the sources' coordinates; 0 for sources that do not have it. (mode, source)
  [[nodiscard]] virtual Eigen::MatrixXcd slopes(const Sources& sources, int coordinate) const = 0;
  /// The strongest outputs of the matched filter: of each kind of source, or of parts of its grid. white: the residual,
  /// weighed with noise number `step`; `prior` is the residual's power t.
  [[nodiscard]] virtual std::vector<Candidate> strongest(const Eigen::VectorXcd& white, int step, double prior) = 0;
  /// Moves a source by this much along its coordinates, or as far as it may; returns the largest change, of the grids'
  /// steps.
  [[nodiscard]] virtual double move(FieldSource& source, const Eigen::Ref<const Eigen::VectorXd>& by) const = 0;
  /// The disc, in the lowest plane that is imaged, whose field at the microphones falls off about as the point's; none
  /// where no disc may be.
  [[nodiscard]] virtual std::optional<PointSource> disc_of(const PointSource& point) const = 0;
  /// Likewise the point of a disc.
  [[nodiscard]] virtual PointSource point_of(const PointSource& disc) const = 0;
  /// Planes that are imaged; 1 on a surface.
  [[nodiscard]] virtual std::size_t planes() const = 0;
  /// The image of weighed modes by the prior, on the first plane. (mode, column) to (pixel, column)
  [[nodiscard]] virtual Eigen::MatrixXcd image_of_modes(const Eigen::MatrixXcd& white) const = 0;
  /// The plan's quantity of a source for amplitude 1, 0 where nothing is imaged. [pixel]
  [[nodiscard]] virtual Eigen::VectorXcd image_of(const FieldSource& source, std::size_t plane) const = 0;
};

}  // namespace nearfield
