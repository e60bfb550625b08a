#pragma once
#include <cstdint>
#include <optional>
#include <vector>

namespace nearfield::daemon {

/// The rate at which elements of a live stream come, by this host's clock.
///
/// A sender that keeps time can only be heard late, never early: of each segment of time the element that was heard
/// with the least delay counts. The rate is measured when the three slopes between four segments agree; a sender that
/// catches up or that lacks processor time gives slopes that do not, and the next segments are longer.
class RateMeter {
 public:
  /// Differences that are smaller are clocks' own.
  static constexpr double kTolerance = 0.005;

  explicit RateMeter(double announced_hz) : announced_hz_(announced_hz) {}

  /// `elements` of stream number `stream` had come at `arrived_ns`; a time as before is no news.
  void add(std::uint64_t stream, std::uint64_t elements, std::int64_t arrived_ns);
  /// The rate when slopes agreed last, of this stream; nothing before.
  [[nodiscard]] std::optional<double> measured_hz() const { return measured_hz_; }
  /// True where the measured rate is another one than the announced rate, and near enough to be real time.
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
  std::int64_t begun_ns_ = 0;   ///< of the segment; 0: none has begun
  std::optional<Point> least_;  ///< of the segment
  Point newest_;
  std::vector<Point> segments_;  ///< the least late element of each, at most four
  std::optional<double> measured_hz_;

  static constexpr std::int64_t kShortestSegmentNs = 1'500'000'000;
};

}  // namespace nearfield::daemon
