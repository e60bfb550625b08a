#include "stream/packets/packet.hpp"

#include <gtest/gtest.h>

#include <cstring>

#include "core/error.hpp"
#include "stream/stream_support.hpp"

namespace nearfield {
namespace {

using test::make_packet;

/// One bit-time of one word, written down from the table, byte by byte.
TEST(Packet, LiesInMemoryAsTheTableSays) {
  const std::uint32_t word = 0x04030201U;
  const Packet packet{.stream_id = 0x11223344U,
                      .kind = PayloadKind::kSamples,
                      .first_element = 0x0102030405060708U,
                      .elements = 1,
                      .words_per_element = 1,
                      .has_crc = false,
                      .payload = std::as_bytes(std::span(&word, 1))};
  std::vector<std::byte> bytes(36);
  ASSERT_EQ(write_packet(packet, bytes), 36U);
  const std::vector<unsigned> expected{'N', 'F', 'B', '1', 1, 0, 32, 0, 0x44, 0x33, 0x22, 0x11, 0, 1, 0, 0, 8, 7,
                                       6,   5,   4,   3,   2, 1, 1,  0, 1,    0,    0,    0,    0, 0, 1, 2, 3, 4};
  for (std::size_t i = 0; i < expected.size(); ++i) {
    EXPECT_EQ(std::to_integer<unsigned>(bytes[i]), expected[i]) << "byte " << i;
  }
}

TEST(Packet, ComesBackAsWritten) {
  const auto bytes = make_packet(7, 1'000'001, 5, 3);
  const auto parsed = parse_packet(bytes, {.words_per_element = 3, .require_crc = true});
  const auto* packet = std::get_if<Packet>(&parsed);
  ASSERT_NE(packet, nullptr);
  EXPECT_EQ(packet->stream_id, 7U);
  EXPECT_EQ(packet->first_element, 1'000'001U);
  EXPECT_EQ(packet->elements, 5);
  EXPECT_TRUE(packet->has_crc);
  const auto words = test::source_words(1'000'001, 5, 3, 7);
  ASSERT_EQ(packet->payload.size(), words.size() * 4);
  EXPECT_EQ(std::memcmp(packet->payload.data(), words.data(), packet->payload.size()), 0);
}

TEST(Packet, LargestFits) {
  EXPECT_EQ(max_elements_per_packet(32), 511U);
  EXPECT_EQ(max_elements_per_packet(4096), 3U);
  EXPECT_LE(make_packet(1, 0, 511, 32).size(), kMaxPacketBytes);
  std::vector<std::byte> bytes(100);
  const std::uint32_t word = 0;
  EXPECT_THROW(
      write_packet({.elements = 2, .words_per_element = 1, .payload = std::as_bytes(std::span(&word, 1))}, bytes),
      Error);
}

struct Spoiled {
  const char* what;
  std::size_t offset;
  std::uint8_t change;
  PacketFault without_crc;
  PacketFault with_crc;
};

/// A field that is wrong, alone, and with the CRC of a packet that was right.
TEST(Packet, EachFaultHasItsCause) {
  const std::vector<Spoiled> cases{
      {"magic", 3, 0x01, PacketFault::kForeign, PacketFault::kForeign},
      {"version", 4, 0x02, PacketFault::kVersion, PacketFault::kVersion},
      {"header bytes", 6, 0x40, PacketFault::kVersion, PacketFault::kVersion},
      {"bit-times", 24, 0x01, PacketFault::kLength, PacketFault::kLength},
      {"words", 26, 0x10, PacketFault::kLength, PacketFault::kLength},
      {"kind", 13, 0x01, PacketFault::kKind, PacketFault::kCrc},
      {"unknown kind", 13, 0x08, PacketFault::kKind, PacketFault::kCrc},
      {"unknown flag", 12, 0x80, PacketFault::kKind, PacketFault::kCrc},
      {"crc flag", 12, 0x01, PacketFault::kCrc, PacketFault::kCrc},
      {"crc", 28, 0x01, PacketFault::kCrc, PacketFault::kCrc},
  };
  for (const Spoiled& spoiled : cases) {
    for (const bool crc : {false, true}) {
      auto bytes = make_packet(1, 0, 4, 2, crc);
      bytes[spoiled.offset] ^= std::byte{spoiled.change};
      const auto parsed = parse_packet(bytes, {.words_per_element = 2});
      ASSERT_TRUE(std::holds_alternative<PacketFault>(parsed)) << spoiled.what << crc;
      EXPECT_EQ(std::get<PacketFault>(parsed), crc ? spoiled.with_crc : spoiled.without_crc) << spoiled.what << crc;
    }
  }
}

TEST(Packet, EveryInvertedBitIsFoundWithCrc) {
  const auto sound = make_packet(1, 99, 4, 2);
  ASSERT_TRUE(std::holds_alternative<Packet>(parse_packet(sound, {.words_per_element = 2})));
  for (std::size_t bit = 0; bit < sound.size() * 8; ++bit) {
    auto bytes = sound;
    bytes[bit / 8] ^= std::byte{1} << (bit % 8);
    EXPECT_TRUE(std::holds_alternative<PacketFault>(parse_packet(bytes, {.words_per_element = 2}))) << "bit " << bit;
  }
}

TEST(Packet, EveryCutIsALength) {
  const auto sound = make_packet(1, 99, 4, 2);
  for (std::size_t length = 0; length < sound.size(); ++length) {
    EXPECT_EQ(std::get<PacketFault>(parse_packet(std::span(sound).first(length), {.words_per_element = 2})),
              PacketFault::kLength)
        << length;
  }
  auto longer = sound;
  longer.push_back(std::byte{0});
  EXPECT_EQ(std::get<PacketFault>(parse_packet(longer, {.words_per_element = 2})), PacketFault::kLength);
}

TEST(Packet, WrongWordsAndMissingCrcAreRefused) {
  const auto without = make_packet(1, 0, 4, 2, false);
  EXPECT_EQ(std::get<PacketFault>(parse_packet(without, {.words_per_element = 4})), PacketFault::kWords);
  EXPECT_TRUE(std::holds_alternative<Packet>(parse_packet(without, {.words_per_element = 2})));
  EXPECT_EQ(std::get<PacketFault>(parse_packet(without, {.words_per_element = 2, .require_crc = true})),
            PacketFault::kCrc);
}

}  // namespace
}  // namespace nearfield
