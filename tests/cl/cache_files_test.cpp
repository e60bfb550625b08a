#include "cl/cache_files.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <fstream>
#include <thread>

#include "support/command.hpp"

namespace nearfield::ocl {
namespace {

namespace fs = std::filesystem;
using Bytes = std::vector<unsigned char>;

CacheKey numbered(int number) { return cache_key({"value", std::to_string(number)}); }

TEST(CacheKey, DependsOnEveryPartAndOnWhereItEnds) {
  EXPECT_EQ(cache_key({"ab", "c"}), cache_key({"ab", "c"}));
  EXPECT_NE(cache_key({"ab", "c"}), cache_key({"a", "bc"}));
  EXPECT_NE(cache_key({"ab", "c"}), cache_key({"c", "ab"}));
  EXPECT_NE(cache_key({"a"}), cache_key({"a", ""}));
  EXPECT_EQ(cache_key({"a"}).hex().size(), 32U);
}

TEST(CacheFiles, GivesBackWhatWasStored) {
  const test::TemporaryFolder folder;
  const CacheFiles files(folder / "cache");
  EXPECT_EQ(files.load(numbered(1)), std::nullopt);
  files.store(numbered(1), Bytes{1, 2, 3});
  files.store(numbered(2), Bytes{});
  files.store(numbered(1), Bytes{4, 5});
  EXPECT_EQ(files.load(numbered(1)), (Bytes{4, 5}));
  EXPECT_EQ(files.load(numbered(2)), Bytes{});
}

TEST(CacheFiles, OffKeepsNothing) {
  const CacheFiles off{fs::path()};
  off.store(numbered(1), Bytes{1});
  EXPECT_EQ(off.load(numbered(1)), std::nullopt);
}

// Ten values of 100 bytes and their headers of 40, room for four of them and a half.
TEST(CacheFiles, WhatWasUsedLongestAgoGoesFirst) {
  const test::TemporaryFolder folder;
  const CacheFiles files(folder.path(), 4 * 140 + 70);
  std::ofstream(folder / "someone's own file") << std::string(10000, 'x');
  for (int i = 0; i < 10; ++i) {
    files.store(numbered(i), Bytes(100, 7));
    if (i == 3) {
      for (int age = 0; age < 4; ++age) {
        fs::last_write_time(files.path_of(numbered(age)),
                            fs::file_time_type::clock::now() - std::chrono::hours(9 - age));
      }
      ASSERT_TRUE(files.load(numbered(0))) << "now the newest but for its age";
      files.store(numbered(4), Bytes(100, 7));
      EXPECT_TRUE(files.load(numbered(0)));
      EXPECT_FALSE(files.load(numbered(1)));
      EXPECT_TRUE(files.load(numbered(2)));
    }
  }
  int left = 0;
  for (int i = 0; i < 10; ++i) {
    left += files.load(numbered(i)) ? 1 : 0;
  }
  EXPECT_EQ(left, 4);
  EXPECT_TRUE(files.load(numbered(9)));
  EXPECT_TRUE(fs::exists(folder / "someone's own file"));
}

TEST(CacheFiles, AValueBeyondTheRoomIsLeftOut) {
  const test::TemporaryFolder folder;
  const CacheFiles files(folder.path(), 1000);
  files.store(numbered(1), Bytes(10, 1));
  files.store(numbered(2), Bytes(961, 1));
  EXPECT_TRUE(files.load(numbered(1)));
  EXPECT_FALSE(files.load(numbered(2)));
}

// The limit of what is read is that of what is stored, not the default one.
TEST(CacheFiles, ReadsWhatItsOwnLimitAllows) {
  const test::TemporaryFolder folder;
  const CacheFiles files(folder.path(), 1000);
  files.store(numbered(1), Bytes(960, 1));
  EXPECT_TRUE(files.load(numbered(1)));
  EXPECT_FALSE(CacheFiles(folder.path(), 999).load(numbered(1)));
}

TEST(CacheFiles, TemporaryFilesThatWereAbandonedGo) {
  const test::TemporaryFolder folder;
  const CacheFiles files(folder.path());
  for (const char* name : {".nearfield-partial-abandon", ".nearfield-partial-current"}) {
    std::ofstream(folder / name) << "x";
  }
  fs::last_write_time(folder / ".nearfield-partial-abandon", fs::file_time_type::clock::now() - std::chrono::hours(2));
  files.store(numbered(1), Bytes{1});
  EXPECT_FALSE(fs::exists(folder / ".nearfield-partial-abandon"));
  EXPECT_TRUE(fs::exists(folder / ".nearfield-partial-current"));
}

const auto kAnyValue = [](std::span<const unsigned char>) { return true; };

TEST(CacheFiles, TheFirstValueStaysUnlessItIsOfNoUse) {
  const test::TemporaryFolder folder;
  const CacheFiles files(folder / "cache");
  EXPECT_TRUE(files.can_store_first());
  EXPECT_EQ(files.store_first(numbered(1), Bytes{1}, kAnyValue), Bytes{1});
  EXPECT_EQ(files.store_first(numbered(1), Bytes{2}, kAnyValue), Bytes{1});
  EXPECT_EQ(files.load(numbered(1)), Bytes{1});
  EXPECT_EQ(files.store_first(numbered(1), Bytes{3}, [](auto value) { return value.front() != 1; }), Bytes{3});
  std::ofstream(files.path_of(numbered(1))) << "damaged";
  EXPECT_EQ(files.store_first(numbered(1), Bytes{4}, kAnyValue), Bytes{4});
}

// A value that is larger than the whole cache may be stands for the one that a full disk does not take.
TEST(CacheFiles, AValueOfNoUseIsNotTheFirstWhereItsSuccessorIsNotWritten) {
  const test::TemporaryFolder folder;
  const CacheFiles files(folder / "cache", 41);  // a header and one byte
  EXPECT_EQ(files.store_first(numbered(1), Bytes{1}, kAnyValue), Bytes{1});
  EXPECT_EQ(files.store_first(numbered(1), Bytes{2, 2}, [](auto value) { return value.front() != 1; }), std::nullopt);
  EXPECT_EQ(files.load(numbered(1)), Bytes{1});
}

TEST(CacheFiles, StoresNoFirstValueWhereItCannotWrite) {
  const test::TemporaryFolder folder;
  std::ofstream(folder / "file") << "x";
  for (const fs::path& place : {fs::path(), fs::path(folder / "file") / "cache", fs::path("/proc/self")}) {
    const CacheFiles files(place);
    EXPECT_FALSE(files.can_store_first()) << place;
    EXPECT_EQ(files.store_first(numbered(1), Bytes{1}, kAnyValue), std::nullopt) << place;
  }
}

// Each thread brings a value of its own; all get that of one of them.
TEST(CacheFiles, ThreadsAgreeOnTheFirstValue) {
  const test::TemporaryFolder folder;
  for (int key = 0; key < 50; ++key) {
    std::array<std::optional<Bytes>, 4> found;
    std::vector<std::thread> threads;
    for (std::size_t i = 0; i < found.size(); ++i) {
      threads.emplace_back([&, i] {
        found[i] = CacheFiles(folder / "cache")
                       .store_first(numbered(key), Bytes(1000 * (i + 1), static_cast<unsigned char>(i)), kAnyValue);
      });
    }
    for (std::thread& thread : threads) {
      thread.join();
    }
    ASSERT_TRUE(found[0]);
    EXPECT_TRUE(std::all_of(found.begin(), found.end(), [&](const auto& one) { return one == found[0]; })) << key;
  }
}

// Writers of one key's two values, and readers: a value is one of the two, whole, or not there yet.
TEST(CacheFiles, ThreadsNeverSeeHalfAValue) {
  const test::TemporaryFolder folder;
  const CacheFiles files(folder / "cache");
  const Bytes ones(100000, 1);
  const Bytes twos(70000, 2);
  std::vector<std::thread> threads;
  for (const Bytes& mine : {ones, twos}) {
    threads.emplace_back([&files, mine] {
      for (int i = 0; i < 50; ++i) {
        files.store(numbered(1), mine);
      }
    });
    threads.emplace_back([&] {
      for (int i = 0; i < 200; ++i) {
        const auto found = files.load(numbered(1));
        ASSERT_TRUE(!found || *found == ones || *found == twos);
      }
    });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
  EXPECT_TRUE(files.load(numbered(1)));
  EXPECT_EQ(std::distance(fs::directory_iterator(folder / "cache"), fs::directory_iterator()), 1);
}

}  // namespace
}  // namespace nearfield::ocl
