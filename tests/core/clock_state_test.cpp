#include <gtest/gtest.h>
#include <sys/timex.h>

#include <cerrno>
#include <cmath>
#include <cstdint>
#include <optional>
#include <string>

#include "core/system/clocks.hpp"

namespace nearfield {
namespace {

TEST(ClockState, IsWhatTheKernelSays) {
  timex before{};
  const int code = adjtimex(&before);
  std::string why;
  const std::optional<ClockState> state = read_clock_state(&why);
  if (code < 0) {
    EXPECT_FALSE(state);
    EXPECT_NE(why.find("adjtimex"), std::string::npos);
    return;
  }
  ASSERT_TRUE(state) << why;
  EXPECT_EQ(state->is_synchronised, (static_cast<unsigned>(before.status) & STA_UNSYNC) == 0);
  EXPECT_GE(state->most_error_s, 1e-6 * static_cast<double>(before.maxerror) - 1.0);
  EXPECT_GE(state->likely_error_s, 0.0);
}

TEST(ClockState, HasTheOffsetOfTheClocks) {
  const std::optional<ClockState> state = read_clock_state();
  if (state) {
    const std::int64_t difference_ns = clock_ns(CLOCK_TAI) - clock_ns(CLOCK_REALTIME);
    EXPECT_EQ(std::llround(1e-9 * static_cast<double>(difference_ns)), state->tai_offset_s);
  }
}

}  // namespace
}  // namespace nearfield
