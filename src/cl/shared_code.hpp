#pragma once
#include <CL/opencl.hpp>
#include <array>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>

namespace nearfield::ocl {

struct Launch;

/// The machine code of one kernel, which all queues of this process share. PoCL before version 6 keeps one for each
/// width of the grid that is wider than all before, counts the uses of the newest one when those of another end, and
/// ends the process where that count would fall below 0. So the first launch of each width runs alone here; kernels of
/// clFFT and CLBlast, which enqueue them themselves, are not held.
class SharedCode {
 public:
  /// The code of this kernel of a program that was built from `file`; null if the device's driver counts right.
  static std::shared_ptr<SharedCode> of(const ::cl::Program& program, std::string_view file, std::string_view kernel,
                                        const ::cl::Device& device);

  /// Enqueues `kernel`; waits for it, and before for all launches of other queues, if it is the widest so far. `event`
  /// may be null. Returns OpenCL's code. Threads may call it at the same time.
  cl_int enqueue(const ::cl::CommandQueue& queue, const ::cl::Kernel& kernel, const Launch& launch, ::cl::Event* event);

 private:
  std::mutex mutex_;
  std::map<std::array<std::size_t, 3>, std::size_t> widest_;  ///< by the sizes of a work-group
  std::map<cl_command_queue, ::cl::Event> last_;              ///< the last launch of each queue
};

}  // namespace nearfield::ocl
