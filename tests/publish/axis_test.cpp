#include "publish/pictures/axis.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace nearfield {
namespace {

using ::testing::DoubleNear;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(NiceTicks, KnownRanges) {
  constexpr double kRounding = 1e-12;
  const auto is = [](double value) { return DoubleNear(value, kRounding); };
  EXPECT_THAT(nice_ticks(-0.32, 0.32, 7),
              ElementsAre(is(-0.3), is(-0.2), is(-0.1), is(0.0), is(0.1), is(0.2), is(0.3)));
  EXPECT_THAT(nice_ticks(-0.32, 0.32, 4), ElementsAre(is(-0.2), is(0.0), is(0.2)));
  EXPECT_THAT(nice_ticks(-40.0, 0.0, 5), ElementsAre(is(-40.0), is(-30.0), is(-20.0), is(-10.0), is(0.0)));
  EXPECT_THAT(nice_ticks(0.0, 3.42, 8), ElementsAre(is(0.0), is(0.5), is(1.0), is(1.5), is(2.0), is(2.5), is(3.0)));
  EXPECT_THAT(nice_ticks(-0.01, 0.01, 1), ElementsAre(is(0.0)));
}

TEST(AxisTitle, SaysWhatCountsDownwards) {
  EXPECT_EQ(axis_title("x", "m"), "x [m]");
  EXPECT_EQ(axis_title("y", "m"), "y [m], downwards");
  EXPECT_EQ(axis_title("elevation", "deg"), "elevation [deg]");
  EXPECT_EQ(axis_title("band", "1"), "band");
}

TEST(NiceTicks, NeverTooManyAndAlwaysInside) {
  for (double width = 1e-9; width < 1e9; width *= 1.7) {
    for (int count = 1; count < 12; ++count) {
      const double low = -0.37 * width;
      const auto ticks = nice_ticks(low, low + width, count);
      ASSERT_FALSE(ticks.empty());
      EXPECT_LE(ticks.size(), static_cast<std::size_t>(count));
      EXPECT_GE(ticks.front(), low);
      EXPECT_LE(ticks.back(), low + width);
      if (count >= 5) {
        EXPECT_GE(ticks.size(), 2U);
      }
    }
  }
}

TEST(NiceTicks, EmptyRanges) {
  EXPECT_THAT(nice_ticks(1.0, 1.0, 5), IsEmpty());
  EXPECT_THAT(nice_ticks(2.0, 1.0, 5), IsEmpty());
  EXPECT_THAT(nice_ticks(0.0, 1.0, 0), IsEmpty());
  EXPECT_THAT(nice_ticks(0.0, std::numeric_limits<double>::infinity(), 5), IsEmpty());
  EXPECT_THAT(nice_ticks(std::nan(""), 1.0, 5), IsEmpty());
}

TEST(TickLabels, SameDecimalsAndTrueMinus) {
  EXPECT_THAT(tick_labels({-0.2, 0.0, 0.2}), ElementsAre("\u22120.2", "0.0", "0.2"));
  EXPECT_THAT(tick_labels({0.0, 50.0, 100.0}), ElementsAre("0", "50", "100"));
  EXPECT_THAT(tick_labels({0.0}), ElementsAre("0"));
  EXPECT_THAT(tick_labels({0.05, 0.10}), ElementsAre("0.05", "0.10"));
  EXPECT_THAT(tick_labels({0.0, 1e-9}), ElementsAre("0", "1e\u221209"));
}

TEST(SiPrefixes, PutTheMaximumBetweenOneAndAThousand) {
  EXPECT_EQ(si_prefix(3.42e-3).prefix, "m");
  EXPECT_EQ(si_prefix(1e-6).prefix, "\u00b5");
  EXPECT_EQ(si_prefix(0.9999e-6).prefix, "n");
  EXPECT_EQ(si_prefix(1.0).prefix, "");
  EXPECT_EQ(si_prefix(20e3).prefix, "k");
  for (const double none : {0.0, -1.0, 1e-30, std::nan("")}) {
    EXPECT_EQ(si_prefix(none).factor, 1.0);
    EXPECT_EQ(si_prefix(none).prefix, "");
  }
  EXPECT_EQ(with_si_prefix(3.4217e-3, "Pa"), "3.42 mPa");
  EXPECT_EQ(with_si_prefix(0.0, "m/s"), "0 m/s");
}

}  // namespace
}  // namespace nearfield
