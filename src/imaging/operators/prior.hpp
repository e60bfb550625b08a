#pragma once
#include <Eigen/Dense>
#include <complex>
#include <cstddef>
#include <string>
#include <vector>

#include "imaging/image_surface.hpp"
#include "imaging/pnah/pnah_plan.hpp"

namespace nearfield {

/// Sources of a prior that settings give, in place of a flat sheet.
struct OperatorSources {
  std::vector<Eigen::Vector3d> places_m;  ///< [source], on the axes of images
  /// Measured pressures of each, [frequency][source][microphone], 1 at the centre of the array; empty: they are
  /// computed, of monopoles.
  std::vector<std::complex<double>> templates = {};
};

/// Sources of a prior at most.
inline constexpr std::size_t kMostSources = 8192;
/// Nearer to a microphone or to a place that is imaged no source may be.
inline constexpr double kNearestSource_m = 1e-3;

/// Microphones on the axes of images, [channel].
std::vector<Eigen::Vector3d> microphone_places(const ArrayPlan& plan);
/// Channels that are not masked in the plan, ascending.
std::vector<int> used_microphones(const ArrayPlan& plan);
/// What is imaged: the plan's surface, or its planes one after the other, whose normals are towards the array.
struct ImagePlaces {
  std::vector<Eigen::Vector3d> places_m;  ///< [plane][pixel]
  std::vector<Eigen::Vector3d> normals;   ///< likewise; 0 where nothing is imaged
  std::size_t pixels = 0;                 ///< of a plane

  [[nodiscard]] std::size_t planes() const { return places_m.size() / pixels; }
};
ImagePlaces image_places(const PnahPlan& plan);

/// The setting that the plan's sources are from.
std::string source_setting(const PnahPlan& plan);

/// The plan's sources, or a sheet below the lowest place that is imaged, wider than the microphones, with 0.7 of its
/// depth from source to source; of a sheet those before the wall, if there is one. Throws ConfigError where these are
/// too many or too near to a microphone or to a place that is imaged, where given ones are behind the wall, and where
/// the wall is not beside all microphones and imaged places.
std::vector<Eigen::Vector3d> prior_sources(const PnahPlan& plan);

/// From sources of strength 1 to pressures at microphones and to the plan's quantity where it is imaged.
struct PriorTransfer {
  Eigen::MatrixXcd to_microphones;          ///< (used microphone, source)
  std::vector<Eigen::MatrixXcd> to_images;  ///< [plane](pixel, source); 0 where nothing is imaged
};
/// Throws ConfigError where pressures at microphones are not finite, or all 0.
PriorTransfer make_transfer(const PnahPlan& plan, const std::vector<Eigen::Vector3d>& sources, std::size_t frequency);

}  // namespace nearfield
