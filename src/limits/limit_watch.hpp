#pragma once
#include <array>
#include <atomic>
#include <cstdint>
#include <deque>
#include <limits>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "core/system/inheriting_mutex.hpp"
#include "limits/limit_plan.hpp"

namespace nearfield::limits {

/// A limit has been exceeded, or left again.
struct LimitEvent {
  std::string name;
  bool begins = true;
  std::int64_t tai_ns = 0;  ///< CLOCK_TAI, of the last bit of the frame that decided it
  double value = 0.0;       ///< in that frame
  double largest = 0.0;     ///< since it was exceeded
  std::string unit;
  std::vector<LimitPlan::Coordinate> position;  ///< of the value at a begin, of the largest one at an end
};

/// A limit at this moment.
struct LimitState {
  std::string name;
  std::string unit;
  bool is_above = false;
  double value = std::numeric_limits<double>::quiet_NaN();  ///< of the last frame; NaN before the first
  std::int64_t since_tai_ns = 0;                            ///< of this state; 0: since the limit exists
  std::uint64_t events = 0;                                 ///< how often the limit was exceeded, by its name
};

/// Compares the products of a live stream with limits. look() is of the thread that publishes frames: it allocates
/// nothing, takes no mutex, and passes what happened through a queue of fixed size. The others are for any thread.
class LimitWatch {
 public:
  static constexpr std::size_t kMostEvents = 1000;   ///< that events() keeps
  static constexpr std::size_t kMostPending = 1024;  ///< of events that collect() has not yet taken

  /// Watches these limits from now on. A limit that looks at the same values as one before keeps its state; one that
  /// was exceeded and is gone or changed is left. Not while look() runs.
  void use(std::vector<LimitPlan> plans);
  /// Sets the flag and the field of a frame that say which limits are exceeded.
  void look(Frame& frame);

  /// The events since the last call; those of any number of callers are in events().
  std::vector<LimitEvent> collect();
  /// The newest events, oldest first.
  [[nodiscard]] std::vector<LimitEvent> events();
  [[nodiscard]] std::vector<LimitState> states() const;
  /// Events that found the queue full.
  [[nodiscard]] std::uint64_t dropped() const { return dropped_.load(std::memory_order_relaxed); }

 private:
  struct Watched {
    explicit Watched(LimitPlan limit) : plan(std::move(limit)) {}
    LimitPlan plan;
    // Of the thread that publishes:
    bool is_above = false;
    std::int64_t turning_since_ns = kNoTurn;  ///< values are beyond the limit, or below it again, from there on
    bool has_frame = false;                   ///< a frame was judged: of
    std::uint32_t stream_id = 0;              ///< this stream,
    std::uint64_t sequence = 0;               ///< with this number
    std::uint64_t usual_step = 0;             ///< of numbers from one judged frame to the next; 0: not known yet
    double largest = 0.0;
    LimitPlan::Place largest_place;
    // For others:
    std::atomic<bool> is_above_now{false};
    std::atomic<double> value{std::numeric_limits<double>::quiet_NaN()};
    std::atomic<std::int64_t> since_tai_ns{0};
    std::atomic<std::uint64_t> events{0};
  };
  /// An event as it passes through the queue.
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
  mutable InheritingMutex mutex_;  ///< guards watched_ against readers, and what follows
  std::deque<LimitEvent> events_;
  std::vector<LimitEvent> collected_;  ///< not yet returned by collect()
};

}  // namespace nearfield::limits
