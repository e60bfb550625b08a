#include "bench/common/files.hpp"

#include <gtest/gtest.h>

#include <complex>
#include <vector>

#include "bench/common/report_program.hpp"
#include "nearfield/error.hpp"

namespace nearfield::bench {
namespace {

// 1.0F is 00 00 80 3f, -2.0F is 00 00 00 c0; 8, 16 and 24 bytes end in each of the three ways.
TEST(Base64, IsOfComplex64InLittleEndian) {
  const std::vector<std::complex<float>> values = {{1.0F, 0.0F}, {0.0F, -2.0F}, {-2.0F, 1.0F}};
  EXPECT_EQ(base64_of(std::span(values).first(0)), "");
  EXPECT_EQ(base64_of(std::span(values).first(1)), "AACAPwAAAAA=");
  EXPECT_EQ(base64_of(std::span(values).first(2)), "AACAPwAAAAAAAAAAAAAAwA==");
  EXPECT_EQ(base64_of(values), "AACAPwAAAAAAAAAAAAAAwAAAAMAAAIA/");
}

TEST(ReportProgram, EndsWithItsExitCode) {
  try {
    run_report_program("{}", {"--png", "/nonexistent"});
    FAIL() << "expected an error";
  } catch (const Error& error) {
    EXPECT_EQ(error.exit_code(), ExitCode::kBadData);
    EXPECT_STREQ(error.what(), "plots and pages: nearfield-bench-report ended with exit code 65");
  }
}

}  // namespace
}  // namespace nearfield::bench
