#pragma once
#include <Eigen/Dense>
#include <array>
#include <complex>
#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "imaging/operators/folded_places.hpp"
#include "imaging/shared/image_plan.hpp"
#include "imaging/shared/image_surface.hpp"

namespace nearfield {

/// Sources of a prior that the settings give, in place of a flat sheet.
struct OperatorSources {
  std::vector<Eigen::Vector3d> places_m;  ///< [source], on the axes of images
  /// Measured pressures of each, [frequency][source][microphone], 1 at the centre of the array; empty: computed as
  /// those of monopoles.
  std::vector<std::complex<double>> templates = {};
};

/// Largest number of sources of a prior.
inline constexpr std::size_t kMostSources = 8192;
/// Least distance of a source from a microphone or an imaged place.
inline constexpr double kNearestSource_m = 1e-3;

/// Positions of the microphones on the axes of images, [channel].
std::vector<Eigen::Vector3d> microphone_places(const ArrayPlan& plan);

/// Imaged places: the plan's surface, or its planes one after the other, whose normals point to the array.
struct ImagePlaces {
  std::vector<Eigen::Vector3d> places_m;  ///< [plane][pixel]
  std::vector<Eigen::Vector3d> normals;   ///< [plane][pixel]; 0 for pixels that are not imaged
  std::size_t pixels = 0;                 ///< per plane

  [[nodiscard]] std::size_t planes() const { return places_m.size() / pixels; }
};
ImagePlaces image_places(const ImagePlan& plan);

/// The setting from which the plan's sources are.
std::string source_setting(const ImagePlan& plan);

/// Sources of the plan, or a sheet below the lowest imaged place, wider than the microphones, with 0.7 of its depth
/// from source to source; only those of the sheet before the wall, if there is one. Throws ConfigError if these are too
/// many or too near to a microphone or to an imaged place, if given ones are behind the wall, and if the wall is not
/// beside all microphones and imaged places.
std::vector<Eigen::Vector3d> prior_sources(const ImagePlan& plan);

/// Covariances of a parity class of a prior's fields.
struct ClassCovariances {
  Eigen::MatrixXcd microphones;          ///< covariance of pressures at microphones, (sample, sample)
  std::vector<Eigen::MatrixXcd> images;  ///< covariance of images with them, [plane](folded pixel, sample)
};

/// Covariances of a prior, whose sources are independent of each other (docs/how/operators.md); the mean power at a
/// microphone is 1.
struct PriorCovariances {
  std::vector<ClassCovariances> front;        ///< [class]
  std::vector<ClassCovariances> behind = {};  ///< likewise, of what comes from behind; empty if it is not told apart
  double image_power = 0.0;                   ///< variance of `front`, summed over the first plane's image
};

/// Powers of the prior behind the array, over those of the surface's: a frame is imaged by the most probable one.
inline constexpr std::array<double, 4> kSharesBehind = {0.0, 0.1, 1.0, 10.0};
/// The shares that a plan tries: kSharesBehind, or 0 alone.
std::span<const double> shares_behind(const ImagePlan& plan);

/// Prior of what comes from behind the array: a sheet of monopoles as far above its highest microphones as that of the
/// surface is below its lowest, and plane waves from all directions of that side, which have kWavesBehind of the power.
struct SourcesBehind {
  std::vector<Eigen::Vector3d> places_m;
  std::vector<Eigen::Vector3d> directions;  ///< unit vectors towards where waves come from
};
inline constexpr double kWavesBehind = 0.7;
SourcesBehind sources_behind(const ImagePlan& plan, std::size_t frequency);

/// The prior of a plan at a frequency, folded. Throws ConfigError if pressures at microphones are not finite, or all 0.
PriorCovariances make_covariances(const ImagePlan& plan, const std::vector<Eigen::Vector3d>& sources,
                                  std::size_t frequency, const Folding& folding);

}  // namespace nearfield
