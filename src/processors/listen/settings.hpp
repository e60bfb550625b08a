#pragma once
#include <cstdint>
#include <memory>
#include <vector>

#include "core/geometry.hpp"
#include "core/settings.hpp"
#include "processors/far_field/settings.hpp"

namespace nearfield {

/// Target of a beam: a position, or a direction.
struct ListenBeam {
  bool is_direction = true;                       ///< true: azimuth and elevation; else x and y
  double x_m = 0.0;                               ///< for a position
  double y_m = 0.0;                               ///< likewise, downwards
  double azimuth_deg = 0.0;                       ///< for a direction, towards +x
  double elevation_deg = 0.0;                     ///< likewise, towards +y
  double distance_m = far_field::kInfinitelyFar;  ///< from the array's plane; for a direction, from its centre

  [[nodiscard]] bool is_infinitely_far() const { return distance_m == far_field::kInfinitelyFar; }
  /// Relative to the array's centre: the position, or the unit vector to an infinitely far one.
  [[nodiscard]] far_field::Position focus() const;
  friend bool operator==(const ListenBeam&, const ListenBeam&) = default;
};

/// Coefficients of the windowed sinc function for fractional delays; half of them on either side.
inline constexpr int kListenTaps = 16;

/// Sizes of a frame in decimated samples.
struct ListenSizes {
  int new_samples = 1;     ///< samples since the previous frame
  int delay_samples = 0;   ///< at least the largest delay between two microphones, whole samples
  int window_samples = 1;  ///< samples that a window needs
};

class ListenSettings : public KindSettings {
 public:
  [[nodiscard]] std::unique_ptr<KindSettings> copy() const override { return std::make_unique<ListenSettings>(*this); }
  void describe(schema::Section& section) override;
  void check(const Settings& settings, const std::string& path, const IsSettled& is_settled,
             std::vector<Contradiction>& found) const override;
  [[nodiscard]] double frame_bytes(const Settings& settings) const override;
  /// Sizes for such a processor in a run with these settings; none exceeds 2^30, whatever the settings.
  [[nodiscard]] ListenSizes sizes(const Settings& settings, int every_hops, double sample_rate_hz) const;

  std::vector<ListenBeam> beams = {ListenBeam()};
  far_field::SteeringSettings steering;  ///< a beam uses its reference, shading and subset
};

/// Path length of sound from a beam's position to a microphone, m; for plane waves relative to the array's centre.
double listen_path_m(const ListenBeam& beam, const far_field::Position& microphone);

}  // namespace nearfield
