#include "cl/recorder.hpp"

#include <utility>

#include "cl/device.hpp"

namespace nearfield::ocl {
namespace {

std::uint64_t time_ns(const ::cl::Event& event, cl_profiling_info what, const std::string& stage) {
  cl_ulong value = 0;
  const cl_int code = event.getProfilingInfo(what, &value);
  if (code != CL_SUCCESS) {
    throw_device_error(stage, "clGetEventProfilingInfo", code);
  }
  return value;
}

}  // namespace

::cl::Event* Recorder::next(std::string stage, std::size_t bytes) {
  if (!is_active_) {
    return nullptr;
  }
  entries_.push_back({std::move(stage), bytes, std::exchange(group_start_, std::nullopt), {}});
  return &entries_.back().event;
}

void Recorder::start_group(const ::cl::CommandQueue& queue) {
  if (!is_active_) {
    return;
  }
  ::cl::Event marker;
  if (const cl_int code = queue.enqueueMarkerWithWaitList(nullptr, &marker); code != CL_SUCCESS) {
    throw_device_error("recorder", "clEnqueueMarkerWithWaitList", code);
  }
  group_start_ = marker;
}

std::vector<CommandTime> Recorder::take() {
  std::vector<CommandTime> times;
  times.reserve(entries_.size());
  for (const Entry& entry : entries_) {
    const std::uint64_t begin = entry.start ? time_ns(*entry.start, CL_PROFILING_COMMAND_END, entry.stage)
                                            : time_ns(entry.event, CL_PROFILING_COMMAND_START, entry.stage);
    times.push_back({entry.stage, begin, time_ns(entry.event, CL_PROFILING_COMMAND_END, entry.stage), entry.bytes});
  }
  entries_.clear();
  return times;
}

}  // namespace nearfield::ocl
