#include "simulate/mesh/sobol.hpp"

#include "simulate/random.hpp"

namespace nearfield {
namespace {

constexpr int kDigits = 32;

/// The first coordinate: the radical inverse of the index (J. G. van der Corput).
std::uint32_t mirrored(std::uint32_t index) {
  std::uint32_t result = 0;
  for (int digit = 0; digit < kDigits; ++digit) {
    result = result << 1U | (index >> static_cast<unsigned>(digit) & 1U);
  }
  return result;
}

/// The second coordinate: direction numbers of the primitive polynomial x + 1, v_i = v_{i-1} xor (v_{i-1} >> 1).
std::uint32_t second(std::uint32_t index) {
  std::uint32_t result = 0;
  std::uint32_t direction = 1U << 31U;
  for (; index != 0; index >>= 1U) {
    if ((index & 1U) != 0) {
      result ^= direction;
    }
    direction ^= direction >> 1U;
  }
  return result;
}

/// Keeps or swaps each digit by a random bit that depends on all digits before it.
std::uint32_t scrambled(std::uint32_t value, std::uint64_t seed, std::uint64_t stream) {
  std::uint32_t result = 0;
  std::uint64_t before = 1;  // the previous digits after a leading one, so that 0 and 00 differ
  for (int digit = kDigits - 1; digit >= 0; --digit) {
    const std::uint32_t bit = value >> static_cast<unsigned>(digit) & 1U;
    const auto swap = static_cast<std::uint32_t>(RandomStream(seed ^ (before << 8U), stream).next() >> 63U);
    result = result << 1U | (bit ^ swap);
    before = before << 1U | bit;
  }
  return result;
}

}  // namespace

std::array<double, 2> ScrambledSobol::point(std::uint32_t index) const {
  constexpr double kUnit = 0x1p-32;
  // Streams of the seed for the phases of noise are below.
  const std::uint64_t stream = (std::uint64_t{5} << 20U) + 2 * scramble_;
  return {static_cast<double>(scrambled(mirrored(index), seed_, stream)) * kUnit,
          static_cast<double>(scrambled(second(index), seed_, stream + 1)) * kUnit};
}

}  // namespace nearfield
