#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <string>

#include "bench/commands.hpp"
#include "bench/common/outputs.hpp"
#include "core/error.hpp"

namespace nearfield::bench {
namespace {

TEST(ReportProgram, EndsWithItsExitCode) {
  try {
    run_report_program("{}", {"--png", "/nonexistent"});
    FAIL() << "expected an error";
  } catch (const Error& error) {
    EXPECT_EQ(error.exit_code(), ExitCode::kBadData);
    EXPECT_THAT(error.what(), testing::EndsWith("report.json: expected a report of `nearfield bench`"));
    EXPECT_THAT(error.what(), testing::Not(testing::HasSubstr("nearfield: error")));
  }
}

/// Python finds a matplotlib that does not work.
class WithoutMatplotlib : public testing::Test {
 protected:
  WithoutMatplotlib() {
    write_text(folder_.path() / "matplotlib.py", "raise ImportError('is broken')\n");
    setenv("PYTHONPATH", folder_.path().c_str(), 1);
  }
  ~WithoutMatplotlib() override { unsetenv("PYTHONPATH"); }

  /// With a device that there is not: a benchmark that looks for it before the package throws DeviceError.
  static void expect_refusal(const std::string& arguments) {
    CLI::App app;
    add_frames(app);
    add_front_ends(app);
    try {
      app.parse(arguments + " --device none_of_this_name");
      FAIL() << "expected an error: " << arguments;
    } catch (const Error& error) {
      EXPECT_EQ(error.exit_code(), ExitCode::kNoInput) << arguments << ": " << error.what();
      EXPECT_THAT(error.what(), testing::HasSubstr("python3-matplotlib: is broken")) << arguments;
    }
  }

 private:
  TemporaryFolder folder_;
};

TEST_F(WithoutMatplotlib, PicturesAreRefusedBeforeAnythingIsMeasured) {
  for (const std::string arguments : {"--png p", "frontends --png p"}) {
    expect_refusal(arguments);
  }
}

}  // namespace
}  // namespace nearfield::bench
