#include "stream/sources/capture_clock.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "core/system/clocks.hpp"

namespace nearfield {
namespace {

constexpr double kRate_hz = 48000.0;
constexpr std::uint64_t kPeriod = 48;

/// A device whose deliveries are late by up to 2 ms, sometimes by 30 ms, on a clock that is slow by `slow`.
class Device {
 public:
  explicit Device(double slow) : slow_(slow) {}
  /// What the clock finds lost before the next period, of which `lost` are and the driver may say so.
  std::uint64_t deliver(std::uint64_t lost = 0, bool is_said = false) {
    captured_ += lost + kPeriod;
    const double late_s = random_() % 50 == 0 ? 30e-3 : 2e-3;
    const double time_s = static_cast<double>(captured_) / kRate_hz * (1.0 + slow_) +
                          late_s * static_cast<double>(random_() % 1000) / 1000.0;
    const std::int64_t time_ns = 1'000'000'000 + std::llround(time_s * 1e9);
    newest_ns_ = std::max(newest_ns_, time_ns);
    return clock_.lost_before(kPeriod, newest_ns_, is_said);
  }
  /// What it finds in so many seconds without a loss.
  std::uint64_t run(double seconds) {
    std::uint64_t found = 0;
    for (double n = 0.0; n < seconds * kRate_hz; n += static_cast<double>(kPeriod)) {
      found += deliver();
    }
    return found;
  }

 private:
  double slow_;
  std::mt19937_64 random_{11};
  std::uint64_t captured_ = 0;
  std::int64_t newest_ns_ = 0;
  CaptureClock clock_{kRate_hz};
};

// A day of a device that is 100 ppm slow or fast, which is 8.6 s: no loss is found where there is none.
TEST(CaptureClock, FindsNothingInADayOfDrift) {
  for (const double slow : {100e-6, -100e-6}) {
    Device device(slow);
    EXPECT_EQ(device.run(24.0 * 3600.0), 0U) << slow;
  }
}

// A day with a loss of 5 to 200 ms every ten minutes, of which the driver says every other one.
TEST(CaptureClock, FindsTheLossesOfADay) {
  Device device(100e-6);
  EXPECT_EQ(device.run(20.0), 0U);
  std::mt19937 random(3);
  double missed = 0.0;
  for (int i = 0; i < 144; ++i) {
    const std::uint64_t lost = kPeriod * (5 + random() % 196);
    const std::uint64_t at_once = device.deliver(lost, i % 2 == 0);
    EXPECT_TRUE(i % 2 == 1 || at_once > 0) << i;
    const double found = static_cast<double>(at_once + device.run(600.0));
    EXPECT_NEAR(found, static_cast<double>(lost), 0.032 * kRate_hz) << i;
    missed += static_cast<double>(lost) - found;
  }
  EXPECT_NEAR(missed, 0.0, 0.1 * kRate_hz);
}

// Four periods of 1 ms and more are found within two seconds, to what deliveries are late.
TEST(CaptureClock, FindsWhatTheDriverDoesNotSay) {
  Device device(100e-6);
  EXPECT_EQ(device.run(20.0), 0U);
  for (const std::uint64_t lost :
       {std::uint64_t{7 * kPeriod}, std::uint64_t{20 * kPeriod}, std::uint64_t{80 * kPeriod}}) {
    const std::uint64_t found = device.deliver(lost) + device.run(2.1);
    EXPECT_NEAR(static_cast<double>(found), static_cast<double>(lost), 1.2e-3 * kRate_hz) << lost;
    EXPECT_EQ(device.run(20.0), 0U);
  }
}

TEST(CaptureClock, TakesTheDriversWordAtOnce) {
  Device device(0.0);
  EXPECT_EQ(device.run(5.0), 0U);
  EXPECT_GE(device.deliver(0, true), 1U) << "where the driver says so, one at least is missing";
  const std::uint64_t found = device.deliver(24000);
  EXPECT_NEAR(static_cast<double>(found), 24000.0, 0.032 * kRate_hz) << "half a second that the driver did not say";
  EXPECT_LE(device.run(20.0), 0.032 * kRate_hz);
}

}  // namespace
}  // namespace nearfield
