#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "core/geometry.hpp"

namespace nearfield {

/// An array that can be bought, as array.preset names it.
struct ArrayPreset {
  std::string_view name;
  std::string_view description;
  std::string_view source;                      ///< of these facts
  double sample_rate_hz = 0.0;                  ///< as it comes
  std::vector<int> channels;                    ///< of its device, those of the microphones; empty: all
  std::vector<MicrophonePosition> positions_m;  ///< of each microphone, on the axes of images
};

/// By name.
const std::vector<ArrayPreset>& array_presets();
/// Null where there is none of this name.
const ArrayPreset* array_preset(std::string_view name);

}  // namespace nearfield
