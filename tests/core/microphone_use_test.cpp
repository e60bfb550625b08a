#include <gtest/gtest.h>

#include <numeric>

#include "core/microphones.hpp"
#include "core/settings.hpp"

namespace nearfield {
namespace {

TEST(MicrophoneUse, IsSaidInWords) {
  MicrophoneUse use{.fewest_used = 64, .most_used = 64, .microphones = 64, .masked = {}, .missing_information = 0.0F};
  EXPECT_EQ(text_of(use), "64 of 64 used");
  use = {.fewest_used = 62, .most_used = 62, .microphones = 64, .masked = {11, 12}, .missing_information = 0.04F};
  EXPECT_EQ(text_of(use), "62 of 64 used; 2 masked (11, 12), 4 % of the information missing");
  use.fewest_used = 59;
  use.missing_information = 0.0038F;
  EXPECT_EQ(text_of(use), "59 to 62 of 64 used; 2 masked (11, 12), 3 not finite, 0.38 % of the information missing");
  use.masked.resize(61);
  std::iota(use.masked.begin(), use.masked.end(), 0);
  use.fewest_used = use.most_used = 3;
  use.missing_information = 0.943F;
  EXPECT_EQ(text_of(use),
            "3 of 64 used; 61 masked (0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15 and 45 more), 94 % of the "
            "information missing");
  use.missing_information = 1.0F;
  EXPECT_NE(text_of(use).find(" 100 % of"), std::string::npos);
  use.missing_information = 1e-7F;
  EXPECT_NE(text_of(use).find(" less than 0.01 % of"), std::string::npos);
}

TEST(MicrophoneUse, FewerThanAHalfAreAFlaw) {
  ArraySettings array;
  array.geometry = {.rows = 8, .columns = 8, .pitch_x_m = 0.02, .pitch_y_m = 0.02};
  EXPECT_EQ(flaw_of_valid(array, 32), "");
  EXPECT_EQ(flaw_of_valid(array, 31),
            "expected at least 32 of 64 microphones that can be used (array.fewest_valid_share: 0.5), found 31");
  array.fewest_valid_share = 0.0;
  EXPECT_EQ(flaw_of_valid(array, 0), "");
  array.fewest_valid_share = 1.0;
  EXPECT_NE(flaw_of_valid(array, 63), "");
}

}  // namespace
}  // namespace nearfield
