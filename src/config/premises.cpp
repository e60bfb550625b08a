#include "config/premises.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <optional>

#include "config/schema/processor_kinds.hpp"
#include "config/schema/section.hpp"
#include "core/geometry.hpp"

namespace nearfield {
namespace {

/// Longest value that is printed; the file has the rest of a list of hundreds of microphones.
constexpr std::size_t kMostCharacters = 80;
/// Most frequencies and wavelengths printed individually; of more only the first and the last.
constexpr std::size_t kMostFrequencies = 6;
/// Settings covered by the lines before the last one.
constexpr std::array kStated = {"array.rows",
                                "array.columns",
                                "array.pitch_x_m",
                                "array.pitch_y_m",
                                "medium.sound_speed_m_s",
                                "front_end.window_samples",
                                "front_end.hop_samples",
                                "front_end.frequencies_hz",
                                "holography.standoff_m",
                                "array.pascal_per_unit",
                                "array.sensitivity_dbfs"};

/// A length with four digits in the unit that an engineer would write: 0.42 m is 420 mm, 20 m is 20 m.
std::string length(double value_m) {
  return std::abs(value_m) < 1.0 ? fmt::format("{:.4g} mm", value_m * 1e3) : fmt::format("{:.4g} m", value_m);
}

/// A duration with four digits, in ms or s.
std::string duration(double value_s) {
  return value_s < 1.0 ? fmt::format("{:.4g} ms", value_s * 1e3) : fmt::format("{:.4g} s", value_s);
}

std::string extent_of(const ArrayGeometry& geometry) {
  std::array<double, 3> least = {1e300, 1e300, 1e300};
  std::array<double, 3> most = {-1e300, -1e300, -1e300};
  for (int channel = 0; channel < geometry.channels(); ++channel) {
    const MicrophonePosition place = geometry.position_m(channel);
    const std::array<double, 3> axes = {place.x_m, place.y_m, place.z_m};
    for (std::size_t axis = 0; axis < axes.size(); ++axis) {
      least[axis] = std::min(least[axis], axes[axis]);
      most[axis] = std::max(most[axis], axes[axis]);
    }
  }
  const std::string plane = fmt::format("{} x {}", length(most[0] - least[0]), length(most[1] - least[1]));
  return most[2] > least[2] ? fmt::format("{} x {}", plane, length(most[2] - least[2])) : plane;
}

std::string line_of_array(const Settings& settings) {
  const ArrayGeometry& geometry = settings.array.geometry;
  const std::string pitch = geometry.is_grid()
                                ? fmt::format(", {} x {} apart", length(geometry.pitch_x_m), length(geometry.pitch_y_m))
                                : std::string();
  return fmt::format("array: {} microphones{}, {} in all, {} from the surface; sound at {:g} m/s",
                     text_of_size(geometry), pitch, extent_of(geometry), length(settings.holography.standoff_m),
                     settings.medium.sound_speed_m_s);
}

std::string line_of_samples(const Settings& settings, double sample_rate_hz) {
  const FrontEndSettings& front_end = settings.front_end;
  return fmt::format("samples: {:.10g} a second; windows of {}, one every {}", sample_rate_hz,
                     duration(front_end.window_samples / sample_rate_hz),
                     duration(front_end.hop_samples / sample_rate_hz));
}

std::string line_of_frequencies(const Settings& settings) {
  std::vector<std::string> each;
  for (const double frequency_hz : settings.front_end.frequencies_hz) {
    each.push_back(fmt::format("{:.7g} Hz ({})", frequency_hz, length(settings.medium.sound_speed_m_s / frequency_hz)));
  }
  const bool is_long = each.size() > kMostFrequencies;
  return is_long ? fmt::format("frequencies (wavelengths): {}, from {} to {}", each.size(), each.front(), each.back())
                 : fmt::format("frequencies (wavelengths): {}", fmt::join(each, ", "));
}

std::string line_of_unit(const Settings& settings) {
  const std::optional<double> pascal = settings.array.pascal_per_unit;
  return pascal
             ? fmt::format("unit: {:g} Pa is a sample of 1, or full scale of integers", *pascal)
             : fmt::format(
                   "unit: as the input states it, else Pa; of one-bit microphones, 1 Pa rms is {:g} dB of full scale",
                   settings.array.sensitivity_dbfs);
}

/// The defaults of a run with these processors, as a configuration that names only their kinds.
Settings defaults_beside(const Settings& settings) {
  Settings defaults;
  if (text_of_size(settings.array.geometry) != text_of_size(defaults.array.geometry)) {
    defaults.array.layout = settings.array.layout;  // any other array has only one layout
  }
  for (const ProcessorSettings& processor : settings.processors) {
    ProcessorSettings plain;
    plain.name = processor.name;
    plain.kind = processor.kind;
    const schema::ProcessorKind* kind = schema::processor_kind(processor.kind);
    plain.own = kind == nullptr ? nullptr : kind->make();
    defaults.processors.push_back(std::move(plain));
  }
  return defaults;
}

/// "key value" for each setting that differs from its default and is not covered by another line.
std::vector<std::string> other_than_default(const Settings& settings) {
  Settings own = settings;
  Settings plain = defaults_beside(settings);
  const schema::Section own_section = schema::describe(own);
  const schema::Section plain_section = schema::describe(plain);
  std::map<std::string, std::string> defaults;
  for (const schema::NamedSetting& setting : all_settings(plain_section)) {
    defaults.emplace(setting.key, setting.entry->written());
  }
  std::vector<std::string> found;
  for (const schema::NamedSetting& setting : all_settings(own_section)) {
    std::string value = setting.entry->written();
    const auto same = defaults.find(setting.key);
    const bool is_stated = std::find(kStated.begin(), kStated.end(), setting.key) != kStated.end();
    if (is_stated || (same != defaults.end() && same->second == value)) {
      continue;
    }
    if (value.size() > kMostCharacters) {
      value = value.substr(0, kMostCharacters) + " ...";
    }
    found.push_back(fmt::format("{} {}", setting.key, value));
  }
  return found;
}

}  // namespace

std::vector<std::string> premises(const Settings& settings, double sample_rate_hz) {
  std::vector<std::string> lines = {line_of_array(settings)};
  if (sample_rate_hz > 0.0) {
    lines.push_back(line_of_samples(settings, sample_rate_hz));
  }
  lines.push_back(line_of_frequencies(settings));
  if (sample_rate_hz > 0.0) {
    lines.push_back(line_of_unit(settings));
  }
  for (const ProcessorSettings& processor : settings.processors) {
    lines.push_back(fmt::format("processor {}: {}", processor.name, processor.kind));
  }
  if (const std::vector<std::string> others = other_than_default(settings); !others.empty()) {
    lines.push_back(fmt::format("set: {}", fmt::join(others, "; ")));
  }
  return lines;
}

}  // namespace nearfield
