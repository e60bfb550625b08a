#pragma once
#include <optional>
#include <string>

#include "cl/device.hpp"

namespace nearfield {

/// Factors of a length for kernels/imaging/short_dft.cl: (outer_a * outer_b) * (inner_a * inner_b).
struct ShortDft {
  int outer_a = 1;
  int outer_b = 1;
  int inner_a = 1;
  int inner_b = 1;
  [[nodiscard]] int outer() const { return outer_a * outer_b; }
  [[nodiscard]] int inner() const { return inner_a * inner_b; }
  [[nodiscard]] int length() const { return outer() * inner(); }
};

/// The split with factors nearest to each other, outer >= inner; nullopt for lengths with primes other than 2, 3, 5 and
/// 7 or with a factor above kMostInAnItem.
std::optional<ShortDft> split_dft(int length);
inline constexpr int kMostInAnItem = 28;

/// The powers 0 .. length - 1 of e^{-j 2 pi / length} as V(cos)V(-sin), for a list of a kernel.
std::string root_list(int length);

/// Macros of short_dft.cl except LANES.
ocl::Defines dft_defines(const ShortDft& split);

}  // namespace nearfield
