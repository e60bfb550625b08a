#include "frontend/common/bit_ring.hpp"

#include "core/error.hpp"
#include "frontend/test_bits.hpp"

namespace nearfield {
namespace {

using test::Array;

constexpr std::uint32_t kPoison = 0xDEADBEEFU;

/// 32 bits of one channel from the wire, by the layout's own inverse table.
std::uint32_t packed_word(const Array& array, const std::vector<std::uint32_t>& wire, std::size_t wire_bit,
                          std::size_t word) {
  std::uint32_t packed = 0;
  for (std::size_t bit = 0; bit < 32; ++bit) {
    packed |= (test::sign_at(array, wire, wire_bit, word * 32 + bit) > 0 ? 1U : 0U) << bit;
  }
  return packed;
}

class BitRingOfArray : public ::testing::TestWithParam<Array> {};

// Appends of uneven lengths that wrap around twice; a slot that an append does not name keeps what it had.
TEST_P(BitRingOfArray, TurnsEveryBitExactly) {
  const Array array = GetParam();
  const ocl::Device device = ocl::Device::open({});
  std::mt19937 generator(test::fresh_seed());
  constexpr std::size_t kCapacity = 13;
  BitRing ring(device, array.layout, array.geometry(), kCapacity, 7);
  device.enqueue_fill(ring.packed(), kPoison, "test");
  const std::vector<int> wire_bits = wire_bit_of_channel(array.layout, array.geometry());
  std::vector<std::uint32_t> expected(kCapacity * array.channels(), kPoison);
  std::uint64_t first_word = 3;
  for (const std::size_t words : {1U, 7U, 2U, 5U, 6U, 7U}) {
    const std::vector<std::uint32_t> wire = test::random_wire(array, words, generator);
    ring.enqueue_append(first_word, wire);
    device.wait();
    for (std::size_t word = 0; word < words; ++word) {
      for (std::size_t channel = 0; channel < array.channels(); ++channel) {
        expected[(first_word + word) % kCapacity * array.channels() + channel] =
            packed_word(array, wire, static_cast<std::size_t>(wire_bits[channel]), word);
      }
    }
    ASSERT_EQ(device.download(ring.packed(), "test"), expected) << "after " << words << " words at " << first_word;
    first_word += words;
  }
}

INSTANTIATE_TEST_SUITE_P(Arrays, BitRingOfArray, ::testing::ValuesIn(test::arrays()));

TEST(BitRing, StartsSilentAndTellsGaps) {
  const ocl::Device device = ocl::Device::open({});
  const Array array{5, 7, WireLayout::kRowMajor};
  BitRing ring(device, array.layout, array.geometry(), 8, 4);
  EXPECT_EQ(device.download(ring.packed(), "test"), std::vector<std::uint32_t>(8 * 35, kPackedSilence));
  std::mt19937 generator(1);
  const auto wire = test::random_wire(array, 4, generator);
  EXPECT_FALSE(ring.enqueue_append(0, wire));
  EXPECT_TRUE(ring.enqueue_append(4, wire));
  EXPECT_TRUE(ring.span().holds(0, 8));
  EXPECT_FALSE(ring.enqueue_append(100, wire));
  EXPECT_FALSE(ring.span().holds(7, 1));
  EXPECT_TRUE(ring.span().holds(100, 4));
  EXPECT_FALSE(ring.span().holds(101, 4));
  device.wait();
}

TEST(BitRing, RefusesWrongAmounts) {
  const ocl::Device device = ocl::Device::open({});
  const Array array{5, 7, WireLayout::kRowMajor};
  BitRing ring(device, array.layout, array.geometry(), 8, 4);
  for (const std::size_t count : {std::size_t{0}, std::size_t{1}, std::size_t{63}, std::size_t{64 * 5}}) {
    EXPECT_THROW(ring.enqueue_append(0, std::vector<std::uint32_t>(count)), Error) << count;
  }
  EXPECT_THROW(BitRing(device, WireLayout::kSoramaCam, array.geometry(), 8, 4), ConfigError);
  EXPECT_THROW(BitRing(device, array.layout, array.geometry(), 3, 4), Error);
}

}  // namespace
}  // namespace nearfield
