#include "recording/bits_lane.hpp"

#include <fmt/format.h>

#include <limits>

#include "core/error.hpp"

namespace nearfield {
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

void BitsLane::push(const BitsPiece& piece) {
  const bool restarts =
      last_end_bit_time_ && (piece.stream_id != stream_id_ || piece.first_bit_time < *last_end_bit_time_);
  restarts_.fetch_add(restarts ? 1 : 0, std::memory_order_relaxed);
  stream_id_ = piece.stream_id;
  last_end_bit_time_ = end_of(piece);
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
