#pragma once
#include <gtest/gtest.h>

#include <cmath>
#include <complex>
#include <limits>
#include <memory>
#include <numbers>
#include <random>
#include <vector>

#include "frontend/front_end.hpp"

namespace nearfield::test {

/// A front end (of the table unless told otherwise) with its output buffers, poisoned before each use. Canaries lie
/// behind the spectra.
struct Bench {
  static constexpr std::size_t kCanaries = 64;
  explicit Bench(const FrontEndPlan& plan) : Bench(plan, make_front_end) {}
  /// `make` is called with device and plan.
  template <class Make>
  Bench(const FrontEndPlan& plan, const Make& make)
      : device(ocl::Device::open({})),
        front_end(make(device, plan)),
        values(plan.settings.frequencies_hz.size() * static_cast<std::size_t>(plan.geometry.channels())),
        output(device.allocate<std::complex<float>>(values + kCanaries, "test")),
        status(device.allocate<std::uint32_t>(4, "test")) {}
  std::vector<std::complex<float>> spectra(std::uint64_t first_sample) {
    constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
    device.enqueue_fill(output, std::complex<float>(kNan, kNan), "test");
    device.enqueue_fill(status, std::uint32_t{0}, "test");
    front_end->enqueue_spectra(first_sample, output, status);
    std::vector<std::complex<float>> found = device.download(output, "test");
    for (std::size_t i = values; i < found.size(); ++i) {
      EXPECT_TRUE(std::isnan(found[i].real())) << "wrote behind its spectra";
    }
    found.resize(values);
    return found;
  }
  std::vector<std::uint32_t> flags() { return device.download(status, "test"); }

  ocl::Device device;
  std::unique_ptr<FrontEnd> front_end;
  std::size_t values;
  ocl::Buffer<std::complex<float>> output;
  ocl::Buffer<std::uint32_t> status;
};

/// A tone and an offset through a second-order error-feedback modulator with no delay of its own: v = x - 2 e' + e'', e
/// = sign(v) - v.
class Modulator {
 public:
  Modulator(double amplitude, double frequency_hz, double phase_rad, double offset = 0.0)
      : amplitude_(amplitude), frequency_hz_(frequency_hz), phase_rad_(phase_rad), offset_(offset) {}
  bool next() {
    const double turns = std::fmod(frequency_hz_ / kBitRateHz * static_cast<double>(time_++), 1.0);
    const double value =
        offset_ + amplitude_ * std::cos(2.0 * std::numbers::pi * turns + phase_rad_) - 2.0 * error_ + older_error_;
    older_error_ = error_;
    error_ = (value >= 0.0 ? 1.0 : -1.0) - value;
    return value >= 0.0;
  }

 private:
  double amplitude_, frequency_hz_, phase_rad_, offset_;
  double error_ = 0.0, older_error_ = 0.0;
  std::uint64_t time_ = 0;
};

/// (2 / sum w) sum w[n] b[n] e^{-jwn} over 32768 bits, n counted from the first of them: the signal contract applied to
/// the bits themselves, with no filter in between.
inline std::complex<double> bit_spectrum(const std::vector<double>& bits, std::size_t first_bit, double frequency_hz) {
  constexpr std::size_t kBits = 32768;
  std::complex<double> sum = 0.0;
  for (std::size_t n = 0; n < kBits; ++n) {
    const double phase = 2.0 * std::numbers::pi * static_cast<double>(n);
    const double weight = 0.5 - 0.5 * std::cos(phase / kBits);
    sum += weight * bits[first_bit + n] * std::polar(1.0, -phase * frequency_hz / kBitRateHz);
  }
  return sum * (2.0 / (kBits / 2.0));
}

/// Normal ones of 3 Pa rms.
inline std::vector<float> random_samples(std::size_t count, std::mt19937& generator) {
  std::normal_distribution<float> normal(0.0F, 3.0F);
  std::vector<float> samples(count);
  for (float& sample : samples) {
    sample = normal(generator);
  }
  return samples;
}

}  // namespace nearfield::test
