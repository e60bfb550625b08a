#pragma once
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <utility>

#include "cl/device.hpp"

namespace nearfield::ocl {

/// Many arrays in one buffer. With NVIDIA's OpenCL a launch costs about half a microsecond of host time per buffer
/// argument (docs/results/performance.md), so kernels of the frame path take the arena and find their arrays by
/// constants. Call reserve() for each array, allocate() once, then part().
class Arena {
 public:
  explicit Arena(std::string stage) : stage_(std::move(stage)) {}

  template <class T>
  void reserve(const std::string& name, std::size_t count) {
    reserve_bytes(name, std::max<std::size_t>(count, 1) * sizeof(T), count);
  }
  /// Throws DeviceError.
  void allocate(const Device& device) { whole_ = device.allocate<std::uint8_t>(bytes_, stage_); }
  [[nodiscard]] const Buffer<std::uint8_t>& whole() const { return whole_; }
  /// One reserved array, for transfers and for kernels that take arrays one by one.
  template <class T>
  [[nodiscard]] Buffer<T> part(const Device& device, const std::string& name) const {
    const Place& place = places_.at(name);
    return device.part_of<T>(whole_, place.offset, place.count, stage_);
  }
  /// Like the overload above, filled with `values`. Waits.
  template <class T>
  [[nodiscard]] Buffer<T> part(const Device& device, const std::string& name, std::span<const T> values) const {
    Buffer<T> buffer = part<T>(device, name);
    device.enqueue_write(buffer, 0, values, stage_);
    device.wait();
    return buffer;
  }
  /// NAME_AT for each array: its first byte. HAS_ARENA, without which kernel files use their own defaults.
  [[nodiscard]] Defines defines() const;

 private:
  struct Place {
    std::size_t offset;
    std::size_t count;
  };
  void reserve_bytes(const std::string& name, std::size_t bytes, std::size_t count);
  std::string stage_;
  std::size_t bytes_ = 0;
  std::map<std::string, Place> places_;
  Buffer<std::uint8_t> whole_;
};

}  // namespace nearfield::ocl
