#include "stream/packet_intake.hpp"

#include <algorithm>

#include "nearfield/error.hpp"

namespace nearfield {
namespace {

constexpr std::uint64_t kLargestJump = std::uint64_t{1} << 40U;

void add_one(std::atomic<std::uint64_t>& counter) { counter.fetch_add(1, std::memory_order_relaxed); }

std::uint64_t distance(std::uint64_t a, std::uint64_t b) { return std::min(a - b, b - a); }

}  // namespace

PacketIntake::PacketIntake(IngestRing& ring, const IntakeSettings& settings)
    : ring_(&ring),
      settings_(settings),
      expected_{ring.settings().kind, ring.settings().words_per_element, settings.require_crc} {
  settings_.max_jump_elements = std::min(settings_.max_jump_elements, kLargestJump);
}

void PacketIntake::take(std::span<const std::byte> datagram, std::int64_t now_ns) {
  add_one(datagrams_);
  const auto parsed = parse_packet(datagram, expected_);
  if (const auto* fault = std::get_if<PacketFault>(&parsed)) {
    add_one(faults_[static_cast<std::size_t>(*fault)]);
    return;
  }
  const auto& packet = std::get<Packet>(parsed);
  if (belongs(packet)) {
    candidate_.reset();
  } else if (!(streaming_ ? restart(packet, now_ns) : begin(packet, now_ns))) {
    add_one(packet.stream_id == stream_id_ ? implausible_ : other_stream_);
    return;
  }
  store(packet, now_ns);
}

bool PacketIntake::belongs(const Packet& packet) const {
  return streaming_ && packet.stream_id == stream_id_ &&
         distance(packet.first_element, ring_->written_end()) <= settings_.max_jump_elements;
}

bool PacketIntake::begin(const Packet& packet, std::int64_t now_ns) {
  if (!ring_->begin_stream(packet.stream_id, packet.first_element)) {
    return false;
  }
  streaming_ = true;
  stream_id_ = packet.stream_id;
  begun_ns_ = now_ns;
  candidate_.reset();
  return true;
}

bool PacketIntake::may_begin(std::uint32_t stream_id, std::int64_t now_ns) const {
  if (stream_id == stream_id_) {
    return now_ns - begun_ns_ >= settings_.restart_hold_off_ns;
  }
  return std::none_of(left_.begin(), left_.end(),
                      [&](const Left& left) { return left.stream_id == stream_id && now_ns < left.until_ns; });
}

bool PacketIntake::restart(const Packet& packet, std::int64_t now_ns) {
  const bool confirmed =
      candidate_ && candidate_->stream_id == packet.stream_id && candidate_->next_element == packet.first_element;
  const std::uint32_t old_id = stream_id_;
  if (!confirmed || !may_begin(packet.stream_id, now_ns) || !begin(packet, now_ns)) {
    candidate_ = Candidate{packet.stream_id, packet.first_element + packet.elements};
    return false;
  }
  if (old_id != packet.stream_id) {
    left_[next_left_] = {old_id, now_ns + settings_.restart_hold_off_ns};
    next_left_ = (next_left_ + 1) % left_.size();
  }
  add_one(restarts_);
  return true;
}

void PacketIntake::store(const Packet& packet, std::int64_t now_ns) {
  const IngestRing::StoreResult result = ring_->store(packet.first_element, packet.payload, now_ns);
  if (result.stored > 0) {
    add_one(accepted_);
    if (result.behind) {
      add_one(reordered_);
    }
  } else if (result.refused > 0) {
    add_one(refused_);
  } else {
    add_one(result.late > 0 ? late_ : duplicate_);
  }
}

PacketCounters PacketIntake::counters() const {
  const auto value = [](const Counter& counter) { return counter.load(std::memory_order_relaxed); };
  PacketCounters counters;
  counters.datagrams = value(datagrams_);
  counters.accepted = value(accepted_);
  counters.duplicate = value(duplicate_);
  counters.late = value(late_);
  counters.refused = value(refused_);
  counters.other_stream = value(other_stream_);
  counters.implausible = value(implausible_);
  std::transform(faults_.begin(), faults_.end(), counters.faults.begin(), value);
  counters.reordered = value(reordered_);
  counters.restarts = value(restarts_);
  return counters;
}

}  // namespace nearfield
