#include "stream/ingest_ring.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstring>

#include "core/error.hpp"
#include "core/microphones.hpp"
#include "core/system/clocks.hpp"

namespace nearfield {
namespace {

constexpr std::uint64_t kBits = 64;
constexpr std::uint64_t kAll = ~std::uint64_t{0};

}  // namespace

template <typename Action>
void ReceivedMap::for_words(std::uint64_t begin, std::uint64_t end, const Action& action) const {
  while (begin < end) {
    const std::uint64_t offset = begin % kBits;
    const std::uint64_t bits = std::min(kBits - offset, end - begin);
    action((begin & mask_) / kBits, kAll >> (kBits - bits) << offset);
    begin += bits;
  }
}

void ReceivedMap::set(std::uint64_t begin, std::uint64_t end) {
  for_words(begin, end,
            [this](std::uint64_t word, std::uint64_t bits) { words_[word].fetch_or(bits, std::memory_order_relaxed); });
}

void ReceivedMap::clear(std::uint64_t begin, std::uint64_t end) {
  for_words(begin, end, [this](std::uint64_t word, std::uint64_t bits) {
    words_[word].fetch_and(~bits, std::memory_order_relaxed);
  });
}

std::uint64_t ReceivedMap::count(std::uint64_t begin, std::uint64_t end) const {
  std::uint64_t sum = 0;
  for_words(begin, end, [this, &sum](std::uint64_t word, std::uint64_t bits) {
    sum += static_cast<std::uint64_t>(std::popcount(words_[word].load(std::memory_order_relaxed) & bits));
  });
  return sum;
}

ReceivedMap::Run ReceivedMap::run(std::uint64_t begin, std::uint64_t end) const {
  const auto bits_at = [this](std::uint64_t position) {
    return words_[(position & mask_) / kBits].load(std::memory_order_relaxed) >> (position % kBits);
  };
  const bool received = (bits_at(begin) & 1U) != 0;
  std::uint64_t position = begin;
  while (position < end) {
    const std::uint64_t bits = bits_at(position);
    const std::uint64_t there = kBits - position % kBits;
    const auto same = static_cast<std::uint64_t>(std::countr_zero(received ? ~bits : bits));
    position += std::min(same, there);
    if (same < there) {
      break;
    }
  }
  return {std::min(position, end), received};
}

namespace {

constexpr std::uint64_t kPositionAlignment = 64;  ///< positions agree with elements modulo this
constexpr std::uint64_t kMaxElements = std::uint64_t{1} << 40U;
/// Longer than any copy that is not interrupted.
constexpr std::int64_t kLongestCopyNs = 20'000'000;

RingSettings checked(RingSettings settings) {
  if (settings.words_per_element == 0 || settings.elements == 0 || settings.elements > kMaxElements) {
    throw ConfigError(fmt::format("ring: expected at least one word and 1 to 2^40 elements, found {} and {}",
                                  settings.words_per_element, settings.elements));
  }
  settings.elements = std::max(kPositionAlignment, std::bit_ceil(settings.elements));
  if (settings.reorder_elements >= settings.elements) {
    throw ConfigError(fmt::format("ring: expected less room for reordering than the ring's {} elements, found {}",
                                  settings.elements, settings.reorder_elements));
  }
  return settings;
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
  const Position begin = previous_end + ((first_element - previous_end) & (kPositionAlignment - 1));
  if (!make_room(begin, begin)) {
    return false;
  }
  written_first_ = first_element;
  written_begin_ = begin;
  const std::uint64_t number = streams_begun_.load(std::memory_order_relaxed) + 1;
  SharedStream& stream = streams_[number % kStreams];
  stream.stream_id.store(stream_id, std::memory_order_release);
  stream.first_element.store(first_element, std::memory_order_release);
  stream.begin.store(begin, std::memory_order_release);
  stream.previous_end.store(previous_end, std::memory_order_release);
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

/// Empties the slots below `end` for this lap, to store from `begin` on; false while some of them are being copied.
bool IngestRing::make_room(Position begin, Position end) {
  const Position head = head_.load(std::memory_order_relaxed);
  const bool is_gap = begin - std::min(begin, head) >= settings_.elements;
  const Position window = end > settings_.elements ? end - settings_.elements : 0;
  // Before frozen_: what a reader of frozen_ counts as lost, take_again() must not give.
  overwritten_.store(window);
  Position frozen = frozen_.load();
  while (frozen < window) {
    if (frozen_.compare_exchange_weak(frozen, window)) {
      count(is_gap ? abandoned_ : overrun_, received_.count(frozen, std::clamp(head, frozen, window)));
      break;
    }
  }
  if (reading_.load() < window || copying_.load() < window) {
    return false;
  }
  received_.clear(std::max(head, window), end);
  return true;
}

/// Waits while another thread copies what `end` would overwrite, at most kLongestCopyNs; the source's own buffer holds
/// new data meanwhile.
bool IngestRing::wait_to_make_room(Position begin, Position end) {
  if (make_room(begin, end)) {
    return true;
  }
  const std::int64_t deadline_ns = monotonic_ns() + kLongestCopyNs;
  for (;;) {
    const std::uint32_t ticket = room_came_.ticket();
    if (make_room(begin, end)) {
      room_came_.awake();
      return true;
    }
    if (!room_came_.sleep(ticket, deadline_ns)) {
      return make_room(begin, end);
    }
  }
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
  if (end > head && !wait_to_make_room(begin, end)) {
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

/// Advances `begin` to what may still be stored. The ring knows which elements of the last lap it has received.
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
  const Position end = head_.load(std::memory_order_relaxed) + elements + settings_.elements / 4;
  const auto fits = [&] {
    return end <= std::min(frozen_.load(), kept_.load()) + settings_.elements && reading_.load() == kNowhere;
  };
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

/// Loads the time after the head, while the writer stores it before: the time is that of the head or a later one.
std::optional<NewestElement> IngestRing::newest() const {
  const std::uint64_t stream = streams_begun_.load();
  const Position begin = streams_[stream % kStreams].begin.load();
  const Position head = head_.load();
  const std::int64_t arrived_ns = newest_stamp_.load();
  if (stream == 0 || head <= begin || streams_begun_.load() != stream) {
    return std::nullopt;
  }
  return NewestElement{.stream = stream, .elements = head - begin, .arrived_ns = arrived_ns};
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
