#pragma once
#include "nearfield/settings.hpp"

/// Bytes that a configuration makes, a frame and a second.
namespace nearfield {

/// What udp and pipe carry: wire words of the bits, or float32 of the samples where the payload is samples.
double wire_bytes_per_s(const Settings& settings);
/// The images of a frame of holography; 0 where its imager is none.
double image_bytes_per_frame(const Settings& settings);
/// Roughly, what a further processor makes for one of its frames.
double product_bytes_per_frame(const Settings& settings, const ProcessorSettings& processor);
/// The frames of holography and of all further processors, each as often as it comes.
double frames_bytes_per_s(const Settings& settings);

}  // namespace nearfield
