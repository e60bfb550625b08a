#include "config/array_presets.hpp"

#include <algorithm>
#include <array>
#include <utility>

namespace nearfield {
namespace {

using Place = std::pair<double, double>;

/// Places in a plane, seen from behind the array: x to the right, y down.
template <std::size_t Count>
std::vector<MicrophonePosition> in_plane(const std::array<Place, Count>& places_m) {
  std::vector<MicrophonePosition> positions_m;
  std::transform(places_m.begin(), places_m.end(), std::back_inserter(positions_m), [](const Place& place) {
    return MicrophonePosition{.x_m = place.first, .y_m = place.second, .z_m = 0.0};
  });
  return positions_m;
}

constexpr double kUmaNear_m = 0.021;  // half of 42 mm
constexpr double kUmaFar_m = 0.063;
constexpr std::array kUma16 = {
    Place{kUmaNear_m, -kUmaFar_m},  Place{kUmaFar_m, -kUmaFar_m},    Place{kUmaNear_m, -kUmaNear_m},
    Place{kUmaFar_m, -kUmaNear_m},  Place{kUmaNear_m, kUmaNear_m},   Place{kUmaFar_m, kUmaNear_m},
    Place{kUmaNear_m, kUmaFar_m},   Place{kUmaFar_m, kUmaFar_m},     Place{-kUmaFar_m, kUmaFar_m},
    Place{-kUmaNear_m, kUmaFar_m},  Place{-kUmaFar_m, kUmaNear_m},   Place{-kUmaNear_m, kUmaNear_m},
    Place{-kUmaFar_m, -kUmaNear_m}, Place{-kUmaNear_m, -kUmaNear_m}, Place{-kUmaFar_m, -kUmaFar_m},
    Place{-kUmaNear_m, -kUmaFar_m}};

// A circle of 52.5 mm, eight places 45 degrees apart.
constexpr double kCreatorNear_m = 0.020091;
constexpr double kCreatorFar_m = 0.048504;
constexpr std::array kCreator = {Place{kCreatorNear_m, -kCreatorFar_m},  Place{-kCreatorNear_m, -kCreatorFar_m},
                                 Place{-kCreatorFar_m, -kCreatorNear_m}, Place{-kCreatorFar_m, kCreatorNear_m},
                                 Place{-kCreatorNear_m, kCreatorFar_m},  Place{kCreatorNear_m, kCreatorFar_m},
                                 Place{kCreatorFar_m, kCreatorNear_m},   Place{kCreatorFar_m, -kCreatorNear_m}};

// A circle of 46.3 mm, six places 60 degrees apart.
constexpr double kRing_m = 0.0463;
constexpr double kRingHalf_m = 0.02315;
constexpr double kRingHigh_m = 0.040097;
constexpr std::array kRespeaker6 = {
    Place{-kRingHalf_m, kRingHigh_m}, Place{-kRing_m, 0.0}, Place{-kRingHalf_m, -kRingHigh_m},
    Place{kRingHalf_m, -kRingHigh_m}, Place{kRing_m, 0.0},  Place{kRingHalf_m, kRingHigh_m}};

}  // namespace

const std::vector<ArrayPreset>& array_presets() {
  static const std::vector<ArrayPreset> kPresets = {
      {.name = "matrix-creator",
       .description = "MATRIX Creator, 8 microphones on a circle of 105 mm",
       .source = "matrix-creator-hal's microphone positions, and ODAS",
       .sample_rate_hz = 48000.0,
       .channels = {},
       .positions_m = in_plane(kCreator)},
      {.name = "minidsp-uma16",
       .description = "miniDSP UMA-16, 4 x 4 microphones, 42 mm apart",
       .source = "miniDSP's drawing, as Acoular's minidsp_uma-16.xml has it",
       .sample_rate_hz = 48000.0,
       .channels = {},
       .positions_m = in_plane(kUma16)},
      {.name = "respeaker-6",
       .description = "ReSpeaker 6-Mic Circular Array, 6 microphones on a circle of 93 mm",
       .source = "Seeed's page of the kit, and ODAS",
       .sample_rate_hz = 16000.0,
       .channels = {0, 1, 2, 3, 4, 5},
       .positions_m = in_plane(kRespeaker6)}};
  return kPresets;
}

const ArrayPreset* array_preset(std::string_view name) {
  const std::vector<ArrayPreset>& presets = array_presets();
  const auto found =
      std::find_if(presets.begin(), presets.end(), [&](const ArrayPreset& one) { return one.name == name; });
  return found == presets.end() ? nullptr : &*found;
}

}  // namespace nearfield
