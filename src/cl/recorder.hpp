#pragma once
#include <CL/opencl.hpp>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace nearfield::ocl {

/// Start and end of one command, on the device's clock.
struct CommandTime {
  std::string stage;  ///< "decimated_fft/window_lines", "front_end/bit_ring/write", ...
  std::uint64_t begin_ns = 0;
  std::uint64_t end_ns = 0;
  std::size_t bytes = 0;  ///< bytes moved, for transfers and fills; 0 if not known
};

/// Launch sizes of a kernel, and its limits on the device.
struct KernelUse {
  std::size_t work_group_items = 0;
  std::size_t work_items = 0;
  std::size_t most_work_group_items = 0;  ///< maximum for this kernel on this device
  std::size_t preferred_multiple = 0;     ///< preferred multiple of a work-group's items; a warp or wavefront on a GPU
  std::uint64_t local_bytes = 0;          ///< per work-group
  std::uint64_t private_bytes = 0;        ///< per work-item
};

/// Keeps the events of a device's commands, for measurements. Only a device opened with Profiling::kOn has one; it
/// records nothing until it is set active. Not for several threads.
class Recorder {
 public:
  [[nodiscard]] bool is_active() const { return is_active_; }
  /// Discards what was recorded and not taken.
  void set_active(bool active) {
    is_active_ = active;
    group_start_.reset();
    entries_.clear();
  }

  /// The event for the next command of this stage, valid until the next call; null while not active.
  ::cl::Event* next(std::string stage, std::size_t bytes = 0);
  /// Call before a command of several kernels of which only the last has an event: its time counts from here on,
  /// including gaps.
  void start_group(const ::cl::CommandQueue& queue);
  /// Registers a kernel, active or not.
  void note_kernel(const std::string& stage) { kernels_.insert(stage); }
  /// Stages of all registered kernels.
  [[nodiscard]] const std::set<std::string>& kernels() const { return kernels_; }
  void note_use(const std::string& stage, const KernelUse& use) { uses_[stage] = use; }

  /// The commands recorded since the last call, in order; call after Device::wait(). Throws DeviceError when the device
  /// does not record them.
  std::vector<CommandTime> take();
  /// Uses by stage, of every kernel enqueued while active since the last call.
  std::map<std::string, KernelUse> take_uses() { return std::exchange(uses_, {}); }

 private:
  struct Entry {
    std::string stage;
    std::size_t bytes = 0;
    std::optional<::cl::Event> start;
    ::cl::Event event;
  };
  bool is_active_ = false;
  std::optional<::cl::Event> group_start_;
  std::vector<Entry> entries_;
  std::map<std::string, KernelUse> uses_;
  std::set<std::string> kernels_;
};

/// The event for a command of `stage`, or of `stage`/`what`; null when not recording.
inline ::cl::Event* event_of(Recorder* recorder, std::string_view stage, std::string_view what = "",
                             std::size_t bytes = 0) {
  if (recorder == nullptr || !recorder->is_active()) {
    return nullptr;
  }
  std::string name(stage);
  if (!what.empty()) {
    name.append("/").append(what);
  }
  return recorder->next(std::move(name), bytes);
}

}  // namespace nearfield::ocl
