#include "imaging/shared/array_plan.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>
#include <utility>

#include "core/frame.hpp"
#include "core/numerics.hpp"

namespace nearfield {

double ArrayPlan::wavenumber(std::size_t frequency) const {
  return 2.0 * std::numbers::pi * frequencies_hz[frequency] / medium.sound_speed_m_s;
}

double ArrayPlan::alias_wavenumber() const {
  double most = 0.0;
  for (std::size_t f = 0; f < frequencies_hz.size(); ++f) {
    most = std::max(most, wavenumber(f));
  }
  return nearfield::alias_wavenumber(geometry, most);
}

std::uint32_t ArrayPlan::constant_flags() const {
  const double alias = alias_wavenumber();
  for (std::size_t f = 0; f < frequencies_hz.size(); ++f) {
    if (wavenumber(f) > alias) {
      return kFlagWavenumberAboveNyquist;
    }
  }
  return 0;
}

std::vector<int> used_microphones(const ArrayPlan& plan) {
  std::vector<int> used;
  for (int channel = 0; channel < plan.geometry.channels(); ++channel) {
    if (std::find(plan.dead_channels.begin(), plan.dead_channels.end(), channel) == plan.dead_channels.end()) {
      used.push_back(channel);
    }
  }
  return used;
}

namespace {

/// A maximum of the pattern this high, over the main lobe's, is a grating lobe: 3 dB below it.
constexpr double kLobe = 0.7;
/// End of the main lobe: q^T C q with C the second moments of positions. There the pattern is 1/5 on a line, and 2/5 on
/// a ring.
constexpr double kMainLobe = 2.5 * 2.5;
/// Larger arrays are represented by so many microphones, drawn at random: side lobes change by some 6 %, grating lobes
/// do not.
constexpr std::size_t kMostOfPattern = 256;
/// Steps of q times the array's extent; half a step beside a maximum, the pattern has 0.92 of it.
constexpr double kStep = 2.0;

struct LobePlace {
  double x = 0.0;
  double y = 0.0;
};

/// Pattern of positions in the plane, around their mean.
class PlanarPattern {
 public:
  explicit PlanarPattern(const ArrayGeometry& geometry) {
    std::vector<LobePlace> places_m;
    for (int channel = 0; channel < geometry.channels(); ++channel) {
      const MicrophonePosition at = geometry.position_m(channel);
      places_m.push_back({at.x_m, at.y_m});
    }
    RandomStream random(1, 0);
    const std::size_t count = std::min(places_m.size(), kMostOfPattern);
    for (std::size_t i = 0; i < count; ++i) {
      std::swap(places_m[i], places_m[i + (count < places_m.size() ? random.next() % (places_m.size() - i) : 0)]);
    }
    places_m.resize(count);
    LobePlace mean;
    for (const LobePlace& one : places_m) {
      mean.x += one.x / static_cast<double>(count);
      mean.y += one.y / static_cast<double>(count);
    }
    for (const LobePlace& one : places_m) {
      x_m_.push_back(one.x - mean.x);
      y_m_.push_back(one.y - mean.y);
      xx_ += x_m_.back() * x_m_.back() / static_cast<double>(count);
      xy_ += x_m_.back() * y_m_.back() / static_cast<double>(count);
      yy_ += y_m_.back() * y_m_.back() / static_cast<double>(count);
    }
  }

  [[nodiscard]] double at(const LobePlace& q) const {
    double real = 0.0;
    double imaginary = 0.0;
    for (std::size_t i = 0; i < x_m_.size(); ++i) {
      const double phase = q.x * x_m_[i] + q.y * y_m_[i];
      real += std::cos(phase);
      imaginary += std::sin(phase);
    }
    return std::hypot(real, imaginary) / static_cast<double>(x_m_.size());
  }
  [[nodiscard]] bool is_main_lobe(const LobePlace& q) const {
    return q.x * q.x * xx_ + 2.0 * q.x * q.y * xy_ + q.y * q.y * yy_ < kMainLobe;
  }
  /// Distance between samples of the pattern; infinite along an axis on which all positions coincide.
  [[nodiscard]] LobePlace step() const { return {step_of(x_m_), step_of(y_m_)}; }

  /// Samples the pattern along a line of q.y, from q.x = 0 in both directions, `count` steps each: [0] is -count.
  void along(double q_y, double step_x, std::size_t count, std::vector<double>& values) const {
    const std::size_t samples = 2 * count + 1;
    real_.assign(samples, 0.0);
    imaginary_.assign(samples, 0.0);
    for (std::size_t i = 0; i < x_m_.size(); ++i) {
      const double first = q_y * y_m_[i] - static_cast<double>(count) * step_x * x_m_[i];
      const double turn = step_x * x_m_[i];
      const double turn_cos = std::cos(turn);
      const double turn_sin = std::sin(turn);
      double c = std::cos(first);
      double s = std::sin(first);
      for (std::size_t n = 0; n < samples; ++n) {
        real_[n] += c;
        imaginary_[n] += s;
        const double next = c * turn_cos - s * turn_sin;
        s = c * turn_sin + s * turn_cos;
        c = next;
      }
    }
    values.resize(samples);
    for (std::size_t n = 0; n < samples; ++n) {
      values[n] = std::hypot(real_[n], imaginary_[n]) / static_cast<double>(x_m_.size());
    }
  }

 private:
  static double step_of(const std::vector<double>& places_m) {
    const auto [least, most] = std::minmax_element(places_m.begin(), places_m.end());
    return *most > *least ? kStep / (*most - *least) : std::numeric_limits<double>::infinity();
  }

