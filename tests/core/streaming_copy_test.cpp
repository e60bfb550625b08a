#include <gtest/gtest.h>

#include <numeric>
#include <vector>

#include "core/system/memory.hpp"

namespace nearfield {
namespace {

// All places of both ends among stores of 16 bytes; what lies beside is left alone.
TEST(StreamingCopy, CopiesWhatItIsGivenAndNothingBeside) {
  std::vector<std::uint32_t> from(200);
  std::iota(from.begin(), from.end(), 1U);
  for (const Copying copying : {Copying::kCached, Copying::kPastCaches}) {
    for (std::size_t offset = 0; offset < 5; ++offset) {
      for (std::size_t begin = 0; begin < 5; ++begin) {
        for (std::size_t words = 0; words < 40; ++words) {
          std::vector<std::uint32_t> to(64, 0U);
          const std::span<const std::uint32_t> given = std::span(from).subspan(offset, words);
          copy_words(given, std::span(to).subspan(begin), copying);
          for (std::size_t i = 0; i < to.size(); ++i) {
            const bool is_copied = i >= begin && i < begin + words;
            ASSERT_EQ(to[i], is_copied ? given[i - begin] : 0U) << words << " words from " << offset << " to " << begin;
          }
        }
      }
    }
  }
}

}  // namespace
}  // namespace nearfield
