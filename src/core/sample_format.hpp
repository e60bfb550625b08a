#pragma once
#include <cstddef>
#include <span>
#include <string_view>

namespace nearfield {

/// Format of interleaved samples, little-endian.
enum class SampleFormat {
  kF32,      ///< IEEE 754
  kS16,      ///< signed, two bytes
  kS24,      ///< signed, three bytes
  kS32,      ///< signed, four bytes
  kS24In32,  ///< signed, the lower three of four bytes
};

std::string_view name_of(SampleFormat format);
std::size_t bytes_of(SampleFormat format);

/// Converts [sample][channel] of `channels` channels to float32 [sample][chosen channel], integers to fractions of full
/// scale, each within half a step of float32. `chosen` empty: all channels. `values` decides how many samples.
void to_floats(SampleFormat format, std::span<const std::byte> bytes, int channels, std::span<const int> chosen,
               std::span<float> values);

}  // namespace nearfield
