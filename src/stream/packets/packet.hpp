#pragma once
#include <cstddef>
#include <cstdint>
#include <span>
#include <variant>

namespace nearfield {

/// Type of a stream's elements. An element is all that its microphones deliver at one moment.
enum class PayloadKind : std::uint8_t {
  kBits = 0,     ///< one bit-time of wire words, see core/microphones.hpp
  kSamples = 1,  ///< one decimated sample of every channel, float32 pascal, channel = row * columns + column
};

/// Format of packets "NFB1", little-endian; docs/reference/packets.md has the table.
inline constexpr std::size_t kPacketHeaderBytes = 32;
inline constexpr std::size_t kMaxPacketBytes = 65'507;  ///< limit of UDP over IPv4
inline constexpr std::uint32_t kPacketMagic = 0x3142464EU;
inline constexpr std::uint16_t kPacketVersion = 1;
inline constexpr std::uint32_t kPacketHasCrc = 1;
inline constexpr int kPacketKindShift = 8;  ///< bits 8 to 11 of the flags hold the payload kind

/// Parsed contents of a packet. `payload` is [element][word], not aligned to words.
struct Packet {
  std::uint32_t stream_id = 0;
  PayloadKind kind = PayloadKind::kBits;
  std::uint64_t first_element = 0;  ///< bit-time, or number of the decimated sample
  std::uint16_t elements = 0;
  std::uint16_t words_per_element = 0;
  bool has_crc = false;
  std::span<const std::byte> payload;
};

/// Reason to refuse a packet, in the order of the checks: a packet with several faults counts for the first.
enum class PacketFault {
  kForeign,  ///< other magic
  kVersion,  ///< other version or header length
  kLength,   ///< length differs from its header's, no elements, or more than 65,507 bytes
  kCrc,      ///< wrong CRC; or none though the settings require it, or its field is not 0
  kKind,     ///< unknown payload kind or flags, or not the expected kind
  kWords,    ///< not the expected words per element
};
inline constexpr std::size_t kPacketFaults = 6;

/// Required properties of a stream's packets.
struct PacketExpectation {
  PayloadKind kind = PayloadKind::kBits;
  std::size_t words_per_element = 32;
  bool require_crc = false;
};

/// Parses a packet. Never throws and never reads beyond `bytes`; the payload is a view into them.
std::variant<Packet, PacketFault> parse_packet(std::span<const std::byte> bytes, const PacketExpectation& expected);

/// Most elements per packet; at least 1 for any array up to 64 x 64.
std::size_t max_elements_per_packet(std::size_t words_per_element);

/// Writes header, payload and, if `packet.has_crc`, the CRC to the front of `bytes`; returns the total length. Throws
/// an internal error if the payload is not elements x words long or does not fit.
std::size_t write_packet(const Packet& packet, std::span<std::byte> bytes);

}  // namespace nearfield
