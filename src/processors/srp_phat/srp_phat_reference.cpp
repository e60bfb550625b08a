#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <numbers>
#include <numeric>
#include <optional>

#include "imaging/priors/make_mask.hpp"
#include "processors/srp_phat/tracks.hpp"

/// SRP-PHAT by its definition: the power of the sum of all microphones' phases, turned back by each pixel's delays.
namespace nearfield::reference {
namespace {

using far_field::Position;

class SrpPhat : public Processor {
 public:
  explicit SrpPhat(const SrpPlan& plan)
      : Processor(header_of(plan)), plan_(plan), history_(plan_), is_masked_(plan_.channels()) {
    use(make_mask(plan_.array, {}));
  }
  /// Makes the table on the first call for a window.
  std::uint64_t complete(const WindowToRead& of, OwnedProducts& products) override {
    if (products[0].empty()) {
      products[0].resize(header().bytes(header().products[0]));
      history_.add(windows_.at(of.window), of.stamp, products[0]);
    }
    return 0;
  }
  void forget() override {
    history_.forget();
    floors_.clear();
  }
  void use(const MicrophoneMask& mask) final {
    std::fill(is_masked_.begin(), is_masked_.end(), false);
    for (const std::int32_t channel : mask.channels) {
      is_masked_[static_cast<std::size_t>(channel)] = true;
    }
  }
  WindowResult compute(const WindowInput& input) override {
    Outcome outcome = choose_microphones(input.spectra);
    weigh(input.spectra);
    const std::vector<double> map = present_map();
    windows_.resize(input.window);
    windows_.push_back(window_of(map));
    outcome.flags |= seems_common(plan_, windows_.back()) ? kFlagCommonToAll : 0U;
    OwnedProducts products = {{}, to_bytes(std::vector<float>(map.begin(), map.end()))};
    products.resize(header().products.size());
    return {.products = std::move(products), .outcome = outcome};
  }

