#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <span>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "core/system/memory.hpp"
#include "support/command.hpp"
#include "support/sanitizers.hpp"

namespace nearfield {
namespace {

constexpr std::size_t kBytes = std::size_t{64} << 20U;
/// What else a process may take or give back meanwhile, and how exactly the kernel counts.
constexpr double kOtherBytes = 4e6;

double resident_bytes() {
  const std::optional<MappedMemory> memory = read_mapped_memory();
  return memory ? static_cast<double>(memory->resident_bytes) : 0.0;
}

TEST(MappedMemory, GrowsByWhatIsWrittenTo) {
  const double before_bytes = resident_bytes();
  const auto anonymous_before_bytes = static_cast<double>(anonymous_memory_bytes());
  ASSERT_GT(before_bytes, 0.0);
  void* pages = mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(pages, MAP_FAILED);
  EXPECT_NEAR(resident_bytes() - before_bytes, 0.0, kOtherBytes) << "nothing was written to it";
  std::memset(pages, 1, kBytes);
  EXPECT_NEAR(resident_bytes() - before_bytes, static_cast<double>(kBytes), kOtherBytes);
  EXPECT_NEAR(static_cast<double>(anonymous_memory_bytes()) - anonymous_before_bytes, static_cast<double>(kBytes),
              kOtherBytes);
  munmap(pages, kBytes);
  EXPECT_NEAR(resident_bytes() - before_bytes, 0.0, kOtherBytes);
  EXPECT_NEAR(static_cast<double>(anonymous_memory_bytes()) - anonymous_before_bytes, 0.0, kOtherBytes);
}

TEST(MappedMemory, OfAFileKnowsTheProcessesOwnPages) {
  const test::TemporaryFolder folder;
  const auto page_bytes = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  constexpr std::size_t kPages = 256;
  const std::string path = std::filesystem::canonical(folder.path()) / "a file";
  std::ofstream(path) << std::string(kPages * page_bytes, 'a');
  std::FILE* file = std::fopen(path.c_str(), "r");
  void* memory = mmap(nullptr, kPages * page_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE, fileno(file), 0);
  std::fclose(file);
  ASSERT_NE(memory, MAP_FAILED);
  auto* bytes = static_cast<volatile char*>(memory);
  for (std::size_t page = 0; page < kPages; ++page) {
    EXPECT_EQ(bytes[page * page_bytes], 'a');
  }
  for (std::size_t page = 0; page < 10; ++page) {
    bytes[page * page_bytes] = 'b';
  }
  const std::optional<MappedMemory> mapped = read_mapped_memory();
  munmap(memory, kPages * page_bytes);
  ASSERT_TRUE(mapped);
  ASSERT_TRUE(mapped->files.contains(path));
  EXPECT_EQ(mapped->files.at(path).resident_bytes, kPages * page_bytes);
  EXPECT_EQ(mapped->files.at(path).anonymous_bytes, 10 * page_bytes);
  EXPECT_GT(mapped->files.at(std::filesystem::canonical("/proc/self/exe")).resident_bytes, 100'000U);
  EXPECT_FALSE(read_mapped_memory()->files.contains(path)) << "it is unmapped";
}

TEST(MappedMemory, OfLargeBlocksGoesBackWhenTheyAreFreed) {
  constexpr std::size_t kBlocks = 64;
  constexpr std::size_t kBlockBytes = std::size_t{1} << 20U;
  keep_large_blocks_apart();
  std::vector<char>(16 * kBlockBytes, 'a').clear();  // by itself malloc would now take smaller ones from the heap
  std::vector<std::vector<char>> blocks;
  for (std::size_t i = 0; i < kBlocks; ++i) {
    blocks.emplace_back(kBlockBytes, 'a');
  }
  const double full_bytes = resident_bytes();
  const std::vector<char> last = std::move(blocks.back());  // a heap that grows to it could not shrink
  blocks.clear();
  if (!test::kHasSanitizer) {  // whose allocator is another, and keeps what is freed
    EXPECT_NEAR(full_bytes - resident_bytes(), static_cast<double>((kBlocks - 1) * kBlockBytes), kOtherBytes);
  }
  EXPECT_EQ(last.back(), 'a');
}

/// Constant data of this program, pages of its file: of 4 MB, and some that a test makes its own.
constexpr std::size_t kNumberCount = std::size_t{1} << 20U;
__attribute__((used, aligned(4096))) const std::array<std::uint32_t, kNumberCount> kNumbers = {1, 2, 3};

std::uint32_t sum_of_numbers() {
  const volatile std::uint32_t* values = kNumbers.data();
  std::uint32_t total = 0;
  for (std::size_t i = 0; i < kNumberCount; ++i) {
    total += values[i];
  }
  return total;
}

TEST(MappedMemory, LosesPagesOfTheProgramThatAreReadAgainWhenTheyAreNeeded) {
  EXPECT_EQ(sum_of_numbers(), 6U);
  const double before_bytes = resident_bytes();
  release_file_pages();
  const double after_bytes = resident_bytes();
  EXPECT_LT(after_bytes, before_bytes - 0.8 * static_cast<double>(kNumberCount * sizeof(std::uint32_t)));
  EXPECT_EQ(sum_of_numbers(), 6U);
  EXPECT_GT(resident_bytes(), after_bytes);
}

/// The mapping in which an address lies.
std::span<std::byte> mapping_of(const void* address) {
  const auto wanted = std::bit_cast<std::uintptr_t>(address);
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);) {
    std::uintptr_t first = 0;
    std::uintptr_t end = 0;
    char dash = 0;
    std::istringstream(line) >> std::hex >> first >> dash >> end;
    if (first <= wanted && wanted < end) {
      return {std::bit_cast<std::byte*>(first), end - first};
    }
  }
  return {};
}

// As a library's relocations are: written to once, then read alone. The whole mapping changes its rights, as a part of
// it would become a mapping of its own.
TEST(MappedMemory, KeepsPagesOfTheProgramThatWereWrittenTo) {
  const std::span<std::byte> mapping = mapping_of(kNumbers.data());
  ASSERT_FALSE(mapping.empty());
  auto* first = std::bit_cast<volatile std::uint32_t*>(kNumbers.data());
  const auto write = [&](std::uint32_t value) {
    ASSERT_EQ(mprotect(mapping.data(), mapping.size(), PROT_READ | PROT_WRITE), 0);
    *first = value;
    ASSERT_EQ(mprotect(mapping.data(), mapping.size(), PROT_READ), 0);
  };
  write(10);
  release_file_pages();
  EXPECT_EQ(sum_of_numbers(), 15U);
  write(1);
}

}  // namespace
}  // namespace nearfield
