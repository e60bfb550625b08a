#pragma once
#include "cl/device.hpp"

namespace nearfield::ocl {

/// A place in a device's queue, for hosts that ask whether the device has come so far instead of waiting for it.
class Marker {
 public:
  /// Behind all that is enqueued so far; the device begins with it. Throws DeviceError.
  explicit Marker(const Device& device);
  /// The commands before it have ended; what they wrote to host memory is there. Does not wait. Throws DeviceError
  /// where one of them failed.
  [[nodiscard]] bool is_reached() const;
  void wait() const;

 private:
  ::cl::Event event_;
};

}  // namespace nearfield::ocl
