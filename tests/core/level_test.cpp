#include <gtest/gtest.h>

#include "core/product.hpp"

namespace nearfield {
namespace {

double decibels_per_decade(const char* unit, ElementType type = ElementType::kFloat32) {
  return level_rule({.name = "a", .quantity = "", .unit = unit, .type = type}).db_per_decade;
}

TEST(Level, SquaresAndPowersHaveTenDecibelsADecade) {
  for (const char* const unit : {"Pa^2", "m^2", "(m)^2", "(m/s)^2", "(m/s^2)^2", "W", "W/m^2", "1", ""}) {
    EXPECT_EQ(decibels_per_decade(unit), 10.0) << unit;
  }
}

TEST(Level, OtherUnitsHaveTwentyDecibelsADecade) {
  for (const char* const unit : {"Pa", "m/s", "m/s^2", "(m)/s^2", "V"}) {
    EXPECT_EQ(decibels_per_decade(unit), 20.0) << unit;
  }
  EXPECT_EQ(decibels_per_decade("1", ElementType::kComplex64), 20.0);
}

}  // namespace
}  // namespace nearfield
