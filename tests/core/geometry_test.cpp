#include "core/geometry.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <numbers>
#include <random>

#include "core/error.hpp"
#include "core/microphones.hpp"
#include "support/positions.hpp"

// What positions that were given one by one make of an array.
namespace nearfield {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

const ArrayGeometry kGrid{.rows = 5, .columns = 7, .pitch_x_m = 0.03, .pitch_y_m = 0.02};

/// The grid's microphones in another order, each moved by up to `share` of the smaller pitch along each axis.
std::vector<MicrophonePosition> moved_grid(const std::vector<int>& order, double share, unsigned seed) {
  std::mt19937 generator(seed);
  std::uniform_real_distribution<double> off_m(-share * 0.02, share * 0.02);
  std::vector<MicrophonePosition> positions_m = test::positions_in_order(kGrid, order);
  for (MicrophonePosition& one : positions_m) {
    one.x_m += off_m(generator);
    one.y_m += off_m(generator);
    one.z_m += off_m(generator);
  }
  return positions_m;
}

// A fitted lattice differs from the true one by less than the scatter of single microphones.
TEST(Geometry, PositionsOnAGridInAnyOrderGiveItsSizesAndTheChannels) {
  for (unsigned seed = 1; seed <= 20; ++seed) {
    const std::vector<int> order = test::shuffled(kGrid.channels(), seed);
    const ArrayGeometry found = geometry_of(moved_grid(order, 0.007, seed));
    ASSERT_TRUE(found.is_grid());
    EXPECT_EQ(found.rows, 5);
    EXPECT_EQ(found.columns, 7);
    EXPECT_NEAR(found.pitch_x_m, 0.03, 0.0001);
    EXPECT_NEAR(found.pitch_y_m, 0.02, 0.0001);
    EXPECT_EQ(found.placement->channel_of_input, order);
    EXPECT_TRUE(found.is_reordered());
  }
}

/// The same array somewhere else.
std::vector<MicrophonePosition> moved(std::vector<MicrophonePosition> positions_m, const MicrophonePosition& by_m) {
  for (MicrophonePosition& one : positions_m) {
    one = {one.x_m + by_m.x_m, one.y_m + by_m.y_m, one.z_m + by_m.z_m};
  }
  return positions_m;
}

// Surface and sources of a body are given on the axes of its microphones, which must not move away from them.
TEST(Geometry, MicrophonesRoundABodyStayWhereTheyWereGiven) {
  std::vector<MicrophonePosition> places_m = test::sunflower(33, 0.2);
  for (std::size_t i = 0; i < places_m.size(); ++i) {
    places_m[i] = {places_m[i].x_m + 0.03, places_m[i].y_m, 0.1 * static_cast<double>(i) / 33.0 - 0.22};
  }
  const ArrayGeometry found = geometry_of(places_m);
  EXPECT_EQ(text_of_origin(found), "");
  for (int channel = 0; channel < found.channels(); ++channel) {
    EXPECT_EQ(found.position_m(channel), places_m[static_cast<std::size_t>(channel)]);
  }
}

// Microphones in two planes, wherever they are given, have their origin at the nearer one; rings round a body are none.
TEST(Geometry, LayersBeginAtTheLowestOne) {
  std::vector<MicrophonePosition> places_m;
  for (const double z_m : {1.23, 1.2}) {
    for (int row = 0; row < 4; ++row) {
      for (int column = 0; column < 4; ++column) {
        places_m.push_back({0.04 * column, 0.04 * row, z_m});
      }
    }
  }
  EXPECT_TRUE(stands_in_layers(places_m));
  const ArrayGeometry found = geometry_of(places_m);
  EXPECT_NEAR(found.position_m(0).z_m, 0.03, 1e-12);
  EXPECT_NEAR(found.position_m(31).z_m, 0.0, 1e-12);
  EXPECT_NEAR(found.position_m(16).x_m, -0.06, 1e-12);
  for (std::size_t i = 0; i < places_m.size(); ++i) {
    places_m[i].z_m += i % 3 == 0 ? 0.0005 : -0.0005;
  }
  EXPECT_TRUE(stands_in_layers(places_m)) << "placed to half a millimetre";
  places_m.resize(16);
  EXPECT_FALSE(stands_in_layers(places_m)) << "one plane";
  std::mt19937 generator(1U);
  std::normal_distribution<double> uneven_m(0.0, 0.001);
  std::vector<MicrophonePosition> uneven;
  for (int row = 0; row < 8; ++row) {
    for (int column = 0; column < 8; ++column) {
      uneven.push_back({0.04 * column, 0.04 * row, uneven_m(generator)});
    }
  }
  EXPECT_FALSE(stands_in_layers(uneven)) << "one plane, placed to some millimetres";
  std::vector<MicrophonePosition> panels;
  for (const double z_m : {-0.25, 0.25}) {
    for (int row = 0; row < 6; ++row) {
      for (int column = 0; column < 6; ++column) {
        panels.push_back({0.1 * column, 0.1 * row, z_m});
      }
    }
  }
  EXPECT_FALSE(stands_in_layers(panels)) << "a body stands between them";
  std::vector<MicrophonePosition> rings_m;
  for (const double z_m : {0.0, 0.02, 0.04}) {
    for (int i = 0; i < 16; ++i) {
      const double angle = 2.0 * std::numbers::pi * i / 16.0;
      rings_m.push_back({0.1 * std::cos(angle), 0.1 * std::sin(angle), z_m});
    }
  }
  EXPECT_FALSE(stands_in_layers(rings_m));
}

// One rule for all arrays before a surface: wherever a file has them, their mean is the origin.
TEST(Geometry, TheMeanOfAllPlacesIsTheOriginOfAnyArray) {
  for (const MicrophonePosition& by_m : {MicrophonePosition{1.5, -0.25, 0.0}, MicrophonePosition{0.3, 0.2, 1.2},
                                         MicrophonePosition{0.0, 0.0, 0.001}, MicrophonePosition{0.0, 0.0, -0.5}}) {
    for (const std::vector<MicrophonePosition>& there_m :
         {test::positions_in_order(kGrid, test::shuffled(kGrid.channels(), 3)), test::sunflower(33, 0.2)}) {
      const ArrayGeometry expected = geometry_of(there_m);
      const ArrayGeometry found = geometry_of(moved(there_m, by_m));
      ASSERT_EQ(found.is_grid(), expected.is_grid()) << by_m.z_m;
      EXPECT_NEAR(found.placement->centre_m.x_m, by_m.x_m, 1e-12);
      EXPECT_NEAR(found.placement->centre_m.y_m, by_m.y_m, 1e-12);
      EXPECT_NEAR(found.placement->centre_m.z_m, by_m.z_m, 1e-12);
      EXPECT_EQ(found.placement->channel_of_input, expected.placement->channel_of_input);
      for (int channel = 0; channel < found.channels(); ++channel) {
        EXPECT_NEAR(found.position_m(channel).x_m, expected.position_m(channel).x_m, 1e-12);
        EXPECT_NEAR(found.position_m(channel).y_m, expected.position_m(channel).y_m, 1e-12);
        EXPECT_NEAR(found.position_m(channel).z_m, expected.position_m(channel).z_m, 1e-12);
      }
    }
  }
  EXPECT_EQ(text_of_origin(geometry_of(test::sunflower(33, 0.2))), "");
  EXPECT_EQ(text_of_origin(kGrid), "");
  EXPECT_EQ(text_of_origin(geometry_of(moved(test::sunflower(33, 0.2), {0.3, 0.2, 1.2}))),
            "array centred at x 0.3 m, y 0.2 m, z 1.2 m of the given positions, which is the images' origin");
}

TEST(Geometry, GridsInOrderOfASingleLineOrMicrophoneAreGrids) {
  for (const ArrayGeometry& grid : {ArrayGeometry{.rows = 1, .columns = 8, .pitch_x_m = 0.05, .pitch_y_m = 0.05},
                                    ArrayGeometry{.rows = 64, .columns = 1, .pitch_x_m = 0.01, .pitch_y_m = 0.01},
                                    ArrayGeometry{.rows = 64, .columns = 64}, ArrayGeometry{.rows = 1, .columns = 1}}) {
    std::vector<int> order(static_cast<std::size_t>(grid.channels()));
    for (int i = 0; i < grid.channels(); ++i) {
      order[static_cast<std::size_t>(i)] = i;
    }
    const ArrayGeometry found = geometry_of(test::positions_in_order(grid, order));
    ASSERT_TRUE(found.is_grid());
    EXPECT_EQ(found.rows, grid.rows);
    EXPECT_EQ(found.columns, grid.columns);
    EXPECT_NEAR(found.pitch_x_m, grid.pitch_x_m, 1e-9);
    EXPECT_NEAR(found.pitch_y_m, grid.pitch_y_m, 1e-9);
    EXPECT_FALSE(found.is_reordered());
  }
}

// One microphone 2 % of the pitch off its place, along any axis, one too few, a rotated grid, a long line.
TEST(Geometry, AnythingElseIsIrregularAndKeepsItsPlaces) {
  std::vector<int> order = test::shuffled(kGrid.channels(), 1);
  const std::vector<MicrophonePosition> grid = test::positions_in_order(kGrid, order);
  std::vector<std::vector<MicrophonePosition>> cases(5, grid);
  cases[0][17].x_m += 0.0004;
  cases[1][17].y_m -= 0.0004;
  cases[2][17].z_m += 0.0004;
  cases[3].pop_back();
  for (MicrophonePosition& one : cases[4]) {
    one = {0.8 * one.x_m - 0.6 * one.y_m, 0.6 * one.x_m + 0.8 * one.y_m, 0.0};
  }
  cases.push_back(test::sunflower(40, 0.2));
  cases.emplace_back();
  for (int i = 0; i < 100; ++i) {
    cases.back().push_back({0.01 * i, 0.0, 0.0});
  }
  for (const std::vector<MicrophonePosition>& positions_m : cases) {
    const ArrayGeometry found = geometry_of(positions_m);
    EXPECT_FALSE(found.is_grid());
    EXPECT_FALSE(found.is_reordered());
    ASSERT_EQ(found.channels(), static_cast<int>(positions_m.size()));
    EXPECT_EQ(found.placement->positions_m, positions_m);
    EXPECT_EQ(irregular_geometry_of(positions_m).position_m(3), positions_m[3]) << "around their own origin";
  }
  EXPECT_NEAR(geometry_of(cases[3]).pitch_x_m, 0.02, 1e-12) << "the largest distance to a nearest neighbour";
  EXPECT_NEAR(geometry_of(cases.back()).pitch_x_m, 0.01, 1e-12);
}

TEST(Geometry, FlawsOfPositionsAreNamed) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  EXPECT_EQ(flaw_of_positions(test::sunflower(100, 0.3)), "");
  EXPECT_THAT(flaw_of_positions({}), HasSubstr("expected the positions of 1 to 4096 microphones, found 0"));
  EXPECT_THAT(flaw_of_positions(test::sunflower(4097, 0.3)), HasSubstr("found 4097"));
  std::vector<MicrophonePosition> positions_m = test::sunflower(10, 0.3);
  positions_m[4].y_m = nan;
  EXPECT_THAT(flaw_of_positions(positions_m), HasSubstr("microphone 4: expected x, y and z from -50 to 50 m"));
  positions_m = test::sunflower(10, 0.3);
  positions_m[7] = positions_m[2];
  EXPECT_THAT(flaw_of_positions(positions_m), HasSubstr("microphone 7: expected a place of its own, found that of "
                                                        "microphone 2"));
}

