#include "pipeline/input.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "config/config.hpp"
#include "core/error.hpp"
#include "core/settings.hpp"
#include "engine/sample_input.hpp"

namespace nearfield {
namespace {

/// A frequency of a spectra file matches a requested one within this distance.
constexpr double kFrequencyTolerance_hz = 0.5;
/// Lengths agree within this fraction: files may hold them as float32.
constexpr double kLengthTolerance = 1e-6;

template <class T>
bool agree(const T& a, const T& b, double tolerance = kLengthTolerance) {
  if constexpr (std::is_floating_point_v<T>) {
    return std::abs(a - b) <= tolerance * std::max(std::abs(a), std::abs(b));
  } else {
    return a == b;
  }
}

std::string shown(WireLayout layout) { return std::string(name_of(layout)); }
std::string shown(double value) { return fmt::format("{:.9g}", value); }
template <class T>
std::string shown(const T& value) {
  return fmt::format("{}", value);
}

/// Takes the file's value, after checking it against an explicit setting.
template <class T>
void take(T& setting, const T& in_file, const std::string& key, const Settings& settings, const std::string& name,
          bool correctable = false, double tolerance = kLengthTolerance) {
  if (settings.explicit_keys.contains(key) && !agree(setting, in_file, tolerance)) {
    if (correctable) {
      return;
    }
    throw ConfigError(
        fmt::format("{}: the settings say {}, but {} was recorded with {}; remove the setting or use the "
                    "matching recording",
                    key, shown(setting), name, shown(in_file)));
  }
  setting = in_file;
}

/// For arrays that agree otherwise: given positions must equal the file's, in its order.
void take_placement(ArrayGeometry& setting, const ArrayGeometry& in_file, const std::string& name,
                    double tolerance = kLengthTolerance) {
  const ArrayGeometry& given = setting;
  const auto differ = [&](const MicrophonePosition& a, const MicrophonePosition& b) {
    const MicrophonePosition& of_a_m = given.placement->centre_m;  // centred: their origins may differ
    const MicrophonePosition& of_b_m = in_file.placement->centre_m;
    return std::hypot(a.x_m - of_a_m.x_m - (b.x_m - of_b_m.x_m), a.y_m - of_a_m.y_m - (b.y_m - of_b_m.y_m),
                      a.z_m - of_a_m.z_m - (b.z_m - of_b_m.z_m)) > tolerance * setting.pitch_x_m;
  };
  // A file without positions stands for a grid in its own order.
  bool agrees = !given.placement || (given.is_grid() && !given.is_reordered());
  if (given.placement && in_file.placement) {
    const std::vector<MicrophonePosition>& ours = given.placement->positions_m;
    const std::vector<MicrophonePosition>& theirs = in_file.placement->positions_m;
    agrees = std::equal(ours.begin(), ours.end(), theirs.begin(), theirs.end(),
                        [&](const auto& a, const auto& b) { return !differ(a, b); });
  }
  if (!agrees) {
    throw ConfigError(fmt::format(
        "array.positions: expected the positions that {} was recorded with{}, found others; remove the setting or use "
        "the matching recording",
        name, in_file.placement ? "" : ", channel row * columns + column"));
  }
  setting.placement = in_file.placement;
}

/// For an input that states its channels and their positions, on the axes of images.
void refuse_choices(const Settings& settings, const std::string& name) {
  if (!settings.array.channels.empty()) {
    throw ConfigError(fmt::format("array.channels: expected [], as {} has a channel for each microphone, found [{}]",
                                  name, fmt::join(settings.array.channels, ", ")));
  }
  if (settings.array.axes && settings.array.positions_path.empty()) {
    throw ConfigError(
        fmt::format("array.axes: expected null without array.positions, as {} has its places on the axes "
                    "of images, found {}",
                    name, text_of(*settings.array.axes)));
  }
}

}  // namespace

Settings reconcile(Settings settings, const MeasurementGeometry& measurement, const WireLayout* layout,
                   const std::string& name) {
  refuse_choices(settings, name);
  const Settings given = settings;
  const ArrayGeometry& in_file = measurement.geometry;
  ArrayGeometry& geometry = settings.array.geometry;
  take(geometry.rows, in_file.rows, "array.rows", given, name);
  take(geometry.columns, in_file.columns, "array.columns", given, name);
  const bool correctable = measurement.correctable;
  const bool has_pitches = correctable && in_file.is_grid();  // irregular pitches come from the positions
  take(geometry.pitch_x_m, in_file.pitch_x_m, "array.pitch_x_m", given, name, has_pitches);
  take(geometry.pitch_y_m, in_file.pitch_y_m, "array.pitch_y_m", given, name, has_pitches);
  take(settings.holography.standoff_m, measurement.standoff_m, "holography.standoff_m", given, name, correctable);
  take_placement(geometry, in_file, name);
  if (layout != nullptr) {
    take(settings.array.layout, *layout, "array.layout", given, name);
    take(settings.array.sensitivity_dbfs, measurement.sensitivity_dbfs, "array.sensitivity_dbfs", given, name);
  } else if (!given.explicit_keys.contains("array.layout")) {
    settings.array.layout = WireLayout::kRowMajor;
  }
  return settings;
}

Settings with_clock(Settings settings, double clock_hz, const std::string& name) {
  constexpr double kRounding = 1e-6;
  if (!(clock_hz >= kSlowestClock_hz * (1.0 - kRounding) && clock_hz <= kFastestClock_hz * (1.0 + kRounding))) {
    throw DataError(fmt::format("{}: sample_rate_hz of the bits: expected {} to {}, found {}", name, kSlowestClock_hz,
                                kFastestClock_hz, clock_hz));
  }
  const Settings given = settings;
  take(settings.array.clock_hz, std::round(clock_hz), "array.clock_hz", given, name);
  return settings;
}

std::vector<std::string> corrections(const Settings& given, const MeasurementGeometry& measurement,
                                     const std::string& name) {
  std::vector<std::string> notes;
  const auto compare = [&](const char* key, double setting, double in_file) {
    if (measurement.correctable && given.explicit_keys.contains(key) && !agree(setting, in_file)) {
      notes.push_back(fmt::format("{}: {} m, as the settings say, corrects the {} m that {} was encoded with", key,
                                  setting, in_file, name));
    }
  };
  compare("array.pitch_x_m", given.array.geometry.pitch_x_m, measurement.geometry.pitch_x_m);
  compare("array.pitch_y_m", given.array.geometry.pitch_y_m, measurement.geometry.pitch_y_m);
  compare("holography.standoff_m", given.holography.standoff_m, measurement.standoff_m);
  return notes;
}

std::vector<MicrophonePosition> positions_beside(const Settings& settings, const StatedPositions& stated,
                                                 const std::string& name) {
  constexpr std::array kWhole = {"array.rows", "array.columns", "array.pitch_x_m", "array.pitch_y_m"};
  const bool are_given =
      std::all_of(kWhole.begin(), kWhole.end(), [&](const char* key) { return settings.explicit_keys.contains(key); });
  if (!stated.flaw.empty() && !are_given) {
    throw DataError(fmt::format(
        "{}: positions of microphones: {}; array.positions, or array.rows, columns, pitch_x_m and pitch_y_m, "
        "stand for them where they are given",
        name, stated.flaw));
  }
  std::vector<MicrophonePosition> positions_m = stated.positions_m;
  for (MicrophonePosition& one : positions_m) {
    one = on_axes(settings.array.axes.value_or(AxesOfFile()), one);
  }
  return positions_m;
}

Settings with_positions(Settings settings, const std::vector<MicrophonePosition>& positions_m,
                        const std::string& name) {
  if (positions_m.empty()) {
    if (settings.array.axes && settings.array.positions_path.empty() && settings.array.geometry.placement == nullptr) {
      throw ConfigError(fmt::format("array.axes: expected array.positions beside it, as {} says no places, found {}",
                                    name, text_of(*settings.array.axes)));
    }
    return settings;
  }
  if (const std::string flaw = flaw_of_positions(positions_m); !flaw.empty()) {
    throw DataError(fmt::format("{}: positions of microphones: {}", name, flaw));
  }
  constexpr double kTolerance = 0.01;  // same tolerance as for taking positions for a grid
  const Settings given = settings;
  ArrayGeometry& geometry = settings.array.geometry;
  const ArrayGeometry in_file = geometry_of(positions_m);
  take(geometry.rows, in_file.rows, "array.rows", given, name);
  take(geometry.columns, in_file.columns, "array.columns", given, name);
  take(geometry.pitch_x_m, in_file.pitch_x_m, "array.pitch_x_m", given, name, false, kTolerance);
  take(geometry.pitch_y_m, in_file.pitch_y_m, "array.pitch_y_m", given, name, false, kTolerance);
  take_placement(geometry, in_file, name, kTolerance);
  settings.explicit_keys.insert({"array.rows", "array.columns", "array.pitch_x_m", "array.pitch_y_m"});
  return settings;
}

Settings with_samples(const Settings& settings, const std::vector<MicrophonePosition>& positions_m, int channels,
                      const std::string& name) {
  Settings result = with_positions(settings, positions_m, name);
  require_channels(result, channels, name);
  (void)take_samples(result);
  return result;
}

std::vector<std::size_t> select_frequencies(const Settings& settings, const std::vector<double>& available_hz,
                                            const std::string& name) {
  std::vector<std::size_t> chosen;
  if (!settings.explicit_keys.contains("front_end.frequencies_hz")) {
    for (std::size_t i = 0; i < available_hz.size(); ++i) {
      chosen.push_back(i);
    }
    return chosen;
  }
  for (const double wanted_hz : settings.front_end.frequencies_hz) {
    std::size_t nearest = 0;
    for (std::size_t i = 0; i < available_hz.size(); ++i) {
      if (std::abs(available_hz[i] - wanted_hz) < std::abs(available_hz[nearest] - wanted_hz)) {
        nearest = i;
      }
    }
    if (std::abs(available_hz[nearest] - wanted_hz) > kFrequencyTolerance_hz) {
      throw ConfigError(fmt::format("front_end.frequencies_hz: {} Hz is not in {}; it holds {:.2f} Hz", wanted_hz, name,
                                    fmt::join(available_hz, ", ")));
    }
    chosen.push_back(nearest);
  }
  return chosen;
}

std::uint64_t count_frames(const InputInfo& input, const FrontEndSettings& front_end) {
  if (input.kind == FileKind::kSpectra) {
    return input.samples;
  }
  const auto window = static_cast<std::uint64_t>(front_end.window_samples);
  if (input.samples < window) {
    const auto factor = static_cast<std::uint64_t>(input.bits_per_sample);
    throw DataError(fmt::format("{}: expected at least one window of {} {} (front_end.window_samples {}), found {}",
                                input.name, window * factor, factor > 1 ? "bit-times" : "samples",
                                front_end.window_samples, input.samples * factor));
  }
  return (input.samples - window) / static_cast<std::uint64_t>(front_end.hop_samples) + 1;
}

}  // namespace nearfield
