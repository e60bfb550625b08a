#include "pipeline/templates/make_templates.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

#include "core/error.hpp"
#include "core/numerics.hpp"
#include "engine/calibration_gains.hpp"
#include "files/files.hpp"
#include "pipeline/calibration/calibrate.hpp"

namespace nearfield {
namespace {

using Complex = std::complex<double>;

double length_of(const std::vector<Complex>& values) {
  double power = 0.0;
  for (const Complex& value : values) {
    power += std::norm(value);
  }
  return std::sqrt(power);
}

/// v^H x of each snapshot x; an iteration step sums x conj(v^H x).
std::vector<Complex> components_of(std::span<const std::vector<Complex>> snapshots, const std::vector<Complex>& v) {
  std::vector<Complex> components;
  for (const std::vector<Complex>& snapshot : snapshots) {
    Complex sum = 0.0;
    for (std::size_t m = 0; m < v.size(); ++m) {
      sum += std::conj(v[m]) * snapshot[m];
    }
    components.push_back(sum);
  }
  return components;
}

/// One step of the power iteration; returns the length of the new vector, an estimate of the largest eigenvalue.
double iterate(std::span<const std::vector<Complex>> snapshots, std::vector<Complex>& v) {
  const std::vector<Complex> components = components_of(snapshots, v);
  std::fill(v.begin(), v.end(), Complex(0.0));
  for (std::size_t t = 0; t < snapshots.size(); ++t) {
    for (std::size_t m = 0; m < v.size(); ++m) {
      v[m] += std::conj(components[t]) * snapshots[t][m];
    }
  }
  const double length = length_of(v);
  for (Complex& value : v) {
    value /= length;
  }
  return length;
}

double distance_m(const std::array<double, 3>& place, double x_m, double y_m, double z_m) {
  return std::hypot(place[0] - x_m, place[1] - y_m, place[2] - z_m);
}

/// A place and its recordings, in the order of first occurrence.
struct PlaceOfSource {
  std::array<double, 3> position_m{};
  std::vector<std::filesystem::path> inputs;
};

std::vector<PlaceOfSource> places_of(const TemplateOptions& options) {
  if (options.inputs.empty() || options.inputs.size() != options.positions_m.size()) {
    throw UsageError(fmt::format("templates: expected a place for each of {} recordings, found {}",
                                 options.inputs.size(), options.positions_m.size()));
  }
  std::vector<PlaceOfSource> places;
  for (std::size_t i = 0; i < options.inputs.size(); ++i) {
    const auto same = std::find_if(places.begin(), places.end(), [&](const PlaceOfSource& place) {
      return place.position_m == options.positions_m[i];
    });
    if (same == places.end()) {
      places.push_back({options.positions_m[i], {options.inputs[i]}});
    } else {
      same->inputs.push_back(options.inputs[i]);
    }
  }
  return places;
}

void require_same(const Templates& templates, const CalibrationFrames& frames, const std::filesystem::path& input,
                  const std::filesystem::path& first) {
  const ArrayGeometry& geometry = frames.plan.settings.array.geometry;
  const ArrayGeometry& expected = templates.measurement.geometry;
  if (frames.frequencies_hz != templates.frequencies_hz || geometry.rows != expected.rows ||
      geometry.columns != expected.columns || geometry.pitch_x_m != expected.pitch_x_m ||
      geometry.pitch_y_m != expected.pitch_y_m) {
    throw DataError(fmt::format("{}: expected the array and the frequencies of {}", input.string(), first.string()));
  }
}

/// Adds the template of one place at a frequency; omits it where the reference microphone was silent.
void add_template(Templates& templates, const std::array<double, 3>& place_m, const PrincipalField& found) {
  const ArrayGeometry& geometry = templates.measurement.geometry;
  const int reference = templates.reference_channel.value();
  const double standoff_m = templates.measurement.standoff_m;
  const double r_0 = distance_m(place_m, 0.0, 0.0, standoff_m);
  const MicrophonePosition at_it = geometry.position_m(reference);
  const double r = distance_m(place_m, at_it.x_m, at_it.y_m, standoff_m + at_it.z_m);
  const Complex there = found.field[static_cast<std::size_t>(reference)];
  for (const Complex& value : found.field) {
    templates.a.emplace_back(std::complex<float>(value / there * (r_0 / r)));
  }
  templates.coherence.push_back(there == 0.0 ? 0.0F : static_cast<float>(found.coherence));
  for (const double coherence : found.of_microphones) {
    templates.of_microphones.push_back(static_cast<float>(coherence));
  }
}

/// Adds the fields of one place's recordings, per frequency. They need the calibration because the beamformer's
/// pressures have it.
void add_fields(const Settings& settings, const CalibrationFrames& frames, std::vector<PrincipalField>& fields) {
  ArraySettings array = settings.array;
  array.geometry = frames.plan.settings.array.geometry;
  const std::vector<std::complex<float>> gains =
      calibration_gains(array, frames.frequencies_hz, array_files_on_disk().get());
  for (std::size_t f = 0; f < frames.frequencies_hz.size(); ++f) {
    std::vector<std::vector<Complex>> snapshots = frames.measured[f];
    for (std::vector<Complex>& snapshot : snapshots) {
      for (std::size_t m = 0; !gains.empty() && m < snapshot.size(); ++m) {
        const Complex gain(gains[f * snapshot.size() + m]);
        snapshot[m] *= is_finite(gain) ? gain : 0.0;
      }
    }
    fields.push_back(principal_field(snapshots));
  }
}

/// principal_field() for snapshots without gaps.
PrincipalField principal_field_of_whole(std::span<const std::vector<Complex>> snapshots) {
  constexpr int kMostIterations = 500;
  constexpr double kConverged = 1e-12;
  PrincipalField result;
  const std::size_t channels = snapshots.front().size();
  double power = 0.0;
  result.field = snapshots.front();
  for (const std::vector<Complex>& snapshot : snapshots) {
    power += length_of(snapshot) * length_of(snapshot);
    if (length_of(snapshot) > length_of(result.field)) {
      result.field = snapshot;
    }
  }
  result.of_microphones.assign(channels, 0.0);
  if (!(power > 0.0)) {
    return result;
  }
  double eigenvalue = 0.0;
  for (int i = 0; i < kMostIterations; ++i) {
    const double next = iterate(snapshots, result.field);
    const bool is_converged = std::abs(next - eigenvalue) <= kConverged * next;
    eigenvalue = next;
    if (i > 0 && is_converged) {
      break;
    }
  }
  const std::vector<Complex> components = components_of(snapshots, result.field);
  const double component_power = length_of(components) * length_of(components);
  result.coherence = component_power / power;
  for (std::size_t m = 0; m < channels; ++m) {
    Complex cross = 0.0;
    double own = 0.0;
    for (std::size_t t = 0; t < snapshots.size(); ++t) {
      cross += std::conj(components[t]) * snapshots[t][m];
      own += std::norm(snapshots[t][m]);
    }
    result.of_microphones[m] = own > 0.0 ? std::norm(cross) / (own * component_power) : 0.0;
  }
  return result;
}

/// Predicts the missing values of each snapshot from the field, and recomputes the field, until it no longer changes:
/// expectation maximisation. A microphone with too few values is silent.
void fill_gaps(std::vector<std::vector<Complex>>& snapshots, const std::vector<std::vector<Complex>>& given) {
  constexpr int kRoundsAtMost = 40;  // per round an error falls by the share of missing windows: to 1e-12 at a half
  std::vector<std::size_t> finite(given.front().size(), 0);
  for (const std::vector<Complex>& snapshot : given) {
    for (std::size_t m = 0; m < snapshot.size(); ++m) {
      finite[m] += is_finite(snapshot[m]) ? 1U : 0U;
    }
  }
  for (int round = 0; round < kRoundsAtMost; ++round) {
    const PrincipalField found = principal_field_of_whole(snapshots);
    const std::vector<Complex> components = components_of(snapshots, found.field);
    for (std::size_t t = 0; t < given.size(); ++t) {
      for (std::size_t m = 0; m < finite.size(); ++m) {
        const bool has_few = finite[m] < kFewestCalibrationFrames;
        if (has_few) {
          snapshots[t][m] = 0.0;
        } else if (!is_finite(given[t][m])) {
          snapshots[t][m] = components[t] * found.field[m];
        }
      }
    }
  }
}

}  // namespace

PrincipalField principal_field(std::span<const std::vector<Complex>> snapshots) {
  const std::vector<std::vector<Complex>> given(snapshots.begin(), snapshots.end());
  std::vector<std::vector<Complex>> whole = given;
  bool has_gaps = false;
  for (std::vector<Complex>& snapshot : whole) {
    for (Complex& value : snapshot) {
      has_gaps = has_gaps || !is_finite(value);
      value = is_finite(value) ? value : 0.0;
    }
  }
  if (has_gaps) {
    fill_gaps(whole, given);
  }
  return principal_field_of_whole(whole);
}

int reference_microphone(const ArrayGeometry& geometry, std::span<const PrincipalField> fields) {
  int best = 0;
  std::ptrdiff_t fewest = std::numeric_limits<std::ptrdiff_t>::max();
  double least_m = std::numeric_limits<double>::infinity();
  for (int channel = 0; channel < geometry.channels(); ++channel) {
    const MicrophonePosition at = geometry.position_m(channel);
    const double r_m = std::hypot(at.x_m, at.y_m, at.z_m);
    const std::ptrdiff_t doubtful = std::count_if(fields.begin(), fields.end(), [&](const PrincipalField& field) {
      return field.coherence >= kLeastTemplateCoherence &&
             !(field.of_microphones[static_cast<std::size_t>(channel)] >= kLeastTemplateCoherence);
    });
    if (doubtful < fewest || (doubtful == fewest && r_m < least_m)) {
      best = channel;
      fewest = doubtful;
      least_m = r_m;
    }
  }
  return best;
}

Templates make_templates(const TemplateOptions& options) {
  const std::vector<PlaceOfSource> places = places_of(options);
  Templates templates;
  std::vector<PrincipalField> fields;  // [place][frequency]
  for (const PlaceOfSource& place : places) {
    const CalibrationFrames frames = read_calibration_frames({.inputs = place.inputs,
                                                              .settings = options.settings,
                                                              .field = {},
                                                              .calibrator = {},
                                                              .engine = options.engine});
    for (const std::string& remark : remarks_on_left_out(frames.left_out, frames.frames())) {
      if (options.warn) {
        options.warn(fmt::format("{}: {}", place.inputs.front().string(), remark));
      }
    }
    if (fields.empty()) {
      templates.measurement = {.geometry = frames.plan.settings.array.geometry,
                               .standoff_m = frames.plan.settings.holography.standoff_m};
      templates.frequencies_hz = frames.frequencies_hz;
    }
    require_same(templates, frames, place.inputs.front(), options.inputs.front());
    add_fields(options.settings, frames, fields);
    templates.positions_m.insert(templates.positions_m.end(), place.position_m.begin(), place.position_m.end());
  }
  templates.reference_channel = reference_microphone(templates.measurement.geometry, fields);
  for (std::size_t f = 0; f < templates.frequencies_hz.size(); ++f) {
    for (std::size_t i = 0; i < places.size(); ++i) {
      add_template(templates, places[i].position_m, fields[i * templates.frequencies_hz.size() + f]);
    }
  }
  return templates;
}

std::vector<std::string> doubts_about(const Templates& templates) {
  std::vector<std::string> doubts;
  const auto channels = static_cast<std::size_t>(templates.measurement.geometry.channels());
  const auto columns = static_cast<std::size_t>(templates.measurement.geometry.columns);
  for (std::size_t f = 0; f < templates.frequencies_hz.size(); ++f) {
    const double frequency_hz = templates.frequencies_hz[f];
    std::map<std::size_t, double> microphones;  // lowest coherence per microphone
    for (std::size_t i = 0; i < templates.count(); ++i) {
      const std::size_t at = f * templates.count() + i;
      const auto of_template = static_cast<double>(templates.coherence[at]);
      if (!(of_template >= kLeastTemplateCoherence)) {
        doubts.push_back(
            fmt::format("template {} at ({}, {}, {}) m: coherence {:.3f} at {:.1f} Hz, expected {} or "
                        "more: it is left out there",
                        i, templates.positions_m[3 * i], templates.positions_m[3 * i + 1],
                        templates.positions_m[3 * i + 2], of_template, frequency_hz, kLeastTemplateCoherence));
        continue;
      }
      for (std::size_t m = 0; m < channels; ++m) {
        const auto coherence = static_cast<double>(templates.of_microphones[at * channels + m]);
        if (!(coherence >= kLeastTemplateCoherence)) {
          const auto [found, is_new] = microphones.emplace(m, coherence);
          found->second = std::min(found->second, coherence);
        }
      }
    }
    for (const auto& [m, coherence] : microphones) {
      doubts.push_back(
          fmt::format("microphone {} (row {}, column {}): coherence {:.3f} with the others at {:.1f} Hz, "
                      "expected {} or more: did it move between recordings of one place?",
                      m, m / columns, m % columns, coherence, frequency_hz, kLeastTemplateCoherence));
    }
  }
  return doubts;
}

}  // namespace nearfield
