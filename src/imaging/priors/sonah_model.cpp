#include "imaging/priors/sonah_model.hpp"

#include <algorithm>
#include <cmath>
#include <complex>
#include <numbers>
#include <optional>
#include <thread>
#include <utility>

#include "core/numerics.hpp"
#include "core/system/threads.hpp"
#include "imaging/priors/prior_models.hpp"
#include "imaging/priors/surface_model.hpp"
#include "imaging/shared/each_frequency.hpp"
#include "imaging/shared/image_surface.hpp"

namespace nearfield {
namespace {

using Complex = std::complex<double>;

/// Evanescent waves that lose more nepers than this from the layer to the microphones are left out.
constexpr double kDeepest = 20.0;
/// Part of k in the width over which the prior's power is rounded near grazing; one period over the array is added.
constexpr double kGrazingPart = 0.3;

double array_side_m(const ArrayGeometry& geometry) {
  return std::sqrt(geometry.rows * geometry.pitch_y_m * geometry.columns * geometry.pitch_x_m);
}

/// Depth of the deep layer over that of the layer, which is the standoff; width of patches over the standoff.
constexpr double kDeeper = 2.0;
constexpr double kPatchWidth = 0.85;
/// Ring of bending waves in K-space: its middle and standard deviation, over 1 / standoff.
struct BendingRing {
  double middle = 0.0;
  double spread = 0.0;
};

std::optional<BendingRing> bending_ring(FieldPrior prior) {
  switch (prior) {
    case FieldPrior::kBendingWaves:
      return BendingRing{.middle = 1.7, .spread = 0.5};
    case FieldPrior::kShortBendingWaves:
      return BendingRing{.middle = 2.0, .spread = 0.4};
    default:
      return std::nullopt;
  }
}

/// Power density of the prior over K-space on the surface, for a wave with this kz (docs/how/sonah.md).
class PriorDensity {
 public:
  PriorDensity(const ImagePlan& plan, double k)
      : prior_(model_prior(plan)),
        ring_(bending_ring(prior_)),
        depth_m_(prior_ == FieldPrior::kDeepLayer ? kDeeper * plan.standoff_m : plan.standoff_m),
        patch_m_(kPatchWidth * plan.standoff_m),
        standoff_m_(plan.standoff_m),
        k_(k),
        rounding_(kGrazingPart * k + 2.0 * std::numbers::pi / array_side_m(plan.geometry)) {}
  double operator()(Complex kz) const {
    const double decay = -std::min(kz.imag(), 0.0);
    if (prior_ == FieldPrior::kPatches) {
      return std::exp(-decay * decay * patch_m_ * patch_m_);
    }
    if (ring_) {
      const double kr = std::sqrt(std::max(k_ * k_ - (kz * kz).real(), 0.0));
      const double off = (kr * standoff_m_ - ring_->middle) / ring_->spread;
      return std::exp(-0.5 * off * off);
    }
    return std::exp(-2.0 * decay * depth_m_) / (std::norm(kz) + rounding_ * rounding_);
  }
  /// Decay above which evanescent waves are left out, as they lose more than kDeepest nepers up to the microphones.
  [[nodiscard]] double most_decay(double standoff_m) const { return kDeepest / (depth_m_ + standoff_m); }
  /// Decay from which on the density at the microphones falls; of bending waves that is inside their ring, as the
  /// microphones hear long waves better.
  [[nodiscard]] double loudest_decay() const {
    if (!ring_) {
      return 0.0;
    }
    const double kr = (ring_->middle - 2.0 * ring_->spread * ring_->spread) / standoff_m_;
    return std::sqrt(std::max(kr * kr - k_ * k_, 0.0));
  }

