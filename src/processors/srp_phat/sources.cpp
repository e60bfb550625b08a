#include "processors/srp_phat/sources.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <limits>
#include <numeric>

#include "core/product.hpp"

namespace nearfield {
namespace {

template <class Value, class Of>
void write_column(std::span<const SrpSource> sources, std::byte* column, const Of& value_of) {
  for (const SrpSource& source : sources) {
    const auto value = static_cast<Value>(value_of(source));
    std::memcpy(column, &value, sizeof value);
    column += sizeof value;
  }
}

/// Level of a source's mean square pressure at the array's centre, re 20 uPa.
double level_db(const SrpPlan& plan, const SrpWindow& window, const SrpMaximum& maximum) {
  constexpr double kSquaredReference = 4e-10;
  const double square = maximum.beam_power / (window.microphones * window.microphones);
  return 10.0 * std::log10(square / 2.0 / plan.noise_bandwidth / kSquaredReference);
}

/// Fit of ln p around a maximum by a quadratic function of fractions of the grid's steps.
class Peak {
 public:
  Peak(const SrpPlan& plan, const std::vector<double>& powers)
      : dimensions_(static_cast<std::size_t>(plan.dimensions)) {
    const auto at = [&](std::size_t a, int of_a, std::size_t b, int of_b) {
      constexpr std::array<std::size_t, 3> kStrides = {1, 5, 25};
      const auto index = static_cast<std::ptrdiff_t>(powers.size() / 2) +
                         of_a * static_cast<std::ptrdiff_t>(kStrides.at(a)) +
                         of_b * static_cast<std::ptrdiff_t>(kStrides.at(b));
      return std::log(powers[static_cast<std::size_t>(index)]);
    };
    const double h = kCurvatureFraction;
    for (std::size_t a = 0; a < dimensions_; ++a) {
      gradient_.at(a) = (at(a, 1, a, 0) - at(a, -1, a, 0)) / (2.0 * h);
      curvature_.at(a).at(a) = -(at(a, 1, a, 0) - 2.0 * at(a, 0, a, 0) + at(a, -1, a, 0)) / (h * h);
      for (std::size_t b = 0; b < a; ++b) {
        const double mixed = at(a, 1, b, 1) - at(a, 1, b, -1) - at(a, -1, b, 1) + at(a, -1, b, -1);
        curvature_.at(a).at(b) = curvature_.at(b).at(a) = -mixed / (4.0 * h * h);
      }
    }
    invert();
  }
  /// False if the values around it form no peak.
  [[nodiscard]] bool is_peak() const { return is_peak_; }
  /// Offset of the top from the middle, in steps.
  [[nodiscard]] std::array<double, 3> top() const {
    std::array<double, 3> result{};
    for (std::size_t a = 0; a < dimensions_; ++a) {
      for (std::size_t b = 0; b < dimensions_; ++b) {
        result.at(a) += inverse_.at(a).at(b) * gradient_.at(b);
      }
    }
    return result;
  }
  /// Diagonal element of the inverse curvature, in squared steps.
  [[nodiscard]] double width(std::size_t direction) const { return inverse_.at(direction).at(direction); }

