#include "stream/packets/packet.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>

#include "core/crc32c.hpp"
#include "core/error.hpp"

namespace nearfield {
namespace {

static_assert(std::endian::native == std::endian::little, "packets are read as they lie in memory");

// Offsets of the header's fields.
constexpr std::size_t kMagicAt = 0;
constexpr std::size_t kVersionAt = 4;
constexpr std::size_t kHeaderBytesAt = 6;
constexpr std::size_t kStreamIdAt = 8;
constexpr std::size_t kFlagsAt = 12;
constexpr std::size_t kFirstElementAt = 16;
constexpr std::size_t kElementsAt = 24;
constexpr std::size_t kWordsAt = 26;
constexpr std::size_t kCrcAt = 28;

constexpr std::size_t kWordBytes = 4;
constexpr std::uint32_t kKindMask = 0xFU << kPacketKindShift;

template <typename T>
T get(std::span<const std::byte> bytes, std::size_t offset) {
  T value;
  std::memcpy(&value, bytes.data() + offset, sizeof(T));
  return value;
}

template <typename T>
void put(std::span<std::byte> bytes, std::size_t offset, T value) {
  std::memcpy(bytes.data() + offset, &value, sizeof(T));
}

/// CRC over the header, with its CRC field 0, and the payload.
std::uint32_t packet_crc(std::span<const std::byte> bytes) {
  std::array<std::byte, kPacketHeaderBytes> header;
  std::copy_n(bytes.begin(), kPacketHeaderBytes, header.begin());
  put<std::uint32_t>(header, kCrcAt, 0);
  return crc32c(bytes.subspan(kPacketHeaderBytes), crc32c(header));
}

bool crc_holds(std::span<const std::byte> bytes, const PacketExpectation& expected) {
  const auto found = get<std::uint32_t>(bytes, kCrcAt);
  if ((get<std::uint32_t>(bytes, kFlagsAt) & kPacketHasCrc) == 0) {
    return found == 0 && !expected.require_crc;
  }
  return found == packet_crc(bytes);
}

bool magic_holds(std::span<const std::byte> bytes) {
  std::array<std::byte, sizeof kPacketMagic> magic;
  std::memcpy(magic.data(), &kPacketMagic, sizeof kPacketMagic);
  const std::size_t there = std::min(bytes.size(), magic.size());
  return std::equal(magic.begin(), magic.begin() + static_cast<std::ptrdiff_t>(there), bytes.begin());
}

bool length_holds(std::span<const std::byte> bytes) {
  const std::size_t elements = get<std::uint16_t>(bytes, kElementsAt);
  const std::size_t words = get<std::uint16_t>(bytes, kWordsAt);
  return elements > 0 && bytes.size() <= kMaxPacketBytes &&
         bytes.size() == kPacketHeaderBytes + elements * words * kWordBytes;
}

}  // namespace

std::variant<Packet, PacketFault> parse_packet(std::span<const std::byte> bytes, const PacketExpectation& expected) {
  if (!magic_holds(bytes)) {
    return PacketFault::kForeign;
  }
  if (bytes.size() < kPacketHeaderBytes) {
    return PacketFault::kLength;
  }
  if (get<std::uint16_t>(bytes, kVersionAt) != kPacketVersion ||
      get<std::uint16_t>(bytes, kHeaderBytesAt) != kPacketHeaderBytes) {
    return PacketFault::kVersion;
  }
  if (!length_holds(bytes)) {
    return PacketFault::kLength;
  }
  if (!crc_holds(bytes, expected)) {
    return PacketFault::kCrc;
  }
  const auto flags = get<std::uint32_t>(bytes, kFlagsAt);
  if ((flags & ~kPacketHasCrc) != static_cast<std::uint32_t>(expected.kind) << kPacketKindShift) {
    return PacketFault::kKind;
  }
  Packet packet;
  packet.stream_id = get<std::uint32_t>(bytes, kStreamIdAt);
  packet.kind = expected.kind;
  packet.first_element = get<std::uint64_t>(bytes, kFirstElementAt);
  packet.elements = get<std::uint16_t>(bytes, kElementsAt);
  packet.words_per_element = get<std::uint16_t>(bytes, kWordsAt);
  packet.has_crc = (flags & kPacketHasCrc) != 0;
  packet.payload = bytes.subspan(kPacketHeaderBytes);
  if (packet.words_per_element != expected.words_per_element) {
    return PacketFault::kWords;
  }
  return packet;
}

std::size_t max_elements_per_packet(std::size_t words_per_element) {
  return (kMaxPacketBytes - kPacketHeaderBytes) / (words_per_element * kWordBytes);
}

std::size_t write_packet(const Packet& packet, std::span<std::byte> bytes) {
  const std::size_t length = kPacketHeaderBytes + packet.payload.size();
  if (packet.elements == 0 || length > kMaxPacketBytes || length > bytes.size() ||
      packet.payload.size() != std::size_t{packet.elements} * packet.words_per_element * kWordBytes) {
    throw Error(ExitCode::kInternal,
                fmt::format("packet: expected {} x {} words of payload that fit {} bytes, found {} bytes",
                            packet.elements, packet.words_per_element, bytes.size(), packet.payload.size()));
  }
  const std::uint32_t kind = static_cast<std::uint32_t>(packet.kind) << kPacketKindShift & kKindMask;
  put(bytes, kMagicAt, kPacketMagic);
  put(bytes, kVersionAt, kPacketVersion);
  put(bytes, kHeaderBytesAt, static_cast<std::uint16_t>(kPacketHeaderBytes));
  put(bytes, kStreamIdAt, packet.stream_id);
  put(bytes, kFlagsAt, kind | (packet.has_crc ? kPacketHasCrc : 0));
  put(bytes, kFirstElementAt, packet.first_element);
  put(bytes, kElementsAt, packet.elements);
  put(bytes, kWordsAt, packet.words_per_element);
  put<std::uint32_t>(bytes, kCrcAt, 0);
  std::copy(packet.payload.begin(), packet.payload.end(), bytes.begin() + kPacketHeaderBytes);
  if (packet.has_crc) {
    put(bytes, kCrcAt, packet_crc(bytes.first(length)));
  }
  return length;
}

}  // namespace nearfield
