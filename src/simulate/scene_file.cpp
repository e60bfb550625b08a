#include <charconv>
#include <limits>

#include "config/yaml_reader.hpp"
#include "simulate/scene.hpp"

namespace nearfield {
namespace {

constexpr double kLargest = std::numeric_limits<double>::max();
constexpr NumberRule kAnyLength{-1e3, 1e3, false, "a length in m"};
constexpr NumberRule kLength{0.0, 1e3, true, "a length > 0 m"};
constexpr NumberRule kBehindSurface{-1e3, 0.0, false, "a z <= 0 m, on or behind the surface"};
constexpr NumberRule kFrequency{0.0, kBitRateHz / 2, true, "a frequency > 0 and <= 750000 Hz"};
constexpr NumberRule kPhase{-1e6, 1e6, false, "an angle in rad"};
constexpr NumberRule kNotNegative{0.0, kLargest, false, "a number >= 0"};
constexpr NumberRule kPositive{0.0, kLargest, true, "a number > 0"};
constexpr NumberRule kDuration{0.0, 3600.0, true, "a duration > 0 and <= 3600 s"};
constexpr NumberRule kOffset{0.0, 0.5, false, "a share of full scale from 0 to 0.5"};
constexpr NumberRule kSensitivity{-200.0, 200.0, false, "a level in dBFS from -200 to 200"};
constexpr NumberRule kGainSpread{0.0, 40.0, false, "a level difference from 0 to 40 dB"};
constexpr NumberRule kPhaseSpread{0.0, 180.0, false, "an angle from 0 to 180 degrees"};
constexpr int kMostHalfWaves = 100;

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

int required_half_waves(YamlMap& mode, const std::string& key) {
  const std::optional<int> value = mode.integer(key, 1, kMostHalfWaves);
  if (!value && !mode.has(key)) {
    mode.problem(key, "a number of half waves");
  }
  return value.value_or(1);
}

template <typename Value>
void assign(std::optional<Value> found, Value& setting) {
  if (found) {
    setting = *std::move(found);
  }
}

std::complex<double> phasor(YamlMap& map, const std::string& key) {
  const double magnitude = required(map, key, kNotNegative);
  return std::polar(magnitude, map.number("phase_rad", kPhase).value_or(0.0));
}

Point point_behind(YamlMap& map) {
  return {required(map, "x_m", kAnyLength), required(map, "y_m", kAnyLength), required(map, "z_m", kBehindSurface)};
}

Monopole read_monopole(YamlMap& map) {
  Monopole monopole{point_behind(map), phasor(map, "volume_velocity_m3_s"), false};
  assign(map.boolean("baffled"), monopole.baffled);
  return monopole;
}

Piston read_piston(YamlMap& map) {
  return {required(map, "x_m", kAnyLength), required(map, "y_m", kAnyLength), required(map, "radius_m", kLength),
          phasor(map, "velocity_m_s")};
}

Plate read_plate(YamlMap& map) {
  Plate plate;
  assign(map.number("x_m", kAnyLength), plate.x_m);
  assign(map.number("y_m", kAnyLength), plate.y_m);
  plate.width_m = required(map, "width_m", kLength);
  plate.height_m = required(map, "height_m", kLength);
  for (YamlMap& entry : map.maps("modes")) {
    PlateMode mode;
    mode.m = required_half_waves(entry, "m");
    mode.n = required_half_waves(entry, "n");
    mode.velocity_m_s = phasor(entry, "velocity_m_s");
    plate.modes.push_back(mode);
    entry.finish();
  }
  if (plate.modes.empty()) {
    map.problem("modes", "a list of modes such as [{m: 1, n: 1, velocity_m_s: 0.001}]");
  }
  return plate;
}

TrackSource read_track(YamlMap& map, const std::filesystem::path& folder) {
  TrackSource track;
  track.path = (folder / required_text(map, "file", "the path of a WAV file")).string();
  track.position = point_behind(map);
  assign(map.number("pressure_at_1m_pa", kPositive), track.pressure_at_1m_pa);
  return track;
}

void read_source(YamlMap& map, const std::filesystem::path& folder, Scene& scene) {
  enum Kind : std::size_t { kMonopole, kPiston, kPlate, kTrack };
  const std::optional<std::size_t> kind = map.choice("kind", {"monopole", "piston", "plate", "track"});
  if (!kind) {
    if (!map.has("kind")) {
      map.problem("kind", "monopole, piston, plate or track");
    }
    return;  // which keys belong here can't be told
  }
  if (*kind == kTrack) {
    scene.tracks.push_back(read_track(map, folder));
  } else {
    ToneSource source;
    source.frequency_hz = required(map, "frequency_hz", kFrequency);
    switch (*kind) {
      case kMonopole:
        source.shape = read_monopole(map);
        break;
      case kPiston:
        source.shape = read_piston(map);
        break;
      default:
        source.shape = read_plate(map);
        break;
    }
    scene.tones.push_back(std::move(source));
  }
  map.finish();
}

void read_array(YamlMap array, Scene& scene) {
  ArrayGeometry& geometry = scene.measurement.geometry;
  assign(array.integer("rows", 1, kMaxSide), geometry.rows);
  assign(array.integer("columns", 1, kMaxSide), geometry.columns);
  assign(array.number("pitch_x_m", kLength), geometry.pitch_x_m);
  assign(array.number("pitch_y_m", kLength), geometry.pitch_y_m);
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

void read_microphones(YamlMap microphones, Scene& scene) {
  assign(microphones.number("noise_pa", kNotNegative), scene.noise_pa);
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

/// As text, since a double does not hold nanoseconds since 1970.
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

Scene load_scene(const std::filesystem::path& path) {
  const YAML::Node node = load_yaml(path.string());
  YamlProblems problems;
  YamlMap top(path.string(), "", node, problems);
  Scene scene;
  if (!top.integer("version", 1, 1) && !top.has("version")) {
    top.problem("version", "1");
  }
  read_array(top.map("array"), scene);
  read_medium(top.map("medium"), scene);
  read_microphones(top.map("microphones"), scene);
  read_modulator(top.map("sigma_delta"), scene);
  assign(top.number("standoff_m", kLength), scene.measurement.standoff_m);
  assign(top.number("duration_s", kDuration), scene.duration_s);
  read_start_time(top, scene);
  if (const auto seed = top.integer("seed", 0, std::numeric_limits<int>::max())) {
    scene.seed = static_cast<std::uint64_t>(*seed);
  }
  for (YamlMap& source : top.maps("sources")) {
    read_source(source, path.parent_path(), scene);
  }
  if (!top.has("sources")) {
    top.problem("sources", "a list of sources");
  }
  top.finish();
  problems.throw_if_any();
  return scene;
}

}  // namespace nearfield
