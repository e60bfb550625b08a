#include "imaging/sonah/wave_table.hpp"

#include <cmath>

namespace nearfield {
namespace {

using Complex = std::complex<double>;
using Eigen::Index;

constexpr Index kWaveBlock = 32;

/// (pixel, source) on a plane, or on the plan's surface.
Eigen::MatrixXcd source_images(const PnahPlan& plan, double k, const std::vector<FieldSource>& sources,
                               double plane_m) {
  Eigen::MatrixXcd images(plan.image_rows() * Index{plan.image_columns()}, static_cast<Index>(sources.size()));
  for (std::size_t i = 0; i < sources.size(); ++i) {
    images.col(static_cast<Index>(i)) = source_image(plan, k, sources[i], plane_m);
  }
  return images;
}

/// The source with one of its coordinates, or wavenumbers, changed.
FieldSource moved(const FieldSource& source, int coordinate, double by) {
  FieldSource out = source;
  if (auto* wave = std::get_if<PlaneWave>(&out)) {
    (coordinate == 0 ? wave->kx_rad_per_m : wave->ky_rad_per_m) += by;
  } else {
    PointSource& point = std::get<PointSource>(out);
    (coordinate == 0 ? point.x_m : coordinate == 1 ? point.y_m : third_of(point)) += by;
  }
  return out;
}

/// What an image of the first plane changes by with each unknown of WaveModes::tangents, by central differences over
/// the coordinates; over about what a wavenumber is uncertain by, as the slope is without bound where a wave turns from
/// propagating to evanescent. (pixel, unknown)
Eigen::MatrixXcd image_tangents(const PnahPlan& plan, double k, const std::vector<FieldSource>& sources, double plane_m,
                                const Eigen::MatrixXcd& images, const WaveModes& found) {
  constexpr double kStep_m = 1e-6;
  constexpr double kStep_rad_per_m = 0.05;
  const Index count = images.cols();
  Eigen::MatrixXcd tangents(images.rows(), found.tangents.cols());
  tangents.leftCols(count) = images;
  tangents.middleCols(count, count) = Complex(0.0, 1.0) * images;
  Index next = 2 * count;
  for (Index i = 0; i < count; ++i) {
    const FieldSource& source = sources[static_cast<std::size_t>(i)];
    const double step = std::holds_alternative<PlaneWave>(source) ? kStep_rad_per_m : kStep_m;
    for (int coordinate = 0; coordinate < coordinates_of(source); ++coordinate) {
      tangents.col(next++) = found.amplitudes(i) / (2.0 * step) *
                             (source_image(plan, k, moved(source, coordinate, step), plane_m) -
                              source_image(plan, k, moved(source, coordinate, -step), plane_m));
    }
  }
  return tangents;
}

/// Expected squared error of an image of the first plane for prior power 1, because of the errors of amplitudes, places
/// and wavenumbers, which are imaged both by the sources and, with the other sign, by the prior: half of trace(N^-1
/// Re(M^H M)), with N = Re(T^H W T) the normal matrix of the unknowns, T their tangents, W the weights and M what the
/// tangents' images are beside the prior's images of the tangents. Half, as each unknown is real.
double expected_error(const PnahPlan& plan, const SonahModel& model, const Eigen::MatrixXcd& images,
                      const WaveModes& found) {
  const Eigen::MatrixXcd& weighed = found.white_tangents;
  const Eigen::MatrixXcd missed = images - image_of_modes(plan, model, weighed);
  const Eigen::MatrixXd normal = (found.tangents.adjoint() * weighed).real();
  const Eigen::MatrixXd energies = (missed.adjoint() * missed).real();
  const double error = 0.5 * normal.ldlt().solve(energies).trace();
  if (error >= 0.0 && std::isfinite(error)) {
    return error;
  }
  // Places that the microphones say nothing of: the amplitudes' errors alone.
  const Eigen::MatrixXcd of_amplitudes = missed.leftCols(found.covariance.cols());
  return (of_amplitudes.conjugate().cwiseProduct(of_amplitudes * found.covariance)).sum().real();
}

}  // namespace

std::vector<float> make_wave_table(const PnahPlan& plan, double k, const SonahModel& model,
                                   const std::vector<FieldSource>& sources, const WaveModes& found) {
  std::vector<float> values(WaveTable::kHeader, 0.0F);
  if (sources.empty()) {
    return values;
  }
  const std::vector<double> planes_m = plan.surface ? std::vector<double>{0.0} : plan.holography.planes_m;
  std::vector<Eigen::MatrixXcd> images;
  for (const double plane_m : planes_m) {
    images.push_back(source_images(plan, k, sources, plane_m));
  }
  values[0] = static_cast<float>(sources.size());
  values[1] = static_cast<float>(
      expected_error(plan, model, image_tangents(plan, k, sources, planes_m.front(), images.front(), found), found));
  const Eigen::MatrixXcd amplitudes = (found.white * found.covariance).conjugate();
  const Eigen::MatrixXcd energies = images.front().adjoint() * images.front();
  const Index padded = (model.samples + kWaveBlock - 1) / kWaveBlock * kWaveBlock;
  const auto put = [&](Complex value) {
    values.push_back(static_cast<float>(value.real()));
    values.push_back(static_cast<float>(value.imag()));
  };
  const auto put_modes = [&](const auto& of_source) {
    for (int c = 0; c < kParities; ++c) {
      for (Index mode = 0; mode < padded; ++mode) {
        put(mode < model.samples ? of_source(Index{c} * model.samples + mode) : Complex());
      }
    }
  };
  for (Index source = 0; source < energies.cols(); ++source) {
    put_modes(amplitudes.col(source));
    put_modes(found.modes.col(source));
    for (Index other = 0; other < kMostWaves; ++other) {
      put(other < energies.cols() ? energies(source, other) : Complex());
    }
    for (const Eigen::MatrixXcd& on_plane : images) {
      for (const Complex& pixel : on_plane.col(source)) {
        put(pixel);
      }
    }
  }
  return values;
}

}  // namespace nearfield
