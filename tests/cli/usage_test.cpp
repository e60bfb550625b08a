#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/command.hpp"

// A wrong command line is answered in the form of every other error, names what was wrong first and the help to ask.
namespace nearfield {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

std::string refused(const std::string& arguments) {
  const auto result = test::run_nearfield(arguments);
  EXPECT_EQ(result.exit_code, 64) << arguments << ": " << result.output;
  EXPECT_THAT(result.output, testing::StartsWith("nearfield: error: ")) << arguments;
  return result.output;
}

TEST(Usage, AnUnknownOptionIsNamedBeforeTheOneThatIsMissing) {
  EXPECT_THAT(refused("replay capture.h5 --out o.h5"),
              AllOf(HasSubstr("--out: unknown option; did you mean --output?"),
                    HasSubstr("(see nearfield help replay)"), Not(HasSubstr("required"))));
}

TEST(Usage, SurplusArgumentsAreNamedInTheirOrder) {
  EXPECT_THAT(refused("replay capture.h5 o.h5"), HasSubstr("unexpected argument o.h5"));
  EXPECT_THAT(refused("replay c.h5 -o o.h5 --set a=1 b=2 c=3"), HasSubstr("unexpected arguments b=2 c=3"));
}

TEST(Usage, AMissingOptionNamesTheHelp) {
  EXPECT_THAT(refused("replay capture.h5"), HasSubstr("--output is required (see nearfield help replay)"));
  EXPECT_THAT(refused("ctl record"), HasSubstr("(see nearfield help ctl record)"));
}

TEST(Usage, AMisspeltCommandNamesTheNearest) { EXPECT_THAT(refused("replya c.h5"), HasSubstr("did you mean replay?")); }

TEST(Usage, SendNamesTheOptionOfAWrongTarget) {
  EXPECT_THAT(refused("send c.h5 --to localhost"),
              HasSubstr("--to: expected HOST:PORT, such as 127.0.0.1:7230, found \"localhost\""));
}

}  // namespace
}  // namespace nearfield
