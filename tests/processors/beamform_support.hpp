#pragma once
#include <algorithm>
#include <array>
#include <cmath>
#include <complex>
#include <limits>
#include <memory>
#include <numbers>
#include <random>
#include <vector>

#include "cl/device.hpp"
#include "files/files.hpp"
#include "processors/beamform/plan.hpp"
#include "processors/processor.hpp"
#include "support/fields.hpp"
#include "support/measures.hpp"

/// A beamformer with its array and its input, for tests.
namespace nearfield::test {

inline ocl::Device& beamform_device() {
  static ocl::Device device = ocl::Device::open(DeviceSettings());
  return device;
}

class Beamformer {
 public:
  Beamformer(int rows, int columns, std::vector<double> frequencies_hz) {
    array.geometry = {.rows = rows, .columns = columns, .pitch_x_m = 0.02, .pitch_y_m = 0.02};
    array.standoff_m = 0.03;
    array.frequencies_hz = std::move(frequencies_hz);
  }
  [[nodiscard]] ProcessorPlan plan() const {
    return {.name = "far",
            .settings = &settings,
            .own = &own,
            .array = array,
            .frequencies_hz = array.frequencies_hz,
            .sample_rate_hz = rate_hz,
            .batch = batch,
            .files = array_files_on_disk()};
  }
  /// Where the pixels are, and where the microphones.
  [[nodiscard]] BeamformPlan places() const { return BeamformPlan(plan()); }
  /// Of a monopole of 1 Pa m at a place, from the array's centre, [frequency][channel].
  [[nodiscard]] std::vector<Complex> monopole(const far_field::Position& source) const {
    std::vector<Complex> spectra;
    for (std::size_t f = 0; f < array.frequencies_hz.size(); ++f) {
      const auto field =
          monopole_field({.x_m = source.x, .y_m = source.y, .z_m = source.z}, array.wavenumber(f), array.geometry, 0.0);
      spectra.insert(spectra.end(), field.begin(), field.end());
    }
    return spectra;
  }
  /// Of a plane wave of 1 Pa from a direction.
  [[nodiscard]] std::vector<Complex> plane_wave(const far_field::Position& direction) const {
    std::vector<Complex> spectra;
    for (std::size_t f = 0; f < array.frequencies_hz.size(); ++f) {
      for (const far_field::Position& microphone : places().microphones) {
        spectra.push_back(std::polar(1.0, array.wavenumber(f) * dot(direction, microphone)));
      }
    }
    return spectra;
  }

  Settings settings;
  BeamformSettings own;
  ArrayPlan array;
  double rate_hz = 46875.0;
  int batch = 1;
};

/// A processor that maps one window after the other.
class Mapper {
 public:
  virtual ~Mapper() = default;
  /// The bytes hold until the next call.
  virtual Products map(const std::vector<Complex>& spectra) = 0;
  virtual void use(const MicrophoneMask& mask) = 0;
  virtual void forget() = 0;
  /// The products of the last window, as the last one of a run.
  virtual Products publish_last() = 0;
  [[nodiscard]] virtual std::uint32_t flags() const = 0;

  [[nodiscard]] virtual ResultHeader header() const = 0;
  /// The last product that is no figure.
  std::span<const std::byte> last(const std::vector<Complex>& spectra) {
    const Products products = map(spectra);
    std::size_t last = products.size() - 1;
    while (header().products[last].form == Product::Form::kFigure) {
      --last;
    }
    return products[last];
  }
  /// The same, complex.
  std::vector<std::complex<float>> beams(const std::vector<Complex>& spectra) {
    const auto values = values_of<std::complex<float>>(last(spectra));
    return {values.begin(), values.end()};
  }
  /// The same, of an average.
  std::vector<float> powers(const std::vector<Complex>& spectra) {
    const auto values = values_of<float>(last(spectra));
    return {values.begin(), values.end()};
  }
};

class ReferenceMapper : public Mapper {
 public:
  explicit ReferenceMapper(const Beamformer& beamformer)
      : processor_(processor_entry("beamform").make_reference(beamformer.plan())) {}
  Products map(const std::vector<Complex>& spectra) override {
    flags_ = processor_->compute(std::array{reference::WindowInput{.spectra = spectra}}).front().flags;
    return processor_->products({}).products;
  }
  void use(const MicrophoneMask& mask) override { processor_->use(mask); }
  void forget() override { processor_->forget(); }
  Products publish_last() override { return processor_->products({.is_last = true}).products; }
  [[nodiscard]] ResultHeader header() const override { return processor_->header(); }
  [[nodiscard]] std::uint32_t flags() const override { return flags_; }

 private:
  std::unique_ptr<reference::Processor> processor_;
  std::uint32_t flags_ = 0;
};

class DeviceMapper : public Mapper {
 public:
  explicit DeviceMapper(const Beamformer& beamformer, const ocl::Device& device = beamform_device())
      : processor_(processor_entry("beamform").make(device, beamformer.plan())) {}
  Products map(const std::vector<Complex>& spectra) override {
    const auto input = beamform_device().upload<std::complex<float>>(narrow(spectra), "test");
    const auto status = beamform_device().upload<std::uint32_t>(std::vector<std::uint32_t>(kStatusWords), "test");
    processor_->enqueue({.spectra = input, .status = status});
    beamform_device().wait();
    return processor_->products({}).products;
  }
  void use(const MicrophoneMask& mask) override { processor_->use(mask); }
  void forget() override { processor_->forget(); }
  Products publish_last() override { return processor_->products({.is_last = true}).products; }
  [[nodiscard]] ResultHeader header() const override { return processor_->header(); }
  [[nodiscard]] std::uint32_t flags() const override { return processor_->host_status(0)[0]; }
  [[nodiscard]] std::string description() const { return processor_->description(); }

 private:
  std::unique_ptr<Processor> processor_;
};

inline std::vector<Complex> noise(std::size_t count, std::mt19937& generator) {
  std::normal_distribution<double> normal(0.0, 1.0);
  std::vector<Complex> values(count);
  for (Complex& value : values) {
    const double real = normal(generator);
    value = {real, normal(generator)};
  }
  return values;
}

/// The largest difference over the largest value; infinite where one is NaN and the other is not.
template <class Value>
double difference_of(const std::vector<Value>& found, const std::vector<Value>& expected) {
  double difference = 0.0;
  double largest = 0.0;
  for (std::size_t i = 0; i < expected.size(); ++i) {
    const bool is_nan = std::isnan(std::abs(expected[i]));
    if (is_nan != std::isnan(std::abs(found[i]))) {
      return std::numeric_limits<double>::infinity();
    }
    if (!is_nan) {
      difference = std::max(difference, static_cast<double>(std::abs(found[i] - expected[i])));
      largest = std::max(largest, static_cast<double>(std::abs(expected[i])));
    }
  }
  return difference / largest;
}

/// A source and noise, so that no microphone and no pixel is like another.
inline std::vector<Complex> busy_field(const Beamformer& beamformer, unsigned seed) {
  std::mt19937 generator(seed);
  std::vector<Complex> spectra = beamformer.monopole({0.05, -0.03, -0.4});
  const std::vector<Complex> added = noise(spectra.size(), generator);
  for (std::size_t i = 0; i < spectra.size(); ++i) {
    spectra[i] += 0.3 * added[i];
  }
  return spectra;
}

inline double in_db(double power_ratio) { return 10.0 * std::log10(power_ratio); }

}  // namespace nearfield::test
