#include "recording/lane.hpp"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <thread>

#include "core/crc32c.hpp"

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

}  // namespace nearfield
