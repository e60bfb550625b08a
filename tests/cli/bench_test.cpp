#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "support/command.hpp"

// `nearfield bench` is another program, which may not be installed.
namespace nearfield {
namespace {

using testing::HasSubstr;

/// Writes a program that prints `word` and its arguments, each in brackets.
void write_stand_in(const std::string& folder, const std::string& word) {
  const std::filesystem::path path = std::filesystem::path(folder) / "nearfield-bench";
  std::filesystem::create_directories(folder);
  std::ofstream(path) << "#!/bin/sh\nprintf '" << word << "'\nprintf ' [%s]' \"$@\"\nexit 9\n";
  std::filesystem::permissions(path, std::filesystem::perms::owner_all);
}

/// `nearfield` copied into a folder of its own, with `path` in front of PATH.
test::CommandResult run_copy(const test::TemporaryFolder& folder, const std::string& path,
                             const std::string& arguments) {
  const std::string copy = folder / "nearfield";
  return test::run_nearfield(copy + " && PATH=" + path + ":/usr/bin:/bin " + copy + " " + arguments, "cp");
}

TEST(Bench, IsNamedWithItsPlacesWhereItIsNotInstalled) {
  const test::TemporaryFolder folder;
  const auto result = run_copy(folder, "/nonexistent", "bench imager");
  EXPECT_EQ(result.exit_code, 66) << result.output;
  EXPECT_THAT(result.output,
              testing::StartsWith("nearfield: error: bench: expected the program nearfield-bench in " + folder.path() +
                                  " or in a folder of PATH, found none; `./dev build` makes it"));
}

TEST(Bench, GetsAllArgumentsAsTheyWereTyped) {
  const test::TemporaryFolder folder;
  write_stand_in(folder / "path", "found");
  for (const std::string arguments : {"", "--help", "frames --n 1,2 --sustain -1 --set=a=1 b -c x", "replay x"}) {
    std::string expected = "found";
    std::istringstream words(arguments);
    for (std::string word; words >> word;) {
      expected += " [" + word + "]";
    }
    const auto result = run_copy(folder, folder / "path", "bench " + arguments);
    EXPECT_EQ(result.exit_code, 9) << result.output;
    EXPECT_EQ(result.output, arguments.empty() ? "found []" : expected);
  }
}

TEST(Bench, BesideTheProgramGoesBeforePath) {
  const test::TemporaryFolder folder;
  write_stand_in(folder / "path", "path");
  write_stand_in(folder.path(), "beside");
  EXPECT_THAT(run_copy(folder, folder / "path", "bench frames").output, HasSubstr("beside [frames]"));
}

TEST(Bench, SpeaksAsTheCommandThatWasTyped) {
  EXPECT_THAT(test::run_nearfield("bench --help").output, HasSubstr("nearfield bench [OPTIONS] [SUBCOMMAND]"));
  const auto result = test::run_nearfield("bench imager --batsh 3");
  EXPECT_EQ(result.exit_code, 64);
  EXPECT_EQ(result.output,
            "nearfield: error: --batsh: unknown option; did you mean --batch? (see nearfield help bench imager)\n");
}

}  // namespace
}  // namespace nearfield
