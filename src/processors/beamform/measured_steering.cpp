#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>
#include <utility>

#include "core/error.hpp"
#include "processors/beamform/plan.hpp"
#include "processors/far_field/subset.hpp"

namespace nearfield {
namespace {

constexpr std::size_t kCoordinatesOfPlace = 3;

/// True if both have their microphones in the same positions; files may hold lengths as float32.
bool are_same_places(const ArrayGeometry& one, const ArrayGeometry& other) {
  constexpr double kRounding_m = 1e-5;
  if (one.rows != other.rows || one.columns != other.columns) {
    return false;
  }
  const std::vector<far_field::Position> of_one = far_field::microphones_of(one);
  const std::vector<far_field::Position> of_other = far_field::microphones_of(other);
  return std::equal(
      of_one.begin(), of_one.end(), of_other.begin(), of_other.end(),
      [](const far_field::Position& a, const far_field::Position& b) { return distance(a, b) <= kRounding_m; });
}

/// Reduces templates of the whole array to the channels of a subset; returns them unchanged if they are not for the
/// array that the plan's is a part of.
Templates cut(Templates templates, const BeamformPlan& plan, const std::vector<int>& channels) {
  const auto all = static_cast<std::size_t>(templates.measurement.geometry.channels());
  const bool has_all = !channels.empty() && static_cast<std::size_t>(channels.back()) < all;
  if (!has_all || all == plan.channels()) {
    return templates;
  }
  ArrayPlan whole;
  whole.geometry = templates.measurement.geometry;
  ArrayGeometry part = far_field::part_of(whole, channels).geometry;
  if (!are_same_places(part, plan.array.geometry)) {
    return templates;
  }
  templates.measurement.geometry = std::move(part);
  std::vector<std::complex<float>> chosen;
  chosen.reserve(templates.a.size() / all * channels.size());
  for (std::size_t first = 0; first < templates.a.size(); first += all) {
    std::transform(channels.begin(), channels.end(), std::back_inserter(chosen),
                   [&](int channel) { return templates.a[first + static_cast<std::size_t>(channel)]; });
  }
  templates.a = std::move(chosen);
  templates.of_microphones.clear();
  templates.reference_channel.reset();  // may not be in the subset
  return templates;
}

void require_same_array(const BeamformPlan& plan, const Templates& templates, const std::vector<int>& channels,
                        const std::string& key) {
  const ArrayGeometry& of_file = templates.measurement.geometry;
  const ArrayGeometry& used = plan.array.geometry;
  if (!are_same_places(of_file, used) && !channels.empty()) {
    throw ConfigError(fmt::format(
        "{}: expected templates of the whole array, or of the {} microphones of the subset, found {} x {}, {} m x {} m "
        "apart in {}",
        key, channels.size(), of_file.rows, of_file.columns, of_file.pitch_x_m, of_file.pitch_y_m,
        plan.settings.steering.templates_path));
  }
  if (!are_same_places(of_file, used)) {
    throw ConfigError(fmt::format(
        "{}: expected templates of {} x {} microphones, {} m x {} m apart, found {} x {}, {} m x {} m in {}", key,
        used.rows, used.columns, used.pitch_x_m, used.pitch_y_m, of_file.rows, of_file.columns, of_file.pitch_x_m,
        of_file.pitch_y_m, plan.settings.steering.templates_path));
  }
}

/// Neighbours of a frequency in the file.
struct Between {
  std::size_t low = 0;
  std::size_t high = 0;
  float weight = 0.0F;  ///< weight of the high one
};

Between between(const Templates& templates, double frequency_hz, const std::string& key, const std::string& path) {
  const std::vector<double>& known_hz = templates.frequencies_hz;
  constexpr double kRounding = 1e-9;
  if (frequency_hz < known_hz.front() * (1.0 - kRounding) || frequency_hz > known_hz.back() * (1.0 + kRounding)) {
    throw ConfigError(fmt::format("{}: expected templates at {} Hz, found some from {} to {} Hz in {}", key,
                                  frequency_hz, known_hz.front(), known_hz.back(), path));
  }
  const auto above = std::lower_bound(known_hz.begin(), known_hz.end() - 1, frequency_hz);
  const auto high = static_cast<std::size_t>(above - known_hz.begin());
  const std::size_t low = high > 0 ? high - 1 : 0;
  const double span_hz = known_hz[high] - known_hz[low];
  const double weight = span_hz > 0.0 ? (frequency_hz - known_hz[low]) / span_hz : 0.0;
  return {low, high, static_cast<float>(std::clamp(weight, 0.0, 1.0))};
}

/// True if a template is coherent at each neighbour with a weight.
bool is_coherent(const Templates& templates, const Between& at, std::size_t index) {
  const auto is_good = [&](std::size_t frequency) {
    return static_cast<double>(templates.coherence[frequency * templates.count() + index]) >= kLeastTemplateCoherence;
  };
  return (at.weight == 1.0F || is_good(at.low)) && (at.weight == 0.0F || is_good(at.high));
}

void add_template(BeamformPlan& plan, const Templates& templates, const Between& at, std::size_t index, float scale) {
  const std::size_t channels = plan.channels();
  const std::size_t of_low = (at.low * templates.count() + index) * channels;
  const std::size_t of_high = (at.high * templates.count() + index) * channels;
  const bool is_good = is_coherent(templates, at, index);
  for (std::size_t m = 0; m < channels; ++m) {
    std::complex<float> a = {std::numeric_limits<float>::quiet_NaN(), 0.0F};
    if (is_good && at.weight == 1.0F) {
      a = templates.a[of_high + m];
    } else if (is_good) {  // skip the difference at weight 0: NaN * 0 would be NaN
      const std::complex<float> low = templates.a[of_low + m];
      a = at.weight > 0.0F ? low + at.weight * (templates.a[of_high + m] - low) : low;
    }
    plan.templates.push_back(scale * a);
  }
}

}  // namespace

void use_templates(BeamformPlan& plan, const ArrayFiles* files, const std::vector<int>& channels) {
  const std::string key = fmt::format("processors.{}.steering.file", plan.name);
  const std::string& path = plan.settings.steering.templates_path;
  if (files == nullptr) {
    throw ConfigError(fmt::format("{}: expected none where no files are read, found {}", key, path));
  }
  const Templates templates = cut(files->templates(path), plan, channels);
  require_same_array(plan, templates, channels, key);
  const std::vector<double>& places = templates.positions_m;
  if (templates.count() == 0 || templates.count() > far_field::kMostPixels) {
    throw ConfigError(fmt::format("{}: expected 1 to {} templates, found {} in {}", key, far_field::kMostPixels,
                                  templates.count(), path));
  }
  const double standoff_m = templates.measurement.standoff_m;
  plan.grid.axes = {{.name = "point", .unit = "m", .values = places, .components = kCoordinatesOfPlace}};
  for (std::size_t i = 0; i < places.size(); i += kCoordinatesOfPlace) {
    plan.grid.pixels.push_back({places[i], places[i + 1], places[i + 2] - standoff_m});
  }
  const double reference_m = plan.settings.steering.reference_m;
  for (const double frequency_hz : plan.frequencies_hz) {
    const Between at = between(templates, frequency_hz, key, path);
    std::string missing;
    for (std::size_t i = 0; i < templates.count(); ++i) {
      add_template(plan, templates, at, i,
                   reference_m > 0.0 ? static_cast<float>(reference_m / norm(plan.grid.pixels[i])) : 1.0F);
      if (!is_coherent(templates, at, i)) {
        missing += fmt::format("{}{}", missing.empty() ? "" : ", ", i);
      }
    }
    if (!missing.empty()) {
      plan.left_out.push_back(fmt::format("without template {} at {:.1f} Hz", missing, frequency_hz));
    }
  }
}

}  // namespace nearfield