  std::vector<double> x_m_;
  std::vector<double> y_m_;
  double xx_ = 0.0;
  double xy_ = 0.0;
  double yy_ = 0.0;
  mutable std::vector<double> real_;
  mutable std::vector<double> imaginary_;
};

/// Climbs from a starting point to a maximum, by halving steps.
LobePlace uphill(const PlanarPattern& pattern, LobePlace at, LobePlace step) {
  constexpr int kHalvings = 12;
  double value = pattern.at(at);
  for (int halving = 0; halving < kHalvings;) {
    LobePlace best = at;
    for (const LobePlace& way : {LobePlace{1, 0}, LobePlace{-1, 0}, LobePlace{0, 1}, LobePlace{0, -1}}) {
      const LobePlace next{at.x + (way.x == 0.0 ? 0.0 : way.x * step.x), at.y + (way.y == 0.0 ? 0.0 : way.y * step.y)};
      if (const double found = std::isfinite(next.x + next.y) ? pattern.at(next) : 0.0; found > value) {
        value = found;
        best = next;
      }
    }
    if (best.x == at.x && best.y == at.y) {
      step = {step.x / 2.0, step.y / 2.0};
      ++halving;
    }
    at = best;
  }
  return at;
}

/// Range of a search that takes at most kMostSamples.
double searched_rad_per_m(const LobePlace& step, double most_rad_per_m) {
  constexpr double kMostSamples = 1 << 18;
  const bool has_x = std::isfinite(step.x);
  const bool has_y = std::isfinite(step.y);
  if (!has_x && !has_y) {
    return most_rad_per_m;
  }
  const double within = has_x && has_y ? std::sqrt(kMostSamples / 2.0 * step.x * step.y)
                        : has_x        ? kMostSamples / 2.0 * step.x
                                       : kMostSamples * step.y;
  return std::min(most_rad_per_m, within);
}

/// Searches q.y from 0 on; the rest follows by symmetry.
double least_lobe_rad_per_m(const PlanarPattern& pattern, double asked_rad_per_m) {
  const LobePlace step = pattern.step();
  const double most_rad_per_m = searched_rad_per_m(step, asked_rad_per_m);
  const auto steps_of = [&](double one) {
    return std::isfinite(one) ? static_cast<std::size_t>(std::ceil(most_rad_per_m / one)) : std::size_t{0};
  };
  const std::size_t columns = steps_of(step.x);
  const std::size_t rows = steps_of(step.y);
  double least = std::numeric_limits<double>::infinity();
  std::vector<double> values;
  for (std::size_t row = 0; row <= rows; ++row) {
    const double q_y = row == 0 ? 0.0 : static_cast<double>(row) * step.y;
    if (q_y > std::min(least, most_rad_per_m)) {
      break;
    }
    pattern.along(q_y, columns == 0 ? 0.0 : step.x, columns, values);
    for (std::size_t n = 0; n < values.size(); ++n) {
      const double q_x = columns == 0 ? 0.0 : (static_cast<double>(n) - static_cast<double>(columns)) * step.x;
      const LobePlace here{q_x, q_y};
      if (values[n] < kLobe || std::hypot(q_x, q_y) > least || pattern.is_main_lobe(here)) {
        continue;
      }
      const LobePlace top = uphill(pattern, here, {step.x / 2.0, step.y / 2.0});
      if (!pattern.is_main_lobe(top)) {
        least = std::min(least, std::hypot(top.x, top.y));
      }
    }
  }
  return least;
}

}  // namespace

double alias_wavenumber(const ArrayGeometry& geometry, double most_rad_per_m) {
  if (geometry.is_grid()) {
    return std::numbers::pi / std::max(geometry.pitch_x_m, geometry.pitch_y_m);
  }
  const double least = least_lobe_rad_per_m(PlanarPattern(geometry), 2.0 * most_rad_per_m);
  return least <= 2.0 * most_rad_per_m ? least / 2.0 : std::numeric_limits<double>::infinity();
}

void fill_masked(std::span<std::complex<double>> field, const MicrophoneMask& mask, const ArrayPlan& plan,
                 std::size_t frequency) {
  const std::size_t frequencies = plan.frequencies_hz.size();
  const bool uses_prior = plan.fills_from_all && !mask.prior_weights.empty();
  const std::size_t masked = mask.channels.size();
  for (std::size_t i = 0; i < masked; ++i) {
    std::complex<double> sum;
    if (!uses_prior) {
      for (std::size_t n = 0; n < kFillNeighbours; ++n) {
        const double weight = static_cast<double>(mask.weights[(i * frequencies + frequency) * kFillNeighbours + n]);
        const auto from = static_cast<std::size_t>(mask.neighbours[i * kFillNeighbours + n]);
        sum += weight != 0.0 ? weight * field[from] : 0.0;
      }
    } else {
      const std::size_t first = (frequency * masked + i) * field.size();
      for (std::size_t from = 0; from < field.size(); ++from) {
        const double weight = static_cast<double>(mask.prior_weights[first + from]);
        sum += weight != 0.0 ? weight * field[from] : 0.0;
      }
    }
    field[static_cast<std::size_t>(mask.channels[i])] = sum;
  }
}

std::size_t most_maskable(const ArrayGeometry& geometry) { return static_cast<std::size_t>(geometry.channels()) / 2; }

std::size_t mask_capacity(const ArrayPlan& plan) {
  const auto channels = static_cast<std::size_t>(plan.geometry.channels());
  return std::min(channels, plan.dead_channels.size() + most_maskable(plan.geometry) + 1);
}

float MissingInformation::largest() const {
  return of_frequency.empty() ? 0.0F : *std::max_element(of_frequency.begin(), of_frequency.end());
}

double MissingInformation::at(std::size_t frequency) const {
  return of_frequency.empty() ? 0.0 : static_cast<double>(of_frequency.at(frequency));
}

}  // namespace nearfield
