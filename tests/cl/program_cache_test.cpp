#include "cl/program_cache.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <spawn.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>
#include <iterator>

#include "cl/device.hpp"
#include "support/command.hpp"
#include "support/environment.hpp"

extern char** environ;

namespace nearfield::ocl {
namespace {

namespace fs = std::filesystem;
using Bytes = std::vector<unsigned char>;
using test::Variable;

constexpr const char* kStage = "test";
constexpr std::size_t kHeaderBytes = 40;

Bytes bytes_of(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

void write_bytes(const fs::path& path, const Bytes& bytes) {
  std::ofstream file(path, std::ios::binary);
  file.write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
  ASSERT_TRUE(file.good());
}

/// The name is the key in hexadecimal digits.
CacheKey key_of(const fs::path& file) {
  const std::string name = file.filename();
  CacheKey key;
  for (std::size_t i = 0; i < key.bytes.size(); ++i) {
    key.bytes[i] = static_cast<std::uint8_t>(std::stoi(name.substr(2 * i, 2), nullptr, 16));
  }
  return key;
}

std::vector<fs::path> files_in(const fs::path& folder) {
  std::error_code none;
  std::vector<fs::path> files;
  for (fs::directory_iterator at(folder, none), end; at != end; ++at) {
    files.push_back(at->path());
  }
  return files;
}

/// Bit b of 32 bit-times, turned by a program that `device` builds, or takes from the cache.
std::vector<std::uint32_t> turn_corner(const Device& device, const std::vector<std::uint32_t>& wire,
                                       std::size_t word_tile = 1) {
  const Program program =
      device.build(kStage, "frontend/common/corner_turn.cl",
                   {{"CHANNELS", "32"}, {"WIRE_WORDS", "1"}, {"WORD_TILE", std::to_string(word_tile)}});
  Kernel kernel = program.kernel("corner_turn");
  std::vector<std::int32_t> channels(32);
  for (int i = 0; i < 32; ++i) {
    channels[static_cast<std::size_t>(i)] = i;
  }
  const auto in = device.upload<std::uint32_t>(wire, kStage);
  const auto channel_of = device.upload<std::int32_t>(channels, kStage);
  const auto out = device.allocate<std::uint32_t>(32, kStage);
  kernel.set_all(in, channel_of, out, std::uint32_t{0}, std::uint32_t{1});
  kernel.enqueue({.global_0 = 32, .local_0 = 32, .global_1 = word_tile, .local_1 = word_tile});
  return device.download(out, kStage);
}

/// Every bit must lie where the transposition has it.
void expect_a_working_program(const Device& device, std::size_t word_tile = 1) {
  std::vector<std::uint32_t> wire(32);
  for (std::uint32_t t = 0; t < 32; ++t) {
    wire[t] = 0x9E3779B9U * (t + 1);
  }
  const std::vector<std::uint32_t> found = turn_corner(device, wire, word_tile);
  for (std::uint32_t b = 0; b < 32; ++b) {
    std::uint32_t expected = 0;
    for (std::uint32_t t = 0; t < 32; ++t) {
      expected |= (wire[t] >> b & 1U) << t;
    }
    ASSERT_EQ(found[b], expected) << "channel " << b;
  }
}

/// A folder of the test's own for programs, named by the environment.
class ProgramCacheTest : public ::testing::Test {
 protected:
  [[nodiscard]] fs::path folder() const { return fs::path(folder_.path()) / "made" / "programs"; }
  /// The one file there is after one program was built.
  [[nodiscard]] fs::path file() const {
    const std::vector<fs::path> files = files_in(folder());
    return files.size() == 1 ? files.front() : fs::path();
  }
  test::TemporaryFolder folder_;
  Variable variable_{"NEARFIELD_CACHE_DIR", folder().string()};
  Device device_ = Device::open({});
};

TEST_F(ProgramCacheTest, TheSecondBuildIsTakenFromTheFileOfTheFirst) {
  expect_a_working_program(device_);
  const fs::path stored = file();
  ASSERT_FALSE(stored.empty());
  const auto old_time = fs::last_write_time(stored) - std::chrono::hours(5);
  struct stat before {};
  fs::last_write_time(stored, old_time);
  ASSERT_EQ(stat(stored.c_str(), &before), 0);
  expect_a_working_program(device_);
  struct stat after {};
  ASSERT_EQ(stat(stored.c_str(), &after), 0);
  EXPECT_EQ(after.st_ino, before.st_ino) << "built again";
  EXPECT_GT(fs::last_write_time(stored), old_time) << "a used file counts as new";
  EXPECT_EQ(file(), stored);
}

// What the file holds is what runs: a valid file under this program's key with the binary of another program has that
// one's kernels.
TEST_F(ProgramCacheTest, TheStoredBinaryIsWhatRuns) {
  expect_a_working_program(device_);
  const fs::path stored = file();
  const CacheKey key = key_of(stored);
  fs::remove(stored);
  (void)device_.build(kStage, "frontend/window_samples.cl", {});
  const Bytes other = bytes_of(file());
  const CacheFiles files(folder());
  files.store(key, std::span(other).subspan(kHeaderBytes));
  EXPECT_THROW(turn_corner(device_, std::vector<std::uint32_t>(32)), DeviceError);
}

TEST_F(ProgramCacheTest, FoldersAndFilesAreForTheirUserAlone) {
  expect_a_working_program(device_);
  for (const fs::path& path : {folder().parent_path(), folder(), file()}) {
    EXPECT_EQ(fs::status(path).permissions() & (fs::perms::group_all | fs::perms::others_all), fs::perms::none) << path;
  }
}

TEST_F(ProgramCacheTest, OptionsSourceAndCompilersEnvironmentChangeTheKey) {
  expect_a_working_program(device_, 1);
  EXPECT_EQ(files_in(folder()).size(), 1U);
  expect_a_working_program(device_, 2);
  EXPECT_EQ(files_in(folder()).size(), 2U);
  {
    const Variable loops("POCL_WORK_GROUP_METHOD", "loops");
    expect_a_working_program(device_);
    EXPECT_EQ(files_in(folder()).size(), 3U);
  }
  expect_a_working_program(device_);
  EXPECT_EQ(files_in(folder()).size(), 3U);
  const auto key = [&](const char* options, const char* source) {
    return ProgramCache::key_of(device_.queue().getInfo<CL_QUEUE_DEVICE>(), options, source);
  };
  EXPECT_EQ(key("-D A=1", "kernel"), key("-D A=1", "kernel"));
  EXPECT_NE(key("-D A=1", "kernel"), key("-D A=2", "kernel"));
  EXPECT_NE(key("-D A=1", "kernel"), key("-D A=1", "kernel "));
  EXPECT_NE(key("ab", "c"), key("a", "bc"));
}

TEST_F(ProgramCacheTest, DamagedFilesAreBuiltAnewAndMended) {
  expect_a_working_program(device_);
  const fs::path stored = file();
  const Bytes good = bytes_of(stored);
  const CacheKey key = key_of(stored);
  const CacheFiles files(folder());
  std::vector<Bytes> damages = {{}};
  for (const std::size_t length : {std::size_t{1}, kHeaderBytes - 1, kHeaderBytes, good.size() / 2, good.size() - 1}) {
    damages.emplace_back(good.begin(), good.begin() + static_cast<std::ptrdiff_t>(length));
  }
  for (const std::size_t place : {std::size_t{0}, std::size_t{8}, std::size_t{12}, std::size_t{16}, std::size_t{23},
                                  std::size_t{24}, kHeaderBytes, good.size() / 2, good.size() - 1}) {
    damages.push_back(good);
    damages.back()[place] ^= 0x10U;
  }
  damages.push_back(good);
  damages.back().push_back(0);
  for (std::size_t i = 0; i < damages.size(); ++i) {
    write_bytes(stored, damages[i]);
    expect_a_working_program(device_);
    // Not the same bytes: PoCL's binaries hold what its own folders list, to which other processes add.
    EXPECT_NE(files.load(key), std::nullopt) << "damage " << i;
    struct stat mended {};
    ASSERT_EQ(stat(stored.c_str(), &mended), 0);
    expect_a_working_program(device_);
    struct stat used {};
    ASSERT_EQ(stat(stored.c_str(), &used), 0);
    EXPECT_EQ(used.st_ino, mended.st_ino) << "damage " << i << " was not mended";
  }
}

TEST_F(ProgramCacheTest, AnotherProgramsFileIsNotTaken) {
  expect_a_working_program(device_, 1);
  const fs::path one = file();
  expect_a_working_program(device_, 2);
  const std::vector<fs::path> both = files_in(folder());
  const fs::path two = both[0] == one ? both[1] : both[0];
  fs::copy_file(two, one, fs::copy_options::overwrite_existing);
  expect_a_working_program(device_, 1);
  EXPECT_NE(bytes_of(one), bytes_of(two));
}

TEST_F(ProgramCacheTest, ABinaryThatTheDriverRefusesIsReplaced) {
  expect_a_working_program(device_);
  const fs::path stored = file();
  Bytes refused = bytes_of(stored);
  refused.erase(refused.begin(), refused.begin() + kHeaderBytes);
  std::fill_n(refused.begin(), 256, static_cast<unsigned char>('x'));
  const CacheKey key = key_of(stored);
  const CacheFiles files(folder());
  files.store(key, refused);
  ASSERT_EQ(files.load(key), refused);
  expect_a_working_program(device_);
  EXPECT_NE(files.load(key), refused);
  EXPECT_NE(files.load(key), std::nullopt);
}

TEST_F(ProgramCacheTest, AFolderOrALinkInTheFilesPlaceIsReplaced) {
  expect_a_working_program(device_);
  const fs::path stored = file();
  fs::remove(stored);
  fs::create_directories(stored / "inside");
  expect_a_working_program(device_);
  EXPECT_TRUE(fs::is_regular_file(stored));

  const fs::path elsewhere = fs::path(folder_.path()) / "elsewhere";
  fs::rename(stored, elsewhere);
  fs::create_symlink(elsewhere, stored);
  expect_a_working_program(device_);
  EXPECT_TRUE(fs::is_regular_file(fs::symlink_status(stored))) << "a link is not followed";
}

TEST_F(ProgramCacheTest, FilesAndFoldersOfOthersAreNotTaken) {
  constexpr uid_t kNobody = 65534;
  expect_a_working_program(device_);
  const fs::path stored = file();
  if (geteuid() != 0) {
    EXPECT_NE(chown(stored.c_str(), kNobody, getegid()), 0) << "only root can make files of others";
    return;
  }
  ASSERT_EQ(chown(stored.c_str(), kNobody, getegid()), 0);
  expect_a_working_program(device_);
  struct stat replaced {};
  ASSERT_EQ(stat(stored.c_str(), &replaced), 0);
  EXPECT_EQ(replaced.st_uid, geteuid());

  ASSERT_EQ(chown(folder().c_str(), kNobody, getegid()), 0);
  fs::remove(stored);
  expect_a_working_program(device_);
  EXPECT_THAT(files_in(folder()), ::testing::IsEmpty());
}

TEST_F(ProgramCacheTest, NothingIsKeptWhereNothingCanBeWritten) {
  const fs::path in_the_way = fs::path(folder_.path()) / "file";
  write_bytes(in_the_way, {1});
  // Below a file, in a folder that takes no files, and where no folder can be made.
  for (const std::string& place :
       {(in_the_way / "cache").string(), std::string("/proc/self"), std::string("/proc/x")}) {
    const Variable there("NEARFIELD_CACHE_DIR", place);
    expect_a_working_program(device_);
  }
  EXPECT_THAT(files_in(folder()), ::testing::IsEmpty());
}

TEST_F(ProgramCacheTest, AnEmptyVariableTurnsItOff) {
  const Variable off("NEARFIELD_CACHE_DIR", "");
  const Variable elsewhere("XDG_CACHE_HOME", folder_.path());
  expect_a_working_program(device_);
  EXPECT_THAT(files_in(folder_.path()), ::testing::IsEmpty());
}

// Also what the processes of the next test run.
TEST(ProgramCacheProcess, BuildsAndRunsWithTheFolderOfItsEnvironment) {
  test::TemporaryFolder folder;
  const char* given = std::getenv("NEARFIELD_CACHE_DIR");
  const Variable variable("NEARFIELD_CACHE_DIR", given == nullptr ? folder.path() : std::string(given));
  const Device device = Device::open({});
  for (const std::size_t word_tile : {1U, 2U}) {
    expect_a_working_program(device, word_tile);
  }
}

TEST_F(ProgramCacheTest, ProcessesShareAFolder) {
  const Variable shards("GTEST_TOTAL_SHARDS",
                        std::nullopt);  // the processes run their one test whichever shard this is
  const Variable shard("GTEST_SHARD_INDEX", std::nullopt);
  std::array<pid_t, 4> processes{};
  std::string program = fs::read_symlink("/proc/self/exe");
  std::string filter = "--gtest_filter=ProgramCacheProcess.*";
  std::array<char*, 3> arguments = {program.data(), filter.data(), nullptr};
  for (pid_t& process : processes) {
    ASSERT_EQ(posix_spawn(&process, program.c_str(), nullptr, nullptr, arguments.data(), environ), 0);
  }
  for (const pid_t process : processes) {
    int status = -1;
    ASSERT_EQ(waitpid(process, &status, 0), process);
    EXPECT_EQ(status, 0);
  }
  EXPECT_EQ(files_in(folder()).size(), 2U) << "one a program, and nothing left beside them";
  expect_a_working_program(device_);
}

// PoCL alone runs binaries in /tmp/pocl then, whichever user put them there.
TEST(PoclCache, IsNeverBelowTmpWhereTheEnvironmentNamesNone) {
  const Variable folder("POCL_CACHE_DIR", std::nullopt);
  const Variable user("XDG_CACHE_HOME", "");
  for (const auto& home : {std::optional<std::string>(), std::optional<std::string>("")}) {
    const Variable none("HOME", home);
    const std::optional<std::string> chosen = private_pocl_cache();
    ASSERT_TRUE(chosen.has_value());
    EXPECT_THAT(*chosen, testing::StartsWith("/"));
    EXPECT_THAT(*chosen, testing::Not(testing::StartsWith("/tmp")));
  }
  const Variable home("HOME", "/home/h");
  EXPECT_EQ(private_pocl_cache(), std::nullopt) << "PoCL uses it";
}

// Also in the process that the next test runs.
TEST(PoclCacheProcess, OpenclIsNotCalledBeforeTheFolderIsChosen) {
  const bool is_named = !std::string(std::getenv("HOME") == nullptr ? "" : std::getenv("HOME")).empty() ||
                        std::getenv("XDG_CACHE_HOME") != nullptr || std::getenv("POCL_CACHE_DIR") != nullptr;
  (void)list_devices();
  EXPECT_TRUE(is_named || std::getenv("POCL_CACHE_DIR") != nullptr);
}

TEST(PoclCache, IsChosenInAProcessWithoutAHome) {
  const Variable shards("GTEST_TOTAL_SHARDS", std::nullopt);
  const Variable shard("GTEST_SHARD_INDEX", std::nullopt);
  const Variable folder("POCL_CACHE_DIR", std::nullopt);
  const Variable user("XDG_CACHE_HOME", std::nullopt);
  const Variable home("HOME", std::nullopt);
  std::string program = fs::read_symlink("/proc/self/exe");
  std::string filter = "--gtest_filter=PoclCacheProcess.*";
  std::array<char*, 3> arguments = {program.data(), filter.data(), nullptr};
  pid_t process = 0;
  ASSERT_EQ(posix_spawn(&process, program.c_str(), nullptr, nullptr, arguments.data(), environ), 0);
  int status = -1;
  ASSERT_EQ(waitpid(process, &status, 0), process);
  EXPECT_EQ(status, 0);
}

TEST(ProgramCacheFolder, IsTheFirstThatTheEnvironmentNames) {
  const Variable own("NEARFIELD_CACHE_DIR", std::nullopt);
  const Variable service("CACHE_DIRECTORY", "/var/cache/one:/var/cache/two");
  const Variable user("XDG_CACHE_HOME", "/x");
  const Variable home("HOME", "/home/h");
  EXPECT_EQ(program_cache_folder("NVIDIA CUDA"), "/var/cache/one");
  EXPECT_EQ(program_cache_folder("Portable Computing Language"), "") << "PoCL has its own";
  EXPECT_EQ(cache_folder(), "/var/cache/one") << "for what else is kept";
  const Variable no_service("CACHE_DIRECTORY", std::nullopt);
  EXPECT_EQ(program_cache_folder("NVIDIA CUDA"), "/x/nearfield");
  const Variable no_user("XDG_CACHE_HOME", "");
  EXPECT_EQ(program_cache_folder("NVIDIA CUDA"), "/home/h/.cache/nearfield");
  const Variable no_home("HOME", std::nullopt);
  EXPECT_EQ(program_cache_folder("NVIDIA CUDA"), "");
  const Variable set("NEARFIELD_CACHE_DIR", "/n");
  EXPECT_EQ(program_cache_folder("Portable Computing Language"), "/n");
  EXPECT_EQ(program_cache_folder("NVIDIA CUDA"), "/n");
  const Variable off("NEARFIELD_CACHE_DIR", "");
  EXPECT_EQ(program_cache_folder("NVIDIA CUDA"), "");
}

}  // namespace
}  // namespace nearfield::ocl
