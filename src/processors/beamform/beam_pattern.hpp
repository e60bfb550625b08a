#pragma once
#include <array>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "processors/processor.hpp"

/// Response of a beamformer to a single source, computed without data.
namespace nearfield {

/// A point on the axes of images, or the direction of incidence of a plane wave.
struct PatternSource {
  std::optional<std::array<double, 3>> place_m = {};
  std::array<double, 2> direction_deg = {0.0, 0.0};  ///< azimuth and elevation, as in the grid `angles`
};

/// The largest value of a pattern, the next one outside its lobe, and the noise gains of the beam there.
struct PatternFigures {
  std::vector<double> peak;  ///< [axis of the grid] position of the largest value; for `points` its index
  /// [axis of the grid] distance between the half-power points on both sides; NaN where the grid ends before, or has no
  /// order.
  std::vector<double> half_power_width;
  double side_lobe_db = 0.0;         ///< re the largest value; NaN if none
  std::vector<double> side_lobe;     ///< [axis of the grid] its position
  double white_noise_gain_db = 0.0;  ///< gain of the source over microphone noise, re a single microphone, at the peak
  double directivity_db = 0.0;       ///< gain of the source over isotropic noise, likewise
  int microphones = 0;               ///< number used
};

struct BeamPattern {
  /// Product `pattern` float32 [frequency][grid's axes], power re its largest value; then figures as in PatternFigures.
  ResultHeader header;
  std::vector<float> pattern;
  PatternFigures figures;
  std::uint32_t flags = 0;           ///< flags of each frame with this array and frequency
  std::vector<float> figure_values;  ///< [figure of the header]
};

/// Pattern for a plan of the kind beamform with one frequency: |B|^2 of delay and sum, its diagonal removed where the
/// settings ask for that, over all planes, in double precision. For other methods it is the pattern of their beams.
/// Throws ConfigError as the processor does, and for a source within 1 mm of a microphone.
BeamPattern beam_pattern(const ProcessorPlan& plan, const PatternSource& source,
                         const std::function<void(double share)>& progress = {});

}  // namespace nearfield
