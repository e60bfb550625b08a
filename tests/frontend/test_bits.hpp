#pragma once
#include <gtest/gtest.h>

#include <complex>
#include <cstdint>
#include <cstdlib>
#include <functional>
#include <random>
#include <string>
#include <vector>

#include "core/microphones.hpp"

namespace nearfield::test {

struct Array {
  int rows;
  int columns;
  WireLayout layout;
  [[nodiscard]] ArrayGeometry geometry() const { return {.rows = rows, .columns = columns}; }
  [[nodiscard]] std::size_t channels() const { return static_cast<std::size_t>(rows * columns); }
  [[nodiscard]] std::size_t wire_words() const {
    return static_cast<std::size_t>(words_per_bit_time(layout, geometry()));
  }
};

/// Usual sizes and odd ones.
inline std::vector<Array> arrays() {
  return {{32, 32, WireLayout::kSoramaCam}, {32, 32, WireLayout::kRowMajor}, {8, 8, WireLayout::kRowMajor},
          {16, 64, WireLayout::kRowMajor},  {12, 20, WireLayout::kRowMajor}, {5, 7, WireLayout::kRowMajor},
          {1, 1, WireLayout::kRowMajor}};
}

/// A new seed each run; NEARFIELD_TEST_SEED repeats one.
inline std::uint32_t fresh_seed() {
  const char* given = std::getenv("NEARFIELD_TEST_SEED");
  const std::uint32_t seed = given != nullptr ? static_cast<std::uint32_t>(std::stoul(given)) : std::random_device{}();
  std::printf("seed: NEARFIELD_TEST_SEED=%u\n", seed);
  return seed;
}

/// Random wire words [bit-time][word], spare bits random too.
inline std::vector<std::uint32_t> random_wire(const Array& array, std::size_t words, std::mt19937& generator) {
  std::vector<std::uint32_t> wire(words * kBitsPerWord * array.wire_words());
  for (std::uint32_t& word : wire) {
    word = static_cast<std::uint32_t>(generator());
  }
  return wire;
}

/// Wire words [bit-time][word] from bit(channel, bit-time), spare bits 0.
inline std::vector<std::uint32_t> make_wire(const Array& array, std::size_t words,
                                            const std::function<bool(std::size_t, std::size_t)>& bit) {
  const std::vector<int> wire_bits = wire_bit_of_channel(array.layout, array.geometry());
  std::vector<std::uint32_t> wire(words * kBitsPerWord * array.wire_words(), 0U);
  for (std::size_t channel = 0; channel < array.channels(); ++channel) {
    const auto wire_bit = static_cast<std::size_t>(wire_bits[channel]);
    for (std::size_t time = 0; time < words * kBitsPerWord; ++time) {
      const std::uint32_t value = bit(channel, time) ? 1U : 0U;
      wire[time * array.wire_words() + wire_bit / 32] |= value << (wire_bit % 32);
    }
  }
  return wire;
}

/// +1 or -1 of one channel at one bit-time of wire words that start at bit-time 0.
inline int sign_at(const Array& array, const std::vector<std::uint32_t>& wire, std::size_t wire_bit, std::size_t time) {
  return ((wire[time * array.wire_words() + wire_bit / 32] >> (wire_bit % 32)) & 1U) != 0 ? 1 : -1;
}

inline std::complex<double> widened(float value) { return {static_cast<double>(value), 0.0}; }
inline std::complex<double> widened(std::complex<float> value) { return std::complex<double>(value); }

/// ||found - expected|| / ||expected||; NaN stays NaN.
template <class Found, class Expected>
double relative_l2(const std::vector<Found>& found, const std::vector<Expected>& expected) {
  EXPECT_EQ(found.size(), expected.size());
  double difference = 0.0;
  double norm = 0.0;
  for (std::size_t i = 0; i < std::min(found.size(), expected.size()); ++i) {
    const std::complex<double> value(expected[i]);
    difference += std::norm(widened(found[i]) - value);
    norm += std::norm(value);
  }
  return std::sqrt(difference / norm);
}

/// The part of a wire recording from word `first` on, `count` words.
inline std::span<const std::uint32_t> words_of(const Array& array, const std::vector<std::uint32_t>& wire,
                                               std::size_t first, std::size_t count) {
  const std::size_t size = kBitsPerWord * array.wire_words();
  return std::span<const std::uint32_t>(wire).subspan(first * size, count * size);
}

}  // namespace nearfield::test
