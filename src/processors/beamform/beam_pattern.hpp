#pragma once
#include <array>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "processors/processor.hpp"

/// What a beamformer shows of a single source, without data.
namespace nearfield {

/// A point on the axes of images, or a direction that a plane wave comes from.
struct PatternSource {
  std::optional<std::array<double, 3>> place_m = {};
  std::array<double, 2> direction_deg = {0.0, 0.0};  ///< azimuth and elevation, as of the grid `angles`
};

/// The largest value of a pattern, the next one that is no part of its lobe, and what the beam there does to noise.
struct PatternFigures {
  std::vector<double> peak;  ///< [axis of the grid], where the largest value lies; of `points` its index
  /// [axis of the grid], between the places on both sides where the power is half of the largest; NaN where the grid
  /// ends before, or has no order.
  std::vector<double> half_power_width;
  double side_lobe_db = 0.0;         ///< re the largest value; NaN where there is none
  std::vector<double> side_lobe;     ///< [axis of the grid], where it lies
  double white_noise_gain_db = 0.0;  ///< of the source over noise of the microphones, re a single one, at the peak
  double directivity_db = 0.0;       ///< of the source over noise from all directions alike, likewise
  int microphones = 0;               ///< that are used
};

struct BeamPattern {
  /// Product `pattern` float32 [frequency][grid's axes], power re its largest value; then figures as PatternFigures.
  ResultHeader header;
  std::vector<float> pattern;
  PatternFigures figures;
  std::uint32_t flags = 0;           ///< of each frame of such an array and frequency
  std::vector<float> figure_values;  ///< [figure of the header]
};

/// Of a plan of the kind beamform with one frequency: |B|^2 of delay and sum, its diagonal removed where the settings
/// ask for that, over all planes, in double precision. Of other methods it is the pattern of their beams. Throws
/// ConfigError as the processor does, and on a source within 1 mm of a microphone.
BeamPattern beam_pattern(const ProcessorPlan& plan, const PatternSource& source,
                         const std::function<void(double share)>& progress = {});

}  // namespace nearfield
