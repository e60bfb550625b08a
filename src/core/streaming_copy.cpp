#include "core/streaming_copy.hpp"

#include <algorithm>
#include <cstring>

#ifdef __SSE2__
#include <emmintrin.h>
#endif

namespace nearfield {
namespace {

#ifdef __SSE2__
constexpr std::size_t kStoreWords = sizeof(__m128i) / sizeof(std::uint32_t);

/// Copies whole stores to `to`, which must be aligned to one.
void stream(const std::uint32_t* from, std::uint32_t* to, std::size_t words) {
  for (std::size_t i = 0; i < words; i += kStoreWords) {
    _mm_stream_si128(reinterpret_cast<__m128i*>(to + i), _mm_loadu_si128(reinterpret_cast<const __m128i*>(from + i)));
  }
  _mm_sfence();
}

/// Words of `to` before the first aligned store.
std::size_t words_before_store(const std::uint32_t* to) {
  const std::size_t place = reinterpret_cast<std::uintptr_t>(to) / sizeof(std::uint32_t) % kStoreWords;
  return (kStoreWords - place) % kStoreWords;
}
#endif

}  // namespace

void copy_words(std::span<const std::uint32_t> from, std::span<std::uint32_t> to, Copying copying) {
#ifdef __SSE2__
  if (copying == Copying::kPastCaches) {
    const std::size_t head = std::min(words_before_store(to.data()), from.size());
    const std::size_t body = (from.size() - head) / kStoreWords * kStoreWords;
    std::copy_n(from.begin(), head, to.begin());
    stream(from.data() + head, to.data() + head, body);
    std::copy(from.begin() + static_cast<std::ptrdiff_t>(head + body), from.end(),
              to.begin() + static_cast<std::ptrdiff_t>(head + body));
    return;
  }
#endif
  (void)copying;
  std::copy(from.begin(), from.end(), to.begin());
}

}  // namespace nearfield
