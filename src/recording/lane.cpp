#include "recording/lane.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <limits>
#include <thread>

#include "core/crc32c.hpp"
#include "core/error.hpp"

namespace nearfield {
namespace {

/// Marks a push as running while it exists.
class Pushing {
 public:
  explicit Pushing(std::atomic<bool>& flag) : flag_(flag) { flag_.store(true); }
  Pushing(const Pushing&) = delete;
  Pushing& operator=(const Pushing&) = delete;
  ~Pushing() { flag_.store(false); }

 private:
  std::atomic<bool>& flag_;
};

}  // namespace

Lane::Lane(std::uint64_t capacity_bytes, std::uint64_t history_bit_times)
    : memory_(nfr::padded(capacity_bytes)), history_bit_times_(history_bit_times) {}

Lane::Pushed Lane::push(nfr::RecordHeader header, std::span<const std::span<const std::byte>> payload) {
  const Pushing pushing(is_pushing_);
  const Mode mode = mode_.load();
  if (mode == Mode::kOff) {
    return Pushed::kOff;
  }
  std::uint64_t bytes = 0;
  for (const std::span<const std::byte> part : payload) {
    bytes += part.size();
  }
  if (bytes > memory_.size()) {
    return Pushed::kFull;
  }
  header.payload_bytes = static_cast<std::uint32_t>(bytes);
  if (mode == Mode::kHistory) {
    forget_old(header, nfr::record_bytes(header));
  }
  return append(header, payload) ? Pushed::kTaken : Pushed::kFull;
}

Lane::Pushed Lane::push_restart(const nfr::RecordHeader& marker) {
  const Pushing pushing(is_pushing_);
  const Mode mode = mode_.load();
  if (mode == Mode::kHistory) {
    tail_.store(head_.load());
    return Pushed::kTaken;
  }
  if (mode == Mode::kOff) {
    return Pushed::kOff;
  }
  return append(marker, {}) ? Pushed::kTaken : Pushed::kFull;
}

void Lane::forget_old(const nfr::RecordHeader& newest, std::uint64_t bytes) {
  const std::uint64_t head = head_.load();
  std::uint64_t tail = tail_.load();
  while (tail < head) {
    const nfr::RecordHeader oldest = header_at(tail);
    const bool is_older = end_of(newest) < end_of(oldest) || end_of(newest) - end_of(oldest) >= history_bit_times_;
    if (!is_older && memory_.size() - (head - tail) >= bytes) {
      break;
    }
    tail += nfr::record_bytes(oldest);
  }
  tail_.store(tail);
}

bool Lane::append(const nfr::RecordHeader& header, std::span<const std::span<const std::byte>> payload) {
  const std::uint64_t head = head_.load();
  const std::uint64_t bytes = nfr::record_bytes(header);
  if (bytes > memory_.size() - (head - tail_.load(std::memory_order_acquire))) {
    return false;
  }
  set_header(head, header);
  std::uint64_t at = head + sizeof(header);
  for (const std::span<const std::byte> part : payload) {
    copy_in(at, part);
    at += part.size();
  }
  constexpr std::array<std::byte, 8> kZeros{};
  copy_in(at, std::span(kZeros).first(head + bytes - at));
  head_.store(head + bytes);  // in one order with what says that the writer sleeps
  return true;
}

void Lane::set_mode(Mode mode) {
  const Mode before = mode_.exchange(mode);
  while (is_pushing_.load()) {
    // Not yield(): threads of a lower real-time priority would not run.
    std::this_thread::sleep_for(std::chrono::microseconds(20));
  }
  if (before == Mode::kOff || mode == Mode::kOff) {
    tail_.store(head_.load());
  }
}

nfr::RecordHeader Lane::header_at(std::uint64_t position) const {
  nfr::RecordHeader header;
  copy_out(position, std::as_writable_bytes(std::span(&header, 1)));
  return header;
}

void Lane::set_header(std::uint64_t position, const nfr::RecordHeader& header) {
  copy_in(position, std::as_bytes(std::span(&header, 1)));
}

void Lane::copy_in(std::uint64_t position, std::span<const std::byte> bytes) {
  if (bytes.empty()) {
    return;
  }
  const std::uint64_t at = position % memory_.size();
  const std::uint64_t first = std::min<std::uint64_t>(bytes.size(), memory_.size() - at);
  std::memcpy(memory_.data() + at, bytes.data(), first);
  std::memcpy(memory_.data(), bytes.data() + first, bytes.size() - first);
}

void Lane::copy_out(std::uint64_t position, std::span<std::byte> bytes) const {
  const auto parts = pieces(position, position + bytes.size());
  std::memcpy(bytes.data(), parts[0].data(), parts[0].size());
  if (!parts[1].empty()) {
    std::memcpy(bytes.data() + parts[0].size(), parts[1].data(), parts[1].size());
  }
}

std::array<std::span<const std::byte>, 2> Lane::pieces(std::uint64_t from, std::uint64_t to) const {
  const std::span<const std::byte> all(memory_);
  const std::uint64_t at = from % memory_.size();
  const std::uint64_t first = std::min(to - from, memory_.size() - at);
  return {all.subspan(at, first), all.first(to - from - first)};
}

std::uint32_t Lane::crc_of(std::uint64_t from, std::uint64_t to) const {
  const auto parts = pieces(from, to);
  return crc32c(parts[1], crc32c(parts[0]));
}

namespace {

constexpr std::size_t kUsualRuns = 4096;

std::uint64_t end_of(const BitsPiece& piece) { return piece.first_bit_time + piece.bit_times; }

std::uint32_t flags_of(GapCause cause) {
  switch (cause) {
    case GapCause::kPaused:
      return nfr::kPaused;
    case GapCause::kOverrun:
      return nfr::kOverrun;
    case GapCause::kNotSent:
      break;
  }
  return 0;
}

}  // namespace

BitsLane::BitsLane(std::uint64_t capacity_bytes, std::uint64_t history_bit_times, std::uint64_t words_per_bit_time)
    : lane_(capacity_bytes, history_bit_times), words_(words_per_bit_time) {
  runs_.reserve(kUsualRuns);
}

void BitsLane::require_sound(const BitsPiece& piece) const {
  const bool fits =
      piece.words.empty() || (piece.words.size() / words_ == piece.bit_times && piece.words.size() % words_ == 0 &&
                              piece.bit_times <= std::numeric_limits<std::uint32_t>::max());
  if (!fits) {
    throw Error(ExitCode::kInternal, fmt::format("recorder: {} words for {} bit-times of {} words", piece.words.size(),
                                                 piece.bit_times, words_));
  }
  std::uint64_t at = piece.first_bit_time;
  for (const MissingRun& run : piece.missing) {
    if (run.first_bit_time < at || run.bit_times == 0 || run.first_bit_time + run.bit_times > end_of(piece)) {
      throw Error(ExitCode::kInternal,
                  fmt::format("recorder: missing bit-times {} + {} in a piece {} + {}", run.first_bit_time,
                              run.bit_times, piece.first_bit_time, piece.bit_times));
    }
    at = run.first_bit_time + run.bit_times;
  }
}

void BitsLane::forget_stream() {
  expected_bit_time_.reset();
  forget_dropped();
  is_restarted_ = false;
}

void BitsLane::forget_dropped() {
  dropped_from_.reset();
  pending_first_.store(kNoGap);
}

std::optional<BitsLane::Gap> BitsLane::pending_gap() const {
  const std::uint64_t first = pending_first_.load();
  const std::uint64_t end = pending_end_.load();
  return first != kNoGap && pending_first_.load() == first ? std::optional(Gap{first, end}) : std::nullopt;
}

bool BitsLane::announce_restart() {
  const Lane::Pushed pushed = lane_.push_restart({.kind = kRestartMarker, .first_bit_time = restarts()});
  is_restarted_ = pushed == Lane::Pushed::kFull;
  return !is_restarted_;
}

bool BitsLane::push_gap(std::uint64_t first, std::uint64_t end, std::uint32_t flags, const BitsPiece& piece) {
  const nfr::RecordHeader header{.kind = nfr::Kind::kBits,
                                 .first_bit_time = first,
                                 .bit_times = end - first,
                                 .missing_bit_times = end - first,
                                 .mono_ns = piece.mono_ns,
                                 .tai_ns = piece.tai_ns,
                                 .flags = nfr::kNotStored | flags};
  return lane_.push(header, {}) != Lane::Pushed::kFull;
}

Lane::Pushed BitsLane::push_bits(const BitsPiece& piece) {
  nfr::RecordHeader header{.kind = nfr::Kind::kBits,
                           .first_bit_time = piece.first_bit_time,
                           .bit_times = piece.bit_times,
                           .mono_ns = piece.mono_ns,
                           .tai_ns = piece.tai_ns};
  if (piece.words.empty()) {
    header.missing_bit_times = piece.bit_times;
    header.flags = nfr::kNotStored | flags_of(piece.cause);
    const Lane::Pushed pushed = lane_.push(header, {});
    if (pushed == Lane::Pushed::kTaken && piece.cause == GapCause::kPaused) {
      paused_bit_times_.fetch_add(piece.bit_times, std::memory_order_relaxed);
    }
    return pushed;
  }
  runs_.clear();
  for (const MissingRun& run : piece.missing) {
    runs_.push_back({.offset_bit_times = static_cast<std::uint32_t>(run.first_bit_time - piece.first_bit_time),
                     .bit_times = static_cast<std::uint32_t>(run.bit_times)});
    header.missing_bit_times += run.bit_times;
  }
  header.runs = static_cast<std::uint32_t>(runs_.size());
  const std::array<std::span<const std::byte>, 2> payload{std::as_bytes(std::span(runs_)), std::as_bytes(piece.words)};
  return lane_.push(header, payload);
}

void BitsLane::drop(std::uint64_t first, std::uint64_t end) {
  pending_end_.store(end);
  if (!dropped_from_) {
    dropped_from_ = first;
    pending_first_.store(first);
  }
  dropped_pieces_.fetch_add(1, std::memory_order_relaxed);
  dropped_bit_times_.fetch_add(end - first, std::memory_order_relaxed);
}

/// True if the stream has restarted with this piece.
bool BitsLane::note(const BitsPiece& piece) {
  const bool restarts =
      last_end_bit_time_ && (piece.stream_id != stream_id_ || piece.first_bit_time < *last_end_bit_time_);
  restarts_.fetch_add(restarts ? 1 : 0, std::memory_order_relaxed);
  stream_id_ = piece.stream_id;
  last_end_bit_time_ = end_of(piece);
  return restarts;
}

void BitsLane::skip(const BitsPiece& piece) {
  (void)note(piece);
  forget_stream();
}

void BitsLane::push(const BitsPiece& piece) {
  const bool restarts = note(piece);
  if (!lane_.is_on()) {
    forget_stream();
    return;
  }
  require_sound(piece);
  if (expected_bit_time_ && restarts) {
    forget_stream();
    is_restarted_ = true;
  }
  const std::uint64_t expected = expected_bit_time_.value_or(piece.first_bit_time);
  expected_bit_time_ = end_of(piece);
  if (is_restarted_ && !announce_restart()) {
    drop(piece.first_bit_time, end_of(piece));
    return;
  }
  if (dropped_from_ && push_gap(*dropped_from_, expected, nfr::kDropped, piece)) {
    forget_dropped();
  }
  const bool has_gap = piece.first_bit_time > expected;
  if (dropped_from_ || (has_gap && !push_gap(expected, piece.first_bit_time, 0, piece))) {
    drop(expected, end_of(piece));
    return;
  }
  if (push_bits(piece) == Lane::Pushed::kFull) {
    drop(piece.first_bit_time, end_of(piece));
  }
}

}  // namespace nearfield
