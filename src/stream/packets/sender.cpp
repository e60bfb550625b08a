#include "stream/packets/sender.hpp"

#include <fmt/format.h>

#include <cstring>

namespace nearfield {
namespace {

constexpr unsigned kIdShift = 32;

}  // namespace

std::string text_of(const Peer& peer) {
  const std::string address = text_of(peer.address);
  const bool is_v6 = address.find(':') != std::string::npos;
  return fmt::format("{}{}{}:{}", is_v6 ? "[" : "", address, is_v6 ? "]" : "", peer.port);
}

void SharedSender::write(const Sender& sender) {
  std::array<std::uint64_t, 2> address{};
  std::memcpy(address.data(), sender.peer.address.bytes.data(), sizeof address);
  const std::uint64_t version = version_.load(std::memory_order_relaxed);
  version_.store(version + 1, std::memory_order_relaxed);
  words_[0].store(address[0], std::memory_order_release);
  words_[1].store(address[1], std::memory_order_release);
  words_[2].store(std::uint64_t{sender.stream_id} << kIdShift | sender.peer.port, std::memory_order_release);
  words_[3].store(static_cast<std::uint64_t>(sender.seen_ns), std::memory_order_release);
  version_.store(version + 2, std::memory_order_release);
}

std::optional<Sender> SharedSender::read() const {
  std::array<std::uint64_t, kWords> words{};
  std::uint64_t version = 0;
  do {
    version = version_.load(std::memory_order_acquire);
    for (std::size_t i = 0; i < kWords; ++i) {
      words[i] = words_[i].load(std::memory_order_acquire);
    }
  } while (version % 2 != 0 || version != version_.load(std::memory_order_relaxed));
  if (version == 0) {
    return std::nullopt;
  }
  Sender sender;
  std::memcpy(sender.peer.address.bytes.data(), words.data(), sizeof sender.peer.address.bytes);
  sender.peer.port = static_cast<std::uint16_t>(words[2]);
  sender.stream_id = static_cast<std::uint32_t>(words[2] >> kIdShift);
  sender.seen_ns = static_cast<std::int64_t>(words[3]);
  return sender;
}

}  // namespace nearfield
