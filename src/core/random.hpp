#pragma once
#include <cstdint>

namespace nearfield {

/// splitmix64 (G. Steele, D. Lea, C. Flood, OOPSLA 2014): a small generator whose results, unlike those of <random>'s
/// distributions, do not depend on the standard library.
class RandomStream {
 public:
  /// Streams with different numbers are independent.
  RandomStream(std::uint64_t seed, std::uint64_t stream) : state_(seed) {
    state_ = next() + stream * 0xD1B54A32D192ED03U;
  }

  std::uint64_t next() {
    state_ += 0x9E3779B97F4A7C15U;
    std::uint64_t z = state_;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9U;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBU;
    return z ^ (z >> 31);
  }

  /// Uniform on [-1, 1).
  double uniform() { return static_cast<double>(next() >> 11) * 0x1p-52 - 1.0; }

 private:
  std::uint64_t state_;
};

}  // namespace nearfield
