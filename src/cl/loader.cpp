// The only call that queries a loader before there is a platform is deprecated since OpenCL 1.2.
#define CL_USE_DEPRECATED_OPENCL_1_1_APIS
#include "cl/loader.hpp"

#include <CL/cl.h>
#include <fmt/format.h>

#include <array>

namespace nearfield::ocl {
namespace {

// Extension cl_loader_info (Khronos), which Debian's headers do not have yet.
constexpr cl_uint kLoaderOpenclVersion = 1;
constexpr cl_uint kLoaderVersion = 2;
constexpr cl_uint kLoaderName = 3;
using LoaderInfo = cl_int(CL_API_CALL*)(cl_uint, size_t, void*, size_t*);

std::string text_of(LoaderInfo info, cl_uint parameter) {
  std::array<char, 256> text{};
  const bool known = info(parameter, text.size() - 1, text.data(), nullptr) == CL_SUCCESS;
  return known ? text.data() : "?";
}

}  // namespace

std::string loader_name() {
  const auto info = reinterpret_cast<LoaderInfo>(clGetExtensionFunctionAddress("clGetICDLoaderInfoOCLICD"));
  if (info == nullptr) {
    return "one that gives no name";
  }
  return fmt::format("{} {}, {}", text_of(info, kLoaderName), text_of(info, kLoaderVersion),
                     text_of(info, kLoaderOpenclVersion));
}

}  // namespace nearfield::ocl
