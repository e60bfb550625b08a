#include "core/fft_length.hpp"

#include <initializer_list>

namespace nearfield {

bool is_fft_length(int n) {
  if (n < 1) {
    return false;
  }
  for (const int radix : {2, 3, 5, 7}) {
    while (n % radix == 0) {
      n /= radix;
    }
  }
  return n == 1;
}

int next_fft_length(int n) {
  while (!is_fft_length(n)) {
    ++n;
  }
  return n;
}

}  // namespace nearfield
