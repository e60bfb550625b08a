#include <gtest/gtest.h>

#include <array>

#include "core/text.hpp"

namespace nearfield {
namespace {

TEST(ExtentText, SaysBetweenWhichCoordinatesAllPlacesLie) {
  constexpr std::array kPlaces_m = {0.1, -2.0, 0.5, -0.3, 4.0, 0.5, 0.2, 0.0, 0.5};
  EXPECT_EQ(text_of_extent(kPlaces_m), "-0.3 to 0.2 m in x, -2 to 4 m in y, 0.5 to 0.5 m in z");
}

}  // namespace
}  // namespace nearfield
