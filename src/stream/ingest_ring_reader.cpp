#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <thread>

#include "core/error.hpp"
#include "core/microphones.hpp"
#include "core/system/clocks.hpp"
#include "stream/ingest_ring.hpp"

// Reader part of the ring.
namespace nearfield {
namespace {

/// Pauses between the loads of a poll, about half a microsecond: limits contention with the writer.
constexpr int kPausesALook = 8;

/// Hints that the thread spins, which leaves more of the core to its other hardware thread.
void pause_processor() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

}  // namespace

/// Current end of the accepted stream, or its final end if another one has begun.
IngestRing::Position IngestRing::accepted_end() const {
  const Position head = head_.load();  // before the number: the head of a newer stream comes after it
  const std::uint64_t begun = streams_begun_.load();
  if (begun == accepted_) {
    return head;
  }
  const Position end = streams_[(accepted_ + 1) % kStreams].previous_end.load(std::memory_order_acquire);
  // An entry that is being reused is no longer valid; elements that the reader has left there are lost.
  return streams_begun_.load() - accepted_ < kStreams ? end : cursor_;
}

bool IngestRing::complete(Position end) const {
  const Position begin = std::max(frozen_.load(), cursor_);
  if (begin >= end) {
    return true;  // overwritten: waiting does not help
  }
  const ReceivedMap::Run run = received_.run(begin, end);
  return run.received && run.end == end;
}

WaitResult IngestRing::look(Position end) const {
  const bool ended = ended_.load();
  const bool given_way = streams_begun_.load() != accepted_;
  const Position available = accepted_ == 0 ? 0 : accepted_end();
  if (accepted_ != 0 && end <= available) {
    if (given_way || ended || end + settings_.reorder_elements <= available || complete(end)) {
      return WaitResult::kReady;
    }
    return WaitResult::kTimeout;
  }
  if (given_way) {
    return WaitResult::kNewStream;
  }
  return ended ? WaitResult::kEnded : WaitResult::kTimeout;
}

/// Sleeps until found(), which it checks again whenever data are stored from `wanted` on, a stream begins or one ends.
template <typename Found>
bool IngestRing::sleep_until(const Found& found, Position wanted, std::int64_t deadline_ns) {
  if (found()) {
    return true;
  }
  wanted_.store(wanted);
  bool done = false;
  for (bool called = true; called && !done;) {
    const std::uint32_t ticket = data_came_.ticket();
    done = found();
    if (!done) {
      called = data_came_.sleep(ticket, deadline_ns);
      done = found();
    }
  }
  data_came_.awake();
  wanted_.store(kNowhere);
  return done;
}

WaitResult IngestRing::wait_for(std::uint64_t end_element, std::int64_t deadline_ns) {
  const Position end = position_of(end_element);
  WaitResult result = WaitResult::kTimeout;
  sleep_until([&] { return (result = look(end)) != WaitResult::kTimeout; }, end, deadline_ns);
  return result;
}

WaitResult IngestRing::poll_for(std::uint64_t end_element, std::int64_t deadline_ns) const {
  const Position end = position_of(end_element);
  WaitResult result = look(end);
  while (result == WaitResult::kTimeout && monotonic_ns() < deadline_ns) {
    for (int i = 0; i < kPausesALook; ++i) {
      pause_processor();
    }
    result = look(end);
  }
  return result;
}

bool IngestRing::wait_for_stream(std::int64_t deadline_ns) {
  return sleep_until([this] { return streams_begun_.load() != accepted_; }, kNowhere, deadline_ns);
}

/// Freezes everything below `end` and keeps the writer off it until reading_ is reset; returns its begin.
IngestRing::Position IngestRing::claim(Position end) {
  Position frozen = frozen_.load();
  do {
    if (frozen >= end) {
      reading_.store(kNowhere);
      return end;
    }
    reading_.store(frozen);
  } while (!frozen_.compare_exchange_weak(frozen, end));
  wait_for_store_below(end);
  return frozen;
}

/// Waits for a store that began before its elements were frozen.
void IngestRing::wait_for_store_below(Position end) const {
  while (writing_.load() < end) {
    std::this_thread::yield();
  }
}

/// Reads the newest entry again if it was reused meanwhile: a load that acquires a value of the next lap makes the
/// count before that lap visible to the check.
StreamStart IngestRing::newest_stream(Position& begin) const {
  StreamStart start;
  do {
    start.number = streams_begun_.load();
    const SharedStream& stream = streams_[start.number % kStreams];
    start.stream_id = static_cast<std::uint32_t>(stream.stream_id.load(std::memory_order_acquire));
    start.first_element = stream.first_element.load(std::memory_order_acquire);
    begin = stream.begin.load(std::memory_order_acquire);
  } while (streams_begun_.load() - start.number >= kStreams - 1);
  return start;
}

StreamStart IngestRing::accept_stream() {
  if (streams_begun_.load() == accepted_) {
    throw Error(ExitCode::kInternal, "ring: there is no new stream to accept");
  }
  Position begin = 0;
  const StreamStart start = newest_stream(begin);
  const Position from = claim(begin);
  count(abandoned_, received_.count(from, begin));
  reading_.store(kNowhere);
  room_came_.call();
  accepted_ = start.number;
  first_element_ = start.first_element;
  begin_ = begin;
  cursor_ = begin;
  return start;
}

std::uint64_t IngestRing::available_end() const { return first_element_ + (accepted_end() - begin_); }

std::uint64_t IngestRing::missing_end(std::uint64_t first_element) const {
  const Position first = position_of(first_element);
  const bool is_final = ended_.load() || streams_begun_.load() != accepted_;
  const Position available = accepted_end();
  const Position end = is_final ? available : available - std::min(available, settings_.reorder_elements);
  // Untaken elements before frozen_ were overwritten.
  const Position from = first < cursor_ ? first : std::max(first, frozen_.load());
  if (from >= end) {
    return first_element + (std::max(first, end) - first);
  }
  const bool is_received = received_.run(from, from + 1).received;
  return first_element + ((is_received ? from : received_.run(from, end).end) - first);
}

IngestRing::Span IngestRing::overwritten(std::uint64_t first_element) const {
  const Position first = position_of(first_element);
  const Position end = std::max(first, lost_end_);
  const Position begin = std::min(std::max(first, lost_begin_), end);
  return {.begin = first_element + (begin - first), .end = first_element + (end - first)};
}

std::uint64_t IngestRing::again_from(std::uint64_t first_element) const {
  const Position first = position_of(first_element);
  return first_element + (std::max(first, overwritten_.load()) - first);
}

void IngestRing::keep_from(std::uint64_t element) {
  kept_.store(position_of(element));
  room_came_.call();
}

void IngestRing::count_missing(std::uint64_t elements) {
  count(taken_, elements);
  count(missing_, elements);
}

TakeResult IngestRing::take(std::uint64_t first_element, std::span<std::uint32_t> words,
                            std::vector<MissingRun>* missing, Copying copying) {
  const Position first = position_of(first_element);
  const Position end = first + words.size() / settings_.words_per_element;
  // The ring no longer has this stream's end once kStreams others have begun since wait_for(): what that found stands.
  const auto is_past_the_end = [&] { return end > accepted_end() && streams_begun_.load() - accepted_ < kStreams; };
  if (accepted_ == 0 || first < cursor_ || end < first || is_past_the_end()) {
    throw Error(ExitCode::kInternal, fmt::format("ring: {} elements from {} are not there to take",
                                                 words.size() / settings_.words_per_element, first_element));
  }
  const Position from = claim(end);
  if (from > cursor_) {
    lost_begin_ = lost_end_ == cursor_ ? lost_begin_ : cursor_;
    lost_end_ = from;
  }
  const std::uint64_t skipped = from < first ? received_.count(from, first) : 0;
  count(skipped_, skipped);
  count_missing(first - cursor_ - skipped);
  const TakeResult result = copy_all(first, std::max(from, first), end, words.data(), missing, copying);
  reading_.store(kNowhere);
  room_came_.call();
  cursor_ = end;
  count(taken_, end - first);
  count(missing_, result.missing);
  count(delivered_, end - first - result.missing);
  return result;
}

std::optional<TakeResult> IngestRing::take_again(std::uint64_t first_element, std::span<std::uint32_t> words,
                                                 std::vector<MissingRun>* missing) {
  const Position first = position_of(first_element);
  const Position end = first + words.size() / settings_.words_per_element;
  if (accepted_ == 0 || first < begin_ || end < first || end > cursor_) {
    throw Error(ExitCode::kInternal, fmt::format("ring: {} elements from {} were not taken",
                                                 words.size() / settings_.words_per_element, first_element));
  }
  return copy_frozen(reading_, first, end, words.data(), missing);
}

/// Nullopt if some of it was overwritten before it was announced.
std::optional<TakeResult> IngestRing::copy_frozen(std::atomic<Position>& announced, Position first, Position end,
                                                  std::uint32_t* words, std::vector<MissingRun>* missing) {
  std::optional<TakeResult> result;
  announced.store(first);
  if (overwritten_.load() <= first) {
    result = copy_all(first, first, end, words, missing, Copying::kCached);
  }
  announced.store(kNowhere);
  room_came_.call();
  return result;
}

std::optional<HeldElements> IngestRing::held() const {
  const auto begun = streams_begun_.load();
  if (begun == 0) {
    return std::nullopt;
  }
  HeldElements held;
  held.stream = newest_stream(held.begin_position);
  const Position end = frozen_.load();
  const Position first = std::max(held.begin_position, overwritten_.load());
  // Reports no elements while a newer stream begins.
  if (first >= end || streams_begun_.load() != begun) {
    return std::nullopt;
  }
  wait_for_store_below(end);
  held.first_element = held.stream.first_element + (first - held.begin_position);
  held.end_element = held.stream.first_element + (end - held.begin_position);
  return held;
}

std::uint64_t IngestRing::held_begin(const HeldElements& held, std::uint64_t first_element) const {
  const Position first = held.begin_position + (first_element - held.stream.first_element);
  return first_element + (std::max(first, overwritten_.load()) - first);
}

std::optional<TakeResult> IngestRing::copy_held(const HeldElements& held, std::uint64_t first_element,
                                                std::span<std::uint32_t> words, std::vector<MissingRun>* missing) {
  const std::uint64_t elements = words.size() / settings_.words_per_element;
  if (first_element - held.first_element + elements > held.end_element - held.first_element) {
    throw Error(ExitCode::kInternal, fmt::format("ring: {} elements from {} are not held", elements, first_element));
  }
  const Position first = held.begin_position + (first_element - held.stream.first_element);
  return copy_frozen(copying_, first, first + elements, words.data(), missing);
}

/// Copies elements from `first` on; those before `from` are lost.
TakeResult IngestRing::copy_all(Position first, Position from, Position end, std::uint32_t* words,
                                std::vector<MissingRun>* missing, Copying copying) const {
  TakeResult result;
  const std::size_t element_words = settings_.words_per_element;
  const auto miss = [&](Position begin, Position stop) {
    const std::span silent(words + (begin - first) * element_words, (stop - begin) * element_words);
    if (settings_.kind == PayloadKind::kBits) {
      fill_silence(begin, element_words, silent);  // position and element have the same parity
    } else {
      std::ranges::fill(silent, 0U);
    }
    result.missing += stop - begin;
    append_run(missing, begin - first, stop - begin);
  };
  miss(first, from);
  for (Position position = from; position < end;) {
    const ReceivedMap::Run run = received_.run(position, end);
    if (run.received) {
      copy_out(position, run.end, words + (position - first) * element_words, copying, result.capture_mono_ns);
    } else {
      miss(position, run.end);
    }
    position = run.end;
  }
  if (result.capture_mono_ns == 0) {
    result.capture_mono_ns = newest_stamp_.load(std::memory_order_relaxed);
  }
  return result;
}

void IngestRing::copy_out(Position begin, Position end, std::uint32_t* words, Copying copying,
                          std::int64_t& newest_ns) const {
  for (Position position = begin; position < end;) {
    const Position stop = std::min(end, (position | mask_) + 1);
    const std::size_t length = (stop - position) * settings_.words_per_element;
    const std::uint32_t* held = words_.data() + slot(position) * settings_.words_per_element;
    copy_words({held, length}, {words, length}, copying);
    words += length;
    position = stop;
  }
  for (Position stamp = begin / stamp_elements_; stamp * stamp_elements_ < end; ++stamp) {
    newest_ns =
        std::max(newest_ns, stamps_[slot(stamp * stamp_elements_) / stamp_elements_].load(std::memory_order_relaxed));
  }
}

}  // namespace nearfield
