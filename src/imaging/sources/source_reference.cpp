#include "imaging/sources/source_reference.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <utility>

#include "imaging/shared/image_surface.hpp"

namespace nearfield::reference {
namespace {

/// The plan's quantity of a monopole e^{-jkr} / r along a normal, at the end of this vector from it.
Complex monopole(const Eigen::Vector3d& from_source_m, const Eigen::Vector3d& normal, double k, const ImagePlan& plan) {
  const double r = from_source_m.norm();
  const Complex pressure = std::exp(Complex(0.0, -k * r)) / r;
  if (plan.holography.quantity == Quantity::kPressure) {
    return pressure;
  }
  // Euler's equation: j omega rho0 v = -dp/dr along the direction from the source.
  const double omega = plan.medium.sound_speed_m_s * k;
  const Complex radial = (1.0 / r + Complex(0.0, k)) * pressure / Complex(0.0, omega * plan.medium.density_kg_m3);
  const Complex velocity = radial * normal.dot(from_source_m) / r;
  return plan.holography.quantity == Quantity::kDisplacement ? velocity / Complex(0.0, omega) : velocity;
}

/// The plan's quantity, along +z, of the mean of e^{-jkr} / r over a disc, at the end of this vector from its centre:
/// polar coordinates around the place, in which the integral along each ray over the disc is closed. In the disc's own
/// plane the velocity falls over `edge_m` at the rim.
Complex disc(const Eigen::Vector3d& from_centre_m, double radius_m, double k, double edge_m, const ImagePlan& plan) {
  constexpr int kRays = 1440;
  const double z_m = from_centre_m.z();
  const double across_m = std::hypot(from_centre_m.x(), from_centre_m.y());
  Complex pressure = 0.0;
  Complex velocity = 0.0;
  const auto add_ray = [&](double near_m, double far_m, double angle) {
    const double near_r = std::hypot(z_m, near_m);
    const double far_r = std::hypot(z_m, far_m);
    const Complex near_wave = std::exp(Complex(0.0, -k * near_r));
    const Complex far_wave = std::exp(Complex(0.0, -k * far_r));
    pressure += angle * (near_wave - far_wave) / Complex(0.0, k);
    velocity += angle * ((near_r > 0.0 ? z_m / near_r : 1.0) * near_wave - z_m / far_r * far_wave);
  };
  for (int ray = 0; ray < kRays; ++ray) {
    const double turn = 2.0 * std::numbers::pi * (ray + 0.5) / kRays;
    if (across_m < radius_m) {
      const double along_m = across_m * std::cos(turn);
      const double beside_m = across_m * std::sin(turn);
      add_ray(0.0, along_m + std::sqrt(radius_m * radius_m - beside_m * beside_m), 2.0 * std::numbers::pi / kRays);
    } else {
      // Rays through the disc, by their intersection with half of its rim: across sin(angle) = radius sin(t).
      const double t = turn / 2.0 - std::numbers::pi / 2.0;
      const double middle_m = std::sqrt(across_m * across_m - std::pow(radius_m * std::sin(t), 2));
      const double half_m = radius_m * std::cos(t);
      add_ray(middle_m - half_m, middle_m + half_m, half_m / middle_m * std::numbers::pi / kRays);
    }
  }
  const double over_area = 1.0 / (std::numbers::pi * radius_m * radius_m);
  if (plan.holography.quantity == Quantity::kPressure) {
    return pressure * over_area;
  }
  if (z_m < 1e-3 * edge_m) {
    velocity = 2.0 * std::numbers::pi * std::clamp((radius_m - across_m) / edge_m + 0.5, 0.0, 1.0);
  }
  const double omega = plan.medium.sound_speed_m_s * k;
  velocity *= over_area / Complex(0.0, omega * plan.medium.density_kg_m3);
  return plan.holography.quantity == Quantity::kDisplacement ? velocity / Complex(0.0, omega) : velocity;
}

}  // namespace

Complex point_at(const Eigen::Vector3d& place_m, const Eigen::Vector3d& normal, const PointSource& point, double k,
                 const ImagePlan& plan) {
  const Eigen::Vector3d from_source_m = place_m - Eigen::Vector3d(point.x_m, point.y_m, point.z_m);
  if (!point.is_disc()) {
    return monopole(from_source_m, normal, k, plan);
  }
  const ImageGrid grid = plan.grid();
  const double pixel_m = std::sqrt(grid.pitch_x_m * grid.pitch_y_m) / grid.upsample;
  return disc(from_source_m, point.radius_m, k, 0.25 * pixel_m, plan);  // along +z
}

Eigen::VectorXcd wave_over(const PlaneWave& wave, const ImagePlan& plan, int upsample) {
  const ArrayGeometry& geometry = plan.geometry;
  const int columns = upsample * (geometry.columns - 1) + 1;
  Eigen::VectorXcd values(Eigen::Index{upsample * (geometry.rows - 1) + 1} * columns);
  for (Eigen::Index i = 0; i < values.size(); ++i) {
    const Eigen::Index row = i / columns;
    const Eigen::Index column = i % columns;
    const double x_m = (static_cast<double>(column) / upsample - (geometry.columns - 1) / 2.0) * geometry.pitch_x_m;
    const double y_m = (static_cast<double>(row) / upsample - (geometry.rows - 1) / 2.0) * geometry.pitch_y_m;
    values(i) = std::polar(1.0, wave.kx_rad_per_m * x_m + wave.ky_rad_per_m * y_m);
  }
  return values;
}

Eigen::VectorXcd point_over(const PointSource& point, double k, const ImagePlan& plan) {
  ImagePlan pressure = plan;
  pressure.holography.quantity = Quantity::kPressure;
  Eigen::VectorXcd values(plan.geometry.channels());
  for (int channel = 0; channel < plan.geometry.channels(); ++channel) {
    const MicrophonePosition at = plan.geometry.position_m(channel);
    values(channel) = point_at({at.x_m, at.y_m, plan.standoff_m}, {0.0, 0.0, 1.0}, point, k, pressure);
  }
  return values;
}

Eigen::VectorXcd point_image(const PointSource& point, double k, double plane_m, const ImagePlan& plan) {
  const int columns = plan.image_columns();
  Eigen::VectorXcd values = Eigen::VectorXcd::Zero(Eigen::Index{plan.image_rows()} * columns);
  for (Eigen::Index i = 0; i < values.size(); ++i) {
    if (plan.surface) {
      const auto pixel = static_cast<std::size_t>(i);
      if (plan.surface->has(pixel)) {
        values(i) = point_at(plan.surface->places_m[pixel], plan.surface->normals[pixel], point, k, plan);
      }
      continue;
    }
    const double upsample = plan.holography.upsample;
    const Eigen::Index row = i / columns;
    const Eigen::Index column = i % columns;
    const Eigen::Vector3d place_m(plan.geometry.x_m(static_cast<double>(column) / upsample),
                                  plan.geometry.y_m(static_cast<double>(row) / upsample), plane_m);
    values(i) = point_at(place_m, {0.0, 0.0, 1.0}, point, k, plan);
  }
  return values;
}

namespace {

using Source = SourceProblem::Source;

/// The source with one of its coordinates, or wavenumbers, changed.
Source displaced(Source source, int coordinate, double by) {
  if (auto* wave = std::get_if<PlaneWave>(&source)) {
    (coordinate == 0 ? wave->kx_rad_per_m : wave->ky_rad_per_m) += by;
    return source;
  }
  PointSource& point = std::get<PointSource>(source);
  double& third_m = point.is_disc() ? point.radius_m : point.z_m;
  double& place_m = coordinate == 0 ? point.x_m : coordinate == 1 ? point.y_m : third_m;
  place_m += by;
  return source;
}

/// Half the trace of N^-1 E, N the normal matrix of amplitudes and coordinates, E their effect on the image minus its
/// image by the prior.
double expected_error(const std::vector<Source>& sources, const std::vector<Complex>& amplitudes,
                      const SourceProblem& problem) {
  std::vector<Eigen::VectorXcd> microphones;
  std::vector<Eigen::VectorXcd> images;
  for (std::size_t i = 0; i < sources.size(); ++i) {
    for (const Complex part : {Complex(1.0), Complex(0.0, 1.0)}) {  // parts of the amplitude
      microphones.emplace_back(part * problem.at_microphones(sources[i]));
      images.emplace_back(part * problem.on_plane(sources[i], 0));
    }
    const bool is_wave = std::holds_alternative<PlaneWave>(sources[i]);
    const double near = is_wave ? 1e-4 : 1e-6;  // rad/m or m
    const double far = is_wave ? 0.05 : 1e-6;   // for images: about the uncertainty of a wavenumber
    for (int coordinate = 0; coordinate < (is_wave ? 2 : 3); ++coordinate) {
      microphones.emplace_back(amplitudes[i] / (2.0 * near) *
                               (problem.at_microphones(displaced(sources[i], coordinate, near)) -
                                problem.at_microphones(displaced(sources[i], coordinate, -near))));
      images.emplace_back(amplitudes[i] / (2.0 * far) *
                          (problem.on_plane(displaced(sources[i], coordinate, far), 0) -
                           problem.on_plane(displaced(sources[i], coordinate, -far), 0)));
    }
  }
  Eigen::MatrixXd normal(microphones.size(), microphones.size());
  Eigen::MatrixXd energies = normal;
  std::vector<Eigen::VectorXcd> missed;
  for (std::size_t i = 0; i < images.size(); ++i) {
    missed.emplace_back(images[i] - problem.image_by_prior(problem.inverse * microphones[i]));
  }
  for (std::size_t i = 0; i < images.size(); ++i) {
    for (std::size_t j = 0; j < images.size(); ++j) {
      const auto row = static_cast<Eigen::Index>(i);
      const auto column = static_cast<Eigen::Index>(j);
      normal(row, column) = microphones[i].dot(problem.inverse * microphones[j]).real();
      energies(row, column) = missed[i].dot(missed[j]).real();
    }
  }
  return 0.5 * (normal.inverse() * energies).trace();
}

}  // namespace

SourceShare fit_sources(const FoundWaves& found, const Eigen::VectorXcd& field, const SourceProblem& problem) {
  std::vector<Source> sources(found.waves.begin(), found.waves.end());
  sources.insert(sources.end(), found.points.begin(), found.points.end());
  const auto count = static_cast<Eigen::Index>(sources.size());
  Eigen::MatrixXcd microphones(field.size(), count);
  for (Eigen::Index i = 0; i < count; ++i) {
    microphones.col(i) = problem.at_microphones(sources[static_cast<std::size_t>(i)]);
  }
  // (F^H C^-1 F)^-1 F^H C^-1 p, with C for the microphones that are not left out.
  const Eigen::MatrixXcd white = problem.inverse * microphones;
  const Eigen::MatrixXcd covariance = (microphones.adjoint() * white).inverse();
  const Eigen::VectorXcd amplitudes = covariance * white.adjoint() * field;
  SourceShare share{.residual = field - microphones * amplitudes,
                    .images = {},
                    .error = expected_error(sources, found.amplitudes, problem)};
  for (std::size_t plane = 0; plane < problem.planes; ++plane) {
    Eigen::VectorXcd image = amplitudes(0) * problem.on_plane(sources[0], plane);
    for (Eigen::Index i = 1; i < count; ++i) {
      image += amplitudes(i) * problem.on_plane(sources[static_cast<std::size_t>(i)], plane);
    }
    share.images.push_back(std::move(image));
  }
  Eigen::VectorXcd of_sides = Eigen::VectorXcd::Zero(share.images.front().size());
  for (std::size_t i = 0; i < found.waves.size(); ++i) {
    if (std::hypot(found.waves[i].kx_rad_per_m, found.waves[i].ky_rad_per_m) < problem.k) {
      of_sides += amplitudes(static_cast<Eigen::Index>(i)) * problem.on_plane(found.waves[i], 0);
    }
  }
  share.error_of_sides = 0.5 * of_sides.squaredNorm();
  return share;
}

}  // namespace nearfield::reference
