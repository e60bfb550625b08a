#pragma once
#include <array>
#include <cstdint>

namespace nearfield {

/// Points of Sobol's sequence in the unit square (I. M. Sobol', USSR Comput. Math. Math. Phys. 7, 1967; P. Bratley,
/// B. L. Fox, ACM Trans. Math. Softw. 14, 1988): of its first 2^m points each elementary rectangle of area 2^-m holds
/// exactly one, up to m = 32. Scrambled by nested random permutations of digits (A. B. Owen, "Randomly permuted
/// (t,m,s)-nets and (t,s)-sequences", 1995), which preserve this and make each point uniform: means over different
/// scrambles are independent, and their scatter is the error.
class ScrambledSobol {
 public:
  ScrambledSobol(std::uint64_t seed, std::uint64_t scramble) : seed_(seed), scramble_(scramble) {}

  /// Point number `index`, each coordinate in [0, 1).
  [[nodiscard]] std::array<double, 2> point(std::uint32_t index) const;

 private:
  std::uint64_t seed_;
  std::uint64_t scramble_;
};

}  // namespace nearfield
