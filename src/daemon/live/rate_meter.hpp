#pragma once
#include <cstdint>
#include <optional>
#include <vector>

namespace nearfield::daemon {

/// Measures the rate at which elements of a live stream arrive, by this host's clock.
///
/// Data of a sender that keeps time can only arrive late, never early: for each segment of time, the element that
/// arrived with the least delay counts. The rate is known when the three slopes between four segments agree; a sender
/// that catches up or that lacks processor time gives slopes that do not, and the next segments are longer.
class RateMeter {
 public:
  /// Smaller differences are deviations of clocks.
  static constexpr double kTolerance = 0.005;

  explicit RateMeter(double announced_hz) : announced_hz_(announced_hz) {}

  /// Adds that `elements` of stream number `stream` had arrived at `arrived_ns`; a repeated time is ignored.
  void add(std::uint64_t stream, std::uint64_t elements, std::int64_t arrived_ns);
  /// Rate of this stream when slopes last agreed; nullopt before.
  [[nodiscard]] std::optional<double> measured_hz() const { return measured_hz_; }
  /// True if the measured rate differs from the announced rate, and is near enough to be real time.
  [[nodiscard]] bool differs() const;

 private:
  struct Point {
    std::uint64_t elements = 0;
    std::int64_t arrived_ns = 0;
  };
  void restart();
  void end_segment();
  [[nodiscard]] double lateness_ns(const Point& point) const;

  double announced_hz_;
  std::uint64_t stream_ = 0;
  std::int64_t segment_ns_ = kShortestSegmentNs;
  std::int64_t begun_ns_ = 0;   ///< begin of the segment; 0: none has begun
  std::optional<Point> least_;  ///< least late element of the segment
  Point newest_;
  std::vector<Point> segments_;  ///< the least late element of each, at most four
  std::optional<double> measured_hz_;

  static constexpr std::int64_t kShortestSegmentNs = 1'500'000'000;
};

}  // namespace nearfield::daemon
