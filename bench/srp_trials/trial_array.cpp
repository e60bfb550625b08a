#include "bench/srp_trials/trial_array.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstring>
#include <limits>
#include <numbers>
#include <numeric>

#include "core/product_values.hpp"
#include "processors/far_field/array.hpp"

namespace nearfield::bench {
namespace {

constexpr const char* kTrialStage = "bench";

/// The table of a processor's first product.
class SourceTable {
 public:
  SourceTable(Product product, std::span<const std::byte> table)
      : product_(std::move(product)), table_(table), places_(column_places(product_)) {}
  template <class Value>
  [[nodiscard]] Value value(std::string_view column, std::size_t row) const {
    const auto found = std::find_if(product_.columns.begin(), product_.columns.end(),
                                    [&](const Column& one) { return one.name == column; });
    const auto& place = places_.at(static_cast<std::size_t>(found - product_.columns.begin()));
    Value result = {};
    std::memcpy(&result, table_.data() + place.offset + row * sizeof result, sizeof result);
    return result;
  }
  [[nodiscard]] double number(std::string_view column, std::size_t row) const {
    return static_cast<double>(value<float>(column, row));
  }

 private:
  Product product_;
  std::span<const std::byte> table_;
  std::vector<ProductPlaces::Place> places_;
};

}  // namespace

std::complex<double> NormalNumbers::next() {
  const double uniform = 1.0 - (random_.uniform() + 1.0) / 2.0;  // above 0, at most 1
  return std::polar(std::sqrt(-std::log(uniform)), std::numbers::pi * random_.uniform());
}

std::vector<std::complex<double>> NormalNumbers::bins(std::size_t count) {
  std::vector<std::complex<double>> values(count);
  std::complex<double> before = next();
  std::complex<double> here = next();
  for (std::complex<double>& value : values) {
    const std::complex<double> after = next();
    value = (here - 0.5 * before - 0.5 * after) / std::sqrt(1.5);
    before = here;
    here = after;
  }
  return values;
}

TrialArray::TrialArray(const ArrayGeometry& geometry, double sample_rate_hz, int window_samples,
                       std::array<double, 2> band_hz) {
  settings.front_end.window_samples = window_samples;
  settings.front_end.hop_samples = window_samples / 2;
  own.band_hz = {band_hz[0], band_hz[1]};
  own.keep_map = false;
  plan.name = "trial";
  plan.sample_rate_hz = sample_rate_hz;
  plan.array.geometry = geometry;
  plan.array.medium = settings.medium;
  plan.array.standoff_m = settings.holography.standoff_m;
  const double bin_hz = sample_rate_hz / window_samples;
  for (double bin = std::ceil(band_hz[0] / bin_hz); bin * bin_hz < band_hz[1]; ++bin) {
    plan.array.frequencies_hz.push_back(bin * bin_hz);
  }
  plan.frequencies_hz = plan.array.frequencies_hz;
  microphones_ = far_field::microphones_of(geometry);
}

void TrialArray::look_ahead(double distance_m, double most_deg, double step_deg) {
  own.grid.kind = far_field::GridKind::kAngles;
  own.grid.distance_m = {distance_m};
  own.grid.azimuth_deg = own.grid.elevation_deg = {-most_deg, most_deg};
  own.grid.step_deg = step_deg;
}

void TrialArray::open(const ocl::Device& device) {
  device_ = &device;
  plan.settings = &settings;
  plan.own = &own;
  processor_ = processor_entry("srp_phat").make(device, plan);
  spectra_.resize(plan.frequencies_hz.size() * microphones_.size());
  on_device_ = device.allocate<std::complex<float>>(spectra_.size(), kTrialStage);
  status_ = device.upload<std::uint32_t>(std::vector<std::uint32_t>(kStatusWords), kTrialStage);
}

void TrialArray::fill_with_noise(NormalNumbers& numbers) {
  const std::size_t bins = plan.frequencies_hz.size();
  for (std::size_t m = 0; m < microphones_.size(); ++m) {
    const std::vector<std::complex<double>> noise = numbers.bins(bins);
    for (std::size_t k = 0; k < bins; ++k) {
      spectra_[k * microphones_.size() + m] = std::complex<float>(noise[k]);
    }
  }
}

void TrialArray::fill_with(std::span<const std::complex<float>> spectra) {
  std::copy(spectra.begin(), spectra.end(), spectra_.begin());
}

void TrialArray::add_source(const far_field::Position& place, double power, NormalNumbers& numbers) {
  const std::size_t bins = plan.frequencies_hz.size();
  const std::vector<std::complex<double>> amplitudes = numbers.bins(bins);
  const double strength = std::sqrt(power) * norm(place);
  for (std::size_t m = 0; m < microphones_.size(); ++m) {
    const double path_m = distance(place, microphones_[m]);
    for (std::size_t k = 0; k < bins; ++k) {
      spectra_[k * microphones_.size() + m] +=
          std::complex<float>(amplitudes[k] * std::polar(strength / path_m, -plan.array.wavenumber(k) * path_m));
    }
  }
}

std::vector<FoundSource> TrialArray::find() {
  device_->enqueue_write(on_device_, 0, std::span<const std::complex<float>>(spectra_), kTrialStage);
  (void)seconds();
  const SourceTable table(processor_->header().products[0], processor_->products(0)[0]);
  const std::size_t rows = rows_of(processor_->products(0)[0]);
  const double surface_m = own.grid.is_infinitely_far() ? 0.0 : plan.array.standoff_m;
  std::vector<FoundSource> found;
  for (std::size_t row = 0; row < rows; ++row) {
    found.push_back({.id = table.value<std::uint32_t>("id", row),
                     .state = table.value<std::uint32_t>("state", row),
                     .place = {table.number("x", row), table.number("y", row), table.number("z", row) - surface_m},
                     .sigma_major = table.number("sigma_major", row),
                     .sigma_minor = table.number("sigma_minor", row),
                     .confidence = table.number("confidence", row),
                     .significance = table.number("significance", row)});
  }
  return found;
}

double TrialArray::seconds() {
  const auto begun = std::chrono::steady_clock::now();
  processor_->enqueue(on_device_, status_, 1);
  device_->wait();
  (void)processor_->products(0);
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begun).count();
}

