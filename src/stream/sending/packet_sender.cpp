#include "stream/sending/packet_sender.hpp"

#include <fmt/format.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cmath>
#include <limits>
#include <vector>

#include "core/error.hpp"
#include "core/system/clocks.hpp"
#include "stream/packets/socket.hpp"
#include "stream/sources/playback.hpp"

namespace nearfield {
namespace {

constexpr std::size_t kMostFlips = 3;
constexpr std::size_t kByteBits = 8;

void check(const FaultRates& rates) {
  const std::array shares{rates.loss, rates.reorder, rates.duplicate, rates.truncate, rates.flip};
  double sum = 0.0;
  for (const double share : shares) {
    sum += share;
    if (!(share >= 0.0 && share <= 1.0)) {
      throw ConfigError(fmt::format("faults: expected shares of 0 to 1, found {}", share));
    }
  }
  if (sum > 1.0) {
    throw ConfigError(fmt::format("faults: expected shares whose sum is at most 1, found {}", sum));
  }
  if (rates.reorder_packets == 0) {
    throw ConfigError("faults: expected reordering by at least 1 packet, found 0");
  }
}

}  // namespace

FaultInjector::FaultInjector(const FaultRates& rates, Send send)
    : rates_(rates), send_(std::move(send)), generator_(rates.seed) {
  check(rates_);
}

std::size_t FaultInjector::below(std::size_t limit) {
  return std::uniform_int_distribution<std::size_t>(0, limit - 1)(generator_);
}

void FaultInjector::push(std::span<const std::byte> packet) {
  ++counts_.packets;
  double draw = std::uniform_real_distribution<double>(0.0, 1.0)(generator_);
  const auto strikes = [&draw](double share) {
    const bool struck = draw < share;
    draw -= share;
    return struck;
  };
  if (strikes(rates_.loss)) {
    ++counts_.lost;
  } else if (strikes(rates_.reorder)) {
    held_.push_back({{packet.begin(), packet.end()}, 1 + below(rates_.reorder_packets)});
  } else if (strikes(rates_.duplicate)) {
    ++counts_.duplicated;
    send_(packet);
    pass(packet);
  } else if (strikes(rates_.truncate)) {
    send_truncated(packet);
  } else if (strikes(rates_.flip)) {
    send_flipped(packet);
  } else {
    pass(packet);
  }
}

void FaultInjector::push_intact(std::span<const std::byte> packet) {
  ++counts_.packets;
  release(true);
  send_(packet);
}

/// Sends a sound packet, and after it the held packets that waited for it.
void FaultInjector::pass(std::span<const std::byte> packet) {
  send_(packet);
  for (Held& held : held_) {
    held.overtaken = true;
    --held.remaining;
  }
  release(false);
}

void FaultInjector::release(bool all) {
  const auto due = [all](const Held& held) { return all || held.remaining == 0; };
  for (const Held& held : held_) {
    if (due(held)) {
      counts_.reordered += held.overtaken ? 1 : 0;
      send_(held.packet);
    }
  }
  std::erase_if(held_, due);
}

void FaultInjector::send_truncated(std::span<const std::byte> packet) {
  ++counts_.truncated;
  send_(packet.first(below(packet.size())));
}

void FaultInjector::send_flipped(std::span<const std::byte> packet) {
  ++counts_.flipped;
  std::vector<std::byte> flipped(packet.begin(), packet.end());
  const std::size_t flips = 1 + below(kMostFlips);
  std::vector<std::size_t> places;
  while (places.size() < flips) {
    const std::size_t place = below(packet.size() * kByteBits);
    if (std::find(places.begin(), places.end(), place) == places.end()) {
      places.push_back(place);
      flipped[place / kByteBits] ^= std::byte{1} << (place % kByteBits);
    }
  }
  send_(flipped);
}

namespace {

constexpr std::size_t kMostPerBatch = 16;
/// Datagrams that fit into this time are sent together. An array sends each when its last bit is there: if several
/// waited for each other, frames would be older than an array's, and shorter hops would come in bursts.
constexpr double kBatch_s = 50e-6;
constexpr std::uint64_t kSendBufferBytes = std::uint64_t{4} << 20U;

/// Datagrams passed to the kernel together.
class Outbox {
 public:
  explicit Outbox(const std::string& to) : socket_(datagram_socket(endpoint_of(to))), buffers_(kMostPerBatch * 2) {
    const Endpoint endpoint = endpoint_of(to);
    enlarge_buffer(socket_, SO_SNDBUF, SO_SNDBUFFORCE, kSendBufferBytes);
    if (connect(socket_.get(), endpoint.raw(), endpoint.length) != 0) {
      throw IoError(system_error(fmt::format("udp: sending to {}", to)));
    }
    for (auto& buffer : buffers_) {
      buffer.reserve(kMaxPacketBytes);
    }
  }

  void add(std::span<const std::byte> datagram) {
    if (used_ == buffers_.size()) {
      flush();
    }
    buffers_[used_++].assign(datagram.begin(), datagram.end());
  }

  void flush() {
    std::vector<iovec> vectors(used_);
    std::vector<mmsghdr> messages(used_);
    for (std::size_t i = 0; i < used_; ++i) {
      vectors[i] = {buffers_[i].data(), buffers_[i].size()};
      messages[i].msg_hdr.msg_iov = &vectors[i];
      messages[i].msg_hdr.msg_iovlen = 1;
      bytes_ += buffers_[i].size();
    }
    for (std::size_t sent = 0; sent < used_;) {
      const int count = sendmmsg(socket_.get(), messages.data() + sent, static_cast<unsigned>(used_ - sent), 0);
      if (count > 0) {
        sent += static_cast<std::size_t>(count);
      } else if (errno == ECONNREFUSED) {  // from an earlier datagram; this one was not sent yet
        ++refused_;
      } else if (errno != EINTR) {
        throw IoError(system_error("udp: sending"));
      }
    }
    datagrams_ += used_;
    used_ = 0;
  }

