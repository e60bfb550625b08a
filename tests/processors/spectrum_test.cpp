#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <complex>
#include <numbers>
#include <vector>

#include "config/config.hpp"
#include "config/schema/processor_kinds.hpp"
#include "core/error.hpp"
#include "imaging/priors/make_mask.hpp"
#include "processors/processor.hpp"
#include "processors/spectrum/settings.hpp"

namespace nearfield {
namespace {

constexpr double kRate_hz = 46875.0;

/// 4 x 6 microphones, samples in pascal, in a ring that is longer than a window
/// and wraps in it.
class SpectrumTest : public testing::Test {
 protected:
  static constexpr std::size_t kChannels = 24;
  static constexpr std::size_t kSlots = 900;
  static constexpr std::size_t kFirst = 700;  ///< the window's first sample: it wraps
  static constexpr std::size_t kHop = 48;

  SpectrumTest() {
    own_.window_samples = 512;
    own_.points = {{.x_m = 0.0, .y_m = 0.0}, {.x_m = -1.0, .y_m = -1.0}};
    settings_.front_end.hop_samples = kHop;
    plan_.settings = &settings_;
    plan_.own = &own_;
    plan_.array.geometry = {.rows = 4, .columns = 6, .pitch_x_m = 0.02, .pitch_y_m = 0.03};
    plan_.sample_rate_hz = kRate_hz;
    plan_.batch = 2;
  }
  /// A tone at every microphone, amplitude 1 + its number.
  void play(double frequency_hz, double offset_pa = 0.0) {
    samples_.assign(kSlots * kChannels, 0.0F);
    for (std::size_t n = kFirst; n < kFirst + static_cast<std::size_t>(own_.window_samples) + kHop; ++n) {
      for (std::size_t channel = 0; channel < kChannels; ++channel) {
        const double radians = 2.0 * std::numbers::pi * frequency_hz / kRate_hz * static_cast<double>(n);
        const double value = (1.0 + static_cast<double>(channel)) * std::cos(radians + 0.3) + offset_pa;
        samples_[n % kSlots * kChannels + channel] = static_cast<float>(value);
      }
    }
  }
  /// [window] of two: amplitudes [point][bin], by the device and by the
  /// reference, which must agree.
  std::vector<std::vector<float>> amplitudes(const std::vector<int>& masked = {}) {
    const auto on_device = processor_entry("spectrum").make(device_, plan_);
    const auto expected = processor_entry("spectrum").make_reference(plan_);
    const auto ring = device_.upload<float>(samples_, "test");
    const auto status = device_.upload<std::uint32_t>(std::vector<std::uint32_t>(2 * kStatusWords), "test");
    const MicrophoneMask mask = make_mask(plan_.array, masked);
    on_device->use(mask);
    on_device->enqueue({.spectra = ComplexBuffer(),
                        .status = status,
                        .windows = 2,
                        .samples = {.samples = &ring, .slots = kSlots, .first_slot = kFirst, .first_sample = kFirst}});
    device_.wait();
    expected->use(mask);
    std::vector<std::vector<float>> all;
    std::vector<std::vector<double>> windows;
    for (std::size_t window = 0; window < 2; ++window) {
      std::vector<double>& samples = windows.emplace_back();
      for (std::size_t n = 0; n < static_cast<std::size_t>(own_.window_samples); ++n) {
        for (std::size_t channel = 0; channel < kChannels; ++channel) {
          samples.push_back(static_cast<double>(samples_[(kFirst + window * kHop + n) % kSlots * kChannels + channel]));
        }
      }
    }
    (void)expected->compute(
        std::array{reference::WindowInput{.samples = windows[0]}, reference::WindowInput{.samples = windows[1]}});
    for (std::size_t window = 0; window < 2; ++window) {
      const auto found = values_of<float>(on_device->products({.window = window}).products[0]);
      const auto same = values_of<float>(expected->products({.window = window}).products[0]);
      all.emplace_back(found.begin(), found.end());
      float largest = 0.0F;
      for (const float value : same) {
        largest = value > largest ? value : largest;  // NaN is not
      }
      for (std::size_t i = 0; i < found.size(); ++i) {
        if (std::isnan(same[i])) {
          EXPECT_TRUE(std::isnan(found[i])) << i;
        } else {
          EXPECT_NEAR(found[i], same[i], 2e-6F * largest) << i;  // float32: nine passes of 6e-8 each, and more
        }
      }
      const auto numbers = values_of<std::uint32_t>(on_device->products({.window = window}).products[1]);
      const auto same_numbers = values_of<std::uint32_t>(expected->products({.window = window}).products[1]);
      microphones_.assign(numbers.begin(), numbers.end());
      EXPECT_EQ(microphones_, std::vector<std::uint32_t>(same_numbers.begin(), same_numbers.end()));
    }
    return all;
  }
  ocl::Device device_ = ocl::Device::open(DeviceSettings());
  Settings settings_;
  SpectrumSettings own_;
  ProcessorPlan plan_;
  std::vector<float> samples_;
  std::vector<std::uint32_t> microphones_;  ///< [point], of the last amplitudes()
};

/// The largest of a point's, in dB re the amplitude that was played at the
/// microphone.
double level_db(const std::vector<float>& values, std::size_t bins, std::size_t point, double amplitude) {
  const auto first = values.begin() + static_cast<std::ptrdiff_t>(point * bins);
  return 20.0 * std::log10(static_cast<double>(*std::max_element(first, first + static_cast<std::ptrdiff_t>(bins))) /
                           amplitude);
}

// Scalloping of HFT95 is 0.0044 dB at most (Heinzel, Ruediger, Schilling 2002,
// table 3); the tone's twin of negative frequency adds 95 dB less than it.
TEST_F(SpectrumTest, AToneBetweenBinsHasItsLevel) {
  const std::size_t bins = 257;
  for (const double bin : {40.0, 40.25, 40.5, 113.37}) {
    play(bin * kRate_hz / 512.0);
    const std::vector<std::vector<float>> found = amplitudes();
    ASSERT_EQ(microphones_,
              (std::vector<std::uint32_t>{8, 0}));  // row 1, column 2: the first of the four at the centre
    for (const std::vector<float>& window : found) {
      EXPECT_NEAR(level_db(window, bins, 0, 9.0), 0.0, 0.005) << bin;
      EXPECT_NEAR(level_db(window, bins, 1, 1.0), 0.0, 0.005) << bin;
    }
  }
}

// 20 log10 of the Hann window's transform half a bin off its middle: 8 / (3
// pi).
TEST_F(SpectrumTest, AHannWindowShowsItUpTo1Point42DecibelsTooLow) {
  own_.taper = SpectrumTaper::kHann;
  play(40.5 * kRate_hz / 512.0);
  EXPECT_NEAR(level_db(amplitudes()[0], 257, 0, 9.0), 20.0 * std::log10(8.0 / (3.0 * std::numbers::pi)), 0.005);
  play(40.0 * kRate_hz / 512.0);
  EXPECT_NEAR(level_db(amplitudes()[0], 257, 0, 9.0), 0.0, 1e-4);
}

// A constant and half the sample rate have no twin of negative frequency.
TEST_F(SpectrumTest, AConstantHasItsOwnValue) {
  play(0.0, 0.5);
  const double constant = 9.0 * std::cos(0.3) + 0.5;
  EXPECT_NEAR(amplitudes()[0][0], constant, 1e-5 * constant);
  play(kRate_hz / 2.0);
  const double alternating = 9.0 * std::cos(0.3);
  EXPECT_NEAR(amplitudes()[0][256], alternating, 1e-5 * alternating);
}

TEST_F(SpectrumTest, TheNearestValidMicrophoneStandsInForAMaskedOne) {
  play(40.0 * kRate_hz / 512.0);
  const std::vector<std::vector<float>> found = amplitudes({0, 8, 9});
  EXPECT_EQ(microphones_, (std::vector<std::uint32_t>{14, 1}));  // row 2, column 2; row 0, column 1
  EXPECT_NEAR(level_db(found[0], 257, 0, 15.0), 0.0, 0.005);
  std::vector<int> all(kChannels);
  for (std::size_t i = 0; i < all.size(); ++i) {
    all[i] = static_cast<int>(i);
  }
  EXPECT_TRUE(std::isnan(amplitudes(all)[1][40]));
}

// NaN of one microphone spreads to no other.
TEST_F(SpectrumTest, ANonFiniteSampleIsItsPointsAlone) {
  play(40.0 * kRate_hz / 512.0);
  samples_[(kFirst + 500) % kSlots * kChannels + 8] = std::nanf("");
  const std::vector<std::vector<float>> found = amplitudes();
  EXPECT_TRUE(std::isnan(found[0][40]));
  EXPECT_NEAR(level_db(found[0], 257, 1, 1.0), 0.0, 0.005);
}

TEST(SpectrumSettings, MistakesAreNamed) {
  const auto message_of = [](const std::vector<std::string>& overrides) -> std::string {
    try {
      (void)load_settings("", overrides);
    } catch (const ConfigError& error) {
      return error.what();
    }
    return "";
  };
  using testing::HasSubstr;
  EXPECT_THAT(message_of({"processors.a.kind=spectrum", "processors.a.window_samples=1001"}),
              HasSubstr("processors.a.window_samples: expected a product of "
                        "powers of 2, 3, 5 and 7 (the next one is "));
  EXPECT_THAT(message_of({"processors.a.kind=spectrum", "processors.a.points=[[0.1]]"}),
              HasSubstr("processors.a.points[0]: expected a pair [a place from -1000 "
                        "to 1000 m"));
  EXPECT_THAT(message_of({"processors.a.kind=spectrum", "processors.a.front_end.kind=popcount"}),
              HasSubstr("processors.a.front_end: expected nothing, as spectrum "
                        "works on decimated samples"));
  EXPECT_EQ(message_of({"processors.a.kind=spectrum", "processors.a.points=[[0.1, 0], [0, -0.05]]"}), "");
}

}  // namespace
}  // namespace nearfield
