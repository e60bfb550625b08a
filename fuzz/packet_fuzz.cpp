#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <span>
#include <vector>

#include "stream/packets/packet_intake.hpp"
#include "stream/source.hpp"

namespace {

using nearfield::PayloadKind;

/// What must hold whatever the input was.
void require(bool holds) {
  if (!holds) {
    std::abort();
  }
}

void check_counters(const nearfield::PacketIntake& intake, const nearfield::IngestRing& ring) {
  const nearfield::PacketCounters packets = intake.counters();
  std::uint64_t sum = packets.accepted + packets.duplicate + packets.late + packets.refused + packets.other_stream +
                      packets.implausible + packets.held + packets.not_allowed;
  for (const std::uint64_t faults : packets.faults) {
    sum += faults;
  }
  require(sum == packets.datagrams);
  const nearfield::RingCounters c = ring.counters();
  require(c.received == c.delivered + c.overrun + c.skipped + c.abandoned + c.pending);
  require(c.taken == c.delivered + c.missing);
}

/// A reader between the datagrams: it takes what is ready, and skips what would be too much.
void read_some(nearfield::IngestRing& ring, std::uint64_t& next, std::vector<std::uint32_t>& words) {
  const std::uint64_t count = words.size() / ring.settings().words_per_element;
  if (ring.wait_for_stream(0)) {
    next = ring.accept_stream().first_element;
  }
  const std::uint64_t available = ring.available_end() - next;
  if (available > 4 * ring.settings().elements) {
    next += available - count;
  }
  while (ring.wait_for(next + count, 0) == nearfield::WaitResult::kReady) {
    ring.take(next, words);
    next += count;
  }
}

}  // namespace

/// Input: byte 0 is the expected payload kind, byte 1 the words, byte 2 whether a CRC is required; then datagrams, each
/// with its length in two bytes before it, little-endian, and a byte that says how much later (in 64 ms) it comes.
// NOLINTNEXTLINE(readability-identifier-naming): libFuzzer's name
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  constexpr std::size_t kPreamble = 3;
  constexpr std::size_t kBeforeDatagram = 3;
  constexpr std::int64_t kTickNs = 64'000'000;
  if (size < kPreamble) {
    return 0;
  }
  nearfield::IngestRing ring({.kind = (data[0] & 1U) != 0 ? PayloadKind::kSamples : PayloadKind::kBits,
                              .words_per_element = 1U + data[1] % 32U,
                              .elements = 256,
                              .reorder_elements = 32});
  nearfield::PacketIntake intake(
      ring, nearfield::intake_settings({.require_crc = (data[2] & 1U) != 0, .max_jump_bit_times = 4096}));
  std::vector<std::uint32_t> words(16 * ring.settings().words_per_element);
  std::uint64_t next = 0;
  std::int64_t now_ns = 1;
  std::span rest(data + kPreamble, size - kPreamble);
  while (rest.size() >= kBeforeDatagram) {
    const std::size_t length = std::min<std::size_t>(rest[0] + 256U * rest[1], rest.size() - kBeforeDatagram);
    now_ns += rest[2] * kTickNs;
    // A copy of exactly that length: the address sanitizer sees what reads beyond it.
    const auto bytes = std::as_bytes(rest.subspan(kBeforeDatagram, length));
    const std::vector<std::byte> datagram(bytes.begin(), bytes.end());
    intake.take(datagram, {.from = {}, .after_ns = now_ns, .now_ns = now_ns});
    if (intake.counters().accepted > 0) {
      read_some(ring, next, words);
    }
    rest = rest.subspan(kBeforeDatagram + length);
  }
  check_counters(intake, ring);
  return 0;
}
