#pragma once
#include <filesystem>
#include <string_view>
#include <vector>

#include "simulate/scene.hpp"

namespace nearfield::bench {

/// A scene file of config/scenes/ that is part of the program.
struct EmbeddedScene {
  std::string_view name;  ///< "bench_d1_piston.yaml"
  std::string_view text;
};
/// By name.
const std::vector<EmbeddedScene>& embedded_scenes();

/// One of the thesis's four datasets (its section 7.3), the errors that it states for it, in percent, and the scene
/// that stands for it here. The thesis has RMSRE over all pixels and NSAD with its sign.
struct ThesisScene {
  std::string_view label;
  std::string_view file;
  double frequency_hz;  ///< imaged here: the bin nearest to the thesis's
  double thesis_frequency_hz;
  double averaging_rmsre, averaging_nsad;  ///< fig. 7.6, basic averaging
  double walsh_rmsre, walsh_nsad;          ///< fig. 7.7, 40 Walsh coefficients
  double exact_rmsre, exact_nsad;          ///< fig. 7.8, exact Walsh-Fourier
};
inline constexpr double kBin_hz = kBitRateHz / 32768.0;
inline constexpr ThesisScene kThesisScenes[] = {
    {"D1 piston", "bench_d1_piston.yaml", 22 * kBin_hz, 1000.0, 14.3, 2.05, 25.3, 4.26, 1.2, 0.01},
    {"D2 piston", "bench_d2_piston.yaml", 22 * kBin_hz, 1000.0, 7.5, 1.2, 21.1, 7.6, 2.7, 0.006},
    {"D3 plate", "bench_d3_plate.yaml", 5 * kBin_hz, 220.0, 11.7, 0.9, 17.4, 5.9, 6.2, 0.9},
    {"D4 drill", "bench_d4_drill.yaml", 18 * kBin_hz, 824.0, 19.2, 7.1, 30.7, 9.4, 8.4, 1.1},
};

/// The scene of that file name: from `folder`, or the embedded one when `folder` is empty. Throws what load_scene()
/// throws.
Scene bench_scene(std::string_view file, const std::filesystem::path& folder);

/// Sets sensitivity and noise so that the rms over the aperture of all tones together is `level_dbfs`, 0 dBFS being a
/// full-scale sine's, and the noise keeps its level in dBFS. Throws ConfigError when the scene is silent.
void set_level(Scene& scene, double level_dbfs);

}  // namespace nearfield::bench
