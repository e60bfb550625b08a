#pragma once
#include <CL/cl.h>

#include <string_view>

namespace nearfield::ocl {

/// Name of an error code in CL/cl.h up to OpenCL 3.0, such as CL_OUT_OF_RESOURCES; "unknown" for codes of extensions
/// and of drivers.
std::string_view error_name(cl_int code);

}  // namespace nearfield::ocl
