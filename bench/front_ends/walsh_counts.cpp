#include "bench/front_ends/walsh_counts.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <numbers>

namespace nearfield::bench {

void walsh_hadamard(std::vector<double>& values) {
  for (std::size_t half = 1; half < values.size(); half *= 2) {
    for (std::size_t start = 0; start < values.size(); start += 2 * half) {
      for (std::size_t i = start; i < start + half; ++i) {
        const double sum = values[i] + values[i + half];
        values[i + half] = values[i] - values[i + half];
        values[i] = sum;
      }
    }
  }
}

std::vector<int> walsh_counts(int length, int last_bin, double threshold) {
  const double limit = threshold * length / 2.0;
  std::vector<double> line(static_cast<std::size_t>(length));
  std::vector<int> counts;
  for (int bin = 1; bin <= last_bin; ++bin) {
    int count = 0;
    for (const double shift_rad : {0.0, -std::numbers::pi / 2.0}) {
      for (int i = 0; i < length; ++i) {
        // Whole turns are taken off first: the phase keeps its digits.
        const auto turn = static_cast<double>(static_cast<long long>(i) * bin % length) / length;
        line[static_cast<std::size_t>(i)] = std::cos(2.0 * std::numbers::pi * turn + shift_rad);
      }
      walsh_hadamard(line);
      count += static_cast<int>(
          std::count_if(line.begin(), line.end(), [&](double value) { return std::abs(value) > limit; }));
    }
    counts.push_back(count);
  }
  return counts;
}

}  // namespace nearfield::bench
