#include "stream/ingest_ring.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <thread>

#include "nearfield/error.hpp"
#include "nearfield/layout.hpp"

namespace nearfield {
namespace {

constexpr std::uint64_t kAlignment = 64;  ///< positions agree with elements modulo this
constexpr std::uint64_t kMaxElements = std::uint64_t{1} << 40U;

RingSettings checked(RingSettings settings) {
  if (settings.words_per_element == 0 || settings.elements == 0 || settings.elements > kMaxElements) {
    throw ConfigError(fmt::format("ring: expected at least one word and 1 to 2^40 elements, found {} and {}",
                                  settings.words_per_element, settings.elements));
  }
  settings.elements = std::max(kAlignment, std::bit_ceil(settings.elements));
  if (settings.reorder_elements >= settings.elements) {
    throw ConfigError(fmt::format("ring: expected less room for reordering than the ring's {} elements, found {}",
                                  settings.elements, settings.reorder_elements));
  }
  return settings;
}

void count(std::atomic<std::uint64_t>& counter, std::uint64_t more) {
  counter.fetch_add(more, std::memory_order_relaxed);
}

}  // namespace

IngestRing::IngestRing(const RingSettings& settings)
    : settings_(checked(settings)),
      mask_(settings_.elements - 1),
      element_bytes_(settings_.words_per_element * sizeof(std::uint32_t)),
      stamp_elements_(settings_.kind == PayloadKind::kBits ? kBitsPerWord : 1),
      words_(settings_.elements * settings_.words_per_element),
      received_(settings_.elements),
      stamps_(settings_.elements / stamp_elements_) {}

bool IngestRing::begin_stream(std::uint32_t stream_id, std::uint64_t first_element) {
  const Position previous_end = head_.load(std::memory_order_relaxed);
  const Position begin = previous_end + ((first_element - previous_end) & (kAlignment - 1));
  if (!make_room(begin)) {
    return false;
  }
  written_first_ = first_element;
  written_begin_ = begin;
  const std::uint64_t number = streams_begun_.load(std::memory_order_relaxed) + 1;
  SharedStream& stream = streams_[number % kStreams];
  stream.stream_id.store(stream_id, std::memory_order_relaxed);
  stream.first_element.store(first_element, std::memory_order_relaxed);
  stream.begin.store(begin, std::memory_order_relaxed);
  stream.previous_end.store(previous_end, std::memory_order_relaxed);
  streams_begun_.store(number);
  head_.store(begin);
  ended_.store(false);
  data_came_.call();
  return true;
}

void IngestRing::end_stream() {
  ended_.store(true);
  data_came_.call();
}

std::uint64_t IngestRing::written_end() const {
  return written_first_ + (head_.load(std::memory_order_relaxed) - written_begin_);
}

/// Makes the slots below `end` this lap's, empty; false when the reader is copying some of them.
bool IngestRing::make_room(Position end) {
  const Position head = head_.load(std::memory_order_relaxed);
  const Position window = end > settings_.elements ? end - settings_.elements : 0;
  Position frozen = frozen_.load();
  while (frozen < window) {
    if (frozen_.compare_exchange_weak(frozen, window)) {
      count(overrun_, received_.count(frozen, std::clamp(head, frozen, window)));
      break;
    }
  }
  if (reading_.load() < window) {
    return false;
  }
  received_.clear(std::max(head, window), end);
  return true;
}

IngestRing::StoreResult IngestRing::store(std::uint64_t first_element, std::span<const std::byte> words,
                                          std::int64_t now_ns) {
  StoreResult result;
  const Position head = head_.load(std::memory_order_relaxed);
  const std::uint64_t behind = written_end() - first_element;
  const auto ahead = static_cast<std::int64_t>(first_element - written_end());
  result.behind = ahead < 0;
  if (ahead < 0 && behind > head - written_begin_) {
    const std::uint64_t before_all = behind - (head - written_begin_);
    result.late = std::min<std::uint64_t>(words.size() / element_bytes_, before_all);
    words = words.subspan(result.late * element_bytes_);
  }
  Position begin = head + static_cast<std::uint64_t>(ahead) + result.late;
  const std::size_t piece = settings_.elements * element_bytes_;
  while (!words.empty()) {
    const auto part = words.first(std::min(words.size(), piece));
    store_piece(begin, part, now_ns, result);
    begin += part.size() / element_bytes_;
    words = words.subspan(part.size());
  }
  count(received_count_, result.stored + result.refused);
  count(duplicate_, result.duplicate);
  count(late_, result.late);
  count(overrun_, result.refused);
  return result;
}

void IngestRing::store_piece(Position begin, std::span<const std::byte> words, std::int64_t now_ns,
                             StoreResult& result) {
  const Position end = begin + words.size() / element_bytes_;
  const Position head = head_.load(std::memory_order_relaxed);
  if (end > head && !make_room(end)) {
    result.refused += end - begin;
    return;
  }
  writing_.store(begin);
  const Position first = begin;
  pass_over_frozen(begin, end, result);
  while (begin < end) {
    const ReceivedMap::Run run = received_.run(begin, end);
    if (run.received) {
      result.duplicate += run.end - begin;
    } else {
      copy_in(begin, run.end, words.data() + (begin - first) * element_bytes_, now_ns);
      result.stored += run.end - begin;
    }
    begin = run.end;
  }
  const Position new_head = std::max(head, end);
  head_.store(new_head);
  writing_.store(kNowhere);
  if (new_head >= wanted_.load()) {
    data_came_.call();
  }
}

/// Moves `begin` up to what may still be stored. The ring knows of the last lap which elements it has seen before.
void IngestRing::pass_over_frozen(Position& begin, Position end, StoreResult& result) const {
  const Position frozen = frozen_.load();
  if (begin >= frozen) {
    return;
  }
  const Position newest = std::max(end, head_.load(std::memory_order_relaxed));
  const Position window = newest > settings_.elements ? newest - settings_.elements : 0;
  const Position stop = std::min(frozen, end);
  const Position known = std::clamp(window, begin, stop);
  const std::uint64_t seen = received_.count(known, stop);
  result.duplicate += seen;
  result.late += stop - begin - seen;
  begin = stop;
}

void IngestRing::copy_in(Position begin, Position end, const std::byte* words, std::int64_t now_ns) {
  for (Position position = begin; position < end;) {
    const Position stop = std::min(end, (position | mask_) + 1);
    const std::size_t bytes = (stop - position) * element_bytes_;
    std::memcpy(words_.data() + slot(position) * settings_.words_per_element, words, bytes);
    words += bytes;
    position = stop;
  }
  received_.set(begin, end);
  for (Position stamp = begin / stamp_elements_; stamp * stamp_elements_ < end; ++stamp) {
    stamps_[slot(stamp * stamp_elements_) / stamp_elements_].store(now_ns, std::memory_order_relaxed);
  }
  newest_stamp_.store(now_ns, std::memory_order_relaxed);
}

bool IngestRing::wait_for_room(std::uint64_t elements, std::int64_t deadline_ns) {
  const Position end = head_.load(std::memory_order_relaxed) + elements;
  const auto fits = [&] { return end <= frozen_.load() + settings_.elements && reading_.load() == kNowhere; };
  while (!fits()) {
    const std::uint32_t ticket = room_came_.ticket();
    if (fits()) {
      room_came_.awake();
      return true;
    }
    if (!room_came_.sleep(ticket, deadline_ns)) {
      return fits();
    }
  }
  return true;
}

/// Where the accepted stream ends for now, or ended when another one began.
IngestRing::Position IngestRing::accepted_end() const {
  const Position head = head_.load();  // before the number: the head of a newer stream comes after it
  const std::uint64_t begun = streams_begun_.load();
  if (begun == accepted_) {
    return head;
  }
  const Position end = streams_[(accepted_ + 1) % kStreams].previous_end.load(std::memory_order_relaxed);
  // An entry that is being used again says nothing any more; what the reader has left there is lost.
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

/// Sleeps until found(), looking again whenever something is stored from `wanted` on, a stream begins or one ends.
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

bool IngestRing::wait_for_stream(std::int64_t deadline_ns) {
  return sleep_until([this] { return streams_begun_.load() != accepted_; }, kNowhere, deadline_ns);
}

/// Freezes everything below `end` and holds the writer off it until reading_ is taken back; where that begins.
IngestRing::Position IngestRing::claim(Position end) {
  Position frozen = frozen_.load();
  do {
    if (frozen >= end) {
      reading_.store(kNowhere);
      return end;
    }
    reading_.store(frozen);
  } while (!frozen_.compare_exchange_weak(frozen, end));
  while (writing_.load() < end) {
    std::this_thread::yield();
  }
  return frozen;
}

StreamStart IngestRing::accept_stream() {
  if (streams_begun_.load() == accepted_) {
    throw Error(ExitCode::kInternal, "ring: there is no new stream to accept");
  }
  StreamStart start;
  Position begin = 0;
  do {
    start.number = streams_begun_.load();
    const SharedStream& stream = streams_[start.number % kStreams];
    start.stream_id = static_cast<std::uint32_t>(stream.stream_id.load(std::memory_order_relaxed));
    start.first_element = stream.first_element.load(std::memory_order_relaxed);
    begin = stream.begin.load(std::memory_order_relaxed);
  } while (streams_begun_.load() - start.number >= kStreams - 1);
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

TakeResult IngestRing::take(std::uint64_t first_element, std::span<std::uint32_t> words) {
  const Position first = position_of(first_element);
  const Position end = first + words.size() / settings_.words_per_element;
  if (accepted_ == 0 || first < cursor_ || end < first || end > accepted_end()) {
    throw Error(ExitCode::kInternal, fmt::format("ring: {} elements from {} are not there to take",
                                                 words.size() / settings_.words_per_element, first_element));
  }
  TakeResult result;
  const Position from = claim(end);
  if (from < first) {
    count(skipped_, received_.count(from, first));
  }
  Position position = std::max(from, first);
  result.missing = position - first;
  fill_silence(first, position, words.data());
  while (position < end) {
    const ReceivedMap::Run run = received_.run(position, end);
    std::uint32_t* out = words.data() + (position - first) * settings_.words_per_element;
    if (run.received) {
      copy_out(position, run.end, out, result.capture_mono_ns);
    } else {
      fill_silence(position, run.end, out);
      result.missing += run.end - position;
    }
    position = run.end;
  }
  reading_.store(kNowhere);
  room_came_.call();
  cursor_ = end;
  if (result.capture_mono_ns == 0) {
    result.capture_mono_ns = newest_stamp_.load(std::memory_order_relaxed);
  }
  count(taken_, end - first);
  count(missing_, result.missing);
  count(delivered_, end - first - result.missing);
  return result;
}

void IngestRing::copy_out(Position begin, Position end, std::uint32_t* words, std::int64_t& newest_ns) const {
  for (Position position = begin; position < end;) {
    const Position stop = std::min(end, (position | mask_) + 1);
    const std::size_t length = (stop - position) * settings_.words_per_element;
    std::memcpy(words, words_.data() + slot(position) * settings_.words_per_element, length * sizeof(std::uint32_t));
    words += length;
    position = stop;
  }
  for (Position stamp = begin / stamp_elements_; stamp * stamp_elements_ < end; ++stamp) {
    newest_ns =
        std::max(newest_ns, stamps_[slot(stamp * stamp_elements_) / stamp_elements_].load(std::memory_order_relaxed));
  }
}

void IngestRing::fill_silence(Position begin, Position end, std::uint32_t* words) const {
  for (Position position = begin; position < end; ++position) {  // positions are as odd as their elements
    const std::uint32_t word = settings_.kind == PayloadKind::kBits ? silence_word(position) : 0;
    words = std::fill_n(words, settings_.words_per_element, word);
  }
}

RingCounters IngestRing::counters() const {
  RingCounters counters;
  counters.received = received_count_.load(std::memory_order_relaxed);
  counters.duplicate = duplicate_.load(std::memory_order_relaxed);
  counters.late = late_.load(std::memory_order_relaxed);
  counters.overrun = overrun_.load(std::memory_order_relaxed);
  counters.taken = taken_.load(std::memory_order_relaxed);
  counters.delivered = delivered_.load(std::memory_order_relaxed);
  counters.missing = missing_.load(std::memory_order_relaxed);
  counters.skipped = skipped_.load(std::memory_order_relaxed);
  counters.abandoned = abandoned_.load(std::memory_order_relaxed);
  const Position frozen = frozen_.load();
  const Position head = head_.load();
  counters.pending = frozen < head ? received_.count(frozen, std::min(head, frozen + settings_.elements)) : 0;
  return counters;
}

}  // namespace nearfield
