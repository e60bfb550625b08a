#include "cl/error_name.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <climits>
#include <string>

#include "cl/device.hpp"

namespace nearfield::ocl {
namespace {

// The ends of both ranges of codes, and one within each: a name too many or too few shifts those behind it.
TEST(ErrorName, IsThatOfTheHeader) {
  EXPECT_EQ(error_name(CL_SUCCESS), "CL_SUCCESS");
  EXPECT_EQ(error_name(CL_DEVICE_NOT_FOUND), "CL_DEVICE_NOT_FOUND");
  EXPECT_EQ(error_name(CL_OUT_OF_RESOURCES), "CL_OUT_OF_RESOURCES");
  EXPECT_EQ(error_name(CL_KERNEL_ARG_INFO_NOT_AVAILABLE), "CL_KERNEL_ARG_INFO_NOT_AVAILABLE");
  EXPECT_EQ(error_name(CL_INVALID_VALUE), "CL_INVALID_VALUE");
  EXPECT_EQ(error_name(CL_INVALID_KERNEL_ARGS), "CL_INVALID_KERNEL_ARGS");
  EXPECT_EQ(error_name(CL_INVALID_DEVICE_PARTITION_COUNT), "CL_INVALID_DEVICE_PARTITION_COUNT");
  EXPECT_EQ(error_name(-72), "CL_MAX_SIZE_RESTRICTION_EXCEEDED");  // of OpenCL 3.0
}

TEST(ErrorName, IsUnknownOutsideOfTheHeader) {
  for (const cl_int code : {1, INT_MAX, -20, -29, -73, -1001, INT_MIN}) {
    EXPECT_EQ(error_name(code), "unknown") << code;
  }
}

TEST(ErrorName, StandsInTheMessage) {
  try {
    throw_device_error("stage", "clFinish", CL_OUT_OF_RESOURCES);
  } catch (const DeviceError& error) {
    EXPECT_STREQ(error.what(), "stage: clFinish failed with OpenCL error -5 (CL_OUT_OF_RESOURCES)");
  }
}

}  // namespace
}  // namespace nearfield::ocl
