#include "frontend/common/analysis.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <numbers>

#include "core/error.hpp"

namespace nearfield {
namespace {

using Complex = std::complex<double>;

double window_value(WindowKind window, std::size_t length, std::size_t t) {
  return window == WindowKind::kNone
             ? 1.0
             : 0.5 - 0.5 * std::cos(2.0 * std::numbers::pi * static_cast<double>(t) / static_cast<double>(length));
}

/// sum_t d(t) x(t), written out.
template <class Signal>
Complex estimate(const AnalysisVector& d, WindowKind window, std::size_t length, const Signal& x) {
  Complex sum = 0.0;
  for (std::size_t t = 0; t < length; ++t) {
    sum += window_value(window, length, t) * d.without_window(static_cast<double>(t)) * x(static_cast<double>(t));
  }
  return sum;
}

TEST(Analysis, WindowTransformIsItsSum) {
  for (const WindowKind window : {WindowKind::kHann, WindowKind::kNone}) {
    for (const double radians : {0.0, 0.01, 0.7, 3.1, -0.4, 2.0 * std::numbers::pi / 100.0}) {
      Complex sum = 0.0;
      for (std::size_t t = 0; t < 100; ++t) {
        sum += window_value(window, 100, t) * std::polar(1.0, radians * static_cast<double>(t));
      }
      EXPECT_NEAR(std::abs(window_transform(window, 100, radians) - sum), 0.0, 1e-10) << radians;
    }
  }
}

TEST(Analysis, TonesGiveTheirPhasorsAndOffsetsNothing) {
  const std::size_t length = 1000;
  for (const WindowKind window : {WindowKind::kHann, WindowKind::kNone}) {
    for (const double periods : {1.0, 1.2, 2.0, 2.5, 22.0, 333.3}) {
      const double radians = 2.0 * std::numbers::pi * periods / static_cast<double>(length);
      const AnalysisVector d = analysis_vector(window, length, radians, true);
      const Complex phasor = std::polar(0.7, 1.1);
      const auto tone = [&](double t) { return (phasor * std::polar(1.0, radians * t)).real() + 0.3; };
      EXPECT_NEAR(std::abs(estimate(d, window, length, tone) - phasor), 0.0, 1e-9) << periods;
      EXPECT_NEAR(std::abs(estimate(d, window, length, [](double) { return 1.0; })), 0.0, 1e-9) << periods;
    }
  }
}

TEST(Analysis, WithoutRemovalItIsTheWindowedDft) {
  const AnalysisVector d = analysis_vector(WindowKind::kHann, 64, 0.5, false);
  EXPECT_NEAR(std::abs(d.without_window(3.0) - std::polar(2.0 / 32.0, -1.5)), 0.0, 1e-12);
}

TEST(Analysis, TooFewPeriodsAreRefused) {
  EXPECT_THROW((void)analysis_vector(WindowKind::kHann, 1024, 1e-6, true), ConfigError);
}

}  // namespace
}  // namespace nearfield
