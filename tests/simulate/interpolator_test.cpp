#include <gtest/gtest.h>

#include <cmath>
#include <numbers>

#include "simulate/points/signal.hpp"

namespace nearfield {
namespace {

using std::numbers::pi;

// Flat to 1e-6 and images 120 dB down, over the band it is made for; single precision adds a few 1e-7.
TEST(Interpolator, ExactOverItsBand) {
  constexpr std::size_t kSamples = 400;
  for (const double cycles_per_sample : {0.0, 0.01, 0.1, 0.2, 0.256}) {
    std::vector<float> input;
    for (std::size_t n = 0; n < kSamples; ++n) {
      const double angle = 2 * pi * cycles_per_sample * static_cast<double>(n);
      input.push_back(static_cast<float>(std::cos(angle)));
      input.push_back(static_cast<float>(0.5 * std::sin(angle)));
      input.push_back(-1.0F);
    }
    Interpolator interpolator(3);
    std::vector<float> output;
    interpolator.process(std::span(input).first(30), output);
    interpolator.process(std::span(input).subspan(30), output);
    interpolator.finish(output);
    ASSERT_EQ(output.size(), Interpolator::kFactor * input.size());
    for (std::size_t n = 80; n < kSamples * Interpolator::kFactor - 80; ++n) {
      const double angle = 2 * pi * cycles_per_sample * static_cast<double>(n) / 8;
      EXPECT_NEAR(static_cast<double>(output[3 * n]), std::cos(angle), 3e-6) << cycles_per_sample;
      EXPECT_NEAR(static_cast<double>(output[3 * n + 1]), 0.5 * std::sin(angle), 3e-6) << cycles_per_sample;
      EXPECT_NEAR(static_cast<double>(output[3 * n + 2]), -1.0, 3e-6);
    }
  }
}

}  // namespace
}  // namespace nearfield