FrameTiming TrialArray::stages(const TimingOptions& timing) {
  FrameTiming found;
  time_stages(*device_, timing,
              {.prepare = [] {},
               .phases = {{"window", [this] { processor_->enqueue(on_device_, status_, 1); }}},
               .waits = false},
              found);
  return found;
}

WorkModel TrialArray::work() const { return processor_entry("srp_phat").work(plan); }

double angle_deg(const far_field::Position& one, const far_field::Position& other) {
  const far_field::Position cross = {one.y * other.z - one.z * other.y, one.z * other.x - one.x * other.z,
                                     one.x * other.y - one.y * other.x};
  return std::atan2(norm(cross), dot(one, other)) / kTrialDegree;
}

double quantile(std::vector<double>& values, double share) {
  if (values.empty()) {
    return std::numeric_limits<double>::quiet_NaN();
  }
  std::sort(values.begin(), values.end());
  const auto rank = static_cast<std::size_t>(std::ceil(share * static_cast<double>(values.size())));
  return values[std::clamp<std::size_t>(rank, 1, values.size()) - 1];
}

double squared_error(const FoundSource& found, const far_field::Position& source) {
  return std::pow(distance(found.place, source), 2.0) /
         (std::pow(found.sigma_major, 2.0) + std::pow(found.sigma_minor, 2.0));
}

double mean_of(const std::vector<double>& values) {
  return values.empty() ? std::numeric_limits<double>::quiet_NaN()
                        : std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

double power_of_db(double level_db) { return std::pow(10.0, level_db / 10.0); }

far_field::Position at_angles(double azimuth_deg, double elevation_deg) {
  const double x = std::sin(azimuth_deg * kTrialDegree);
  const double y = std::sin(elevation_deg * kTrialDegree);
  return {kTrialDistance_m * x, kTrialDistance_m * y, -kTrialDistance_m * std::sqrt(1.0 - x * x - y * y)};
}

std::unique_ptr<TrialArray> array_before(const ArrayGeometry& geometry) {
  constexpr double kRate_hz = 46875.0;
  constexpr int kWindow_samples = 1024;
  auto array = std::make_unique<TrialArray>(geometry, kRate_hz, kWindow_samples, std::array{500.0, 4000.0});
  array->look_ahead(kTrialDistance_m, 60.0, 3.0);
  return array;
}

ArrayGeometry sixty_four_microphones() {
  constexpr double kPitch_m = 0.62 / 7.0;
  return {.rows = 8, .columns = 8, .pitch_x_m = kPitch_m, .pitch_y_m = kPitch_m};
}

}  // namespace nearfield::bench
