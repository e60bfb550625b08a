#include "bench/common/scenes.hpp"

#include <fmt/format.h>

#include <cmath>

#include "bench/common/files.hpp"
#include "nearfield/error.hpp"

namespace nearfield::bench {

Scene bench_scene(std::string_view file, const std::filesystem::path& folder) {
  if (!folder.empty()) {
    return load_scene(folder / file);
  }
  for (const EmbeddedScene& scene : embedded_scenes()) {
    if (scene.name == file) {
      const TemporaryFolder temporary;
      write_text(temporary.path() / file, scene.text);
      return load_scene(temporary.path() / file);
    }
  }
  throw Error(ExitCode::kInternal, fmt::format("bench: the scene {} is not part of the program", file));
}

void set_level(Scene& scene, double level_dbfs) {
  double sum_square = 0.0;
  for (const std::complex<float>& value : truth_of(scene).aperture_pressure) {
    sum_square += std::norm(std::complex<double>(value)) / 2.0;
  }
  const double rms_pa = std::sqrt(sum_square / scene.measurement.geometry.channels());
  if (!(rms_pa > 0.0) || !std::isfinite(rms_pa)) {
    throw ConfigError(fmt::format("bench: expected a scene with sound at the microphones, found {} Pa", rms_pa));
  }
  const double before_pa = full_scale_pa(scene.measurement.sensitivity_dbfs);
  scene.measurement.sensitivity_dbfs = level_dbfs - 20.0 * std::log10(rms_pa);
  scene.noise_pa *= full_scale_pa(scene.measurement.sensitivity_dbfs) / before_pa;
}

}  // namespace nearfield::bench
