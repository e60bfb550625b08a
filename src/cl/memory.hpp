#pragma once
#include <CL/opencl.hpp>
#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
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

/// Sizes of all existing buffers of this process.
struct BufferBytes {
  std::uint64_t host = 0;    ///< in host memory: mapped ones, and those of devices without memory of their own
  std::uint64_t device = 0;  ///< in GPU memory
};
/// Any thread.
BufferBytes buffer_bytes();

enum class BufferPlace { kHost, kDevice };
/// Counts a new buffer until the driver destroys it.
void count_buffer(const ::cl::Buffer& buffer, std::size_t bytes, BufferPlace place);

/// Host memory of a driver, without buffers.
struct DriverMemory {
  std::uint64_t anonymous_bytes = 0;  ///< left by calls of OpenCL on the heap, on stacks and in written pages of files
  std::set<std::string> files;        ///< files mapped meanwhile, whose written pages are in anonymous_bytes
};

/// Measures the memory that a driver retains from the calls that this thread makes through this folder, from
/// construction to finish(): the growth of the process's anonymous memory during each call, less the host's buffers
/// that were allocated meanwhile. Free pages of the heap are released before and after each call, so that the driver's
/// allocations take new pages and memory that it has freed is not counted. Only one account may exist at a time, while
/// no other thread allocates much: at the start of a program.
class DriverAccount {
 public:
  DriverAccount();
  ~DriverAccount();
  DriverAccount(const DriverAccount&) = delete;
  DriverAccount& operator=(const DriverAccount&) = delete;
  /// Ends the measurement. Once.
  DriverMemory finish();

 private:
  friend class DriverCall;
  std::int64_t grown_bytes_ = 0;
  bool is_in_call_ = false;
  std::uint64_t buffers_before_bytes_;
  std::set<std::string> files_before_;
};

/// Scope around calls of OpenCL: their allocations count for the account of this thread, if there is one. In nested
/// scopes the outermost counts.
class DriverCall {
 public:
  DriverCall() {
    if (account != nullptr) {
      begin();
    }
  }
  ~DriverCall() {
    if (is_counted_) {
      end();
    }
  }
  DriverCall(const DriverCall&) = delete;
  DriverCall& operator=(const DriverCall&) = delete;

 private:
  friend class DriverAccount;
  void begin();
  void end() const;
  /// The account of this thread; null outside a measurement, so that a call costs a comparison then.
  inline static thread_local constinit DriverAccount* account = nullptr;
  bool is_counted_ = false;
  std::uint64_t before_bytes_ = 0;
};

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
