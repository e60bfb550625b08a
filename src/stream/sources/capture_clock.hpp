#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>

namespace nearfield {

/// Finds out which samples a device that counts none has lost, from the times of those that it delivers. Deliveries are
/// late, by this machine's load, and never early: the earliest of a second is where the device's clock is.
class CaptureClock {
 public:
  explicit CaptureClock(double sample_rate_hz) : sample_rate_hz_(sample_rate_hz) {}
  /// Forgets all: a stream begins.
  void begin() { *this = CaptureClock(sample_rate_hz_); }

  /// Samples that are missing before these `count`, the last of which was captured at `newest_ns`: at once where the
  /// driver says that some are, or where more time has passed than any delay takes, else a second later.
  std::uint64_t lost_before(std::uint64_t count, std::int64_t newest_ns, bool follows_an_overrun);

 private:
  static constexpr std::size_t kSeconds = 20;  ///< length of the known past
  [[nodiscard]] double expected_s() const;
  void end_second(std::int64_t now_ns);

  double sample_rate_hz_;
  std::uint64_t samples_ = 0;   ///< delivered and missing ones
  std::int64_t first_ns_ = 0;   ///< when the sample before the first was captured; 0: none yet
  std::int64_t newest_ns_ = 0;  ///< likewise of the last one
  std::int64_t second_ns_ = 0;  ///< when the present second began
  double earliest_s_ = std::numeric_limits<double>::infinity();  ///< delay of the earliest delivery in it
  std::array<double, kSeconds> past_s_ = {};                     ///< likewise of the last ones, a ring
  std::size_t seconds_ = 0;                                      ///< number of seconds so far
  std::uint64_t found_ = 0;  ///< samples that the last second has shown to be missing
};

}  // namespace nearfield
