#pragma once
#include <string>

namespace nearfield::ocl {

/// Name and version of the library that finds the machine's OpenCL platforms, and the newest OpenCL version that it
/// supports: "OpenCL ICD Loader 2.3.1, OpenCL 3.0". "one that gives no name" if it lacks the extension cl_loader_info.
std::string loader_name();

}  // namespace nearfield::ocl
