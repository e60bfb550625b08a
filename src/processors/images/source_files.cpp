#include "processors/images/source_files.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "core/error.hpp"
#include "processors/far_field/grid.hpp"

namespace nearfield {
namespace {

constexpr std::size_t kPlaceCoordinates = 3;

std::vector<Eigen::Vector3d> places_of(const std::vector<double>& xyz_m) {
  std::vector<Eigen::Vector3d> places_m;
  for (std::size_t i = 0; i + 2 < xyz_m.size(); i += kPlaceCoordinates) {
    places_m.emplace_back(xyz_m[i], xyz_m[i + 1], xyz_m[i + 2]);
  }
  return places_m;
}

/// Files may hold lengths as float32.
bool has_microphones_of(const Templates& templates, const ArrayPlan& array) {
  constexpr double kFloatRounding_m = 1e-5;
  const ArrayGeometry& of_file = templates.measurement.geometry;
  bool are_same = of_file.channels() == array.geometry.channels() &&
                  std::abs(templates.measurement.standoff_m - array.standoff_m) <= kFloatRounding_m;
  for (int channel = 0; are_same && channel < of_file.channels(); ++channel) {
    const MicrophonePosition one = of_file.position_m(channel);
    const MicrophonePosition other = array.geometry.position_m(channel);
    are_same = std::hypot(one.x_m - other.x_m, one.y_m - other.y_m, one.z_m - other.z_m) <= kFloatRounding_m;
  }
  return are_same;
}

void append_templates(OperatorSources& sources, const Templates& templates, double frequency_hz,
                      const std::string& key) {
  const std::vector<double>& known_hz = templates.frequencies_hz;
  constexpr double kFrequencyRounding = 1e-9;
  if (frequency_hz < known_hz.front() * (1.0 - kFrequencyRounding) ||
      frequency_hz > known_hz.back() * (1.0 + kFrequencyRounding)) {
    throw ConfigError(fmt::format("{}: expected templates at {} Hz, found some from {} to {} Hz", key, frequency_hz,
                                  known_hz.front(), known_hz.back()));
  }
  const auto above = std::lower_bound(known_hz.begin(), known_hz.end() - 1, frequency_hz);
  const auto high = static_cast<std::size_t>(above - known_hz.begin());
  const std::size_t low = high > 0 ? high - 1 : 0;
  const double span_hz = known_hz[high] - known_hz[low];
  const double weight = span_hz > 0.0 ? std::clamp((frequency_hz - known_hz[low]) / span_hz, 0.0, 1.0) : 0.0;
  const auto channels = static_cast<std::size_t>(templates.measurement.geometry.channels());
  for (std::size_t i = 0; i < templates.count(); ++i) {
    for (const std::size_t at : {low, high}) {
      const auto coherence = static_cast<double>(templates.coherence[at * templates.count() + i]);
      if (!(coherence >= kLeastTemplateCoherence)) {
        throw ConfigError(
            fmt::format("{}: expected templates with a coherence of at least {}, found {:.3g} of template "
                        "{} at {} Hz; measure it again, or leave it out of the file",
                        key, kLeastTemplateCoherence, coherence, i, known_hz[at]));
      }
    }
    for (std::size_t m = 0; m < channels; ++m) {
      const std::complex<double> of_low(templates.a[(low * templates.count() + i) * channels + m]);
      const std::complex<double> of_high(templates.a[(high * templates.count() + i) * channels + m]);
      sources.templates.push_back(of_low + weight * (of_high - of_low));
    }
  }
}

}  // namespace

std::shared_ptr<const OperatorSources> read_sources(const ProcessorPlan& plan, const OperatorSettings& operators) {
  const std::string section =
      plan.name == kFirstProcessor ? "holography.operators." : fmt::format("processors.{}.operators.", plan.name);
  if (!operators.sources_path.empty()) {
    return std::make_shared<const OperatorSources>(
        OperatorSources{.places_m = places_of(far_field::read_points(operators.sources_path, kMostSources,
                                                                     section + "sources", plan.files.get()))});
  }
  if (operators.templates_path.empty()) {
    return nullptr;
  }
  const std::string key = section + "templates";
  if (plan.files == nullptr) {
    throw ConfigError(
        fmt::format("{}: expected null where no files are read, found {}", key, operators.templates_path));
  }
  const Templates templates = plan.files->templates(operators.templates_path);
  if (!has_microphones_of(templates, plan.array)) {
    throw ConfigError(fmt::format(
        "{}: expected templates of this array and standoff, found {} microphones at {} m in {}", key,
        text_of_size(templates.measurement.geometry), templates.measurement.standoff_m, operators.templates_path));
  }
  OperatorSources sources{.places_m = places_of(templates.positions_m)};
  for (const double frequency_hz : plan.array.frequencies_hz) {
    append_templates(sources, templates, frequency_hz, key);
  }
  return std::make_shared<const OperatorSources>(std::move(sources));
}

}  // namespace nearfield
