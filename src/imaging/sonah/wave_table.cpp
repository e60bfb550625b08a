#include "imaging/sonah/wave_table.hpp"

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

/// Expected squared error of an image of the first plane, because of the amplitudes' errors, which are imaged both by
/// the sources and, with the other sign, by the prior.
double expected_error(const PnahPlan& plan, const SonahModel& model, const Eigen::MatrixXcd& images,
                      const WaveModes& found) {
  const Eigen::MatrixXcd missed =
      images - image_of_modes(plan, model, found.weights.matrix().asDiagonal() * found.modes);
  // trace(missed covariance missed^H)
  return (missed.conjugate().cwiseProduct(missed * found.covariance)).sum().real();
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
  values[1] = static_cast<float>(expected_error(plan, model, images.front(), found));
  const Eigen::MatrixXcd amplitudes =
      (found.weights.matrix().asDiagonal() * found.modes * found.covariance).conjugate();
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
