#pragma once
#include "core/settings.hpp"

/// Data rates of a configuration, in bytes per frame and per second.
namespace nearfield {

/// Rate of udp and pipe: wire words of the bits, or float32 if the payload is samples.
double wire_bytes_per_s(const Settings& settings);
/// The images of a frame of holography; 0 if its imager is none.
double image_bytes_per_frame(const Settings& settings);
/// Approximate size of a frame of a further processor.
double product_bytes_per_frame(const Settings& settings, const ProcessorSettings& processor);
/// The frames of holography and of all further processors, each at its own cadence.
double frames_bytes_per_s(const Settings& settings);

}  // namespace nearfield