TEST(Geometry, ArraysAreEqualWhereTheirPlacesAre) {
  const ArrayGeometry one = geometry_of(test::sunflower(9, 0.1));
  EXPECT_EQ(one, geometry_of(test::sunflower(9, 0.1)));
  std::vector<MicrophonePosition> others = test::sunflower(9, 0.1);
  std::swap(others[1], others[2]);
  EXPECT_FALSE(one == geometry_of(others));
  EXPECT_FALSE((one == ArrayGeometry{.rows = 1, .columns = 9}));
}

// The layout's own channels are in the order of the positions.
TEST(Geometry, BitsOfAWireGoWhereTheirMicrophoneStands) {
  const std::vector<int> order = {2, 0, 3, 1};
  const ArrayGeometry square{.rows = 2, .columns = 2};
  const ArrayGeometry placed = geometry_of(test::positions_in_order(square, order));
  const std::vector<int> channels = channel_of_wire_bit(WireLayout::kRowMajor, placed);
  EXPECT_THAT(std::vector<int>(channels.begin(), channels.begin() + 5), ElementsAre(2, 0, 3, 1, kSpareBit));
  EXPECT_EQ(channel_of_wire_bit(WireLayout::kRowMajor, geometry_of(test::sunflower(70, 0.3)))[69], 69);
  EXPECT_THROW((void)channel_of_wire_bit(WireLayout::kSoramaCam, geometry_of(test::sunflower(1024, 0.3))), ConfigError);
  const ArrayGeometry camera{};
  const std::vector<int> shuffled = test::shuffled(camera.channels(), 2);
  const std::vector<int> plain = channel_of_wire_bit(WireLayout::kSoramaCam, camera);
  const std::vector<int> mapped =
      channel_of_wire_bit(WireLayout::kSoramaCam, geometry_of(test::positions_in_order(camera, shuffled)));
  for (std::size_t bit = 0; bit < plain.size(); ++bit) {
    EXPECT_EQ(mapped[bit], shuffled[static_cast<std::size_t>(plain[bit])]);
  }
}

}  // namespace
}  // namespace nearfield
