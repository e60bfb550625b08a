#include "imaging/sources/source_modes.hpp"

#include <algorithm>
#include <cmath>

#include "imaging/priors/surface_model.hpp"
#include "imaging/shared/image_surface.hpp"

namespace nearfield {
namespace {

using Complex = std::complex<double>;
using Eigen::Index;

constexpr int kNoCoordinate = -1;

/// Position along half an axis, m; index counts from the outermost microphone to the centre.
double half_place_m(Index index, int microphones, double pitch_m) {
  return (static_cast<double>(index) - (microphones - 1) / 2.0) * pitch_m;
}

double pixel_place_m(Index pixel, int upsample, int microphones, double pitch_m) {
  return (static_cast<double>(pixel) / upsample - (microphones - 1) / 2.0) * pitch_m;
}

Eigen::VectorXcd wave_on_plane(const ImagePlan& plan, double k, const PlaneWave& wave, double plane_m) {
  const ArrayGeometry& g = plan.geometry;
  const int upsample = plan.holography.upsample;
  const Complex gain = wave_gain(plan, k, wave, plane_m);
  Eigen::VectorXcd image(Index{plan.image_rows()} * plan.image_columns());
  for (Index row = 0; row < plan.image_rows(); ++row) {
    const double y_m = pixel_place_m(row, upsample, g.rows, g.pitch_y_m);
    for (Index column = 0; column < plan.image_columns(); ++column) {
      const double x_m = pixel_place_m(column, upsample, g.columns, g.pitch_x_m);
      image(row * plan.image_columns() + column) =
          gain * std::polar(1.0, wave.kx_rad_per_m * x_m + wave.ky_rad_per_m * y_m);
    }
  }
  return image;
}

Eigen::VectorXcd point_on_plane(const ImagePlan& plan, double k, const PointSource& point, double plane_m) {
  const ArrayGeometry& g = plan.geometry;
  const int upsample = plan.holography.upsample;
  const double edge_m = disc_edge_m(plan);
  Eigen::VectorXcd image(Index{plan.image_rows()} * plan.image_columns());
  for (Index row = 0; row < plan.image_rows(); ++row) {
    const double y_m = pixel_place_m(row, upsample, g.rows, g.pitch_y_m);
    for (Index column = 0; column < plan.image_columns(); ++column) {
      const double x_m = pixel_place_m(column, upsample, g.columns, g.pitch_x_m);
      image(row * plan.image_columns() + column) =
          quantity_of(plan, k, point_field(point, {x_m, y_m, plane_m}, k, edge_m), {0.0, 0.0, 1.0});
    }
  }
  return image;
}

Eigen::VectorXcd point_on_surface(const ImagePlan& plan, double k, const PointSource& point) {
  const ImageSurface& surface = *plan.surface;
  const double edge_m = disc_edge_m(plan);
  Eigen::VectorXcd image = Eigen::VectorXcd::Zero(static_cast<Index>(surface.pixels()));
  for (std::size_t i = 0; i < surface.pixels(); ++i) {
    if (surface.has(i)) {
      image(static_cast<Index>(i)) =
          quantity_of(plan, k, point_field(point, surface.places_m[i], k, edge_m), surface.normals[i]);
    }
  }
  return image;
}

}  // namespace

SourceModes::SourceModes(const ImagePlan& plan, std::size_t frequency, const SonahModel& model)
    : plan_(plan), frequency_(frequency), k_(plan.wavenumber(frequency)), model_(&model) {}

Eigen::MatrixXcd SourceModes::fields(const Sources& sources) const {
  return modes_of(sources, std::array{kNoCoordinate}).front();
}

std::vector<Eigen::MatrixXcd> SourceModes::slopes(const Sources& sources) const {
  static_assert(kMostCoordinates == 3);
  return modes_of(sources, std::array{0, 1, 2});
}

Eigen::VectorXcd SourceModes::of_field(std::span<const Complex> field) const {
  const Eigen::VectorXcd all = Eigen::Map<const Eigen::VectorXcd>(field.data(), static_cast<Index>(field.size()));
  Eigen::VectorXcd modes(kParities * Index{model_->samples});
  for (std::size_t c = 0; c < kParities; ++c) {
    const Eigen::VectorXcd folded = fold_class(plan_.geometry, all, c);
    modes.segment(static_cast<Index>(c) * model_->samples, model_->samples) =
        model_->projections[c].transposed_times(folded);
  }
  return modes;
}

/// A plane wave's sums over mirrored microphones, over the phases of the classes. (sample, class)
void SourceModes::fold_wave(const PlaneWave& wave, int coordinate, Eigen::Ref<Eigen::MatrixXd> real) const {
  const ArrayGeometry& g = plan_.geometry;
  const Index half_columns = (g.columns + 1) / 2;
  const auto along = [](double k, double place_m, bool is_odd, bool is_slope) {
    return is_slope ? mirrored_slope(k, place_m, is_odd) : mirrored_pair(k, place_m, is_odd);
  };
  for (int c = 0; c < kParities; ++c) {
    for (Index sample = 0; sample < real.rows(); ++sample) {
      const double y_m = half_place_m(sample / half_columns, g.rows, g.pitch_y_m);
      const double x_m = half_place_m(sample % half_columns, g.columns, g.pitch_x_m);
      real(sample, c) = along(wave.ky_rad_per_m, y_m, (c & 2) != 0, coordinate == 1) *
                        along(wave.kx_rad_per_m, x_m, (c & 1) != 0, coordinate == 0);
    }
  }
}

/// Field at the microphones, or its derivative by a wavenumber.
Eigen::VectorXcd SourceModes::field_of(const PlaneWave& wave, int coordinate) const {
  const ArrayGeometry& g = plan_.geometry;
  Eigen::VectorXcd field(g.channels());
  for (int channel = 0; channel < g.channels(); ++channel) {
    const MicrophonePosition at = g.position_m(channel);
    const double x_m = at.x_m;
    const double y_m = at.y_m;
    const double slope_m = coordinate == 0 ? x_m : y_m;
    field(channel) = (coordinate == kNoCoordinate ? Complex(1.0) : Complex(0.0, slope_m)) *
                     std::polar(1.0, wave.kx_rad_per_m * x_m + wave.ky_rad_per_m * y_m);
  }
  return field;
}

std::vector<PointField> SourceModes::at_microphones(const PointSource& point) const {
  const ArrayGeometry& g = plan_.geometry;
  const double edge_m = std::min(g.pitch_x_m, g.pitch_y_m);
  std::vector<PointField> fields;
  for (int channel = 0; channel < g.channels(); ++channel) {
    const MicrophonePosition microphone = g.position_m(channel);
    fields.push_back(point_field(point, {microphone.x_m, microphone.y_m, plan_.standoff_m}, k_, edge_m));
  }
  return fields;
}

/// Fields, or derivatives by a coordinate. A point source's field is computed once for all of them. [coordinate]
std::vector<Eigen::MatrixXcd> SourceModes::modes_of(const Sources& sources, std::span<const int> coordinates) const {
  const Index samples = model_->samples;
  const auto count = static_cast<Index>(sources.size());
  std::vector<Folded> folded(coordinates.size());
  for (Folded& of_coordinate : folded) {
    of_coordinate.fill(Eigen::MatrixXd::Zero(samples, 2 * count));
  }
  Eigen::MatrixXd of_wave(samples, kParities);
  Eigen::VectorXcd field;
  for (Index i = 0; i < count; ++i) {
    const FieldSource& source = sources[static_cast<std::size_t>(i)];
    const auto* wave = std::get_if<PlaneWave>(&source);
    const auto* point = std::get_if<PointSource>(&source);
    const std::vector<PointField> of_point = point != nullptr ? at_microphones(*point) : std::vector<PointField>();
    for (std::size_t j = 0; j < coordinates.size(); ++j) {
      const int coordinate = coordinates[j];
      if (coordinate >= coordinates_of(source)) {
        continue;
      }
      if (wave != nullptr && mask_ == nullptr) {
        fold_wave(*wave, coordinate, of_wave);
        for (std::size_t c = 0; c < kParities; ++c) {
          folded[j][c].col(2 * i) = kClassPhases[c].real() * of_wave.col(static_cast<Index>(c));
          folded[j][c].col(2 * i + 1) = kClassPhases[c].imag() * of_wave.col(static_cast<Index>(c));
        }
        continue;
      }
      if (wave != nullptr) {
        field = field_of(*wave, coordinate);
      } else {
        field.resize(static_cast<Index>(of_point.size()));
        std::transform(of_point.begin(), of_point.end(), field.begin(), [&](const PointField& at) {
          return coordinate == kNoCoordinate ? at.pressure : slope_of(at, *point, coordinate);
        });
      }
      if (mask_ != nullptr) {
        fill_masked({field.data(), static_cast<std::size_t>(field.size())}, *mask_, plan_, frequency_);
      }
      for (std::size_t c = 0; c < kParities; ++c) {
        const Eigen::VectorXcd of_class = fold_class(plan_.geometry, field, c);
        folded[j][c].col(2 * i) = of_class.real();
        folded[j][c].col(2 * i + 1) = of_class.imag();
      }
    }
  }
  std::vector<Eigen::MatrixXcd> modes;
  for (const Folded& of_coordinate : folded) {
    modes.push_back(modes_of(of_coordinate));
  }
  return modes;
}

Eigen::MatrixXcd SourceModes::modes_of(const Folded& folded) const {
  const Index samples = model_->samples;
  const Index count = folded.front().cols() / 2;
  Eigen::MatrixXcd modes(kParities * samples, count);
  for (std::size_t c = 0; c < kParities; ++c) {
    const Eigen::MatrixXd parts = model_->projections[c].transposed_times(folded[c]);
    for (Index i = 0; i < count; ++i) {
      auto part = modes.col(i).segment(static_cast<Index>(c) * samples, samples);
      part.real() = parts.col(2 * i);
      part.imag() = parts.col(2 * i + 1);
    }
  }
  return modes;
}

Eigen::MatrixXd filter_weights(const SonahModel& model) {
  Eigen::MatrixXd weights(kNoiseSteps, kParities * Index{model.samples});
  for (std::size_t c = 0; c < kParities; ++c) {
    for (int step = 0; step < kNoiseSteps; ++step) {
      weights.row(step).segment(static_cast<Index>(c) * model.samples, model.samples) =
          (model.powers[c].array() + noise_step(step)).inverse().matrix().transpose();
    }
  }
  return weights;
}

Eigen::VectorXcd fold_class(const ArrayGeometry& geometry, const Eigen::VectorXcd& field, std::size_t parity) {
  const double sign_x = (parity & 1U) != 0 ? -1.0 : 1.0;
  const double sign_y = (parity & 2U) != 0 ? -1.0 : 1.0;
  const Index half_rows = (geometry.rows + 1) / 2;
  const Index half_columns = (geometry.columns + 1) / 2;
  Eigen::VectorXcd folded(half_rows * half_columns);
  for (Index row = 0; row < half_rows; ++row) {
    for (Index column = 0; column < half_columns; ++column) {
      const Index near_row = row * geometry.columns;
      const Index far_row = (geometry.rows - 1 - row) * geometry.columns;
      const Index far_column = geometry.columns - 1 - column;
      folded(row * half_columns + column) = field(near_row + column) + sign_x * field(near_row + far_column) +
                                            sign_y * (field(far_row + column) + sign_x * field(far_row + far_column));
    }
  }
  return folded;
}

Eigen::VectorXcd source_image(const ImagePlan& plan, double k, const FieldSource& source, double plane_m) {
  if (const auto* wave = std::get_if<PlaneWave>(&source)) {
    return plan.surface ? wave_on_surface(plan, k, *wave) : wave_on_plane(plan, k, *wave, plane_m);
  }
  const PointSource& point = std::get<PointSource>(source);
  return plan.surface ? point_on_surface(plan, k, point) : point_on_plane(plan, k, point, plane_m);
}

Eigen::MatrixXcd image_of_modes(const ImagePlan& plan, const SonahModel& model, const Eigen::MatrixXcd& white) {
  const Index rows = plan.image_rows();
  const Index columns = plan.image_columns();
  Eigen::MatrixXcd image =
      Eigen::MatrixXcd::Zero(plan.surface ? static_cast<Index>(plan.surface->pixels()) : rows * columns, white.cols());
  for (std::size_t c = 0; c < kParities; ++c) {
    const auto of_class = white.middleRows(static_cast<Index>(c) * model.samples, model.samples);
    const Eigen::MatrixXcd folded = model.images.front()[c].times(of_class);
    if (plan.surface) {
      image += folded;
      continue;
    }
    for (Index row = 0; row < rows; ++row) {
      for (Index column = 0; column < columns; ++column) {
        const Index near_row = std::min(row, rows - 1 - row);
        const Index near_column = std::min(column, columns - 1 - column);
        const bool is_minus = ((c & 1U) != 0 && column != near_column) != ((c & 2U) != 0 && row != near_row);
        image.row(row * columns + column) +=
            (is_minus ? -1.0 : 1.0) * folded.row(near_row * model.pixel_columns + near_column);
      }
    }
  }
  return image;
}

double mirrored_pair(double k_rad_per_m, double x_m, bool is_odd) {
  return 2.0 * (is_odd ? std::sin(k_rad_per_m * x_m) : std::cos(k_rad_per_m * x_m));
}

double mirrored_slope(double k_rad_per_m, double x_m, bool is_odd) {
  return 2.0 * x_m * (is_odd ? std::cos(k_rad_per_m * x_m) : -std::sin(k_rad_per_m * x_m));
}

Complex wave_gain(const ImagePlan& plan, double k, const PlaneWave& wave, double plane_m) {
  const double kr2 = wave.kx_rad_per_m * wave.kx_rad_per_m + wave.ky_rad_per_m * wave.ky_rad_per_m;
  const Complex kz = kr2 <= k * k ? Complex(std::sqrt(k * k - kr2)) : Complex(0.0, -std::sqrt(kr2 - k * k));
  return quantity_factor(plan, kz, k) * std::exp(Complex(0.0, 1.0) * kz * (plan.standoff_m - plane_m));
}

}  // namespace nearfield
