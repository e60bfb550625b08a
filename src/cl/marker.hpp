#pragma once
#include "cl/device.hpp"

namespace nearfield::ocl {

/// A position in a device's queue that can be polled, so that the host need not wait for the device.
class Marker {
 public:
  /// Enqueued after all previous commands; flushes the queue. Throws DeviceError.
  explicit Marker(const Device& device);
  /// True if the commands before it have ended; their output in host memory is complete. Does not wait. Throws
  /// DeviceError if one of them failed.
  [[nodiscard]] bool is_reached() const;
  void wait() const;

 private:
  ::cl::Event event_;
};

}  // namespace nearfield::ocl
