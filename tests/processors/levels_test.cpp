#include "processors/levels/levels.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <limits>
#include <numbers>
#include <random>
#include <vector>

#include "config/config.hpp"
#include "core/error.hpp"
#include "imaging/priors/make_mask.hpp"

namespace nearfield {
namespace {

constexpr double kRate_hz = 48000.0;

double level_db(float mean_square_pa2) { return 10.0 * std::log10(static_cast<double>(mean_square_pa2) / 4e-10); }

/// 2 x 4 microphones, samples in pascal, in a ring that is longer than two windows and wraps in one.
class LevelsTest : public testing::Test {
 protected:
  static constexpr std::size_t kChannels = 8;
  static constexpr std::size_t kSlots = 2000;
  static constexpr std::size_t kFirst = 1700;  ///< the first window's first sample
  static constexpr std::size_t kHop = 48;

  LevelsTest() {
    own_.window_samples = 512;
    own_.weighting = Weighting::kZ;
    settings_.front_end.hop_samples = kHop;
    plan_.settings = &settings_;
    plan_.own = &own_;
    plan_.array.geometry = {.rows = 2, .columns = 4, .pitch_x_m = 0.02, .pitch_y_m = 0.03};
    plan_.sample_rate_hz = kRate_hz;
    plan_.batch = 2;
  }
  /// `value` of microphone and sample.
  template <class Value>
  void play(const Value& value) {
    samples_.assign(kSlots * kChannels, 0.0F);
    for (std::size_t n = kFirst; n < kFirst + static_cast<std::size_t>(own_.window_samples) + kHop; ++n) {
      for (std::size_t m = 0; m < kChannels; ++m) {
        samples_[n % kSlots * kChannels + m] = static_cast<float>(value(m, n));
      }
    }
  }
  void play_tone(double frequency_hz, double amplitude_pa) {
    play([=](std::size_t m, std::size_t n) {
      return amplitude_pa * std::cos(2.0 * std::numbers::pi * frequency_hz / kRate_hz * static_cast<double>(n) +
                                     static_cast<double>(m));
    });
  }
  /// The products of the second of two windows, by the device and by the reference, which must agree.
  std::vector<std::vector<float>> measure() {
    const auto on_device = processor_entry("levels").make(device_, plan_);
    const auto expected = processor_entry("levels").make_reference(plan_);
    const auto ring = device_.upload<float>(samples_, "test");
    const auto status = device_.upload<std::uint32_t>(std::vector<std::uint32_t>(2 * kStatusWords), "test");
    on_device->enqueue({.spectra = ComplexBuffer(),
                        .status = status,
                        .windows = 2,
                        .samples = {.samples = &ring, .slots = kSlots, .first_slot = kFirst, .first_sample = kFirst}});
    device_.wait();
    std::array<std::vector<double>, 2> windows;
    for (std::size_t w = 0; w < 2; ++w) {
      for (std::size_t n = 0; n < static_cast<std::size_t>(own_.window_samples); ++n) {
        for (std::size_t m = 0; m < kChannels; ++m) {
          windows.at(w).push_back(static_cast<double>(samples_[(kFirst + w * kHop + n) % kSlots * kChannels + m]));
        }
      }
    }
    (void)expected->compute(
        std::array{reference::WindowInput{.samples = windows[0]}, reference::WindowInput{.samples = windows[1]}});
    std::vector<std::vector<float>> all;
    for (std::size_t w = 0; w < 2; ++w) {
      const Products found = on_device->products({.window = w}).products;
      const Products same = expected->products({.window = w}).products;
      EXPECT_EQ(found.size(), on_device->header().products.size());
      EXPECT_EQ(found.size(), same.size());
      all.clear();
      for (std::size_t product = 0; product < found.size(); ++product) {
        const auto values = values_of<float>(found[product]);
        const auto of_reference = values_of<float>(same[product]);
        all.emplace_back(values.begin(), values.end());
        EXPECT_EQ(values.size(), of_reference.size());
        for (std::size_t i = 0; i < values.size(); ++i) {
          if (std::isnan(of_reference[i])) {
            EXPECT_TRUE(std::isnan(values[i])) << product << ' ' << i;
          } else {
            // Sums of 512 float32 terms and a transform of ten passes.
            EXPECT_NEAR(values[i], of_reference[i], 2e-5F * std::abs(of_reference[i]) + 1e-6F) << product << ' ' << i;
          }
        }
      }
    }
    return all;
  }
  ocl::Device device_ = ocl::Device::open(DeviceSettings());
  Settings settings_;
  LevelsSettings own_;
  ProcessorPlan plan_;
  std::vector<float> samples_;
};

// A^2/2 of a tone anywhere between bins, since the Hann window's squares add up to the same.
TEST_F(LevelsTest, AToneHasItsLevelPeakAndNoOffset) {
  for (const double bin : {20.0, 33.5, 113.37}) {
    play_tone(bin * kRate_hz / 512.0, std::sqrt(2.0));
    const std::vector<std::vector<float>> found = measure();
    for (std::size_t m = 0; m < kChannels; ++m) {
      EXPECT_NEAR(level_db(found[0][m]), 93.9794, 0.01) << bin;
      EXPECT_NEAR(found[1][m], std::sqrt(2.0F), 0.02) << bin;
      EXPECT_NEAR(found[2][m], 0.0, 0.03) << bin;
    }
  }
}

// IEC 61672-1:2013, table 3: A of 125 Hz is -16.1 dB, of 8 kHz -1.1 dB; C -0.2 and -3.0 dB.
TEST_F(LevelsTest, WeightingsAreThoseOfTheStandardsTable) {
  own_.window_samples = 1920;  // bins of 25 Hz
  for (const auto& [weighting, frequency_hz, gain_db] :
       {std::tuple(Weighting::kA, 125.0, -16.1), std::tuple(Weighting::kA, 1000.0, 0.0),
        std::tuple(Weighting::kA, 8000.0, -1.1), std::tuple(Weighting::kC, 125.0, -0.2),
        std::tuple(Weighting::kC, 8000.0, -3.0)}) {
    own_.weighting = weighting;
    play_tone(frequency_hz, std::sqrt(2.0));
    EXPECT_NEAR(level_db(measure()[0][3]), 93.98 + gain_db, 0.1) << frequency_hz;  // the table's roundings are 0.05 dB
  }
}

TEST_F(LevelsTest, AnOffsetIsNoSound) {
  play([](std::size_t m, std::size_t n) {
    return 0.25 * static_cast<double>(m) +
           0.1 * std::cos(2.0 * std::numbers::pi * 1500.0 / kRate_hz * static_cast<double>(n));
  });
  const std::vector<std::vector<float>> found = measure();
  EXPECT_NEAR(level_db(found[0][6]), level_db(0.005F), 0.01);
  EXPECT_NEAR(found[2][6], 1.5, 1e-4);
  EXPECT_NEAR(found[1][6], 1.6, 1e-3);
}

// Bands that touch share the bins at their edges, so that they add up to the whole.
TEST_F(LevelsTest, OctavesAddUpToTheirThirds) {
  own_.octave_hz = {2000, 4000};
  own_.third_octave_hz = {1600, 2000, 2500, 3150, 4000, 5000};
  std::mt19937 random(7);
  std::normal_distribution<double> noise;
  play([&](std::size_t, std::size_t) { return noise(random); });
  const std::vector<std::vector<float>> found = measure();
  ASSERT_EQ(found[1].size(), 8 * kChannels);
  for (std::size_t m = 0; m < kChannels; ++m) {
    const auto band = [&](std::size_t i) { return found[1][i * kChannels + m]; };
    EXPECT_NEAR(band(0), band(2) + band(3) + band(4), 1e-5F * band(0));
    EXPECT_NEAR(band(1), band(5) + band(6) + band(7), 1e-5F * band(1));
    EXPECT_GT(found[0][m], band(0) + band(1));
  }
}

TEST_F(LevelsTest, ANonFiniteSampleIsItsMicrophonesAlone) {
  play_tone(1500.0, 1.0);
  samples_[(kFirst + 500) % kSlots * kChannels + 4] = std::numeric_limits<float>::infinity();
  const std::vector<std::vector<float>> found = measure();
  for (const std::vector<float>& product : found) {
    EXPECT_TRUE(std::isnan(product[4]));
    EXPECT_FALSE(std::isnan(product[3]) || std::isnan(product[5]));
  }
}

TEST_F(LevelsTest, WarnOfWindowsThatAreNearlyTheSame) {
  const auto warnings = [&] { return processor_entry("levels").remarks(plan_).warnings; };
  plan_.every_hops = 1;
  EXPECT_THAT(warnings(), testing::ElementsAre(testing::HasSubstr(".every_hops: 5 makes it half a window")));
  plan_.every_hops = 2;
  EXPECT_THAT(warnings(), testing::IsEmpty());
}

TEST_F(LevelsTest, MistakesAreNamed) {
  const auto message_of = [](const auto& call) -> std::string {
    try {
      call();
    } catch (const ConfigError& error) {
      return error.what();
    }
    return "";
  };
  using testing::HasSubstr;
  EXPECT_THAT(message_of([] {
                (void)load_settings("", {"processors.a.kind=levels", "processors.a.octave=[1300]"});
              }),
              HasSubstr("processors.a.octave: expected at most 32 centres of octaves, such as 500, 1000 and 2000"));
  own_.third_octave_hz = {100};
  EXPECT_THAT(message_of([&] { (void)LevelsPlan(plan_); }),
              HasSubstr("windows of 6241 samples or more for 89.1251 to 112.202 Hz, found 0.246 bins of 512"));
  own_.third_octave_hz = {25000};
  EXPECT_THAT(message_of([&] { (void)LevelsPlan(plan_); }), HasSubstr("below 24000 Hz"));
}

}  // namespace
}  // namespace nearfield