 private:
  /// Fills used_.
  Outcome choose_microphones(std::span<const Complex> spectra) {
    Outcome outcome;
    used_.clear();
    for (std::size_t m = 0; m < plan_.channels(); ++m) {
      const bool is_finite = std::all_of(plan_.bins.begin(), plan_.bins.end(), [&](std::size_t bin) {
        const Complex value = spectra[bin * plan_.channels() + m];
        return std::abs(value.real()) < kLargestSrpPressure_pa && std::abs(value.imag()) < kLargestSrpPressure_pa;
      });
      if (is_masked_[m]) {
        outcome.flags |= kFlagMaskedMicrophones;
      } else if (!is_finite) {
        outcome.flags |= kFlagNonFiniteInput;
        ++outcome.non_finite_microphones;
      } else {
        used_.push_back(m);
      }
    }
    if (used_.size() < static_cast<std::size_t>(far_field::kFewestMicrophones)) {
      outcome.flags |= kFlagMaskedMicrophones;
    }
    return outcome;
  }
  /// p of each pixel, for the remainder of the window.
  [[nodiscard]] std::vector<double> present_map() const {
    std::vector<double> map;
    std::transform(plan_.grid.pixels.begin(), plan_.grid.pixels.end(), std::back_inserter(map),
                   [&](const Position& pixel) { return plan_.is_time ? power_by_lags(pixel) : power(pixel); });
    return map;
  }
  /// Fills pressures_ and phases_, [bin][index of used_], with their powers.
  void weigh(std::span<const Complex> spectra) {
    pressures_.clear();
    bin_powers_.clear();
    bin_spreads_.clear();
    const auto count = static_cast<double>(used_.size());
    for (const std::size_t bin : plan_.bins) {
      Complex mean = 0.0;
      for (const std::size_t m : used_) {
        const std::size_t at = bin * plan_.channels() + m;
        const Complex gain = plan_.array.gains.empty() ? Complex(1.0) : Complex(plan_.array.gains[at]);
        pressures_.push_back(gain * spectra[at]);
        mean += pressures_.back() / count;
      }
      double power = 0.0;
      double squares = 0.0;
      for (Complex& pressure : std::span(pressures_).last(used_.size())) {
        pressure -= plan_.settings.reject_common ? mean : 0.0;
        power += std::norm(pressure);
        squares += std::norm(pressure) * std::norm(pressure);
      }
      bin_powers_.push_back(power);
      bin_spreads_.push_back(power > 0.0 ? count * squares / (power * power) - 1.0 : 0.0);
    }
    find_phases();
    if (plan_.settings.weights == SrpWeights::kSnr) {
      drop_quiet_bins();
    }
    remaining_powers_ = bin_powers_;
    peeled_.clear();
  }
  /// Fills phases_ from pressures_.
  void find_phases() {
    phases_ = pressures_;
    for (std::size_t k = 0; plan_.settings.weights != SrpWeights::kNone && k < plan_.bins.size(); ++k) {
      const std::span<Complex> of_bin = std::span(phases_).subspan(k * used_.size(), used_.size());
      double largest = 0.0;
      for (const Complex& value : of_bin) {
        largest = std::max(largest, std::abs(value));
      }
      for (Complex& value : of_bin) {
        value = std::abs(value) > kTinyPressure * largest ? value / std::abs(value) : 0.0;
      }
    }
  }
  /// Field of a source at the microphones: 1 at the array's centre, 0 at silent microphones.
  [[nodiscard]] std::vector<Complex> field_of(const Position& place, std::span<const Complex> of_bin,
                                              std::size_t k) const {
    std::vector<Complex> field(used_.size());
    Complex mean = 0.0;
    double heard = 0.0;
    for (std::size_t i = 0; i < used_.size(); ++i) {
      if (of_bin[i] == 0.0) {
        continue;
      }
      const double turns = plan_.waves_per_m(k) * path_m(place, used_[i]);
      const double spread = plan_.grid.is_far ? 1.0 : norm(place) / (norm(place) + path_m(place, used_[i]));
      field[i] = std::polar(spread, -2.0 * std::numbers::pi * turns);
      mean += field[i];
      heard += 1.0;
    }
    for (std::size_t i = 0; plan_.settings.reject_common && i < field.size(); ++i) {
      field[i] -= of_bin[i] == 0.0 ? 0.0 : mean / heard;
    }
    return field;
  }
  /// Removes from the pressures the part that a source's field explains, orthogonal to the earlier ones, and weights
  /// the remainder.
  void peel(const Position& place) {
    std::vector<Complex> own(pressures_.size());
    for (std::size_t k = 0; k < plan_.bins.size(); ++k) {
      const std::span<Complex> of_bin = std::span(pressures_).subspan(k * used_.size(), used_.size());
      std::vector<Complex> field = field_of(place, of_bin, k);
      const double before = std::real(inner(field, field));
      for (const std::vector<Complex>& other : peeled_) {
        const std::span<const Complex> taken = std::span(other).subspan(k * used_.size(), used_.size());
        add(field, -inner(taken, field), taken);
      }
      const double length = std::real(inner(field, field));
      if (length > kLeastOwnField * before) {
        const std::span<Complex> unit = std::span(own).subspan(k * used_.size(), used_.size());
        add(unit, 1.0 / std::sqrt(length), field);
        add(of_bin, -inner(unit, of_bin), unit);
      }
      const double remains = std::real(inner(of_bin, of_bin));
      remaining_powers_[k] = remains > kLeastRemainder * bin_powers_[k] && bin_powers_[k] > 0.0 ? remains : 0.0;
    }
    peeled_.push_back(std::move(own));
    find_phases();
    for (std::size_t k = 0; k < plan_.bins.size(); ++k) {
      if (remaining_powers_[k] == 0.0) {
        std::fill_n(phases_.begin() + static_cast<std::ptrdiff_t>(k * used_.size()), used_.size(), 0.0);
      }
    }
  }
  /// one^H other
  static Complex inner(std::span<const Complex> one, std::span<const Complex> other) {
    return std::inner_product(one.begin(), one.end(), other.begin(), Complex(), std::plus<>(),
                              [](const Complex& a, const Complex& b) { return std::conj(a) * b; });
  }
  static void add(std::span<Complex> to, const Complex& factor, std::span<const Complex> values) {
    for (std::size_t i = 0; i < to.size(); ++i) {
      to[i] += factor * values[i];
    }
  }
  /// Drops bins near their floor, which is the least power so far and rises from window to window.
  void drop_quiet_bins() {
    constexpr double kNone = -1.0;
    floors_.resize(plan_.bins.size(), kNone);
    for (std::size_t k = 0; k < plan_.bins.size(); ++k) {
      const double power = bin_powers_[k] / std::max(static_cast<double>(used_.size()), 1.0);
      if (power > 0.0) {
        floors_[k] = floors_[k] < 0.0 ? power : std::min(power, floors_[k] * plan_.floor_rise());
      }
      if (!(power > floors_[k] * std::pow(10.0, plan_.settings.snr_db / 10.0))) {
        bin_powers_[k] = 0.0;
        const std::span<Complex> of_bin = std::span(phases_).subspan(k * used_.size(), used_.size());
        std::fill(of_bin.begin(), of_bin.end(), 0.0);
      }
    }
  }
  /// p; NaN if undefined.
  [[nodiscard]] double power(const Position& pixel) const {
    if (used_.size() < static_cast<std::size_t>(far_field::kFewestMicrophones) || std::isnan(pixel.x) ||
        is_near(pixel)) {
      return std::numeric_limits<double>::quiet_NaN();
    }
    double sum = 0.0;
    for (std::size_t k = 0; k < plan_.bins.size(); ++k) {
      sum += std::norm(beam(phases_, pixel, k));
    }
    return sum / scale();
  }
  /// R of a pair at an integer lag: sum_k Re(Z_i conj(Z_j) e^{+j 2 pi f lag / rate}).
  [[nodiscard]] double correlation(std::size_t one, std::size_t other, double lag) const {
    double sum = 0.0;
    for (std::size_t k = 0; k < plan_.bins.size(); ++k) {
      const Complex cross = phases_[k * used_.size() + one] * std::conj(phases_[k * used_.size() + other]);
      sum +=
          (cross * std::polar(1.0, 2.0 * std::numbers::pi * plan_.frequencies_hz[k] * lag / plan_.lag_rate_hz)).real();
    }
    return sum;
  }
  /// p in the time domain; NaN if undefined.
  [[nodiscard]] double power_by_lags(const Position& pixel) const {
    const double of_frequencies = power(pixel);
    if (std::isnan(of_frequencies)) {
      return of_frequencies;
    }
    double sum = 0.0;
    std::size_t pairs = 0;
    for (const auto& [first, second] : plan_.pairs) {
      const auto one = std::find(used_.begin(), used_.end(), first);
      const auto other = std::find(used_.begin(), used_.end(), second);
      if (one == used_.end() || other == used_.end()) {
        continue;
      }
      const auto i = static_cast<std::size_t>(one - used_.begin());
      const auto j = static_cast<std::size_t>(other - used_.begin());
      const double lag =
          (path_m(pixel, first) - path_m(pixel, second)) / plan_.array.medium.sound_speed_m_s * plan_.lag_rate_hz;
      const double before = std::floor(lag);
      sum += plan_.settings.interpolation == LagInterpolation::kLinear
                 ? correlation(i, j, before) * (before + 1.0 - lag) + correlation(i, j, before + 1.0) * (lag - before)
                 : correlation(i, j, std::nearbyint(lag));
      ++pairs;
    }
    const auto microphones = static_cast<double>(used_.size());
    double numerator = microphones * (microphones - 1.0) * sum / static_cast<double>(pairs);
    for (const Complex& phase : phases_) {
      numerator += std::norm(phase);
    }
    return numerator / scale();
  }
  /// Divisor of sums of powers.
  [[nodiscard]] double scale() const {
    const auto microphones = static_cast<double>(used_.size());
    if (plan_.settings.weights == SrpWeights::kPhat) {
      return static_cast<double>(plan_.bins.size()) * microphones * microphones;
    }
    if (plan_.settings.weights == SrpWeights::kSnr) {
      const auto kept =
          std::count_if(remaining_powers_.begin(), remaining_powers_.end(), [](double power) { return power > 0.0; });
      return static_cast<double>(std::max<std::ptrdiff_t>(kept, 1)) * microphones * microphones;
    }
    const double total = std::accumulate(remaining_powers_.begin(), remaining_powers_.end(), 0.0);
    return total > 0.0 ? microphones * total : 1.0;
  }
  /// Path from a pixel to a channel's microphone, less that to the array's centre.
  [[nodiscard]] double path_m(const Position& pixel, std::size_t channel) const {
    const Position& microphone = plan_.microphones[channel];
    return plan_.grid.is_far ? -dot(pixel, microphone) : distance(pixel, microphone) - norm(pixel);
  }
  [[nodiscard]] bool is_near(const Position& pixel) const {
    return !plan_.grid.is_far &&
           std::any_of(plan_.microphones.begin(), plan_.microphones.end(),
                       [&](const Position& microphone) { return distance(pixel, microphone) < far_field::kNearest_m; });
  }
  /// sum_m values_m e^{+j 2 pi f tau_m}, without the phase of the delay to the array's centre.
  [[nodiscard]] Complex beam(const std::vector<Complex>& values, const Position& pixel, std::size_t k) const {
    Complex sum = 0.0;
    for (std::size_t i = 0; i < used_.size(); ++i) {
      const double turns = plan_.waves_per_m(k) * path_m(pixel, used_[i]);
      sum += values[k * used_.size() + i] * std::polar(1.0, 2.0 * std::numbers::pi * turns);
    }
    return sum;
  }
  /// True if a pixel is at least the separation away from all maxima, and no neighbour in its plane is larger.
  [[nodiscard]] bool is_next(const std::vector<double>& map, std::size_t pixel,
                             const std::vector<Position>& maxima) const {
    const Position& q = plan_.grid.pixels[pixel];
    const double least = std::cos(plan_.settings.separation_deg * std::numbers::pi / 180.0);
    const bool is_apart = std::all_of(maxima.begin(), maxima.end(), [&](const Position& maximum) {
      return std::isnan(maximum.x) ||
             (distance(q, maximum) > 0.0 && dot(q, maximum) <= least * norm(q) * norm(maximum));
    });
    return is_apart && !has_larger_neighbour(map, pixel);
  }
  [[nodiscard]] bool has_larger_neighbour(const std::vector<double>& map, std::size_t pixel) const {
    if (plan_.columns == 0) {
      return false;
    }
    const auto columns = static_cast<std::ptrdiff_t>(plan_.columns);
    const auto rows = static_cast<std::ptrdiff_t>(plan_.rows);
    const auto here = static_cast<std::ptrdiff_t>(pixel);
    for (std::ptrdiff_t down = -1; down <= 1; ++down) {
      for (std::ptrdiff_t right = -1; right <= 1; ++right) {
        const std::ptrdiff_t row = here / columns % rows + down;
        const std::ptrdiff_t beside = here % columns + right;
        const bool wraps = far_field::is_full_circle(plan_.settings.grid);
        const std::ptrdiff_t column = wraps ? (beside + columns) % columns : beside;
        if (row >= 0 && row < rows && column >= 0 && column < columns &&
            map[static_cast<std::size_t>(here + down * columns + column - here % columns)] > map[pixel]) {
          return true;
        }
      }
    }
    return false;
  }
  [[nodiscard]] Position maximum_of(const std::vector<double>& map, const std::vector<Position>& before) const {
    Position maximum = {.x = std::numeric_limits<double>::quiet_NaN()};
    double largest = -std::numeric_limits<double>::infinity();
    for (std::size_t i = 0; i < map.size(); ++i) {
      if (map[i] > largest && (before.empty() || is_next(map, i, before))) {
        largest = map[i];
        maximum = plan_.grid.pixels[i];
      }
    }
    return maximum;
  }
  /// p at the points of refinement.
  [[nodiscard]] std::vector<double> powers_round(const Position& place, double fraction) const {
    std::vector<double> powers;
    for (std::size_t point = 0; point < refinement_points(plan_); ++point) {
      powers.push_back(power(moved(plan_, place, fractions_of(plan_, point, fraction))));
    }
    return powers;
  }
  [[nodiscard]] Position refined(Position place) const {
    double fraction = 1.0;
    for (int round = 0; round < kRefinementRounds; ++round) {
      fraction /= 2.0;
      const std::vector<double> powers = powers_round(place, fraction);
      std::size_t best = powers.size() / 2;
      for (std::size_t point = 0; point < powers.size(); ++point) {
        best = powers[point] > powers[best] ? point : best;
      }
      place = moved(plan_, place, fractions_of(plan_, best, fraction));
    }
    return place;
  }
  [[nodiscard]] SrpWindow window_of(std::vector<double> map) {
    SrpWindow window = {.microphones = static_cast<double>(used_.size()),
                        .bin_powers = bin_powers_,
                        .bin_spreads = bin_spreads_,
                        .maxima = {}};
    std::vector<Position> places;
    for (std::size_t source = 0; source < plan_.sources(); ++source) {
      if (source > 0 && plan_.peels() && !std::isnan(places.back().x)) {
        peel(top_of(plan_, window.maxima.back()));
        map = present_map();
      }
      places.push_back(maximum_of(map, places));
      SrpMaximum& maximum = window.maxima.emplace_back();
      if (source > 0 && plan_.peels()) {
        maximum.remaining_powers = remaining_powers_;
      }
      maximum.place = refined(places.back());
      maximum.powers = powers_round(maximum.place, kCurvatureFraction);
      for (std::size_t k = 0; k < plan_.bins.size(); ++k) {
        maximum.beam_power += std::norm(beam(pressures_, maximum.place, k));
      }
    }
    return window;
  }

  SrpPlan plan_;
  SrpHistory history_;
  std::vector<bool> is_masked_;               ///< [channel]
  std::vector<std::size_t> used_;             ///< channels of the present window
  std::vector<Complex> pressures_;            ///< [bin][index of used_], Pa; the remainder if sources are peeled
  std::vector<Complex> phases_;               ///< likewise
  std::vector<std::vector<Complex>> peeled_;  ///< [source] likewise: orthonormal fields
  std::vector<double> remaining_powers_;      ///< [bin]; 0 if only rounding and position errors remain
  std::vector<double> bin_powers_;            ///< [bin]
  std::vector<double> bin_spreads_;           ///< [bin]
  std::vector<double> floors_;                ///< [bin], mean power of a microphone; empty before the first window
  std::vector<SrpWindow> windows_;            ///< [window] of the batch, so far
};

}  // namespace
}  // namespace nearfield::reference

namespace nearfield {

std::unique_ptr<reference::Processor> make_srp_phat_reference(const ProcessorPlan& plan) {
  return std::make_unique<reference::SrpPhat>(SrpPlan(plan));
}

}  // namespace nearfield
