#include "frontend/common/sliding_dft.hpp"

#include <gtest/gtest.h>

#include <limits>

namespace nearfield {
namespace {

// Every window is a whole number of blocks, from one that begins with it to one that ends with it; blocks are no longer
// than the kernels take, follow on each other, and leave out nothing but what no window has.
TEST(BlockGrid, CutsWindowsIntoWholeBlocks) {
  for (const std::size_t window : {1U, 12U, 96U, 105U, 1000U, 1024U}) {
    for (const std::size_t hop : {1U, 2U, 7U, 32U, 33U, 46U, 63U, 64U, 65U, 100U, 256U, 1000U, 1024U, 1500U}) {
      for (const std::size_t most : {std::size_t{32}, std::numeric_limits<std::size_t>::max()}) {
        SCOPED_TRACE(testing::Message() << "window " << window << ", hop " << hop << ", blocks to " << most);
        const BlockGrid grid(window, hop, most);
        EXPECT_LE(grid.block_words, most);
        for (std::uint64_t k = 0; k < 4; ++k) {
          const std::uint64_t first = k * grid.hop_blocks();
          const std::uint64_t end = first + grid.window_blocks();
          EXPECT_EQ(grid.begin(first), k * hop);
          EXPECT_EQ(grid.whole_blocks(k * hop + window), end);
          EXPECT_EQ(grid.whole_blocks(k * hop + window - 1), end - 1);
        }
        std::uint64_t kept = 0;
        for (std::size_t block = 0; block < 3 * grid.hop_blocks(); ++block) {
          const std::uint64_t begin = grid.begin(block);
          EXPECT_LE(grid.whole_blocks(begin), block);
          kept += grid.begin(block + 1) - begin <= grid.block_words ? grid.begin(block + 1) - begin : 0;
        }
        EXPECT_TRUE(hop > window || kept == 3 * hop) << kept;
      }
    }
  }
}

}  // namespace
}  // namespace nearfield
