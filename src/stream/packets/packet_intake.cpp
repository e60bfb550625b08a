#include "stream/packets/packet_intake.hpp"

#include <algorithm>

#include "core/error.hpp"

namespace nearfield {
namespace {

constexpr std::uint64_t kLargestJump = std::uint64_t{1} << 40U;
/// Least distance ahead that counts as near, in packet lengths, if the ring hardly waits for reordered ones.
constexpr std::uint64_t kNearPackets = 16;

void add_one(std::atomic<std::uint64_t>& counter) { counter.fetch_add(1, std::memory_order_relaxed); }

std::uint64_t distance(std::uint64_t a, std::uint64_t b) { return std::min(a - b, b - a); }

}  // namespace

PacketIntake::PacketIntake(IngestRing& ring, const IntakeSettings& settings)
    : ring_(&ring),
      settings_(settings),
      expected_{ring.settings().kind, ring.settings().words_per_element, settings.require_crc} {
  settings_.max_jump_elements = std::min(settings_.max_jump_elements, kLargestJump);
  held_.reserve(kMaxPacketBytes);
}

bool PacketIntake::is_allowed(const IpAddress& address) const {
  const std::vector<Network>& networks = settings_.allowed_from;
  return networks.empty() || std::any_of(networks.begin(), networks.end(),
                                         [&](const Network& network) { return network.contains(address); });
}

void PacketIntake::take(std::span<const std::byte> datagram, const Arrival& arrival) {
  add_one(datagrams_);
  if (!is_allowed(arrival.from.address)) {
    add_one(not_allowed_);
    return;
  }
  const auto parsed = parse_packet(datagram, expected_);
  if (const auto* fault = std::get_if<PacketFault>(&parsed)) {
    add_one(faults_[static_cast<std::size_t>(*fault)]);
    return;
  }
  const auto& packet = std::get<Packet>(parsed);
  if (streaming_) {
    place(packet, arrival);
  } else if (begin(packet, arrival)) {
    store(packet.first_element, packet.payload, arrival.now_ns);
  } else {
    add_one(other_stream_);
  }
}

std::uint64_t PacketIntake::near_elements(const Packet& packet) const {
  return std::max(ring_->settings().reorder_elements, kNearPackets * packet.elements);
}

PacketIntake::Place PacketIntake::place_of(const Packet& packet) const {
  if (packet.stream_id != stream_id_) {
    return Place::kElsewhere;
  }
  const std::uint64_t newest = ring_->written_end();
  const std::uint64_t away = distance(packet.first_element, newest);
  if (away <= near_elements(packet)) {
    return Place::kNear;
  }
  if (away > settings_.max_jump_elements) {
    return Place::kFar;
  }
  return away == packet.first_element - newest ? Place::kAhead : Place::kBehind;
}

void PacketIntake::place(const Packet& packet, const Arrival& arrival) {
  const Place place = place_of(packet);
  if (place == Place::kElsewhere || arrival.from != peer_) {
    note_other(packet, arrival);
  }
  if (place == Place::kAhead) {
    confirm_or_hold(packet, arrival.now_ns);
    return;
  }
  const bool is_stored = place == Place::kNear || restart(packet, arrival) || place == Place::kBehind;
  if (is_stored) {
    store(packet.first_element, packet.payload, arrival.now_ns);
  } else {
    add_one(place == Place::kElsewhere ? other_stream_ : implausible_);
  }
}

/// Handles a packet that may follow a gap: packets with a corrupt number or from strangers have no adjacent packet.
void PacketIntake::confirm_or_hold(const Packet& packet, std::int64_t now_ns) {
  if (ahead_ && distance(packet.first_element, ahead_->next_element) <= near_elements(packet)) {
    const std::uint64_t first = ahead_->first_element;
    ahead_.reset();
    held_count_.store(0, std::memory_order_relaxed);
    store(first, held_, held_ns_);
    store(packet.first_element, packet.payload, now_ns);
    return;
  }
  drop_held();
  ahead_ = Candidate{packet.stream_id, packet.first_element, packet.first_element + packet.elements};
  held_.assign(packet.payload.begin(), packet.payload.end());
  held_ns_ = now_ns;
  held_count_.store(1, std::memory_order_relaxed);
}

void PacketIntake::drop_held() {
  if (ahead_) {
    ahead_.reset();
    held_count_.store(0, std::memory_order_relaxed);
    add_one(implausible_);
  }
}

bool PacketIntake::begin(const Packet& packet, const Arrival& arrival) {
  if (!ring_->begin_stream(packet.stream_id, packet.first_element)) {
    return false;
  }
  streaming_ = true;
  stream_id_ = packet.stream_id;
  peer_ = arrival.from;
  begun_ns_ = arrival.now_ns;
  newest_ns_ = arrival.now_ns;
  candidate_.reset();
  drop_held();
  sender_.write({.peer = arrival.from, .stream_id = packet.stream_id, .seen_ns = arrival.now_ns});
  return true;
}

bool PacketIntake::restart(const Packet& packet, const Arrival& arrival) {
  if (arrival.after_ns - newest_ns_ < settings_.takeover_after_ns ||
      arrival.now_ns - begun_ns_ < settings_.restart_hold_off_ns) {
    return false;
  }
  const bool is_confirmed =
      candidate_ && candidate_->stream_id == packet.stream_id && candidate_->next_element == packet.first_element;
  if (!is_confirmed || !begin(packet, arrival)) {
    candidate_ = Candidate{packet.stream_id, packet.first_element, packet.first_element + packet.elements};
    return false;
  }
  add_one(restarts_);
  return true;
}

void PacketIntake::store(std::uint64_t first_element, std::span<const std::byte> payload, std::int64_t now_ns) {
  const IngestRing::StoreResult result = ring_->store(first_element, payload, now_ns);
  if (result.stored > 0) {
    add_one(accepted_);
    newest_ns_ = now_ns;
    candidate_.reset();
    if (result.behind) {
      add_one(reordered_);
    } else {
      drop_held();
    }
  } else if (result.refused > 0) {
    add_one(refused_);
  } else {
    add_one(result.late > 0 ? late_ : duplicate_);
  }
}

void PacketIntake::note_other(const Packet& packet, const Arrival& arrival) {
  other_.write({.peer = arrival.from, .stream_id = packet.stream_id, .seen_ns = arrival.now_ns});
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
  counters.held = value(held_count_);
  counters.not_allowed = value(not_allowed_);
  std::transform(faults_.begin(), faults_.end(), counters.faults.begin(), value);
  counters.reordered = value(reordered_);
  counters.restarts = value(restarts_);
  return counters;
}

}  // namespace nearfield