 private:
  FieldPrior prior_;
  std::optional<BendingRing> ring_;
  double depth_m_;  ///< depth of the layer behind the surface
  double patch_m_;  ///< from a patch's centre to where its field has fallen to 1 / sqrt(e)
  double standoff_m_;
  double k_;
  double rounding_;
};

/// Appends the rule's nodes over [low, high] of `variable`, cut so that the phase over each piece stays within the
/// resolution of a rule.
template <class ToRing>
void append_rings(std::vector<PriorRing>& rings, double low, double high, double phase_rad, const ToRing& to_ring) {
  const int pieces = std::max(1, static_cast<int>(std::ceil(phase_rad / kMaxGaussPhase)));
  const double step = (high - low) / pieces;
  for (int piece = 0; piece < pieces; ++piece) {
    for (const GaussNode& node : gauss_rule(phase_rad / pieces)) {
      rings.push_back(to_ring(low + step * (piece + node.position), step * node.weight));
    }
  }
}

/// Number of imaged planes; 0 for an imaged surface.
std::size_t planes_of(const ImagePlan& plan) { return plan.surface ? 0 : plan.holography.planes_m.size(); }

/// Covariances over lags of whole pixels: of the microphones, and of each plane's image with them. The prior's power at
/// a microphone is 1. [output](lag rows, lag columns); output 0 is the microphones'.
struct Covariances {
  std::vector<Eigen::MatrixXcd> of_lag;
  std::vector<double> prior;  ///< [output] variance
};

Covariances make_covariances(const ImagePlan& plan, const std::vector<PriorRing>& rings, double k) {
  const HolographySettings& holography = plan.holography;
  const int rows = holography.upsample * (plan.geometry.rows - 1) + 1;
  const int columns = holography.upsample * (plan.geometry.columns - 1) + 1;
  const std::size_t outputs = 1 + planes_of(plan);
  Eigen::MatrixXcd weights(static_cast<Eigen::Index>(outputs), static_cast<Eigen::Index>(rings.size()));
  Covariances found{.of_lag = std::vector<Eigen::MatrixXcd>(outputs, Eigen::MatrixXcd(rows, columns)),
                    .prior = std::vector<double>(outputs, 0.0)};
  for (Eigen::Index i = 0; i < weights.cols(); ++i) {
    const PriorRing& ring = rings[static_cast<std::size_t>(i)];
    const Complex to_array = std::exp(Complex(0.0, -1.0) * ring.kz * plan.standoff_m);
    weights(0, i) = ring.power * std::norm(to_array);
    found.prior[0] += weights(0, i).real();
    for (std::size_t plane = 0; plane + 1 < outputs; ++plane) {
      const Complex to_plane =
          std::exp(Complex(0.0, -1.0) * ring.kz * holography.planes_m[plane]) * quantity_factor(plan, ring.kz, k);
      weights(static_cast<Eigen::Index>(plane + 1), i) = ring.power * to_plane * std::conj(to_array);
      found.prior[plane + 1] += ring.power * std::norm(to_plane);
    }
  }
  const double microphone = found.prior[0];
  weights /= microphone;
  Eigen::VectorXd waves(weights.cols());
  for (int row = 0; row < rows; ++row) {
    for (int column = 0; column < columns; ++column) {
      const double lag_m =
          std::hypot(row * plan.geometry.pitch_y_m, column * plan.geometry.pitch_x_m) / holography.upsample;
      for (Eigen::Index i = 0; i < waves.size(); ++i) {
        waves(i) = ::j0(rings[static_cast<std::size_t>(i)].kr * lag_m);
      }
      const Eigen::VectorXcd values = weights * waves;
      for (std::size_t output = 0; output < outputs; ++output) {
        found.of_lag[output](row, column) = values(static_cast<Eigen::Index>(output));
      }
    }
  }
  for (double& prior : found.prior) {
    prior /= microphone;
  }
  return found;
}

/// An axis of microphones and pixels that mirror in the array's centre, positions in pixels from the first pixel.
struct MirroredAxis {
  int microphones = 0;
  int upsample = 1;
  /// Pixels from the first microphone to the last.
  [[nodiscard]] int pixels() const { return upsample * (microphones - 1) + 1; }
  [[nodiscard]] int half_microphones() const { return (microphones + 1) / 2; }
  [[nodiscard]] int half_pixels() const { return (pixels() + 1) / 2; }
  [[nodiscard]] int microphone_at(int index) const { return upsample * index; }
  [[nodiscard]] int mirrored(int position) const { return pixels() - 1 - position; }
  [[nodiscard]] bool is_centre(int position) const { return position == mirrored(position); }
  /// Norm of a centre line in an even class; 0 in an odd one, which has none.
  [[nodiscard]] double norm(int position, bool odd) const {
    return is_centre(position) ? (odd ? 0.0 : std::numbers::sqrt2 / 2.0) : 1.0;
  }
};

struct Axes {
  MirroredAxis y;
  MirroredAxis x;
};

/// Sum over mirrored microphones of sign * covariance, for half positions `a` and a microphone `b`, {row, column}.
Complex folded_covariance(const Eigen::MatrixXcd& of_lag, const Axes& axes, int parity, std::array<int, 2> a,
                          std::array<int, 2> b) {
  const double sign_x = (parity & 1) != 0 ? -1.0 : 1.0;
  const double sign_y = (parity & 2) != 0 ? -1.0 : 1.0;
  const int row = std::abs(a[0] - b[0]);
  const int column = std::abs(a[1] - b[1]);
  const int far_row = std::abs(a[0] - axes.y.mirrored(b[0]));
  const int far_column = std::abs(a[1] - axes.x.mirrored(b[1]));
  const Complex sum = of_lag(row, column) + sign_x * of_lag(row, far_column) +
                      sign_y * (of_lag(far_row, column) + sign_x * of_lag(far_row, far_column));
  return axes.y.norm(b[0], sign_y < 0.0) * axes.x.norm(b[1], sign_x < 0.0) * sum;
}

std::vector<std::array<int, 2>> half_microphones(const Axes& axes) {
  std::vector<std::array<int, 2>> places;
  for (int row = 0; row < axes.y.half_microphones(); ++row) {
    for (int column = 0; column < axes.x.half_microphones(); ++column) {
      places.push_back({axes.y.microphone_at(row), axes.x.microphone_at(column)});
    }
  }
  return places;
}

std::vector<std::array<int, 2>> half_pixels(const Axes& axes) {
  std::vector<std::array<int, 2>> places;
  for (int row = 0; row < axes.y.half_pixels(); ++row) {
    for (int column = 0; column < axes.x.half_pixels(); ++column) {
      places.push_back({row, column});
    }
  }
  return places;
}

/// (a, b)
Eigen::MatrixXcd folded_matrix(const Eigen::MatrixXcd& of_lag, const Axes& axes, int parity,
                               const std::vector<std::array<int, 2>>& a, const std::vector<std::array<int, 2>>& b) {
  Eigen::MatrixXcd matrix(static_cast<Eigen::Index>(a.size()), static_cast<Eigen::Index>(b.size()));
  for (std::size_t i = 0; i < a.size(); ++i) {
    for (std::size_t j = 0; j < b.size(); ++j) {
      matrix(static_cast<Eigen::Index>(i), static_cast<Eigen::Index>(j)) =
          folded_covariance(of_lag, axes, parity, a[i], b[j]);
    }
  }
  return matrix;
}

/// Number of pixels of the image that a folded pixel represents.
double shown_pixels(const Axes& axes, const std::array<int, 2>& place) {
  const auto along = [](const MirroredAxis& axis, int position) { return axis.is_centre(position) ? 1 : 2; };
  return static_cast<double>(along(axes.y, place[0]) * along(axes.x, place[1]));
}

/// Weight of a position: sums over mirrored microphones count a centre line twice and have no 1 / sqrt(2).
double fold_weight(const Axes& axes, const std::array<int, 2>& place) {
  const auto along = [](const MirroredAxis& axis, int position) {
    return axis.is_centre(position) ? 0.5 : std::numbers::sqrt2 / 2.0;
  };
  return along(axes.y, place[0]) * along(axes.x, place[1]);
}

Eigen::VectorXd fold_weights(const Axes& axes, const std::vector<std::array<int, 2>>& microphones) {
  Eigen::VectorXd weights(static_cast<Eigen::Index>(microphones.size()));
  for (Eigen::Index i = 0; i < weights.size(); ++i) {
    weights(i) = fold_weight(axes, microphones[static_cast<std::size_t>(i)]);
  }
  return weights;
}

/// Covariance of the coefficients of a class. (sample, sample)
Eigen::MatrixXd class_covariance(const Eigen::MatrixXcd& of_lag, const Axes& axes, int parity,
                                 const std::vector<std::array<int, 2>>& microphones) {
  Eigen::VectorXd norms(static_cast<Eigen::Index>(microphones.size()));
  for (Eigen::Index i = 0; i < norms.size(); ++i) {
    const auto& place = microphones[static_cast<std::size_t>(i)];
    norms(i) = axes.y.norm(place[0], (parity & 2) != 0) * axes.x.norm(place[1], (parity & 1) != 0);
  }
  return norms.asDiagonal() * folded_matrix(of_lag, axes, parity, microphones, microphones).real();
}

/// Modes of a class, by descending power.
struct ClassModes {
  Eigen::VectorXd powers;
  Eigen::MatrixXd vectors;      ///< (sample, mode)
  std::vector<int> transposed;  ///< SonahModel::transposed
};

ClassModes modes_of(const Eigen::MatrixXd& covariance) {
  const Eigen::SelfAdjointEigenSolver<Eigen::MatrixXd> solver(covariance);
  return {
      .powers = solver.eigenvalues().reverse(), .vectors = solver.eigenvectors().rowwise().reverse(), .transposed = {}};
}

/// Modes of a class with as many rows as columns, `side` of each, and a covariance that swapping these does not change:
/// two problems of half the size, one symmetric and one antisymmetric under the swap.
ClassModes modes_by_symmetry(const Eigen::MatrixXd& covariance, Eigen::Index side) {
  ClassModes both{.powers = Eigen::VectorXd(side * side),
                  .vectors = Eigen::MatrixXd::Zero(side * side, side * side),
                  .transposed = {}};
  std::vector<std::pair<double, std::pair<int, Eigen::VectorXd>>> modes;
  for (const int sign : {1, -1}) {
    std::vector<std::array<Eigen::Index, 2>> pairs;  // a position and its partner
    for (Eigen::Index a = 0; a < side; ++a) {
      for (Eigen::Index b = sign > 0 ? a : a + 1; b < side; ++b) {
        pairs.push_back({a * side + b, b * side + a});
      }
    }
    const auto norm = [](const std::array<Eigen::Index, 2>& pair) {
      return pair[0] == pair[1] ? std::numbers::sqrt2 / 2.0 : 1.0;
    };
    Eigen::MatrixXd part(static_cast<Eigen::Index>(pairs.size()), static_cast<Eigen::Index>(pairs.size()));
    for (std::size_t i = 0; i < pairs.size(); ++i) {
      for (std::size_t j = 0; j < pairs.size(); ++j) {
        part(static_cast<Eigen::Index>(i), static_cast<Eigen::Index>(j)) =
            norm(pairs[i]) * norm(pairs[j]) *
            (covariance(pairs[i][0], pairs[j][0]) + sign * covariance(pairs[i][0], pairs[j][1]));
      }
    }
    const ClassModes found = modes_of(part);
    for (Eigen::Index mode = 0; mode < found.powers.size(); ++mode) {
      Eigen::VectorXd vector = Eigen::VectorXd::Zero(side * side);
      for (std::size_t i = 0; i < pairs.size(); ++i) {
        const double value =
            norm({pairs[i][0], pairs[i][1]}) * found.vectors(static_cast<Eigen::Index>(i), mode) / std::numbers::sqrt2;
        vector(pairs[i][0]) += value;
        vector(pairs[i][1]) += sign * value;
      }
      modes.emplace_back(found.powers(mode), std::pair(sign, std::move(vector)));
    }
  }
  std::stable_sort(modes.begin(), modes.end(), [](const auto& a, const auto& b) { return a.first > b.first; });
  for (std::size_t mode = 0; mode < modes.size(); ++mode) {
    both.powers(static_cast<Eigen::Index>(mode)) = modes[mode].first;
    both.vectors.col(static_cast<Eigen::Index>(mode)) = modes[mode].second.second;
    both.transposed.push_back(modes[mode].second.first);
  }
  return both;
}

/// The rows of `values`, for positions of `side` rows and columns, in the order after swapping these.
template <class Matrix>
Matrix transposed_places(const Matrix& values, Eigen::Index side) {
  Matrix moved(values.rows(), values.cols());
  for (Eigen::Index place = 0; place < values.rows(); ++place) {
    moved.row(place % side * side + place / side) = values.row(place);
  }
  return moved;
}

/// Makes the part of the model that depends only on the array and its image. Returns the projections in double
/// precision.
std::array<Eigen::MatrixXd, kParities> make_modes(SonahModel& model, const Covariances& covariances, const Axes& axes,
                                                  bool is_square) {
  std::array<Eigen::MatrixXd, kParities> projections;
  const auto microphones = half_microphones(axes);
  const auto pixels = half_pixels(axes);
  const Eigen::VectorXd weights = fold_weights(axes, microphones);
  model.shown.resize(static_cast<Eigen::Index>(pixels.size()));
  for (Eigen::Index i = 0; i < model.shown.size(); ++i) {
    model.shown(i) = shown_pixels(axes, pixels[static_cast<std::size_t>(i)]);
  }
  for (int parity = 0; parity < kParities; ++parity) {
    Stoppable::end_if_stopped();
    const std::size_t c = static_cast<std::size_t>(parity);
    if (is_square && parity == 2) {  // class 1 with rows and columns swapped
      model.powers[2] = model.powers[1];
      model.transposed[2] = model.transposed[1];
      projections[2] = transposed_places(projections[1], axes.x.half_microphones());
      model.projections[2] = model.projections[1].transposed(axes.x.half_microphones());
      for (std::size_t plane = 0; plane < model.images.size(); ++plane) {
        model.images[plane][2] = model.images[plane][1].transposed(axes.x.half_pixels());
        model.image_powers[plane][2] = model.image_powers[plane][1];
      }
      continue;
    }
    const Eigen::MatrixXd covariance = class_covariance(covariances.of_lag[0], axes, parity, microphones);
    const bool is_symmetric = is_square && parity != 1;
    ClassModes modes = is_symmetric ? modes_by_symmetry(covariance, axes.x.half_microphones()) : modes_of(covariance);
    if (is_square && !is_symmetric) {
      modes.transposed.assign(static_cast<std::size_t>(modes.powers.size()), 0);
    }
    const auto factors = [&]<class Matrix>(Matrix values, Eigen::Index side) {
      using Factors = ClassFactors<typename Matrix::Scalar>;
      return is_symmetric ? Factors(values, side, modes.transposed) : Factors(std::move(values));
    };
    model.transposed[c] = modes.transposed;
    model.powers[c] = modes.powers.cwiseMax(0.0);
    projections[c] = weights.asDiagonal() * modes.vectors;
    model.projections[c] = factors(Eigen::MatrixXf(projections[c].cast<float>()), axes.x.half_microphones());
    for (std::size_t plane = 0; plane < model.images.size(); ++plane) {
      // 1 / sqrt(2) for each axis: from the coefficient of a pair to its two pixels.
      const Eigen::MatrixXcd images = 0.5 *
                                      folded_matrix(covariances.of_lag[plane + 1], axes, parity, pixels, microphones) *
                                      modes.vectors.cast<Complex>();
      model.images[plane][c] = factors(Eigen::MatrixXcf(images.cast<std::complex<float>>()), axes.x.half_pixels());
      model.image_powers[plane][c] = images.cwiseAbs2().transpose() * model.shown;
    }
  }
  return projections;
}

/// Wavenumber at which the prior's density at the microphones, normed to power 1, falls to that of white noise.
double equivalent_cutoff(const ImagePlan& plan, double microphone, double k, double noise) {
  const double standoff_m = plan.standoff_m;
  const PriorDensity prior_density(plan, k);
  const double white = noise * plan.geometry.pitch_x_m * plan.geometry.pitch_y_m / (2.0 * std::numbers::pi);
  const auto is_above = [&](double decay) {
    return prior_density(Complex(0.0, -decay)) * std::exp(-2.0 * decay * standoff_m) >= white * microphone;
  };
  double low = prior_density.loudest_decay();
  if (!is_above(low)) {
    return 0.0;
  }
  double high = kDeepest / standoff_m;
  for (int halving = 0; halving < 40; ++halving) {
    const double middle = 0.5 * (low + high);
    (is_above(middle) ? low : high) = middle;
  }
  return std::hypot(k, low);
}

}  // namespace

std::vector<PriorRing> prior_rings(const ImagePlan& plan, double k) {
  const ArrayGeometry& geometry = plan.geometry;
  const PriorDensity prior_density(plan, k);
  const double longest_m = 2.0 * std::hypot(geometry.rows * geometry.pitch_y_m, geometry.columns * geometry.pitch_x_m);
  const double deepest = prior_density.most_decay(plan.standoff_m);
  std::vector<PriorRing> rings;
  append_rings(rings, 0.0, std::numbers::pi / 2.0, k * longest_m, [&](double angle, double weight) {
    const Complex kz = k * std::cos(angle);
    const double kr = k * std::sin(angle);
    return PriorRing{kr, kz, weight * kr * kz.real() * prior_density(kz)};
  });
  append_rings(rings, 0.0, deepest, std::hypot(k, deepest) * longest_m, [&](double decay, double weight) {
    const Complex kz(0.0, -decay);
    return PriorRing{std::hypot(k, decay), kz, weight * decay * prior_density(kz)};
  });
  return rings;
}

std::complex<double> quantity_factor(const ImagePlan& plan, std::complex<double> kz, double k) {
  const Complex velocity = kz / (plan.medium.density_kg_m3 * plan.medium.sound_speed_m_s * k);
  switch (plan.holography.quantity) {
    case Quantity::kNormalVelocity:
      return velocity;
    case Quantity::kDisplacement:
      return velocity / Complex(0.0, k * plan.medium.sound_speed_m_s);
    case Quantity::kPressure:
    case Quantity::kActiveIntensity:  // rejected before
      return 1.0;
  }
  return 1.0;
}

bool is_square(const ArrayGeometry& geometry) {
  return geometry.rows == geometry.columns && geometry.pitch_x_m == geometry.pitch_y_m && geometry.rows > 2;
}

MirroredSizes mirrored_sizes(const ImagePlan& plan) {
  const int upsample = plan.holography.upsample;
  const Axes axes{.y = {plan.geometry.rows, upsample}, .x = {plan.geometry.columns, upsample}};
  return {
      .samples = axes.y.half_microphones() * axes.x.half_microphones(),
      .pixels = plan.surface ? static_cast<int>(plan.surface->pixels()) : axes.y.half_pixels() * axes.x.half_pixels()};
}

SonahModel make_sonah_model(const ImagePlan& plan, std::size_t frequency) {
  const double k = plan.wavenumber(frequency);
  const std::vector<PriorRing> rings = prior_rings(plan, k);
  const Covariances covariances = make_covariances(plan, rings, k);
  const int upsample = plan.holography.upsample;
  const Axes axes{.y = {plan.geometry.rows, upsample}, .x = {plan.geometry.columns, upsample}};
  const std::size_t planes = planes_of(plan);
  SonahModel model;
  model.samples = axes.y.half_microphones() * axes.x.half_microphones();
  model.pixel_rows = axes.y.half_pixels();
  model.pixel_columns = axes.x.half_pixels();
  model.images.resize(planes);
  model.image_powers.resize(planes);
  const std::array<Eigen::MatrixXd, kParities> projections =
      make_modes(model, covariances, axes, is_square(plan.geometry));
  const double pixels = static_cast<double>(plan.image_rows()) * plan.image_columns();
  double microphone = 0.0;
  for (const PriorRing& ring : rings) {
    microphone += ring.power * std::exp(2.0 * std::min(ring.kz.imag(), 0.0) * plan.standoff_m);
  }
  for (std::size_t plane = 0; plane < planes; ++plane) {
    model.prior_powers.push_back(covariances.prior[plane + 1] * pixels);
  }
  if (plan.surface) {
    add_surface_images(model, projections, plan, k, rings, microphone);
  }
  for (int step = 0; step < kNoiseSteps; ++step) {
    model.cutoffs_rad_per_m.push_back(equivalent_cutoff(plan, microphone, k, noise_step(step)));
  }
  return model;
}

std::array<Eigen::MatrixXd, kParities> inverse_covariances(const ArrayPlan& plan, std::size_t frequency, double noise) {
  ImagePlan of_microphones;
  static_cast<ArrayPlan&>(of_microphones) = plan;
  of_microphones.holography.planes_m.clear();
  const double k = plan.wavenumber(frequency);
  const Covariances covariances = make_covariances(of_microphones, prior_rings(of_microphones, k), k);
  const Axes axes{.y = {plan.geometry.rows, 1}, .x = {plan.geometry.columns, 1}};
  const auto microphones = half_microphones(axes);
  const Eigen::VectorXd weights = fold_weights(axes, microphones);
  std::array<Eigen::MatrixXd, kParities> inverses;
  for (std::size_t c = 0; c < kParities; ++c) {
    Eigen::MatrixXd covariance = class_covariance(covariances.of_lag[0], axes, static_cast<int>(c), microphones);
    covariance.diagonal().array() += noise;
    inverses[c] = covariance.llt().solve(Eigen::MatrixXd::Identity(covariance.rows(), covariance.cols()));
    inverses[c] = weights.asDiagonal() * inverses[c] * weights.asDiagonal();
  }
  return inverses;
}

std::vector<SonahModel> make_sonah_models(const ImagePlan& plan) {
  std::vector<SonahModel> models(plan.frequencies_hz.size());
  for_each_frequency(models.size(), std::thread::hardware_concurrency(),
                     [&](std::size_t f) { models[f] = make_sonah_model(plan, f); });
  return models;
}

}  // namespace nearfield
