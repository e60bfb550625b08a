#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <vector>

#include "simulate/mesh/mesh.hpp"
#include "simulate/points/signal.hpp"
#include "simulate/scene_reader.hpp"

namespace nearfield {
namespace {

constexpr NumberRule kBehindSurface{-1e3, 0.0, false, "a z <= 0 m, on or behind the surface"};
constexpr NumberRule kFrequency{0.0, kBitRateHz / 2, true, "a frequency > 0 and <= 750000 Hz"};
constexpr NumberRule kPhase{-1e6, 1e6, false, "an angle in rad"};
constexpr NumberRule kTime{-3600.0, 3600.0, false, "a time from -3600 to 3600 s"};
/// Point sources are generated at 187.5 kHz, and the interpolation to the bit rate passes frequencies below 48 kHz:
/// twice this limit, to which a source at half the speed of sound raises it.
constexpr double kHighestMovingHz = 24000.0;
constexpr double kMostMach = 0.5;
constexpr NumberRule kNoiseFrequency{0.0, kHighestMovingHz, false, "[low, high], frequencies from 0 to 24000 Hz"};
constexpr int kMostHalfWaves = 100;
constexpr int kFewestMeshPoints = 64;
constexpr int kUsualMeshPoints = 4096;
constexpr int kMostMeshPoints = 1 << 18;
constexpr double kOnTheSurfaceM = 1e-6;

int required_half_waves(YamlMap& mode, const std::string& key) {
  const std::optional<int> value = mode.integer(key, 1, kMostHalfWaves);
  if (!value && !mode.has(key)) {
    mode.problem(key, "a number of half waves");
  }
  return value.value_or(1);
}

std::complex<double> phasor(YamlMap& map, const std::string& key) {
  const double magnitude = required(map, key, kNotNegative);
  return std::polar(magnitude, map.number("phase_rad", kPhase).value_or(0.0));
}

/// Height from which on a source is behind the array, a millimetre above all microphones.
double behind_array_m(const Scene& scene) {
  constexpr double kNearest_m = 1e-3;
  double highest_m = scene.measurement.standoff_m;
  for (const Point& microphone : microphones_of(scene)) {
    highest_m = std::max(highest_m, microphone.z_m);
  }
  return highest_m + kNearest_m;
}

/// Position of a source behind the surface, or behind the array.
Point point_outside(YamlMap& map, const Scene& scene) {
  const Point place{required(map, "x_m", kAnyLength), required(map, "y_m", kAnyLength),
                    required(map, "z_m", kAnyLength)};
  if (const double least_m = behind_array_m(scene); place.z_m > 0.0 && !(place.z_m >= least_m)) {
    map.problem("z_m",
                fmt::format("a z <= 0 m, on or behind the surface, or at least {:.6g} m, behind the array", least_m));
  }
  return place;
}

void require_inside(YamlMap& map, const std::string& key, const Scene& scene, const Point& place) {
  if (const std::string wall = scene.room.wall_before(place); !wall.empty()) {
    map.problem(key, fmt::format("a place inside the room, not on or behind {}", wall));
  }
}

/// Position of a point source: x_m, y_m and z_m, or a path, whose first point is then returned.
Point read_place(YamlMap& map, const Scene& scene, Path& motion) {
  if (!map.has("path")) {
    const Point place = point_outside(map, scene);
    require_inside(map, "z_m", scene, place);
    return place;
  }
  for (const char* key : {"x_m", "y_m", "z_m"}) {
    if (map.has(key)) {
      (void)map.number(key, kAnyLength);
      map.problem(key, "x_m, y_m and z_m, or a path, not both");
    }
  }
  for (YamlMap& entry : map.maps("path")) {
    const double t_s = required(entry, "t_s", kTime);
    motion.push_back({.t_s = t_s, .position = point_outside(entry, scene)});
    require_inside(entry, "z_m", scene, motion.back().position);
    if ((motion.front().position.z_m > 0.0) != (motion.back().position.z_m > 0.0)) {
      entry.problem("z_m", "places on one side, of the surface or of the array, in one path");
    }
    if (motion.size() > 1 && !(t_s > motion[motion.size() - 2].t_s)) {
      entry.problem("t_s", "ascending times");
    }
    entry.finish();
  }
  if (motion.empty()) {
    map.problem("path", "a list of places such as [{t_s: 0, x_m: -1, y_m: 0, z_m: -2}, ...]");
    return {};
  }
  const double speed = highest_speed(motion);
  if (const double most = kMostMach * scene.medium.sound_speed_m_s; !(speed <= most)) {
    map.problem("path", fmt::format("at most {:.6g} m/s, half the speed of sound, not {:.6g}", most, speed));
  }
  return motion.front().position;
}

Monopole read_monopole(YamlMap& map, const Scene& scene, ToneSource& source) {
  const Point place = read_place(map, scene, source.motion);
  Monopole monopole{place, phasor(map, "volume_velocity_m3_s"), false};
  assign(map.boolean("baffled"), monopole.baffled);
  if (monopole.baffled && place.z_m > 0.0) {
    map.problem("baffled", "false for a source behind the array");
  }
  if (monopole.baffled && !source.motion.empty()) {
    map.problem("baffled", "false for a source that moves");
  }
  if (!source.motion.empty() && source.frequency_hz > kHighestMovingHz) {
    map.problem("frequency_hz", fmt::format("at most {:.6g} Hz for a source that moves", kHighestMovingHz));
  }
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

TrackSource read_track(YamlMap& map, const std::filesystem::path& folder, const Scene& scene) {
  TrackSource track;
  track.path = (folder / required_text(map, "file", "the path of a WAV file")).string();
  track.position = read_place(map, scene, track.motion);
  assign(map.number("pressure_at_1m_pa", kPositive), track.pressure_at_1m_pa);
  return track;
}

/// A surface from a file, moved to x_m, y_m, z_m.
Mesh read_mesh(YamlMap& map, const std::filesystem::path& folder, const Scene& scene) {
  const std::string file = required_text(map, "file", "the path of an STL or CSV file of triangles");
  const bool is_csv = std::filesystem::path(file).extension() == ".csv";
  std::complex<double> velocity_m_s = 0.0;
  if (!is_csv) {
    velocity_m_s = phasor(map, "velocity_m_s");
  } else if (map.has("velocity_m_s") || map.has("phase_rad")) {
    (void)phasor(map, "velocity_m_s");
    map.problem("velocity_m_s", "no velocity beside a CSV file, which has one a triangle");
  }
  Point place;
  assign(map.number("x_m", kAnyLength), place.x_m);
  assign(map.number("y_m", kAnyLength), place.y_m);
  assign(map.number("z_m", kBehindSurface), place.z_m);
  double scale = 1.0;
  assign(map.number("scale", kPositive), scale);
  int points = kUsualMeshPoints;
  assign(map.integer("points", kFewestMeshPoints, kMostMeshPoints), points);
  const auto count = static_cast<std::uint32_t>(points);
  if (!std::has_single_bit(count)) {
    map.problem("points", "a power of two");
  }
  bool baffled = false;
  assign(map.boolean("baffled"), baffled);
  if (baffled && !scene.room.is_free_field()) {
    map.problem("baffled", "false in a room, which has its own walls");
  }
  if (file.empty()) {
    if (map.has("file")) {
      map.problem("file", "the path of an STL or CSV file of triangles");
    }
    return {};
  }
  const std::filesystem::path path = folder / file;
  Mesh mesh = make_mesh(std::filesystem::path(file).filename().string(),
                        is_csv ? read_triangles(path, scale) : read_stl(path, scale, velocity_m_s), place, count,
                        baffled, scene.seed);
  if (mesh.high.z_m > kOnTheSurfaceM) {
    map.problem("z_m", fmt::format("a surface at z <= 0 m, not one that reaches {:.6g} m", mesh.high.z_m));
  } else if (scene.measurement.standoff_m - mesh.high.z_m < 2 * mesh.spacing_m) {
    map.problem("points", fmt::format("more points for microphones so near: they lie {:.3g} m apart, and need half of "
                                      "{:.3g} m",
                                      mesh.spacing_m, scene.measurement.standoff_m - mesh.high.z_m));
  }
  for (const Monopole& point : mesh.points) {
    if (const std::string wall = scene.room.wall_before(point.position); !wall.empty()) {
      map.problem("file", fmt::format("a surface inside the room, not on or behind {}", wall));
      break;
    }
  }
  return mesh;
}

NoiseSource read_noise(YamlMap& map, const Scene& scene) {
  NoiseSource noise;
  noise.position = read_place(map, scene, noise.motion);
  noise.rms_at_1m_pa = required(map, "rms_at_1m_pa", kPositive);
  if (const auto band = map.vector("band_hz", 2, kNoiseFrequency)) {
    noise.band_hz = {(*band)[0], (*band)[1]};
  }
  const double period_s = noise_period_s(scene.duration_s);
  if (noise_lines(noise.band_hz, period_s).count == 0) {
    map.problem("band_hz",
                fmt::format("[low, high] in Hz with a multiple of {:.6g} Hz, one over the noise's period, from "
                            "low to below high",
                            1 / period_s));
  }
  return noise;
}

/// True for sources on or in a rigid baffle at z = 0, whose field exists only in the half-space in front of it.
bool is_baffled(const ToneSource& source) {
  const auto* monopole = std::get_if<Monopole>(&source.shape);
  return monopole != nullptr ? monopole->baffled : !std::holds_alternative<Mesh>(source.shape);
}

}  // namespace

void read_source(YamlMap& map, const std::filesystem::path& folder, Scene& scene) {
  enum Kind : std::size_t { kMonopole, kPiston, kPlate, kMesh, kTrack, kNoise };
  const std::optional<std::size_t> kind = map.choice("kind", {"monopole", "piston", "plate", "mesh", "track", "noise"});
  if (!kind) {
    if (!map.has("kind")) {
      map.problem("kind", "monopole, piston, plate, mesh, track or noise");
    }
    return;  // the keys of an unknown type are unknown, too
  }
  if (*kind == kTrack) {
    scene.tracks.push_back(read_track(map, folder, scene));
  } else if (*kind == kNoise) {
    scene.noises.push_back(read_noise(map, scene));
  } else {
    ToneSource source;
    source.frequency_hz = required(map, "frequency_hz", kFrequency);
    switch (*kind) {
      case kMonopole:
        source.shape = read_monopole(map, scene, source);
        break;
      case kPiston:
        source.shape = read_piston(map);
        break;
      case kMesh:
        source.shape = read_mesh(map, folder, scene);
        break;
      default:
        source.shape = read_plate(map);
        break;
    }
    if (is_baffled(source) && !scene.room.is_free_field()) {
      map.problem("kind", "no source in a baffle in a room, which has its own walls");
    }
    if (map.has("path") && source.motion.empty()) {
      (void)map.maps("path");
      map.problem("path", "a path of monopoles, noise and recordings alone");
    }
    scene.tones.push_back(std::move(source));
  }
  map.finish();
}

namespace {

constexpr NumberRule kReflection{-1.0, 1.0, false, "a reflection factor of pressure from -1 to 1"};
constexpr int kMostReflections = 20;

void read_box(YamlMap& room, Scene& scene) {
  const auto size_m = room.vector("size_m", 3, kLength);
  const auto array_at_m = room.vector("array_at_m", 3, kLength);
  for (const char* key : {"size_m", "array_at_m"}) {
    if (!room.has(key)) {
      room.problem(
          key,
          "[x, y, z] in m: of a box, and of the array's centre in it, counted from its corner of least x, y and z");
    }
  }
  std::vector<double> reflection(6, 0.0);
  if (auto found = room.numbers("reflection", kReflection)) {
    if (found->size() == 1) {
      reflection.assign(6, found->front());
    } else if (found->size() == 6) {
      reflection = *found;
    } else {
      room.problem("reflection", "one reflection factor, or six, of the walls of least and greatest x, y and z");
    }
  } else if (!room.has("reflection")) {
    room.problem("reflection", std::string(kReflection.expected));
  }
  if (!size_m || !array_at_m) {
    return;
  }
  const std::array<double, 3> centre{0.0, 0.0, scene.measurement.standoff_m};
  for (std::size_t axis = 0; axis < 3; ++axis) {
    const double low = centre[axis] - (*array_at_m)[axis];
    scene.room.walls[axis] = {Wall{.place_m = low, .reflection = reflection[2 * axis]},
                              Wall{.place_m = low + (*size_m)[axis], .reflection = reflection[2 * axis + 1]}};
  }
}

void read_wall(YamlMap& entry, Scene& scene) {
  constexpr std::array<const char*, 3> kPlaces{"x_m", "y_m", "z_m"};
  const std::array<double, 3> centre{0.0, 0.0, scene.measurement.standoff_m};
  const double reflection = required(entry, "reflection", kReflection);
  std::size_t places = 0;
  for (std::size_t axis = 0; axis < 3; ++axis) {
    const std::optional<double> place_m = entry.number(kPlaces[axis], kAnyLength);
    if (!place_m) {
      continue;
    }
    ++places;
    std::optional<Wall>& wall = scene.room.walls[axis][*place_m < centre[axis] ? 0 : 1];
    if (wall) {
      entry.problem(kPlaces[axis], "at most one wall on each side of the array along an axis");
    }
    wall = Wall{.place_m = *place_m, .reflection = reflection};
  }
  if (places != 1) {
    entry.problem("reflection", "beside it one of x_m, y_m and z_m: where the wall crosses that axis");
  }
  entry.finish();
}

}  // namespace

void read_room(YamlMap room, Scene& scene) {
  if (const auto order = room.integer("order", 0, kMostReflections)) {
    scene.room.order = *order;
  }
  const bool has_box = room.has("size_m") || room.has("array_at_m") || room.has("reflection");
  if (room.has("walls")) {
    if (has_box) {
      room.problem("walls", "either single walls, or size_m, array_at_m and reflection of a box");
    }
    for (YamlMap& wall : room.maps("walls")) {
      read_wall(wall, scene);
    }
  } else if (has_box || room.has("order")) {
    read_box(room, scene);
  }
  room.finish();
  const std::vector<Point> microphones = microphones_of(scene);
  for (const Point& corner : {microphones.front(), microphones.back()}) {
    if (const std::string wall = scene.room.wall_before(corner); !wall.empty()) {
      room.problem(room.has("walls") ? "walls" : "array_at_m",
                   fmt::format("all microphones inside, but that at ({:.6g}, {:.6g}, {:.6g}) m lies on or behind {}",
                               corner.x_m, corner.y_m, corner.z_m, wall));
      return;
    }
  }
}

}  // namespace nearfield
