#pragma once
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "nearfield/settings.hpp"

namespace nearfield {

/// A setting that is possible by itself and impossible beside another one.
struct Contradiction {
  std::string key;      ///< the dotted key to blame
  std::string element;  ///< "[2]" when an element of its list is to blame
  std::string message;  ///< what was expected and what was found
};

/// True for the keys whose value is final: no input file will change it.
using IsSettled = std::function<bool(std::string_view key)>;

/// All contradictions between settled keys.
std::vector<Contradiction> contradictions(const Settings& settings, const IsSettled& is_settled);

/// Adds the planes of images that lie too far behind the surface or not below the microphones. `path` is the dotted
/// name of their section, with the final point.
void check_planes(const HolographySettings& holography, double standoff_m, const std::string& path,
                  std::vector<Contradiction>& found);
/// Adds the points that lie outside the aperture.
void check_points(const ArrayGeometry& geometry, const std::vector<PlanePoint>& points, const std::string& path,
                  std::vector<Contradiction>& found);

/// Adds the frequencies below half a bin and above half of `sample_rate_hz`, the rate after decimation, and the bands
/// that hold no bin below it.
void check_frequencies(const FrontEndSettings& front_end, double sample_rate_hz, std::vector<Contradiction>& found);

}  // namespace nearfield
