#include "bench/fidelity/fidelity_fields.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <numbers>

#include "bench/common/scenes.hpp"
#include "files/files.hpp"
#include "files/hdf5/h5_input.hpp"
#include "nearfield/error.hpp"
#include "simulate/fields.hpp"
#include "simulate/random.hpp"
#include "simulate/scene.hpp"

namespace nearfield::bench {
namespace {

constexpr double kPi = std::numbers::pi;
constexpr double kWaveX_m = 0.27;
constexpr double kWaveY_m = 0.35;
constexpr double kPhaseX = 0.7;  // rad
constexpr double kPhaseY = 0.4;
constexpr double kDepth_m = 0.03;
constexpr std::uint64_t kNoiseSeed = 20;

using FieldAt = std::function<std::complex<double>(const Tonal&, const Point&)>;

TrueField closed_form(const std::string& name, double standoff_m, const std::vector<double>& frequencies_hz,
                      const FieldAt& field_at) {
  TrueField field;
  field.name = name;
  field.standoff_m = standoff_m;
  field.frequencies_hz = frequencies_hz;
  for (const double frequency_hz : frequencies_hz) {
    const Tonal tonal{frequency_hz, field.medium};
    for (int row = 0; row < field.geometry.rows; ++row) {
      for (int column = 0; column < field.geometry.columns; ++column) {
        const double x_m = field.geometry.x_m(column);
        const double y_m = field.geometry.y_m(row);
        field.aperture.emplace_back(field_at(tonal, {x_m, y_m, standoff_m}));
        field.truth.emplace_back(field_at(tonal, {x_m, y_m, 0.0}));
      }
    }
  }
  return field;
}

FieldAt monopole_at(double x_m, double y_m) {
  return [=](const Tonal& tonal, const Point& point) {
    return monopole_field({{x_m, y_m, -kDepth_m}, 1e-4}, tonal, point).pressure_pa;
  };
}

std::complex<double> pattern_at(const Tonal& tonal, const Point& point) {
  const Wave wave{.shape = Wave::Shape::kSinSin,
                  .kx_rad_per_m = 2.0 * kPi / kWaveX_m,
                  .ky_rad_per_m = 2.0 * kPi / kWaveY_m,
                  .phase_x_rad = kPhaseX,
                  .phase_y_rad = kPhaseY};
  return wave_field(wave, tonal, point).pressure_pa;
}

/// A scene's field at the requested ones of its frequencies; at all, where none is requested.
TrueField scene_field(const std::string& name, std::string_view file, std::vector<double> frequencies_hz,
                      Quantity quantity) {
  Scene scene = bench_scene(file, {});
  if (!frequencies_hz.empty()) {
    std::erase_if(scene.tones, [&](const ToneSource& tone) {
      return std::none_of(frequencies_hz.begin(), frequencies_hz.end(),
                          [&](double wanted_hz) { return std::abs(wanted_hz - tone.frequency_hz) < 0.01; });
    });
  }
  const Truth truth = truth_of(scene);
  TrueField field;
  field.name = name;
  field.quantity = quantity;
  field.geometry = scene.measurement.geometry;
  field.standoff_m = scene.measurement.standoff_m;
  field.medium = scene.medium;
  field.frequencies_hz = truth.frequencies_hz;
  field.aperture = truth.aperture_pressure;
  field.truth = quantity == Quantity::kPressure ? truth.pressure : truth.normal_velocity;
  return field;
}

/// A standard normal pair (Box and Muller), the same with every standard library.
std::complex<double> normal_pair(RandomStream& random) {
  const double uniform = 0.5 * (1.0 - random.uniform());  // above 0, at most 1
  return std::polar(std::sqrt(-2.0 * std::log(uniform)), kPi * random.uniform());
}

std::complex<float> at_place(const ArrayGeometry& geometry, std::span<const std::complex<float>> image,
                             const Place& place) {
  const double column = place.x_m / geometry.pitch_x_m + (geometry.columns - 1) / 2.0;
  const double row = place.y_m / geometry.pitch_y_m + (geometry.rows - 1) / 2.0;
  const int c = std::clamp(static_cast<int>(std::floor(column)), 0, geometry.columns - 2);
  const int r = std::clamp(static_cast<int>(std::floor(row)), 0, geometry.rows - 2);
  const double u = column - c;
  const double v = row - r;
  const auto pixel = [&](int y, int x) {
    return std::complex<double>(image[static_cast<std::size_t>(y * geometry.columns + x)]);
  };
  return std::complex<float>((1.0 - v) * ((1.0 - u) * pixel(r, c) + u * pixel(r, c + 1)) +
                             v * ((1.0 - u) * pixel(r + 1, c) + u * pixel(r + 1, c + 1)));
}

void read_truth_at_points(const h5::InputFile& input, TrueField& field) {
  const std::vector<double> places = input.values<double>("/truth/points_xy_m", {{"points"}, {"x, y", 2}});
  for (std::size_t i = 0; i + 1 < places.size(); i += 2) {
    field.points.push_back({places[i], places[i + 1]});
  }
  field.truth = input.values<std::complex<float>>(
      "/truth/normal_velocity_points", {{"frequencies", field.frequencies_hz.size()}, {"points", field.points.size()}});
}

void read_truth_of_pixels(const h5::InputFile& input, TrueField& field) {
  const auto rows = static_cast<std::uint64_t>(field.geometry.rows);
  const auto columns = static_cast<std::uint64_t>(field.geometry.columns);
  field.truth = input.values<std::complex<float>>(
      "/truth/normal_velocity", {{"frequencies", field.frequencies_hz.size()}, {"rows", rows}, {"columns", columns}});
  if (input.has("/truth/valid")) {
    for (const double valid : input.values<double>("/truth/valid", {{"rows", rows}, {"columns", columns}})) {
      field.valid.push_back(valid != 0.0 ? 1 : 0);
    }
  }
}

}  // namespace

std::span<const std::complex<float>> TrueField::truth_of(std::size_t frequency) const {
  const std::size_t places = truth.size() / frequencies_hz.size();
  return std::span(truth).subspan(frequency * places, places);
}

std::span<const std::complex<float>> TrueField::aperture_of(std::size_t frequency) const {
  return std::span(aperture).subspan(frequency * channels(), channels());
}

std::vector<TrueField> closed_form_fields(double standoff_m) {
  return {closed_form("centred monopole", standoff_m, {500.0, 2000.0, 4000.0}, monopole_at(0.013, -0.021)),
          closed_form("edge monopole", standoff_m, {500.0, 2000.0, 4000.0}, monopole_at(0.26, 0.19)),
          closed_form("pattern", standoff_m, {500.0, 2000.0}, pattern_at)};
}

std::vector<TrueField> scene_fields() {
  std::vector<TrueField> fields;
  for (const Quantity quantity : {Quantity::kPressure, Quantity::kNormalVelocity}) {
    fields.push_back(scene_field("two monopoles", "monopoles.yaml", {}, quantity));
    fields.push_back(scene_field("two pistons", "piston.yaml", {}, quantity));
    fields.push_back(scene_field("plate", "plate.yaml", {}, quantity));
    for (const ThesisScene& scene : kThesisScenes) {
      fields.push_back(scene_field(std::string(scene.label), scene.file, {scene.frequency_hz}, quantity));
    }
  }
  return fields;
}

TrueField measured_field(const std::filesystem::path& path) {
  const SpectraFile spectra = read_spectra(path);
  TrueField field;
  field.name = path.stem().string();
  field.quantity = Quantity::kNormalVelocity;
  field.geometry = spectra.measurement.geometry;
  field.standoff_m = spectra.measurement.standoff_m;
  field.frequencies_hz = spectra.frequencies_hz;
  if (spectra.frames != 1) {
    throw DataError(
        fmt::format("{}: /spectra: expected 1 frame beside a truth, found {}", path.string(), spectra.frames));
  }
  field.aperture = spectra.spectra;
  const h5::InputFile input(path);
  if (input.has("/truth/points_xy_m")) {
    read_truth_at_points(input, field);
  } else {
    read_truth_of_pixels(input, field);
  }
  return field;
}

double mean_power(const TrueField& field, std::size_t frequency) {
  double sum = 0.0;
  for (const std::complex<float>& value : field.aperture_of(frequency)) {
    sum += std::norm(std::complex<double>(value));
  }
  return sum / static_cast<double>(field.channels());
}

Values noisy_draw(const TrueField& field, double snr_db, int draw) {
  Values frame;
  for (std::size_t f = 0; f < field.frequencies_hz.size(); ++f) {
    RandomStream random(kNoiseSeed, static_cast<std::uint64_t>(draw) * 64U + f);
    const double scale = std::sqrt(mean_power(field, f) * std::pow(10.0, -snr_db / 10.0) / 2.0);
    for (const std::complex<float>& value : field.aperture_of(f)) {
      frame.emplace_back(std::complex<double>(value) + scale * normal_pair(random));
    }
  }
  return frame;
}

Values noisy_draws(const TrueField& field, double snr_db, int draws) {
  Values frames;
  for (int draw = 0; draw < draws; ++draw) {
    const Values frame = noisy_draw(field, snr_db, draw);
    frames.insert(frames.end(), frame.begin(), frame.end());
  }
  return frames;
}

Values where_true(const TrueField& field, std::span<const std::complex<float>> image) {
  Values values;
  for (const Place& place : field.points) {
    values.push_back(at_place(field.geometry, image, place));
  }
  if (field.points.empty()) {
    for (std::size_t i = 0; i < image.size(); ++i) {
      if (field.valid.empty() || field.valid[i] != 0) {
        values.push_back(image[i]);
      }
    }
  }
  return values;
}

Values known_truth(const TrueField& field, std::size_t frequency) {
  const std::span<const std::complex<float>> truth = field.truth_of(frequency);
  return field.points.empty() ? where_true(field, truth) : Values(truth.begin(), truth.end());
}

}  // namespace nearfield::bench
