#include "limits/limit_watch.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <string_view>
#include <utility>

#include "core/daemon_settings.hpp"
#include "core/system/clocks.hpp"

namespace nearfield::limits {
namespace {

std::int64_t nanoseconds_of(double seconds) { return static_cast<std::int64_t>(std::llround(seconds * 1e9)); }

}  // namespace

void LimitWatch::go_on(Watched& next, const Watched& before) {
  next.events = before.events.load();
  if (next.plan.is_like(before.plan)) {
    next.is_above = before.is_above;
    next.turning_since_ns = before.turning_since_ns;
    next.has_frame = before.has_frame;
    next.stream_id = before.stream_id;
    next.sequence = before.sequence;
    next.largest = before.largest;
    next.largest_place = before.largest_place;
    next.is_above_now = before.is_above_now.load();
    next.value = before.value.load();
    next.since_tai_ns = before.since_tai_ns.load();
  }
}

void LimitWatch::use(std::vector<LimitPlan> plans) {
  const std::lock_guard lock(mutex_);
  take_changes();
  std::vector<std::unique_ptr<Watched>> next;
  next.reserve(plans.size());
  for (LimitPlan& plan : plans) {
    next.push_back(std::make_unique<Watched>(std::move(plan)));
  }
  for (const std::unique_ptr<Watched>& before : watched_) {
    const auto same = std::find_if(next.begin(), next.end(), [&](const std::unique_ptr<Watched>& one) {
      return one->plan.settings().name == before->plan.settings().name;
    });
    if (same != next.end()) {
      go_on(**same, *before);
    }
    if (before->is_above && (same == next.end() || !(*same)->is_above)) {
      keep({.name = before->plan.settings().name,
            .begins = false,
            .tai_ns = clock_ns(CLOCK_TAI),
            .value = before->value.load(),
            .largest = before->largest,
            .unit = before->plan.unit(),
            .position = before->plan.position(before->largest_place)});
    }
  }
  watched_ = std::move(next);
}

void LimitWatch::look(Frame& frame) {
  for (std::size_t i = 0; i < watched_.size(); ++i) {
    if (watched_[i]->plan.processor() == frame.processor) {
      judge(i, frame);
      frame.flags |= watched_[i]->is_above ? kFlagLimit : 0U;
    }
    frame.exceeds_recorded_limit =
        frame.exceeds_recorded_limit || (watched_[i]->is_above && watched_[i]->plan.settings().record);
  }
}

/// Hold and release times must be uninterrupted: both restart with another stream, and after a gap of more than a few
/// usual steps between frames. The usual step grows if frames keep arriving farther apart, as under overload.
void LimitWatch::follow_stream(Watched& limit, const Frame& frame) {
  constexpr std::uint64_t kMostSteps = 4;
  const bool is_other = limit.has_frame && frame.stream_id != limit.stream_id;
  const std::uint64_t step = limit.has_frame ? frame.sequence - limit.sequence : 0;
  const bool is_gap = limit.usual_step > 0 && step > kMostSteps * limit.usual_step;
  if (is_other || is_gap) {
    limit.turning_since_ns = kNoTurn;
  }
  if (is_gap) {
    limit.usual_step *= is_other ? 1 : 2;
  } else if (step > 0 && !is_other) {
    limit.usual_step = limit.usual_step == 0 ? step : std::min(limit.usual_step, step);
  }
  limit.has_frame = true;
  limit.stream_id = frame.stream_id;
  limit.sequence = frame.sequence;
}

/// A frame without a number, or with more than half of its bits missing, is ignored; a table without a row is below
/// every limit.
void LimitWatch::judge(std::size_t index, const Frame& frame) {
  Watched& limit = *watched_[index];
  if (2 * frame.missing_bit_times > frame.window_bit_times) {
    return;
  }
  const Reading reading = limit.plan.read(frame);
  if (!reading.is_number && reading.has_values) {
    return;
  }
  follow_stream(limit, frame);
  limit.value.store(reading.is_number ? reading.value : std::numeric_limits<double>::quiet_NaN(),
                    std::memory_order_relaxed);
  if (limit.is_above && reading.is_number && reading.value > limit.largest) {
    limit.largest = reading.value;
    limit.largest_place = limit.plan.place_of_largest(frame);
  }
  const bool turns = limit.is_above ? !reading.is_number || reading.value <= limit.plan.below()
                                    : reading.is_number && reading.value > limit.plan.above();
  if (!turns) {
    limit.turning_since_ns = kNoTurn;
    return;
  }
  if (limit.turning_since_ns == kNoTurn) {
    limit.turning_since_ns = frame.capture_mono_ns;
  }
  const DaemonSettings::Limit& settings = limit.plan.settings();
  const double wait_s = limit.is_above ? settings.release_s : settings.hold_s;
  if (frame.capture_mono_ns - limit.turning_since_ns >= nanoseconds_of(wait_s)) {
    turn(index, frame, reading.is_number ? reading.value : std::numeric_limits<double>::quiet_NaN());
  }
}

void LimitWatch::turn(std::size_t index, const Frame& frame, double value) {
  Watched& limit = *watched_[index];
  limit.is_above = !limit.is_above;
  limit.turning_since_ns = kNoTurn;
  if (limit.is_above) {
    limit.largest = value;
    limit.largest_place = limit.plan.place_of_largest(frame);
    limit.events.fetch_add(1, std::memory_order_relaxed);
  }
  limit.since_tai_ns.store(frame.capture_tai_ns, std::memory_order_relaxed);
  limit.is_above_now.store(limit.is_above, std::memory_order_relaxed);
  push({.limit = index,
        .begins = limit.is_above,
        .tai_ns = frame.capture_tai_ns,
        .value = value,
        .largest = limit.largest,
        .place = limit.largest_place});
}

void LimitWatch::push(const Change& change) {
  const std::uint64_t at = pushed_.load(std::memory_order_relaxed);
  if (at - taken_.load(std::memory_order_acquire) == kMostPending) {
    dropped_.fetch_add(1, std::memory_order_relaxed);
    return;
  }
  queue_[at % kMostPending] = change;
  pushed_.store(at + 1, std::memory_order_release);
}

/// Call with the mutex held.
void LimitWatch::take_changes() {
  const std::uint64_t end = pushed_.load(std::memory_order_acquire);
  for (std::uint64_t at = taken_.load(std::memory_order_relaxed); at < end; ++at) {
    const Change& change = queue_[at % kMostPending];
    const LimitPlan& plan = watched_[change.limit]->plan;
    keep({.name = plan.settings().name,
          .begins = change.begins,
          .tai_ns = change.tai_ns,
          .value = change.value,
          .largest = change.largest,
          .unit = plan.unit(),
          .position = plan.position(change.place)});
    taken_.store(at + 1, std::memory_order_release);
  }
}

void LimitWatch::keep(LimitEvent event) {
  events_.push_back(event);
  if (events_.size() > kMostEvents) {
    events_.pop_front();
  }
  collected_.push_back(std::move(event));
}

std::vector<LimitEvent> LimitWatch::collect() {
  const std::lock_guard lock(mutex_);
  take_changes();
  return std::exchange(collected_, {});
}

std::vector<LimitEvent> LimitWatch::events() {
  const std::lock_guard lock(mutex_);
  take_changes();
  return {events_.begin(), events_.end()};
}

std::vector<LimitState> LimitWatch::states() const {
  const std::lock_guard lock(mutex_);
  std::vector<LimitState> states;
  states.reserve(watched_.size());
  for (const std::unique_ptr<Watched>& one : watched_) {
    states.push_back({.name = one->plan.settings().name,
                      .unit = one->plan.unit(),
                      .is_above = one->is_above_now.load(std::memory_order_relaxed),
                      .value = one->value.load(std::memory_order_relaxed),
                      .since_tai_ns = one->since_tai_ns.load(std::memory_order_relaxed),
                      .events = one->events.load(std::memory_order_relaxed)});
  }
  return states;
}

namespace {

using nlohmann::json;

std::string with_unit(double value, std::string_view unit) {
  if (std::isnan(value)) {
    return "no value";
  }
  return unit.empty() || unit == "1" ? fmt::format("{:.4g}", value) : fmt::format("{:.4g} {}", value, unit);
}

std::string place_in_words(const std::vector<LimitPlan::Coordinate>& position) {
  std::string text;
  for (const LimitPlan::Coordinate& coordinate : position) {
    text +=
        fmt::format("{}{} {:.6g}{}{}", text.empty() ? " at " : ", ", coordinate.name, fmt::join(coordinate.values, " "),
                    coordinate.unit == "1" ? "" : " ", coordinate.unit == "1" ? "" : coordinate.unit);
  }
  return text;
}

}  // namespace

std::string text_of(const LimitEvent& event) {
  if (event.begins) {
    return fmt::format("limit {} is exceeded: {}{}", event.name, with_unit(event.value, event.unit),
                       place_in_words(event.position));
  }
  return fmt::format("limit {} is left: {}; the largest value was {}{}", event.name, with_unit(event.value, event.unit),
                     with_unit(event.largest, event.unit), place_in_words(event.position));
}

json json_of(const LimitEvent& event) {
  json position = json::object();
  for (const LimitPlan::Coordinate& coordinate : event.position) {
    position[coordinate.name] =
        coordinate.values.size() == 1 ? json(coordinate.values.front()) : json(coordinate.values);
  }
  return {{"name", event.name},       {"event", event.begins ? "begin" : "end"},
          {"tai_ns", event.tai_ns},   {"value", event.value},
          {"largest", event.largest}, {"unit", event.unit},
          {"position", position}};
}

json json_of(const LimitState& state) {
  return {{"name", state.name},
          {"state", state.is_above ? "above" : "ok"},
          {"value", state.value},
          {"unit", state.unit},
          {"since", state.since_tai_ns == 0 ? json(nullptr) : json(state.since_tai_ns)},
          {"events", state.events}};
}

}  // namespace nearfield::limits
