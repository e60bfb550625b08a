#include <gtest/gtest.h>

#include "core/numerics.hpp"

namespace nearfield {
namespace {

TEST(FftLength, RoundsUpToSmallPrimes) {
  EXPECT_TRUE(is_fft_length(96));
  EXPECT_FALSE(is_fft_length(97));
  EXPECT_FALSE(is_fft_length(0));
  EXPECT_EQ(next_fft_length(33), 35);
  EXPECT_EQ(next_fft_length(96), 96);
}

}  // namespace
}  // namespace nearfield
