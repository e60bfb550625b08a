#include "imaging/priors/surface_model.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>

#include "core/system/threads.hpp"
#include "imaging/shared/image_surface.hpp"

namespace nearfield {
namespace {

using Complex = std::complex<double>;
using Eigen::Index;

/// Orders of the Chebyshev series over a piece of the distance. Half a piece is kHalfPiece over the largest wavenumber,
/// so that the omitted terms are below 2 J_14(2) = 1e-11 of a wave.
constexpr Index kOrders = 14;
constexpr double kHalfPiece = 2.0;
constexpr double kSmallestHeight_m = 1e-6;  ///< half of it, so that a flat surface has an interval
constexpr Index kPixelsAtOnce = 64;

/// Chebyshev's nodes on [-1, 1].
Eigen::VectorXd nodes_of(Index count) {
  Eigen::VectorXd nodes(count);
  for (Index i = 0; i < count; ++i) {
    nodes(i) = std::cos(std::numbers::pi * (static_cast<double>(i) + 0.5) / static_cast<double>(count));
  }
  return nodes;
}

/// Matrix from values at these nodes to coefficients. (order, node)
Eigen::MatrixXd to_coefficients(Index count) {
  Eigen::MatrixXd matrix(count, count);
  for (Index order = 0; order < count; ++order) {
    for (Index node = 0; node < count; ++node) {
      matrix(order, node) = (order == 0 ? 1.0 : 2.0) / static_cast<double>(count) *
                            std::cos(std::numbers::pi * static_cast<double>(order) * (static_cast<double>(node) + 0.5) /
                                     static_cast<double>(count));
    }
  }
  return matrix;
}

/// Writes T_0(t), T_1(t), ... into [count] values.
void chebyshev(double t, double* values, Index count) {
  values[0] = 1.0;
  if (count > 1) {
    values[1] = t;
  }
  for (Index order = 2; order < count; ++order) {
    values[order] = 2.0 * t * values[order - 1] - values[order - 2];
  }
}

/// Factor from the gradient of the pressure to the quantity: v = -grad p / (j omega rho0), displacement v / (j omega).
Complex over_gradient(const ImagePlan& plan, double k) {
  const double omega = k * plan.medium.sound_speed_m_s;
  const Complex velocity = -1.0 / Complex(0.0, omega * plan.medium.density_kg_m3);
  return plan.holography.quantity == Quantity::kDisplacement ? velocity / Complex(0.0, omega) : velocity;
}

bool shows_velocity(const ImagePlan& plan) { return plan.holography.quantity != Quantity::kPressure; }

/// The largest distance along the array from a pixel to a microphone.
double longest_distance_m(const ImagePlan& plan) {
  const ArrayGeometry& geometry = plan.geometry;
  double most_x_m = 0.0;
  double most_y_m = 0.0;
  for (const Eigen::Vector3d& place : plan.surface->places_m) {
    most_x_m = std::max(most_x_m, std::abs(place.x()));
    most_y_m = std::max(most_y_m, std::abs(place.y()));
  }
  return std::hypot(most_x_m + geometry.x_m(geometry.columns - 1), most_y_m + geometry.y_m(geometry.rows - 1));
}

/// Sums over mirrored microphones, like folded() of kernels/imaging/sonah.cl. (pixel, sample)
Eigen::MatrixXcd fold(const Eigen::MatrixXcd& covariance, const ArrayGeometry& geometry, std::size_t parity) {
  const double sign_x = (parity & 1U) != 0 ? -1.0 : 1.0;
  const double sign_y = (parity & 2U) != 0 ? -1.0 : 1.0;
  const Index half_rows = (geometry.rows + 1) / 2;
  const Index half_columns = (geometry.columns + 1) / 2;
  Eigen::MatrixXcd folded(covariance.rows(), half_rows * half_columns);
  for (Index row = 0; row < half_rows; ++row) {
    for (Index column = 0; column < half_columns; ++column) {
      const Index near_row = row * geometry.columns;
      const Index far_row = (geometry.rows - 1 - row) * geometry.columns;
      const Index far_column = geometry.columns - 1 - column;
      folded.col(row * half_columns + column) =
          covariance.col(near_row + column) + sign_x * covariance.col(near_row + far_column) +
          sign_y * (covariance.col(far_row + column) + sign_x * covariance.col(far_row + far_column));
    }
  }
  return folded;
}

/// Sum over the pixels of the prior's variance, for the rings' power.
double surface_prior(const ImagePlan& plan, double k, const std::vector<PriorRing>& rings) {
  const double gradient = std::norm(over_gradient(plan, k));
  double sum = 0.0;
  for (std::size_t i = 0; i < plan.surface->pixels(); ++i) {
    if (!plan.surface->has(i)) {
      continue;
    }
    const Eigen::Vector3d& normal = plan.surface->normals[i];
    const double along_z = normal.z() * normal.z();
    for (const PriorRing& ring : rings) {
      // The mean over all directions along the array of |N grad|^2.
      const double shape = shows_velocity(plan)
                               ? gradient * (along_z * std::norm(ring.kz) + 0.5 * (1.0 - along_z) * ring.kr * ring.kr)
                               : 1.0;
      sum += ring.power * shape * std::exp(2.0 * ring.kz.imag() * plan.surface->places_m[i].z());
    }
  }
  return sum;
}

}  // namespace

SurfaceCovariance::SurfaceCovariance(const ImagePlan& plan, double k, const std::vector<PriorRing>& rings)
    : plan_(plan), is_velocity_(shows_velocity(plan)) {
  const auto count = static_cast<Index>(rings.size());
  double most_kr = 0.0;
  double most_kz = 0.0;
  for (const PriorRing& ring : rings) {
    most_kr = std::max(most_kr, ring.kr);
    most_kz = std::max(most_kz, std::abs(ring.kz));
  }
  const double longest_m = longest_distance_m(plan);
  pieces_ = std::max(Index{1}, static_cast<Index>(std::ceil(longest_m * most_kr / (2.0 * kHalfPiece))));
  piece_m_ = std::max(longest_m, kSmallestHeight_m) / static_cast<double>(pieces_) * (1.0 + 1e-12);
  middle_m_ = 0.5 * (plan.surface->lowest_m() + plan.surface->highest_m());
  half_height_m_ = std::max(kSmallestHeight_m, 0.5 * (plan.surface->highest_m() - plan.surface->lowest_m()));
  // The coefficients of e^{a x} fall like I_n(a): to 1e-12 of the largest with this many.
  const auto heights = static_cast<Index>(12 + std::ceil(1.5 * most_kz * half_height_m_));

  const Eigen::VectorXd distance_nodes = nodes_of(kOrders);
  const Eigen::VectorXd height_nodes = nodes_of(heights);
  Eigen::MatrixXcd weights(count, heights);
  for (Index i = 0; i < count; ++i) {
    const PriorRing& ring = rings[static_cast<std::size_t>(i)];
    const Complex to_array = std::exp(Complex(0.0, -1.0) * ring.kz * plan.standoff_m);
    for (Index node = 0; node < heights; ++node) {
      const double height_m = middle_m_ + half_height_m_ * height_nodes(node);
      weights(i, node) = ring.power * std::exp(Complex(0.0, -1.0) * ring.kz * height_m) * std::conj(to_array);
    }
  }
  weights = weights * to_coefficients(heights).transpose();
  const Complex gradient = over_gradient(plan, k);
  Eigen::MatrixXcd along_z = weights;
  Eigen::MatrixXcd along_array = weights;
  for (Index i = 0; i < count && is_velocity_; ++i) {
    const PriorRing& ring = rings[static_cast<std::size_t>(i)];
    along_z.row(i) *= gradient * Complex(0.0, -1.0) * ring.kz;
    along_array.row(i) *= -gradient * ring.kr;  // J0' = -J1
  }
  const Eigen::MatrixXd coefficients = to_coefficients(kOrders);
  along_z_.resize(pieces_ * kOrders, heights);
  along_array_.resize(is_velocity_ ? pieces_ * kOrders : 0, heights);
  Eigen::MatrixXd even(kOrders, count);
  Eigen::MatrixXd odd(kOrders, count);
  for (Index piece = 0; piece < pieces_; ++piece) {
    for (Index node = 0; node < kOrders; ++node) {
      const double distance_m = piece_m_ * (static_cast<double>(piece) + 0.5 * (1.0 + distance_nodes(node)));
      for (Index i = 0; i < count; ++i) {
        const double phase = rings[static_cast<std::size_t>(i)].kr * distance_m;
        even(node, i) = ::j0(phase);
        odd(node, i) = is_velocity_ ? ::j1(phase) : 0.0;
      }
    }
    along_z_.middleRows(piece * kOrders, kOrders) = (coefficients * even).cast<Complex>() * along_z;
    if (is_velocity_) {
      along_array_.middleRows(piece * kOrders, kOrders) = (coefficients * odd).cast<Complex>() * along_array;
    }
  }
}

Eigen::MatrixXcd SurfaceCovariance::of_pixels(Index first, Index count) const {
  const ImageSurface& surface = *plan_.surface;
  Eigen::MatrixXcd values = Eigen::MatrixXcd::Zero(count, plan_.geometry.channels());
  Eigen::VectorXd of_height(along_z_.cols());
  std::array<double, kOrders> of_distance{};
  for (Index i = 0; i < count; ++i) {
    const auto pixel = static_cast<std::size_t>(first + i);
    if (!surface.has(pixel)) {
      continue;
    }
    const Eigen::Vector3d& place = surface.places_m[pixel];
    const Eigen::Vector3d& normal = surface.normals[pixel];
    chebyshev((place.z() - middle_m_) / half_height_m_, of_height.data(), of_height.size());
    const Eigen::VectorXcd along_z = along_z_ * of_height;
    const bool leans = is_velocity_ && (normal.x() != 0.0 || normal.y() != 0.0);
    const Eigen::VectorXcd along_array = leans ? Eigen::VectorXcd(along_array_ * of_height) : Eigen::VectorXcd();
    for (int channel = 0; channel < plan_.geometry.channels(); ++channel) {
      const MicrophonePosition microphone = plan_.geometry.position_m(channel);
      const double x_m = place.x() - microphone.x_m;
      const double y_m = place.y() - microphone.y_m;
      const double distance_m = std::hypot(x_m, y_m);
      const auto piece = std::min(pieces_ - 1, static_cast<Index>(distance_m / piece_m_));
      chebyshev(2.0 * (distance_m / piece_m_ - static_cast<double>(piece)) - 1.0, of_distance.data(), kOrders);
      Complex upwards;
      Complex away;
      for (Index order = 0; order < kOrders; ++order) {
        const double factor = of_distance[static_cast<std::size_t>(order)];
        upwards += factor * along_z(piece * kOrders + order);
        away += leans ? factor * along_array(piece * kOrders + order) : 0.0;
      }
      const double lean = distance_m > 0.0 ? (normal.x() * x_m + normal.y() * y_m) / distance_m : 0.0;
      values(i, channel) = is_velocity_ ? normal.z() * upwards + lean * away : upwards;
    }
  }
  return values;
}

void add_surface_images(SonahModel& model, const std::array<Eigen::MatrixXd, kParities>& projections,
                        const ImagePlan& plan, double k, const std::vector<PriorRing>& rings, double microphone) {
  const ImageSurface& surface = *plan.surface;
  const auto pixels = static_cast<Index>(surface.pixels());
  const SurfaceCovariance covariance(plan, k, rings);
  model.pixel_rows = surface.rows;
  model.pixel_columns = surface.columns;
  model.images.resize(1);
  model.image_powers.resize(1);
  model.shown.resize(pixels);
  for (Index i = 0; i < pixels; ++i) {
    model.shown(i) = surface.has(static_cast<std::size_t>(i)) ? 1.0 : 0.0;
  }
  std::array<Eigen::MatrixXcf, kParities> images;
  for (std::size_t c = 0; c < kParities; ++c) {
    images[c].resize(pixels, model.samples);
    model.image_powers.front()[c] = Eigen::VectorXd::Zero(model.samples);
  }
  for (Index first = 0; first < pixels; first += kPixelsAtOnce) {
    Stoppable::end_if_stopped();
    const Index count = std::min(kPixelsAtOnce, pixels - first);
    const Eigen::MatrixXcd of_pixels = covariance.of_pixels(first, count) / microphone;
    for (std::size_t c = 0; c < kParities; ++c) {
      const Eigen::MatrixXcd folded = fold(of_pixels, plan.geometry, c);
      Eigen::MatrixXcd image(count, model.samples);
      image.real() = folded.real() * projections[c];
      image.imag() = folded.imag() * projections[c];
      images[c].middleRows(first, count) = image.cast<std::complex<float>>();
      model.image_powers.front()[c] += image.cwiseAbs2().colwise().sum().transpose();
    }
  }
  for (std::size_t c = 0; c < kParities; ++c) {
    model.images.front()[c] = ClassFactors<std::complex<float>>(std::move(images[c]));
  }
  model.prior_powers = {surface_prior(plan, k, rings) / microphone};
}

Complex quantity_along(const ImagePlan& plan, const Eigen::Vector3d& normal, double kx, double ky, Complex kz,
                       double k) {
  if (!shows_velocity(plan)) {
    return 1.0;
  }
  return over_gradient(plan, k) * Complex(0.0, 1.0) * (normal.x() * kx + normal.y() * ky - normal.z() * kz);
}

Eigen::VectorXcd wave_on_surface(const ImagePlan& plan, double k, const PlaneWave& wave) {
  const ImageSurface& surface = *plan.surface;
  const double kr2 = wave.kx_rad_per_m * wave.kx_rad_per_m + wave.ky_rad_per_m * wave.ky_rad_per_m;
  const Complex kz = kr2 <= k * k ? Complex(std::sqrt(k * k - kr2)) : Complex(0.0, -std::sqrt(kr2 - k * k));
  Eigen::VectorXcd values = Eigen::VectorXcd::Zero(static_cast<Index>(surface.pixels()));
  for (std::size_t i = 0; i < surface.pixels(); ++i) {
    const Eigen::Vector3d& place = surface.places_m[i];
    if (surface.has(i)) {
      values(static_cast<Index>(i)) =
          quantity_along(plan, surface.normals[i], wave.kx_rad_per_m, wave.ky_rad_per_m, kz, k) *
          std::exp(Complex(0.0, 1.0) * kz * (plan.standoff_m - place.z())) *
          std::polar(1.0, wave.kx_rad_per_m * place.x() + wave.ky_rad_per_m * place.y());
    }
  }
  return values;
}

}  // namespace nearfield
