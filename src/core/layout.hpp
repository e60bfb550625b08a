#pragma once
#include <cstdint>
#include <string_view>
#include <vector>

#include "core/geometry.hpp"

namespace nearfield {

/// Order of the microphones' bits of one bit-time within 32-bit little-endian words.
enum class WireLayout {
  kSoramaCam,  ///< 32 x 32 only; 16 sub-arrays of 8 x 8, two words each (thesis, appendix B)
  kRowMajor,   ///< channel = row * columns + column, or a line of array.positions, 32 a word, least significant bit
               ///< first
};

/// Marks a wire bit that belongs to no microphone.
inline constexpr int kSpareBit = -1;

std::string_view name_of(WireLayout layout);
/// Throws ConfigError on an unknown name.
WireLayout wire_layout_of(std::string_view name);

/// Number of 32-bit words per bit-time. Throws ConfigError when the layout does not fit the geometry.
int words_per_bit_time(WireLayout layout, const ArrayGeometry& geometry);

/// [word * 32 + bit] -> channel (row * columns + column) or kSpareBit. If positions were given, the layout's channels
/// are in the order of the positions. Throws ConfigError when the layout does not fit the geometry.
std::vector<int> channel_of_wire_bit(WireLayout layout, const ArrayGeometry& geometry);

/// The inverse: [channel] -> word * 32 + bit.
std::vector<int> wire_bit_of_channel(WireLayout layout, const ArrayGeometry& geometry);

/// Value of every word of bit-time t when nothing is known: all ones for odd t, else zero.
constexpr std::uint32_t silence_word(std::uint64_t bit_time) { return (bit_time & 1U) != 0 ? 0xFFFFFFFFU : 0U; }

/// Silence of one microphone in a packed word of 32 bit-times, first bit-time in the least significant bit.
inline constexpr std::uint32_t kPackedSilence = 0xAAAAAAAAU;

}  // namespace nearfield