 private:
  /// Inverts by Gauss and Jordan; pivots of a positive definite matrix are > 0.
  void invert() {
    for (std::size_t a = 0; a < dimensions_; ++a) {
      inverse_.at(a).at(a) = 1.0;
    }
    for (std::size_t pivot = 0; pivot < dimensions_; ++pivot) {
      const double divisor = curvature_.at(pivot).at(pivot);
      is_peak_ = is_peak_ && divisor > 0.0;
      for (std::size_t row = 0; row < dimensions_; ++row) {
        const double factor = curvature_.at(row).at(pivot) / divisor;
        for (std::size_t column = 0; row != pivot && column < dimensions_; ++column) {
          curvature_.at(row).at(column) -= factor * curvature_.at(pivot).at(column);
          inverse_.at(row).at(column) -= factor * inverse_.at(pivot).at(column);
        }
      }
      for (std::size_t column = 0; column < dimensions_; ++column) {
        curvature_.at(pivot).at(column) /= divisor;
        inverse_.at(pivot).at(column) /= divisor;
      }
    }
  }
  std::size_t dimensions_;
  bool is_peak_ = true;
  std::array<double, 3> gradient_{};
  std::array<std::array<double, 3>, 3> curvature_{};  ///< its negative second derivatives
  std::array<std::array<double, 3>, 3> inverse_{};
};

/// Distance from a maximum to the nearest other position of the grid along its depth, m: to the next plane or radius,
/// or, for points, to the next point. 0 if refinement covers the range between them, or there is only one.
double unrefined_step_m(const SrpPlan& plan, const far_field::Position& place) {
  constexpr double kSamePlace = 1e-5;  // fraction of its distance: the device's positions are float32
  using far_field::GridKind;
  const far_field::GridSettings& grid = plan.settings.grid;
  double nearest_m = std::numeric_limits<double>::infinity();
  if (grid.kind == GridKind::kPoints) {
    for (const far_field::Position& pixel : plan.grid.pixels) {
      const double apart_m = distance(pixel, place);
      nearest_m = apart_m > kSamePlace * norm(place) ? std::min(nearest_m, apart_m) : nearest_m;
    }
  } else if (!plan.grid.is_far && grid.kind != GridKind::kVolume) {
    const std::vector<double>& depths_m = grid.kind == GridKind::kSphere ? grid.radius_m : grid.distance_m;
    const double depth_m = plan.is_round ? norm(place) : -place.z;
    const double own_m = *std::min_element(depths_m.begin(), depths_m.end(), [&](double one, double other) {
      return std::abs(one - depth_m) < std::abs(other - depth_m);
    });
    for (const double other_m : depths_m) {
      nearest_m = other_m == own_m ? nearest_m : std::min(nearest_m, std::abs(other_m - own_m));
    }
  }
  return std::isfinite(nearest_m) ? nearest_m : 0.0;
}

/// Widens the variance if refinement does not cover the depth: the source may be anywhere within half the distance to
/// the next position, uniformly.
void widen_to_the_next_place(const SrpPlan& plan, SrpSource& source) {
  const double step_m = unrefined_step_m(plan, source.place);
  if (step_m <= 0.0) {
    return;
  }
  const double variance = step_m * step_m / 12.0;
  const double length = norm(source.place);
  far_field::Position along = {1.0, 1.0, 1.0};  // for points: any direction
  if (plan.settings.grid.kind != far_field::GridKind::kPoints) {
    along = plan.is_round
                ? far_field::Position{source.place.x / length, source.place.y / length, source.place.z / length}
                : far_field::Position{.z = 1.0};
  }
  source.variance.x += variance * along.x * along.x;
  source.variance.y += variance * along.y * along.y;
  source.variance.z += variance * along.z * along.z;
  const double sigma = std::sqrt(variance);
  source.sigma_major = std::max(source.sigma_major, sigma);
  source.sigma_minor = plan.dimensions == 0 ? sigma : std::min(source.sigma_minor, sigma);
}

std::array<double, 3> to_top(const Peak& peak) {
  constexpr double kFarthest = 1.0 / 16;  // spacing of the last round of refinement, in steps of the grid
  std::array<double, 3> top = peak.top();
  for (double& fraction : top) {
    fraction = std::clamp(fraction, -kFarthest, kFarthest);
  }
  return top;
}

/// Moves a source to the top of its peak, and sets its uncertainty. Errors of the position have the variance (1 -
/// confidence) / (K M confidence) of the curvature's inverse, plus that of refinement without noise.
void locate(const SrpPlan& plan, const SrpMaximum& maximum, double bins, double microphones, SrpSource& source) {
  constexpr double kLeast = 1e-5;  // squared steps, at 60 dB before 16 to 1024 microphones
  const Peak peak(plan, maximum.powers);
  source.place = top_of(plan, maximum);
  const double noise =
      std::max(1.0 - source.confidence, 0.0) / (bins * microphones * std::max(source.confidence, 1e-6));
  const std::array<far_field::Position, 3> steps = steps_at(plan, source.place);
  for (std::size_t i = 0; i < static_cast<std::size_t>(plan.dimensions); ++i) {
    const double variance = peak.is_peak() ? std::min(noise * peak.width(i), 1.0) + kLeast : 1.0;
    const double sigma = std::sqrt(variance) * norm(steps.at(i));
    source.sigma_major = std::max(source.sigma_major, sigma);
    source.sigma_minor = i == 0 ? sigma : std::min(source.sigma_minor, sigma);
    source.variance.x += variance * steps.at(i).x * steps.at(i).x;
    source.variance.y += variance * steps.at(i).y * steps.at(i).y;
    source.variance.z += variance * steps.at(i).z * steps.at(i).z;
  }
  widen_to_the_next_place(plan, source);
}

/// Mean coherence of all pairs of microphones at a maximum.
double confidence_of(const SrpMaximum& maximum, double microphones) {
  const double alone = 1.0 / microphones;  // p of noise, on average
  return (maximum.powers[maximum.powers.size() / 2] - alone) / (1.0 - alone);
}

/// Sine of the angle within which the array cannot distinguish a direction from straight ahead.
double sine_of_beam(const SrpPlan& plan) {
  double aperture_m = 0.0;
  for (const far_field::Position& microphone : plan.microphones) {
    aperture_m = std::max(aperture_m, 2.0 * norm(microphone));
  }
  const double lowest = plan.waves_per_m(0);
  const double highest = plan.waves_per_m(plan.bins.size() - 1);
  return 2.0 / ((lowest + highest) * aperture_m);
}

}  // namespace

std::span<const double> bin_powers_of(const SrpWindow& window, const SrpMaximum& maximum) {
  return maximum.remaining_powers.empty() ? window.bin_powers : maximum.remaining_powers;
}

double scale_of(const SrpPlan& plan, double microphones, std::span<const double> bin_powers) {
  if (microphones < far_field::kFewestMicrophones) {
    return std::numeric_limits<double>::quiet_NaN();
  }
  if (plan.settings.weights != SrpWeights::kNone) {
    std::ptrdiff_t bins = static_cast<std::ptrdiff_t>(plan.bins.size());
    if (plan.settings.weights == SrpWeights::kSnr) {
      bins = std::count_if(bin_powers.begin(), bin_powers.end(), [](double power) { return power > 0.0; });
    }
    return static_cast<double>(std::max<std::ptrdiff_t>(bins, 1)) * microphones * microphones;
  }
  const double power = std::accumulate(bin_powers.begin(), bin_powers.end(), 0.0);
  return power > 0.0 ? microphones * power : 1.0;
}

far_field::Position top_of(const SrpPlan& plan, const SrpMaximum& maximum) {
  const Peak peak(plan, maximum.powers);
  return peak.is_peak() ? moved(plan, maximum.place, to_top(peak)) : maximum.place;
}

bool seems_common(const SrpPlan& plan, const SrpWindow& window) {
  constexpr double kCoherent = 0.9;
  constexpr double kOfBeam = 0.25;  // share of sine_of_beam(): shift by noise 17 dB below, with some margin
  constexpr double kEven = 0.04;    // a fifth of the power, rms: the effect of noise 17 dB below
  double power = 0.0;
  double spread = 0.0;
  for (std::size_t k = 0; k < window.bin_powers.size(); ++k) {
    power += window.bin_powers[k];
    spread += window.bin_powers[k] * window.bin_spreads[k];
  }
  return spread < kEven * power &&
         std::any_of(window.maxima.begin(), window.maxima.end(), [&](const SrpMaximum& maximum) {
           const far_field::Position& place = maximum.place;
           return maximum.remaining_powers.empty() && confidence_of(maximum, window.microphones) > kCoherent &&
                  std::hypot(place.x, place.y) < kOfBeam * sine_of_beam(plan) * norm(place);
         });
}

std::vector<SrpSource> sources_of(const SrpPlan& plan, const SrpSignificance& significance, const SrpWindow& window) {
  std::vector<SrpSource> sources;
  for (const SrpMaximum& maximum : window.maxima) {
    const double p = maximum.powers[maximum.powers.size() / 2];
    if (std::isnan(maximum.place.x) || !(p > 0.0)) {  // silence has no maximum
      continue;
    }
    SrpSource source;
    source.state = kSourceCandidate;
    source.place = maximum.place;
    source.confidence = confidence_of(maximum, window.microphones);
    source.significance = significance(p, window.microphones, bin_powers_of(window, maximum));
    source.level_db = level_db(plan, window, maximum);
    locate(plan, maximum, significance.effective_bins(bin_powers_of(window, maximum)), window.microphones, source);
    sources.push_back(source);
  }
  return sources;
}

Product sources_product(const SrpPlan& plan) {
  const bool is_far = plan.grid.is_far;
  const std::string place = is_far ? "1" : "m";
  const std::string speed = is_far ? "1/s" : "m/s";
  Product product = {.name = "sources",
                     .quantity = is_far ? "directions of sources" : "places of sources",
                     .unit = place,
                     .form = Product::Form::kTable,
                     .most_rows = kMostSourceRows};
  product.columns = {{"id", "1", ElementType::kUint32}, {"state", "1", ElementType::kUint32}};
  for (const char* name : {"x", "y", "z"}) {
    product.columns.push_back({name, place, ElementType::kFloat32});
  }
  for (const char* name : {"vx", "vy", "vz"}) {
    product.columns.push_back({name, speed, ElementType::kFloat32});
  }
  product.columns.push_back({"sigma_major", place, ElementType::kFloat32});
  product.columns.push_back({"sigma_minor", place, ElementType::kFloat32});
  product.columns.push_back({"confidence", "1", ElementType::kFloat32});
  product.columns.push_back({"significance", "1", ElementType::kFloat32});
  product.columns.push_back({"level_db", "dB", ElementType::kFloat32});
  product.columns.push_back({"first_bit_time", "1", ElementType::kUint64});
  return product;
}

void write_sources(const SrpPlan& plan, std::span<const SrpSource> all, std::span<std::byte> table) {
  const auto sources = all.first(std::min(all.size(), kMostSourceRows));
  const double surface_m = plan.grid.is_far ? 0.0 : plan.array.standoff_m;  // z is relative to the surface in products
  const std::vector<ProductPlaces::Place> places = column_places(sources_product(plan));
  std::fill(table.begin(), table.end(), std::byte{0});
  const std::uint64_t rows = sources.size();
  std::memcpy(table.data(), &rows, sizeof rows);
  std::size_t at = 0;
  const auto next = [&] { return table.data() + places[at++].offset; };
  write_column<std::uint32_t>(sources, next(), [](const SrpSource& s) { return s.id; });
  write_column<std::uint32_t>(sources, next(), [](const SrpSource& s) { return s.state; });
  write_column<float>(sources, next(), [](const SrpSource& s) { return s.place.x; });
  write_column<float>(sources, next(), [](const SrpSource& s) { return s.place.y; });
  write_column<float>(sources, next(), [&](const SrpSource& s) { return s.place.z + surface_m; });
  write_column<float>(sources, next(), [](const SrpSource& s) { return s.velocity.x; });
  write_column<float>(sources, next(), [](const SrpSource& s) { return s.velocity.y; });
  write_column<float>(sources, next(), [](const SrpSource& s) { return s.velocity.z; });
  write_column<float>(sources, next(), [](const SrpSource& s) { return s.sigma_major; });
  write_column<float>(sources, next(), [](const SrpSource& s) { return s.sigma_minor; });
  write_column<float>(sources, next(), [](const SrpSource& s) { return s.confidence; });
  write_column<float>(sources, next(), [](const SrpSource& s) { return s.significance; });
  write_column<float>(sources, next(), [](const SrpSource& s) { return s.level_db; });
  write_column<std::uint64_t>(sources, next(), [](const SrpSource& s) { return s.first_bit_time; });
}

}  // namespace nearfield
