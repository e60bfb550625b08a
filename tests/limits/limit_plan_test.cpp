#include "limits/limit_plan.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <limits>
#include <utility>

#include "core/daemon_settings.hpp"
#include "core/error.hpp"
#include "limits/limit_support.hpp"

namespace nearfield::limits {
namespace {

using test::limit_plan;
using test::LimitFrame;
using testing::HasSubstr;
using Limit = DaemonSettings::Limit;
using Statistic = DaemonSettings::Statistic;

std::string refusal_of(const Limit& limit) {
  try {
    (void)limit_plan(limit);
  } catch (const ConfigError& error) {
    return error.what();
  }
  return "";
}

TEST(LimitPlan, FindsTheLargestMagnitudeAndItsPlace) {
  LimitFrame frame;
  frame.set_all(0.5F);
  frame.image(1, 2, 3) = {3.0F, -4.0F};
  frame.image(0, 0, 0) = {std::numeric_limits<float>::quiet_NaN(), 0.0F};  // passed over
  const LimitPlan plan = limit_plan({.name = "a", .above = 1.0});
  EXPECT_EQ(plan.values(), 24U);
  const Reading reading = plan.read(frame.frame);
  EXPECT_TRUE(reading.is_number);
  EXPECT_DOUBLE_EQ(reading.value, 5.0);
  const std::vector<LimitPlan::Coordinate> position = plan.position(plan.place_of_largest(frame.frame));
  ASSERT_EQ(position.size(), 4U);
  EXPECT_EQ(position[0].name, "z");
  EXPECT_EQ(position[1].values, std::vector<double>{1000.0});
  EXPECT_EQ(position[2].values, std::vector<double>{0.1});
  EXPECT_EQ(position[3].values, std::vector<double>{0.15});
}

TEST(LimitPlan, APointIsTheNearestPixel) {
  LimitFrame frame;
  frame.set_all(9.0F);
  frame.image(0, 1, 2) = 2.0F;
  const LimitPlan plan = limit_plan(
      {.name = "a", .point_m = std::vector<double>{0.09, 0.04}, .frequency_hz = 510.0, .plane_m = 0.0, .above = 1.0});
  EXPECT_EQ(plan.values(), 1U);
  EXPECT_DOUBLE_EQ(plan.read(frame.frame).value, 2.0);
}

TEST(LimitPlan, TheMeanIsTheRootOfTheMeanSquare) {
  LimitFrame frame;
  frame.set_all(100.0F);
  for (std::size_t row = 1; row < 3; ++row) {
    frame.image(1, row, 0) = 1.0F;
    frame.image(1, row, 1) = {0.0F, 7.0F};
  }
  const LimitPlan plan = limit_plan({.name = "a",
                                     .region_m = std::vector<double>{-0.2, 0.0, -0.05, 0.1},
                                     .frequency_hz = 1000.0,
                                     .statistic = Statistic::kMean,
                                     .above = 1.0});
  EXPECT_EQ(plan.values(), 4U);
  EXPECT_NEAR(plan.read(frame.frame).value, 5.0, 1e-12);  // sqrt((1 + 49) / 2)
}

// Of 12 pixels one is NaN and one infinite: ten of magnitude 2 remain.
TEST(LimitPlan, WhatIsNotFiniteIsPassedOver) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  LimitFrame frame;
  frame.set_all(2.0F);
  frame.image(0, 0, 1) = {std::numeric_limits<float>::quiet_NaN(), 0.0F};
  frame.image(0, 2, 3) = {0.0F, -kInfinity};  // the last one, beyond the lanes
  frame.image(0, 1, 0) = {0.0F, 2.0F};
  const LimitPlan mean = limit_plan({.name = "a", .frequency_hz = 500.0, .statistic = Statistic::kMean, .above = 1.0});
  EXPECT_TRUE(mean.read(frame.frame).is_number);
  EXPECT_NEAR(mean.read(frame.frame).value, 2.0, 1e-12);
  const LimitPlan most = limit_plan({.name = "a", .frequency_hz = 500.0, .above = 1.0});
  frame.image(0, 0, 2) = {kInfinity, 0.0F};  // within the lanes
  frame.image(0, 1, 1) = {3.0F, 0.0F};
  EXPECT_DOUBLE_EQ(most.read(frame.frame).value, 3.0);
  EXPECT_EQ(most.place_of_largest(frame.frame).index, 5U);
  frame.set_all(kInfinity);
  EXPECT_FALSE(mean.read(frame.frame).is_number);
  EXPECT_FALSE(most.read(frame.frame).is_number);
}

LimitPlan plan_of(const ResultHeader& header, const Limit& limit) {
  const std::array<const ResultHeader*, 1> headers = {&header};
  return {limit, headers};
}

// Half of the power flows one way and half back: the mean is zero, and the largest value the positive one.
TEST(LimitPlan, AnIntensityHasASign) {
  ResultHeader header = test::limit_header();
  header.products[0].quantity = "active_intensity";
  header.products[0].unit = "W/m^2";
  LimitFrame frame;
  frame.set_all(0.0F);
  for (std::size_t column = 0; column < 4; ++column) {
    frame.image(0, 0, column) = -8.0F;
    frame.image(0, 1, column) = 2.0F;
    frame.image(0, 2, column) = 3.0F;
  }
  Limit limit{.name = "a", .frequency_hz = 500.0, .above = 1.0};
  EXPECT_DOUBLE_EQ(plan_of(header, limit).read(frame.frame).value, 3.0);
  EXPECT_EQ(plan_of(header, limit).place_of_largest(frame.frame).index, 8U);
  limit.statistic = Statistic::kMean;
  EXPECT_NEAR(plan_of(header, limit).read(frame.frame).value, -1.0, 1e-12);  // (-8 + 2 + 3) / 3
}

ResultHeader header_of_points(std::vector<double> points_m) {
  ResultHeader header;
  header.processor = "surface";
  header.axes = {{.name = "point", .unit = "m", .values = std::move(points_m), .components = 3}};
  header.products = {{.name = "images", .quantity = "pressure", .unit = "Pa", .axes = {"point"}}};
  return header;
}

std::string refusal_of(const ResultHeader& header, std::vector<double> point_m) {
  try {
    (void)plan_of(header, {.name = "a", .point_m = std::move(point_m), .above = 1.0});
  } catch (const ConfigError& error) {
    return error.what();
  }
  return "";
}

TEST(LimitPlan, APointReachesNotFurtherThanHalfwayToTheNextOne) {
  const ResultHeader two = header_of_points({0.0, 0.0, 0.0, 0.1, 0.0, 0.0});
  EXPECT_EQ(refusal_of(two, {0.05, 0.05}), "");  // the middle of a square of 0.1 m
  EXPECT_EQ(refusal_of(two, {0.2, 0.0}),
            "daemon.limits.a.point_m: expected a place within 0.07071 m of one of the product's points, of which "
            "[0.1, 0] m is the nearest, found [0.2, 0] m");
  const ResultHeader one = header_of_points({0.3, 0.1, 0.0});
  EXPECT_EQ(refusal_of(one, {0.3, 0.109}), "");
  EXPECT_THAT(refusal_of(one, {0.3, 0.12}), HasSubstr("expected a place within 0.01 m"));
}

TEST(LimitPlan, ASingleRowReachesHalfThePitchOfTheColumns) {
  ResultHeader header = test::limit_header();
  header.axes[2].values = {0.0};  // y
  EXPECT_EQ(refusal_of(header, {0.05, 0.04}), "");
  EXPECT_THAT(refusal_of(header, {0.05, 0.06}), HasSubstr("expected y of a point of the product"));
}

// As of a surface of points, whose first two share a place.
TEST(LimitPlan, UnevenColumnsReachHalfTheirLargestStep) {
  ResultHeader header = test::limit_header();
  header.axes[2].values = {0.0};
  header.axes[3].values = {0.0, 0.0, 0.01, 0.11};
  EXPECT_EQ(refusal_of(header, {0.05, 0.0}), "") << "between the last two";
  EXPECT_EQ(refusal_of(header, {0.15, 0.04}), "");
  EXPECT_THAT(refusal_of(header, {0.17, 0.0}), HasSubstr("expected x of a point of the product"));
}

// 94 dB re 20 uPa is 1 Pa rms, the amplitude sqrt(2) Pa.
TEST(LimitPlan, ALevelIsThatOfThePressureAndTheHysteresisLiesBelow) {
  const LimitPlan plan = limit_plan({.name = "a", .above_db = 20.0 * std::log10(1.0 / 20e-6), .hysteresis_db = 20.0});
  EXPECT_NEAR(plan.above(), std::sqrt(2.0), 1e-12);
  EXPECT_NEAR(plan.below(), std::sqrt(0.02), 1e-12);
  const LimitPlan level =
      limit_plan({.name = "a", .product = "sources", .column = "level_db", .above = 80.0, .hysteresis_db = 6.0});
  EXPECT_EQ(level.below(), 74.0);
}

TEST(LimitPlan, ATablesRowsInTheRegionCount) {
  LimitFrame frame;
  Limit limit{.name = "a", .product = "sources", .column = "level_db", .above = 80.0};
  frame.set_rows({{0.5F, 0.5F, 90.0F}, {0.0F, 0.1F, 70.0F}});
  EXPECT_EQ(limit_plan(limit).read(frame.frame).value, 90.0);
  limit.region_m = std::vector<double>{-0.1, -0.1, 0.1, 0.2};
  const LimitPlan plan = limit_plan(limit);
  EXPECT_EQ(plan.read(frame.frame).value, 70.0);
  const std::vector<LimitPlan::Coordinate> position = plan.position(plan.place_of_largest(frame.frame));
  ASSERT_EQ(position.size(), 2U);
  EXPECT_EQ(position[1].name, "y");
  EXPECT_NEAR(position[1].values[0], 0.1, 1e-6);  // float32
  frame.set_rows({});
  EXPECT_FALSE(plan.read(frame.frame).has_values);
}

TEST(LimitPlan, RefusesWhatTheProcessorDoesNotHave) {
  EXPECT_EQ(refusal_of({.name = "a", .processor = "far", .above = 1.0}),
            "daemon.limits.a.processor: expected one of surface, found \"far\"");
  EXPECT_EQ(refusal_of({.name = "a", .product = "map", .above = 1.0}),
            "daemon.limits.a.product: expected one of images, sources, which surface makes, found \"map\"");
  EXPECT_THAT(refusal_of({.name = "a", .frequency_hz = 750.0, .above = 1.0}),
              HasSubstr("daemon.limits.a.frequency_hz: expected one of the product's frequencies within 5 %"));
  EXPECT_THAT(refusal_of({.name = "a", .plane_m = 0.01, .above = 1.0}),
              HasSubstr("daemon.limits.a.plane_m: expected one of the product's planes z (0 m), found 0.01 m"));
  EXPECT_THAT(refusal_of({.name = "a", .point_m = std::vector<double>{0.3, 0.0}, .above = 1.0}),
              HasSubstr("daemon.limits.a.point_m: expected x of a point of the product, from -0.15 to 0.15 m"));
  EXPECT_THAT(refusal_of({.name = "a", .region_m = std::vector<double>{0.3, 0.0, 0.4, 0.1}, .above = 1.0}),
              HasSubstr("daemon.limits.a.region_m: expected a region with points of the product"));
  EXPECT_THAT(refusal_of({.name = "a", .product = "sources", .above = 1.0}),
              HasSubstr("daemon.limits.a.column: expected one of id, x, y, level_db"));
  EXPECT_THAT(refusal_of({.name = "a", .product = "sources", .column = "loud", .above = 1.0}),
              HasSubstr("found \"loud\""));
  EXPECT_THAT(refusal_of({.name = "a", .column = "x", .above = 1.0}), HasSubstr("as images is no table"));
  EXPECT_THAT(refusal_of({.name = "a", .product = "sources", .column = "level_db", .above_db = 1.0}),
              HasSubstr("daemon.limits.a.above_db: expected above, as the values are levels in dB"));
  EXPECT_THAT(refusal_of({.name = "a", .product = "sources", .column = "x", .frequency_hz = 500.0, .above = 1.0}),
              HasSubstr("has no axis of frequencies"));
}

}  // namespace
}  // namespace nearfield::limits
