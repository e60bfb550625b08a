#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <numbers>

#include "core/geometry.hpp"
#include "support/positions.hpp"

// What is said of places that are possible, and yet look wrong.
namespace nearfield {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

const ArrayGeometry kEight{.rows = 8, .columns = 8, .pitch_x_m = 0.06, .pitch_y_m = 0.05};

std::vector<MicrophonePosition> grid() { return test::positions_in_order(kEight, test::shuffled(64, 2)); }

std::vector<MicrophonePosition> on(const AxesOfFile& axes, std::vector<MicrophonePosition> positions_m) {
  for (MicrophonePosition& one : positions_m) {
    one = on_axes(axes, one);
  }
  return positions_m;
}

TEST(GeometryDoubts, OfOrdinaryArraysThereAreNone) {
  EXPECT_THAT(doubts_of(geometry_of(grid())), IsEmpty());
  EXPECT_THAT(doubts_of(kEight), IsEmpty());
  EXPECT_THAT(doubts_of(geometry_of(test::sunflower(33, 0.2))), IsEmpty());
  EXPECT_THAT(doubts_of(geometry_of({{0.1, 0.2, 0.3}})), IsEmpty());
  EXPECT_THAT(doubts_of(geometry_of({{0.0, 0.0, 0.0}, {0.0, 0.1, 0.0}, {0.0, 0.25, 0.0}})), IsEmpty()) << "a line";
}

// Positions that were written with z up are read by the axes that the message names, whichever way the sources are.
TEST(GeometryDoubts, UprightPlanesAreNamedWithTheAxesThatTurnThem) {
  const auto in_xz = on({.x = 1, .y = -3, .z = -2}, grid());  // its own inverse
  EXPECT_FALSE(geometry_of(in_xz).is_grid());
  EXPECT_THAT(doubts_of(geometry_of(in_xz)),
              ElementsAre(AllOf(HasSubstr("lie in the x-z plane"),
                                HasSubstr("array.axes: [x, -z, -y] turns them where the sources are towards +y, "
                                          "[-x, -z, y] where they are towards -y"))));
  EXPECT_TRUE(geometry_of(on({.x = 1, .y = -3, .z = -2}, in_xz)).is_grid());
  EXPECT_TRUE(geometry_of(on({.x = -1, .y = -3, .z = 2}, in_xz)).is_grid());
  std::vector<MicrophonePosition> in_yz;
  for (const MicrophonePosition& one : grid()) {
    in_yz.push_back({0.7, one.x_m, 1.0 - one.y_m});
  }
  EXPECT_THAT(doubts_of(geometry_of(in_yz)),
              ElementsAre(AllOf(HasSubstr("lie in the y-z plane"), HasSubstr("[-y, -z, -x] turns them"),
                                HasSubstr("[y, -z, x] where they are towards -x"))));
  EXPECT_TRUE(geometry_of(on({.x = -2, .y = -3, .z = -1}, in_yz)).is_grid());
  EXPECT_EQ(geometry_of(on({.x = 2, .y = -3, .z = 1}, in_yz)).placement->channel_of_input,
            geometry_of(grid()).placement->channel_of_input);
}

// Rodrigues' rotation by the angle and about the axis that the message names makes all z equal.
TEST(GeometryDoubts, TiltedPlanesAreNamedWithTheRotation) {
  const double tilt = 20.0 * std::numbers::pi / 180.0;
  std::vector<MicrophonePosition> tilted;
  for (const MicrophonePosition& one : grid()) {
    tilted.push_back({one.x_m, std::cos(tilt) * one.y_m, std::sin(tilt) * one.y_m});
  }
  const std::vector<std::string> doubts = doubts_of(geometry_of(tilted));
  ASSERT_THAT(doubts, ElementsAre(AllOf(HasSubstr("tilted by 20 degrees"), HasSubstr("turned by 20 degrees about"))));
  const bool is_forward = doubts[0].find("(1, 0, 0)") != std::string::npos;
  EXPECT_TRUE(is_forward || doubts[0].find("(-1, 0, 0)") != std::string::npos) << doubts[0];
  const double back = is_forward ? tilt : -tilt;
  for (const MicrophonePosition& one : tilted) {
    EXPECT_NEAR(std::sin(back) * one.y_m + std::cos(back) * one.z_m, 0.0, 1e-12) << doubts[0];
  }
}

TEST(GeometryDoubts, LengthsInAnotherUnitAreNamed) {
  const auto times = [](double factor) {
    auto positions_m = grid();
    for (MicrophonePosition& one : positions_m) {
      one = {factor * one.x_m, factor * one.y_m, factor * one.z_m};
    }
    return positions_m;
  };
  EXPECT_THAT(doubts_of(geometry_of(times(24.0))), IsEmpty()) << "1.2 m, as outdoors";
  EXPECT_THAT(doubts_of(geometry_of(times(100.0))), ElementsAre(HasSubstr("at least 5 m apart")));
  EXPECT_THAT(doubts_of(geometry_of(times(0.001))), ElementsAre(HasSubstr("at most 6e-05 m from the nearest")));
  EXPECT_THAT(doubts_of({.rows = 4, .columns = 4, .pitch_x_m = 20.0, .pitch_y_m = 20.0}),
              ElementsAre(HasSubstr("at least 20 m apart")));
  EXPECT_THAT(doubts_of(geometry_of({{0, 0, 0}, {21, 0, 0}, {0, 32, 0}, {14, 14, 0}})),
              ElementsAre(HasSubstr("millimetres")));
}

}  // namespace
}  // namespace nearfield
