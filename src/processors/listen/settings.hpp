#pragma once
#include <cstdint>
#include <memory>
#include <vector>

#include "nearfield/geometry.hpp"
#include "nearfield/settings.hpp"
#include "processors/far_field/position.hpp"
#include "processors/far_field/settings.hpp"

namespace nearfield {

/// Where a beam looks: a place, or a direction.
struct ListenBeam {
  bool is_direction = true;                       ///< azimuth and elevation; else x and y
  double x_m = 0.0;                               ///< of a place
  double y_m = 0.0;                               ///< likewise, downwards
  double azimuth_deg = 0.0;                       ///< of a direction, towards +x
  double elevation_deg = 0.0;                     ///< likewise, towards +y
  double distance_m = far_field::kInfinitelyFar;  ///< from the array's plane, of a direction from its centre

  [[nodiscard]] bool is_infinitely_far() const { return distance_m == far_field::kInfinitelyFar; }
  /// From the array's centre: the place, or the unit vector to an infinitely far one.
  [[nodiscard]] far_field::Position focus() const;
  friend bool operator==(const ListenBeam&, const ListenBeam&) = default;
};

/// Coefficients of the windowed sinc function that delays by parts of a sample; half of them on either side.
inline constexpr int kListenTaps = 16;

/// What a frame is made of, in decimated samples.
struct ListenSizes {
  int new_samples = 1;     ///< of a frame: those since the frame before
  int delay_samples = 0;   ///< at least the largest delay between two microphones, whole samples
  int window_samples = 1;  ///< what they need
};

class ListenSettings : public KindSettings {
 public:
  [[nodiscard]] std::unique_ptr<KindSettings> copy() const override { return std::make_unique<ListenSettings>(*this); }
  void describe(schema::Section& section) override;
  void check(const Settings& settings, const std::string& path, const IsSettled& is_settled,
             std::vector<Contradiction>& found) const override;
  [[nodiscard]] double frame_bytes(const Settings& settings) const override;
  /// Of such a processor of a run with these settings; none is above 2^30, whatever the settings.
  [[nodiscard]] ListenSizes sizes(const Settings& settings, int every_hops, double sample_rate_hz) const;

  std::vector<ListenBeam> beams = {ListenBeam()};
  far_field::SteeringSettings steering;  ///< of which a beam has reference, shading and subset
};

/// The way of sound from a beam's place to a microphone, m; of plane waves against the array's centre.
double listen_path_m(const ListenBeam& beam, const far_field::Position& microphone);

}  // namespace nearfield
