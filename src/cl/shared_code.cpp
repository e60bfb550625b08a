#include "cl/shared_code.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>

#include "cl/device.hpp"
#include "cl/program_cache.hpp"

namespace nearfield::ocl {
namespace {

constexpr int kFirstRightPocl = 6;

bool counts_wrong(const ::cl::Device& device) {
  const std::string platform = ::cl::Platform(device.getInfo<CL_DEVICE_PLATFORM>()).getInfo<CL_PLATFORM_NAME>();
  return platform.starts_with(kPoclPlatform) &&
         std::atoi(device.getInfo<CL_DRIVER_VERSION>().c_str()) < kFirstRightPocl;
}

bool has_ended(const ::cl::Event& event) { return event.getInfo<CL_EVENT_COMMAND_EXECUTION_STATUS>() <= CL_COMPLETE; }

}  // namespace

std::shared_ptr<SharedCode> SharedCode::of(const ::cl::Program& program, std::string_view file, std::string_view kernel,
                                           const ::cl::Device& device) {
  if (!counts_wrong(device)) {
    return nullptr;
  }
  static std::mutex mutex;
  static std::map<std::string, std::weak_ptr<SharedCode>> all;
  const std::lock_guard lock(mutex);
  std::erase_if(all, [](const auto& one) { return one.second.expired(); });
  std::weak_ptr<SharedCode>& known = all[fmt::format("{} {} {} {}", fmt::ptr(device()), file, kernel,
                                                     program.getBuildInfo<CL_PROGRAM_BUILD_OPTIONS>(device))];
  std::shared_ptr<SharedCode> code = known.lock();
  if (code == nullptr) {
    code = std::make_shared<SharedCode>();
    known = code;
  }
  return code;
}

cl_int SharedCode::enqueue(const ::cl::CommandQueue& queue, const ::cl::Kernel& kernel, const Launch& launch,
                           ::cl::Event* event) {
  const std::lock_guard lock(mutex_);
  std::size_t& widest = widest_[{launch.local_0, launch.local_1, launch.local_2}];
  const std::size_t width = std::max({launch.global_0, launch.global_1, launch.global_2});
  const bool is_alone = width > widest;
  if (is_alone) {
    for (const auto& [other, last] : last_) {
      if (const cl_int code = last.wait(); code != CL_SUCCESS) {
        return code;
      }
    }
  }
  ::cl::Event own;
  const cl_int code = queue.enqueueNDRangeKernel(
      kernel, ::cl::NullRange, ::cl::NDRange(launch.global_0, launch.global_1, launch.global_2),
      ::cl::NDRange(launch.local_0, launch.local_1, launch.local_2), nullptr, &own);
  if (code != CL_SUCCESS) {
    return code;
  }
  if (event != nullptr) {
    *event = own;
  }
  if (!is_alone) {
    auto known = last_.find(queue());
    if (known == last_.end()) {  // a queue's first launch makes its place, and takes those of queues that have gone
      std::erase_if(last_, [](const auto& one) { return has_ended(one.second); });
      known = last_.emplace(queue(), ::cl::Event()).first;
    }
    known->second = own;
    return code;
  }
  widest = width;
  return own.wait();
}

}  // namespace nearfield::ocl
