#pragma once
#include <optional>
#include <string>

#include "core/daemon_settings.hpp"
#include "core/settings.hpp"

namespace nearfield {

/// True if nearfieldd's source is UDP, a pipe or an audio device: only the settings describe the input.
[[nodiscard]] bool is_bare(const DaemonSettings::Source& source);
/// True if samples arrive through a pipe, UDP or from an audio device.
[[nodiscard]] bool takes_live_samples(const DaemonSettings::Source& source);

/// Rate of the samples that front ends of these settings process, before an input states its own: that of live samples,
/// else of bits after decimation.
[[nodiscard]] double sample_rate_of(const Settings& settings);

/// Channels and rates of a source that is_bare(), from the settings, and the setting that gives the rate.
struct LiveInputFacts {
  bool is_samples = false;
  std::string of;  ///< type of the samples, or the device
  int channels = 0;
  double element_rate_hz = 0.0;  ///< rate of samples, or of bit-times
  double sample_rate_hz = 0.0;
  std::string rate_from;         ///< "daemon.source.sample_rate_hz"
  double pascal_per_unit = 1.0;  ///< factor for live samples
  bool is_unit_given = false;
};
[[nodiscard]] LiveInputFacts live_input_facts(const Settings& settings);

/// The facts as a line of text: "16 channels of f32, 48000 samples a second (daemon.source.sample_rate_hz), ...".
[[nodiscard]] std::string text_of(const LiveInputFacts& facts);

/// Rate of udp and pipe: wire words of the bits, or float32 if the payload is samples.
double wire_bytes_per_s(const Settings& settings);
/// The images of a frame of holography; 0 if its imager is none.
double image_bytes_per_frame(const Settings& settings);
/// Approximate size of a frame of a further processor.
double product_bytes_per_frame(const Settings& settings, const ProcessorSettings& processor);
/// The frames of holography and of all further processors, each at its own cadence.
double frames_bytes_per_s(const Settings& settings);

}  // namespace nearfield
