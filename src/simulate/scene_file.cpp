#include <fmt/format.h>

#include <charconv>
#include <limits>

#include "config/load_yaml.hpp"
#include "config/positions_file.hpp"
#include "core/error.hpp"
#include "simulate/scene_reader.hpp"

namespace nearfield {
namespace {

constexpr NumberRule kDuration{0.0, 3600.0, true, "a duration > 0 and <= 3600 s"};
constexpr NumberRule kOffset{0.0, 0.5, false, "a share of full scale from 0 to 0.5"};
constexpr NumberRule kSensitivity{-200.0, 200.0, false, "a level in dBFS from -200 to 200"};
constexpr NumberRule kSnr{-200.0, 200.0, false, "a signal-to-noise ratio from -200 to 200 dB"};
constexpr NumberRule kGainSpread{0.0, 40.0, false, "a level difference from 0 to 40 dB"};
constexpr NumberRule kPhaseSpread{0.0, 180.0, false, "an angle from 0 to 180 degrees"};

/// Replaces the grid of rows, columns and pitches by irregular positions from a file.
void read_places(YamlMap& array, const std::filesystem::path& folder, ArrayGeometry& geometry) {
  const std::optional<std::string> file = array.text("positions");
  if (!file) {
    return;
  }
  for (const char* key : {"rows", "columns", "pitch_x_m", "pitch_y_m"}) {
    if (array.has(key)) {
      array.problem(key, "nothing beside positions, which say where all microphones stand");
    }
  }
  geometry = read_positions(folder / *file);
  if (geometry.is_grid()) {
    array.problem("positions", fmt::format("rows, columns, pitch_x_m and pitch_y_m in their stead, as they are on a "
                                           "regular grid of {} microphones",
                                           text_of_size(geometry)));
  }
}

void read_array(YamlMap array, const std::filesystem::path& folder, Scene& scene) {
  ArrayGeometry& geometry = scene.measurement.geometry;
  assign(array.integer("rows", 1, kMaxSide), geometry.rows);
  assign(array.integer("columns", 1, kMaxSide), geometry.columns);
  assign(array.number("pitch_x_m", kLength), geometry.pitch_x_m);
  assign(array.number("pitch_y_m", kLength), geometry.pitch_y_m);
  read_places(array, folder, geometry);
  assign(array.number("sensitivity_dbfs", kSensitivity), scene.measurement.sensitivity_dbfs);
  scene.layout = default_layout(geometry);
  if (const auto layout = array.choice("layout", {"sorama-cam", "row-major"})) {
    scene.layout = *layout == 0 ? WireLayout::kSoramaCam : WireLayout::kRowMajor;
  }
  if (scene.layout == WireLayout::kSoramaCam && default_layout(geometry) != WireLayout::kSoramaCam) {
    array.problem("layout", "row-major, since sorama-cam is for 32 x 32 microphones only");
  }
  array.finish();
}

/// The noise relative to the sources, whose level is known only after they have been read.
struct SignalToNoise {
  std::optional<double> db{};
  Band band{0.0, kNoiseBandHz};
};

void read_microphones(YamlMap microphones, Scene& scene, SignalToNoise& snr) {
  assign(microphones.number("noise_pa", kNotNegative), scene.noise_pa);
  if (const auto snr_db = microphones.number("snr_db", kSnr)) {
    snr.db = *snr_db;
    if (microphones.has("noise_pa")) {
      microphones.problem("snr_db", "noise_pa or snr_db, one of them");
    }
  }
  if (const auto band = microphones.vector("snr_band_hz", 2, kNotNegative)) {
    snr.band = {(*band)[0], (*band)[1]};
    if (!(snr.band.low_hz < snr.band.high_hz) || !snr.db) {
      microphones.problem("snr_band_hz", "[low, high] in Hz, low < high, of snr_db");
    }
  }
  assign(microphones.number("dc_offset_fs", kOffset), scene.dc_offset_fs);
  assign(microphones.number("gain_spread_db", kGainSpread), scene.gain_spread_db);
  assign(microphones.number("phase_spread_deg", kPhaseSpread), scene.phase_spread_deg);
  assign(microphones.integers("dead_channels", 0, scene.measurement.geometry.channels() - 1), scene.dead_channels);
  microphones.finish();
}

void read_medium(YamlMap medium, Scene& scene) {
  assign(medium.number("sound_speed_m_s", kPositive), scene.medium.sound_speed_m_s);
  assign(medium.number("density_kg_m3", kPositive), scene.medium.density_kg_m3);
  medium.finish();
}

void read_modulator(YamlMap modulator, Scene& scene) {
  int order = 2;
  assign(modulator.integer("order", 2, 4), order);
  if (order == 3) {
    modulator.problem("order", "2 or 4");
  }
  scene.order = order == 4 ? SigmaDeltaOrder::kFourth : SigmaDeltaOrder::kSecond;
  modulator.finish();
}

/// Read as text, since a double cannot hold nanoseconds since 1970.
void read_start_time(YamlMap& top, Scene& scene) {
  const std::optional<std::string> text = top.text("start_time_ns");
  if (!text) {
    return;
  }
  const char* end = text->data() + text->size();
  const auto [stop, error] = std::from_chars(text->data(), end, scene.start_time_ns);
  if (error != std::errc{} || stop != end) {
    top.problem("start_time_ns", "a whole number of nanoseconds");
  }
}

}  // namespace

/// The number below `key`, or 0 and a problem when it is absent or wrong.
double required(YamlMap& map, const std::string& key, const NumberRule& rule) {
  const std::optional<double> value = map.number(key, rule);
  if (!value && !map.has(key)) {
    map.problem(key, std::string(rule.expected));
  }
  return value.value_or(0.0);
}

std::string required_text(YamlMap& map, const std::string& key, const std::string& expected) {
  const std::optional<std::string> value = map.text(key);
  if (!value && !map.has(key)) {
    map.problem(key, expected);
  }
  return value.value_or("");
}

Scene load_scene(const std::filesystem::path& path) {
  const YAML::Node node = load_yaml(path.string());
  YamlProblems problems;
  YamlMap top(path == kStandardInput ? "standard input" : path.string(), "", node, problems);
  Scene scene;
  if (!top.integer("version", 1, 1) && !top.has("version")) {
    top.problem("version", "1");
  }
  read_array(top.map("array"), path.parent_path(), scene);
  read_medium(top.map("medium"), scene);
  SignalToNoise snr;
  read_microphones(top.map("microphones"), scene, snr);
  read_modulator(top.map("sigma_delta"), scene);
  assign(top.number("standoff_m", kLength), scene.measurement.standoff_m);
  assign(top.number("duration_s", kDuration), scene.duration_s);
  read_start_time(top, scene);
  if (const auto seed = top.integer("seed", 0, std::numeric_limits<int>::max())) {
    scene.seed = static_cast<std::uint64_t>(*seed);
  }
  read_room(top.map("room"), scene);
  for (YamlMap& source : top.maps("sources")) {
    read_source(source, path.parent_path(), scene);
  }
  if (scene.phase_spread_deg > 0.0 && scene.changes()) {
    top.problem("microphones", "no phase_spread_deg beside sources that move, of noise, or of recordings");
  }
  if (snr.db && !scene.tracks.empty()) {
    top.problem("microphones", "no snr_db beside recordings, whose level is not known; noise_pa instead");
  }
  if (!top.has("sources")) {
    top.problem("sources", "a list of sources");
  }
  top.finish();
  problems.throw_if_any();
  if (snr.db) {
    scene.noise_pa = noise_for_snr(scene, *snr.db, snr.band);
    if (!(scene.noise_pa > 0.0)) {
      throw ConfigError(
          fmt::format("{}: microphones.snr_db: expected sources that sound from {:.6g} to {:.6g} Hz, found none",
                      path.string(), snr.band.low_hz, snr.band.high_hz));
    }
  }
  return scene;
}

}  // namespace nearfield
