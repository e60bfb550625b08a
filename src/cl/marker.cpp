#include "cl/marker.hpp"

#include "cl/memory.hpp"

namespace nearfield::ocl {
namespace {

constexpr std::string_view kMarkerStage = "marker";

}  // namespace

Marker::Marker(const Device& device) {
  const DriverCall driver_call;
  if (const cl_int code = device.queue().enqueueMarkerWithWaitList(nullptr, &event_); code != CL_SUCCESS) {
    throw_device_error(kMarkerStage, "clEnqueueMarkerWithWaitList", code);
  }
  device.flush();
}

bool Marker::is_reached() const {
  cl_int status = CL_QUEUED;
  if (const cl_int code = event_.getInfo(CL_EVENT_COMMAND_EXECUTION_STATUS, &status); code != CL_SUCCESS) {
    throw_device_error(kMarkerStage, "clGetEventInfo", code);
  }
  if (status < 0) {
    throw_device_error(kMarkerStage, "a command before the marker", status);
  }
  return status == CL_COMPLETE;
}

void Marker::wait() const {
  const DriverCall driver_call;
  if (const cl_int code = event_.wait(); code != CL_SUCCESS) {
    throw_device_error(kMarkerStage, "clWaitForEvents", code);
  }
}

}  // namespace nearfield::ocl