  void report(SendReport& report) const {
    report.datagrams = datagrams_;
    report.bytes = bytes_;
    report.refused = refused_;
  }

 private:
  FileDescriptor socket_;
  std::vector<std::vector<std::byte>> buffers_;
  std::size_t used_ = 0;
  std::uint64_t datagrams_ = 0;
  std::uint64_t bytes_ = 0;
  std::uint64_t refused_ = 0;
};

std::size_t most_per_packet(const Playback& playback) {
  return std::min<std::size_t>(max_elements_per_packet(playback.words_per_element()),
                               std::numeric_limits<std::uint16_t>::max());
}

SendSettings with_packet_size(const Playback& playback, SendSettings settings) {
  if (settings.elements_per_packet == 0) {
    settings.elements_per_packet = std::min(std::size_t{256}, most_per_packet(playback));
  }
  return settings;
}

void check(const Playback& playback, const SendSettings& settings) {
  const std::size_t most = most_per_packet(playback);
  if (settings.elements_per_packet == 0 || settings.elements_per_packet > most) {
    throw ConfigError(fmt::format("a packet: expected 1 to {} of {} words, found {}", most,
                                  playback.words_per_element(), settings.elements_per_packet));
  }
  if (!(settings.rate > 0.0) || !std::isfinite(settings.rate)) {
    throw ConfigError(fmt::format("rate: expected a number > 0, found {}", settings.rate));
  }
  if (!(settings.duration_s >= 0.0)) {
    throw ConfigError(fmt::format("duration: expected seconds >= 0, found {}", settings.duration_s));
  }
}

std::uint64_t elements_to_send(const Playback& playback, const SendSettings& settings) {
  const std::uint64_t all = settings.loop ? std::numeric_limits<std::uint64_t>::max() : playback.elements();
  if (settings.duration_s == 0.0) {
    return all;
  }
  constexpr double kMost = 1e15;  // decades; exact as a double
  return std::min(all, static_cast<std::uint64_t>(std::min(settings.duration_s * playback.rate_hz(), kMost)));
}

bool wait_until_due(const Pacer& pacer, std::uint64_t end, const std::function<bool()>& stop) {
  while (!pacer.wait_for(end)) {
    if (stop()) {
      return false;
    }
  }
  return true;
}

std::uint64_t elements_per_batch(const Playback& playback, const SendSettings& settings) {
  const double packets =
      playback.rate_hz() * settings.rate * kBatch_s / static_cast<double>(settings.elements_per_packet);
  const double most = static_cast<double>(kMostPerBatch);
  return settings.elements_per_packet *
         static_cast<std::uint64_t>(settings.fast ? most : std::clamp(packets, 1.0, most));
}

/// Cuts elements into packets and sends them.
class Packetizer {
 public:
  Packetizer(const Playback& playback, const SendSettings& settings, FaultInjector& faults)
      : playback_(&playback), settings_(&settings), faults_(&faults), packet_(kMaxPacketBytes) {}

  void send(std::uint64_t first, std::uint64_t end) {
    while (first < end) {
      const std::uint64_t count = std::min<std::uint64_t>(settings_->elements_per_packet, end - first);
      words_.resize(count * playback_->words_per_element());
      playback_->read(first, words_);
      const Packet packet{.stream_id = settings_->stream_id,
                          .kind = playback_->kind(),
                          .first_element = settings_->first_element + first,
                          .elements = static_cast<std::uint16_t>(count),
                          .words_per_element = static_cast<std::uint16_t>(playback_->words_per_element()),
                          .has_crc = settings_->crc,
                          .payload = std::as_bytes(std::span(words_))};
      faults_->push(std::span(packet_).first(write_packet(packet, packet_)));
      first += count;
    }
  }

 private:
  const Playback* playback_;
  const SendSettings* settings_;
  FaultInjector* faults_;
  std::vector<std::uint32_t> words_;
  std::vector<std::byte> packet_;
};

}  // namespace

SendReport send_packets(const Playback& playback, const SendSettings& given, const std::function<bool()>& stop) {
  const SendSettings settings = with_packet_size(playback, given);
  check(playback, settings);
  Outbox outbox(settings.to);
  FaultInjector faults(settings.faults, [&outbox](std::span<const std::byte> packet) { outbox.add(packet); });
  Packetizer packetizer(playback, settings, faults);
  const std::uint64_t all = elements_to_send(playback, settings);
  const std::uint64_t batch = elements_per_batch(playback, settings);
  Pacer::sleep_precisely();
  const std::int64_t start_ns = monotonic_ns();
  const Pacer pacer(playback.rate_hz() * settings.rate);
  SendReport report;
  while (report.elements < all && !stop()) {
    const std::uint64_t end = report.elements + std::min(batch, all - report.elements);
    if (!settings.fast && !wait_until_due(pacer, end, stop)) {
      break;
    }
    packetizer.send(report.elements, end);
    outbox.flush();
    report.elements = end;
  }
  faults.flush();
  outbox.flush();
  outbox.report(report);
  report.elapsed_s = static_cast<double>(monotonic_ns() - start_ns) * kSecondsPerNs;
  report.faults = faults.counts();
  return report;
}

}  // namespace nearfield
