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
  std::string_view source;                      ///< origin of these facts
  double sample_rate_hz = 0.0;                  ///< default of the device
  std::vector<int> channels;                    ///< channels of the device that are microphones; empty: all
  std::vector<MicrophonePosition> positions_m;  ///< [microphone], on the axes of images
};

/// By name.
const std::vector<ArrayPreset>& array_presets();
/// Null where there is none of this name.
const ArrayPreset* array_preset(std::string_view name);

}  // namespace nearfield
