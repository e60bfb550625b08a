#include "core/sample_format.hpp"

#include <array>
#include <bit>
#include <cstdint>
#include <cstring>

namespace nearfield {
namespace {

struct Facts {
  std::string_view name;
  std::size_t bytes;
};

/// In the order of SampleFormat.
constexpr std::array<Facts, 5> kFacts = {{{"f32", 4}, {"s16", 2}, {"s24", 3}, {"s32", 4}, {"s24 in 32 bits", 4}}};

static_assert(std::endian::native == std::endian::little, "samples are read as they lie in memory");

float value_of(SampleFormat format, const std::byte* bytes) {
  constexpr unsigned kWordBits = 32;
  if (format == SampleFormat::kF32) {
    float value = 0.0F;
    std::memcpy(&value, bytes, sizeof value);
    return value;
  }
  const std::size_t size = format == SampleFormat::kS24In32 ? 3 : bytes_of(format);
  std::uint32_t word = 0;  // the value's bytes at its top, so that its sign is the word's
  std::memcpy(reinterpret_cast<std::byte*>(&word) + sizeof word - size, bytes, size);
  static_assert(kWordBits == 8 * sizeof word);
  return static_cast<float>(static_cast<std::int32_t>(word)) * 0x1p-31F;
}

}  // namespace

std::string_view name_of(SampleFormat format) { return kFacts.at(static_cast<std::size_t>(format)).name; }

std::size_t bytes_of(SampleFormat format) { return kFacts.at(static_cast<std::size_t>(format)).bytes; }

void to_floats(SampleFormat format, std::span<const std::byte> bytes, int channels, std::span<const int> chosen,
               std::span<float> values) {
  const std::size_t size = bytes_of(format);
  const std::size_t sample_bytes = size * static_cast<std::size_t>(channels);
  if (chosen.empty()) {
    for (std::size_t i = 0; i < values.size(); ++i) {
      values[i] = value_of(format, bytes.data() + i * size);
    }
    return;
  }
  const std::byte* sample = bytes.data();
  for (std::size_t first = 0; first < values.size(); first += chosen.size(), sample += sample_bytes) {
    for (std::size_t i = 0; i < chosen.size(); ++i) {
      values[first + i] = value_of(format, sample + static_cast<std::size_t>(chosen[i]) * size);
    }
  }
}

}  // namespace nearfield
