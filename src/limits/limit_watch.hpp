#pragma once
#include <array>
#include <atomic>
#include <cstdint>
#include <deque>
#include <limits>
#include <memory>
#include <mutex>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "core/system/threads.hpp"
#include "limits/limit_plan.hpp"

namespace nearfield::limits {

/// A limit has been exceeded, or left again.
struct LimitEvent {
  std::string name;
  bool begins = true;
  std::int64_t tai_ns = 0;  ///< CLOCK_TAI of the last bit of the frame that decided it
  double value = 0.0;       ///< value in that frame
  double largest = 0.0;     ///< since it was exceeded
  std::string unit;
  std::vector<LimitPlan::Coordinate> position;  ///< position at the start; that of the largest value at the end
};

/// The current state of a limit.
struct LimitState {
  std::string name;
  std::string unit;
  bool is_above = false;
  double value = std::numeric_limits<double>::quiet_NaN();  ///< value in the last frame; NaN before the first
  std::int64_t since_tai_ns = 0;                            ///< start of this state; 0: since the limit exists
  std::uint64_t events = 0;                                 ///< number of times that a limit of this name was exceeded
};

/// Compares the products of a live stream with limits. look() runs on the thread that publishes frames: it allocates
/// nothing, takes no mutex, and passes events through a queue of fixed size. The other methods may be called from any
/// thread.
class LimitWatch {
 public:
  static constexpr std::size_t kMostEvents = 1000;   ///< capacity of events()
  static constexpr std::size_t kMostPending = 1024;  ///< capacity of the queue to collect()

  /// Replaces the watched limits. A limit on the same values as a previous one keeps its state; an exceeded one that is
  /// removed or changed is left. Must not run concurrently with look().
  void use(std::vector<LimitPlan> plans);
  /// Sets the flag and the field of a frame that tell which limits are exceeded.
  void look(Frame& frame);

  /// The events since the last call, for a single caller; events() serves any number of callers.
  std::vector<LimitEvent> collect();
  /// The newest events, oldest first.
  [[nodiscard]] std::vector<LimitEvent> events();
  [[nodiscard]] std::vector<LimitState> states() const;
  /// Number of events lost because the queue was full.
  [[nodiscard]] std::uint64_t dropped() const { return dropped_.load(std::memory_order_relaxed); }

 private:
  struct Watched {
    explicit Watched(LimitPlan limit) : plan(std::move(limit)) {}
    LimitPlan plan;
    // Publishing thread only:
    bool is_above = false;
    std::int64_t turning_since_ns = kNoTurn;  ///< start of values beyond the limit, or below it again
    bool has_frame = false;                   ///< a frame was judged, with:
    std::uint32_t stream_id = 0;              ///< this stream
    std::uint64_t sequence = 0;               ///< this number
    std::uint64_t usual_step = 0;             ///< difference of numbers between judged frames; 0: not known yet
    double largest = 0.0;
    LimitPlan::Place largest_place;
    // Any thread:
    std::atomic<bool> is_above_now{false};
    std::atomic<double> value{std::numeric_limits<double>::quiet_NaN()};
    std::atomic<std::int64_t> since_tai_ns{0};
    std::atomic<std::uint64_t> events{0};
  };
  /// An event in the queue.
  struct Change {
    std::size_t limit = 0;
    bool begins = true;
    std::int64_t tai_ns = 0;
    double value = 0.0;
    double largest = 0.0;
    LimitPlan::Place place;
  };
  static constexpr std::int64_t kNoTurn = std::numeric_limits<std::int64_t>::min();

  void judge(std::size_t index, const Frame& frame);
  static void follow_stream(Watched& limit, const Frame& frame);
  void turn(std::size_t index, const Frame& frame, double value);
  void push(const Change& change);
  void take_changes();
  void keep(LimitEvent event);
  static void go_on(Watched& next, const Watched& before);

  std::vector<std::unique_ptr<Watched>> watched_;  ///< changed by use(), under the mutex
  std::array<Change, kMostPending> queue_;
  std::atomic<std::uint64_t> pushed_{0};
  std::atomic<std::uint64_t> taken_{0};
  std::atomic<std::uint64_t> dropped_{0};
  mutable InheritingMutex mutex_;  ///< guards watched_ against readers, and the next members
  std::deque<LimitEvent> events_;
  std::vector<LimitEvent> collected_;  ///< not yet returned by collect()
};

/// "limit loud is exceeded: 2.31 Pa at frequency 1007.08 Hz, x 0.02 m"; at the end with the largest value.
std::string text_of(const LimitEvent& event);
nlohmann::json json_of(const LimitEvent& event);
nlohmann::json json_of(const LimitState& state);

}  // namespace nearfield::limits
