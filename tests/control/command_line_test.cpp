#include "control/service/command_line.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <spdlog/spdlog.h>

#include <filesystem>
#include <system_error>

#include "core/error.hpp"

namespace nearfield::control {
namespace {

using testing::HasSubstr;

struct Ended {
  int code = 0;
  std::string said;
};

template <typename Exception>
Ended ended_by(const Exception& exception) {
  const auto before = spdlog::default_logger();
  testing::internal::CaptureStderr();
  Ended ended;
  ended.code = run_program([&]() -> int { throw exception; }, "one");
  ended.said = testing::internal::GetCapturedStderr();
  spdlog::set_default_logger(before);
  spdlog::drop("one");
  return ended;
}

TEST(RunProgram, SaysThatTheSystemGivesNoThread) {
  const Ended ended = ended_by(std::system_error(std::make_error_code(std::errc::resource_unavailable_try_again)));
  EXPECT_EQ(ended.code, 74);
  EXPECT_THAT(ended.said, HasSubstr("one: error: the system gives this process no further thread"));
  EXPECT_THAT(ended.said, testing::Not(HasSubstr("internal error")));
}

TEST(RunProgram, SaysWhatTheSystemRefusesAsItsOwnError) {
  const Ended ended = ended_by(std::filesystem::filesystem_error("cannot open", "a\x1b[31m",
                                                                 std::make_error_code(std::errc::permission_denied)));
  EXPECT_EQ(ended.code, 74);
  EXPECT_THAT(ended.said, HasSubstr("one: error: filesystem error: cannot open: Permission denied [a\\x1b[31m]"));
}

TEST(RunProgram, EscapesControlCharacters) {
  EXPECT_EQ(ended_by(DataError("a\x1b[2J\nb\t\x7f\xc2\x9b"
                               "c"))
                .said,
            "one: error: a\\x1b[2J\\nb\\t\\x7f\\x9bc\n");
  EXPECT_EQ(ended_by(NoInputError("\xc3\xa9\xe2\x82\xac")).said, "one: error: \xc3\xa9\xe2\x82\xac\n")
      << "letters stay";
  EXPECT_EQ(ended_by(ConfigError("a: one\nb\x1b: two")).said, "one: error: a: one\nb\\x1b: two\n")
      << "several problems have a line each";
}

}  // namespace
}  // namespace nearfield::control
