#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <set>
#include <tuple>

#include "simulate/points/paths.hpp"

namespace nearfield {
namespace {

double distance_between(const Point& a, const Point& b) {
  return std::hypot(a.x_m - b.x_m, a.y_m - b.y_m, a.z_m - b.z_m);
}

Room box(double reflection, int order) {
  Room room;
  room.walls = {{{Wall{-2.0, reflection}, Wall{3.0, reflection}},
                 {Wall{-1.5, reflection}, Wall{2.5, reflection}},
                 {Wall{-2.2, reflection}, Wall{0.8, reflection}}}};
  room.order = order;
  return room;
}

TEST(ImagesOf, TheFreeFieldHasTheSourceAlone) {
  const std::vector<Image> images = images_of(Room{});
  ASSERT_EQ(images.size(), 1U);
  EXPECT_EQ(images[0].of({1, 2, -3}).y_m, 2.0);
  EXPECT_EQ(images[0].factor, 1.0);
  EXPECT_TRUE(Room{}.is_free_field());
}

TEST(ImagesOf, OneWallMirrorsOnce) {
  Room room;
  room.walls[1][0] = Wall{-0.5, 0.9};
  room.order = 7;
  const std::vector<Image> images = images_of(room);
  ASSERT_EQ(images.size(), 2U);
  const Point image = images[1].of({0.3, 0.2, -1.0});
  EXPECT_DOUBLE_EQ(image.x_m, 0.3);
  EXPECT_DOUBLE_EQ(image.y_m, -1.2);
  EXPECT_DOUBLE_EQ(image.z_m, -1.0);
  EXPECT_EQ(images[1].factor, 0.9);
}

TEST(ImagesOf, TwoParallelWallsMirrorInTurn) {
  Room room;
  room.walls[0] = {Wall{-1.0, 0.5}, Wall{2.0, 0.8}};
  room.order = 2;
  std::set<std::tuple<double, double>> found;  // x of the image of x = 0.25, factor
  for (const Image& image : images_of(room)) {
    found.insert({std::round(image.of({0.25, 0, -1}).x_m * 1e9) / 1e9, std::round(image.factor * 1e9) / 1e9});
  }
  EXPECT_THAT(found,
              ::testing::UnorderedElementsAre(std::tuple(0.25, 1.0), std::tuple(-2.25, 0.5), std::tuple(3.75, 0.8),
                                              std::tuple(6.25, 0.4), std::tuple(-5.75, 0.4)));
}

// Of a box there are as many images up to order N as places of a lattice within N steps of its centre.
TEST(ImagesOf, ABoxHasThoseOfALattice) {
  for (int order = 0; order <= 6; ++order) {
    const std::vector<Image> images = images_of(box(0.5, order));
    EXPECT_EQ(images.size(), static_cast<std::size_t>((2 * order + 1) * (2 * order * order + 2 * order + 3) / 3));
    std::set<std::tuple<long, long, long>> places;
    for (const Image& image : images) {
      const Point p = image.of({0.37, 0.61, -0.83});
      places.insert({std::lround(p.x_m * 1e6), std::lround(p.y_m * 1e6), std::lround(p.z_m * 1e6)});
    }
    EXPECT_EQ(places.size(), images.size()) << "no image twice";
  }
  EXPECT_EQ(images_of(box(0.0, 5)).size(), 1U) << "walls without reflection";
}

TEST(Image, SeenFromKeepsDistances) {
  const Point source{0.4, -0.7, -1.3};
  const Point microphone{0.1, 0.2, 0.03};
  for (const Image& image : images_of(box(0.7, 3))) {
    EXPECT_NEAR(distance_between(image.of(source), microphone), distance_between(source, image.seen_from(microphone)),
                1e-12);
  }
}

// At a rigid wall the normal velocity of a source and its image is nothing; at one of factor -1 the pressure.
TEST(ImagesOf, MeetTheWallsCondition) {
  const Tonal tonal{1234.0, {}};
  const Point place{0.2, 0.1, -0.9};
  const Point on_the_wall{0.5, -0.3, -2.0};
  for (const double reflection : {1.0, -1.0}) {
    Room room;
    room.walls[2][0] = Wall{-2.0, reflection};
    FieldValue sum{};
    for (const Image& image : images_of(room)) {
      const FieldValue value = monopole_field({image.of(place), image.factor * 1e-3, false}, tonal, on_the_wall);
      sum.pressure_pa += value.pressure_pa;
      sum.velocity_m_s += value.velocity_m_s;
    }
    const FieldValue free = monopole_field({place, 1e-3, false}, tonal, on_the_wall);
    if (reflection > 0) {
      EXPECT_LT(std::abs(sum.velocity_m_s), 1e-12 * std::abs(free.velocity_m_s));
      EXPECT_NEAR(std::abs(sum.pressure_pa), 2 * std::abs(free.pressure_pa), 1e-12 * std::abs(free.pressure_pa));
    } else {
      EXPECT_LT(std::abs(sum.pressure_pa), 1e-12 * std::abs(free.pressure_pa));
    }
  }
}

TEST(Room, NamesTheWallBeforeAPlace) {
  const Room room = box(0.5, 1);
  EXPECT_EQ(room.wall_before({0, 0, 0}), "");
  EXPECT_EQ(room.wall_before({-2.0, 0, 0}), "the wall at x_m = -2");
  EXPECT_EQ(room.wall_before({0, 2.6, 0}), "the wall at y_m = 2.5");
  EXPECT_EQ(room.wall_before({0, 0, -7}), "the wall at z_m = -2.2");
}

}  // namespace
}  // namespace nearfield
