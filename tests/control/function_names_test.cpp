#include "control/crash/function_names.hpp"

#include <dlfcn.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <link.h>

#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <random>
#include <span>
#include <string>
#include <vector>

#include "support/command.hpp"

/// Not static and not inlined: the symbol table of this program has it.
extern "C" __attribute__((noinline)) int nearfield_named_function(int value) { return value + 1; }

namespace nearfield::control {
namespace {

/// This program as it was loaded.
struct Program {
  std::uintptr_t begin = 0;
  std::span<const unsigned char> build_id;
};

Program this_program() {
  Dl_info info{};
  EXPECT_NE(dladdr(reinterpret_cast<void*>(&nearfield_named_function), &info), 0);
  const auto* const begin = static_cast<const unsigned char*>(info.dli_fbase);
  constexpr std::size_t kPage = 4096;  // the headers lie in the first one
  return {reinterpret_cast<std::uintptr_t>(begin), build_id_of(begin, kPage, begin)};
}

std::string text_of(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

TEST(FunctionNames, NamesTheFunctionThatHasAnAddress) {
  const Program program = this_program();
  ASSERT_FALSE(program.build_id.empty());
  const FunctionNames names("/proc/self/exe", program.build_id);
  const std::uintptr_t address = reinterpret_cast<std::uintptr_t>(&nearfield_named_function) - program.begin;
  for (const std::uintptr_t offset : {0U, 1U}) {
    const FunctionNames::Found found = names.find(address + offset);
    ASSERT_NE(found.name, nullptr);
    EXPECT_STREQ(found.name, "nearfield_named_function");
    EXPECT_EQ(found.offset, offset);
  }
  EXPECT_EQ(names.find(0).name, nullptr) << "the ELF header is no function";
  EXPECT_EQ(names.find(UINTPTR_MAX).name, nullptr);
}

TEST(FunctionNames, AFileThatIsNotTheLoadedModuleHasNone) {
  const Program program = this_program();
  const std::uintptr_t address = reinterpret_cast<std::uintptr_t>(&nearfield_named_function) - program.begin;
  std::vector<unsigned char> other(program.build_id.begin(), program.build_id.end());
  other.back() ^= 1U;
  EXPECT_EQ(FunctionNames("/proc/self/exe", other).find(address).name, nullptr);
  EXPECT_EQ(FunctionNames("/nonexistent", program.build_id).find(address).name, nullptr);
  EXPECT_EQ(FunctionNames("/", program.build_id).find(address).name, nullptr);
  EXPECT_EQ(FunctionNames("/dev/null", program.build_id).find(address).name, nullptr);
}

// The handler of a crash reads files that a disk may have damaged: bytes of any value are read without an invalid
// access, which the sanitized build of this test would report.
TEST(FunctionNames, DamagedFilesAreReadWithoutHarm) {
  const Program program = this_program();
  const std::uintptr_t address = reinterpret_cast<std::uintptr_t>(&nearfield_named_function) - program.begin;
  const std::string whole = text_of("/proc/self/exe");
  const test::TemporaryFolder folder;
  const std::string path = folder / "damaged";
  std::random_device seed;
  const unsigned number = seed();
  SCOPED_TRACE("seed " + std::to_string(number));
  std::mt19937 random(number);
  constexpr int kDraws = 40;
  constexpr std::size_t kHeaders = 1024;  // ELF header and program headers
  ElfW(Ehdr) header{};
  std::memcpy(&header, whole.data(), sizeof header);
  for (int draw = 0; draw < kDraws; ++draw) {
    std::string bytes = whole;
    for (int i = 0; i < 4; ++i) {
      const std::size_t at =
          draw % 2 == 0 ? random() % kHeaders : header.e_shoff + random() % (bytes.size() - header.e_shoff);
      bytes[at] = static_cast<char>(random());
    }
    if (draw % 5 == 0) {
      bytes.resize(random() % bytes.size());
    }
    std::ofstream(path, std::ios::binary) << bytes;
    const FunctionNames names(path.c_str(), program.build_id);
    if (const FunctionNames::Found found = names.find(address); found.name != nullptr) {
      EXPECT_LT(std::string(found.name).size(), whole.size());
    }
  }
}

}  // namespace
}  // namespace nearfield::control
