#include "stream/received_map.hpp"

#include <algorithm>
#include <bit>

namespace nearfield {
namespace {

constexpr std::uint64_t kBits = 64;
constexpr std::uint64_t kAll = ~std::uint64_t{0};

}  // namespace

template <typename Action>
void ReceivedMap::for_words(std::uint64_t begin, std::uint64_t end, const Action& action) const {
  while (begin < end) {
    const std::uint64_t offset = begin % kBits;
    const std::uint64_t bits = std::min(kBits - offset, end - begin);
    action((begin & mask_) / kBits, kAll >> (kBits - bits) << offset);
    begin += bits;
  }
}

void ReceivedMap::set(std::uint64_t begin, std::uint64_t end) {
  for_words(begin, end,
            [this](std::uint64_t word, std::uint64_t bits) { words_[word].fetch_or(bits, std::memory_order_relaxed); });
}

void ReceivedMap::clear(std::uint64_t begin, std::uint64_t end) {
  for_words(begin, end, [this](std::uint64_t word, std::uint64_t bits) {
    words_[word].fetch_and(~bits, std::memory_order_relaxed);
  });
}

std::uint64_t ReceivedMap::count(std::uint64_t begin, std::uint64_t end) const {
  std::uint64_t sum = 0;
  for_words(begin, end, [this, &sum](std::uint64_t word, std::uint64_t bits) {
    sum += static_cast<std::uint64_t>(std::popcount(words_[word].load(std::memory_order_relaxed) & bits));
  });
  return sum;
}

ReceivedMap::Run ReceivedMap::run(std::uint64_t begin, std::uint64_t end) const {
  const auto bits_at = [this](std::uint64_t position) {
    return words_[(position & mask_) / kBits].load(std::memory_order_relaxed) >> (position % kBits);
  };
  const bool received = (bits_at(begin) & 1U) != 0;
  std::uint64_t position = begin;
  while (position < end) {
    const std::uint64_t bits = bits_at(position);
    const std::uint64_t there = kBits - position % kBits;
    const auto same = static_cast<std::uint64_t>(std::countr_zero(received ? ~bits : bits));
    position += std::min(same, there);
    if (same < there) {
      break;
    }
  }
  return {std::min(position, end), received};
}

}  // namespace nearfield
