#pragma once
#include <CL/opencl.hpp>
#include <array>
#include <complex>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cl/program_cache.hpp"
#include "cl/recorder.hpp"
#include "cl/shared_code.hpp"
#include "core/error.hpp"
#include "core/settings.hpp"

/// The only owner of OpenCL: all other folders use Device, Buffer, Program and Kernel only.
namespace nearfield::ocl {

/// Properties of a device for users and plans.
struct DeviceInfo {
  std::size_t number = 0;  ///< index among all of this machine, in the order of list_devices()
  std::string platform;
  std::string name;
  std::string version;
  std::string driver;
  bool is_gpu = false;
  bool has_fp64 = false;
  /// Work-groups of one launch can wait for results of others of the same launch (kernels/common/hand_over.cl):
  /// NVIDIA's devices of compute capability 7.0 and above.
  bool groups_hand_over = false;
  std::uint64_t global_memory_bytes = 0;
  std::uint64_t local_memory_bytes = 0;
  std::uint32_t compute_units = 0;
  std::size_t max_work_group_size = 0;
};

/// Every OpenCL device of this machine, in the order of the platforms. Empty when there is none.
std::vector<DeviceInfo> list_devices();

/// The device that the settings choose. Throws DeviceError, whose message begins with the setting to blame and lists
/// the available devices.
DeviceInfo find_device(const DeviceSettings& settings);

/// Turns an OpenCL failure into a DeviceError that names call, code and stage.
[[noreturn]] void throw_device_error(std::string_view stage, std::string_view call, cl_int code);

/// A typed array on the device.
template <class T>
class Buffer {
 public:
  Buffer() = default;
  Buffer(::cl::Buffer raw, std::size_t count) : raw_(std::move(raw)), count_(count) {}
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;
  Buffer(Buffer&&) noexcept = default;
  Buffer& operator=(Buffer&&) noexcept = default;
  ~Buffer() = default;
  [[nodiscard]] std::size_t size() const { return count_; }
  [[nodiscard]] const ::cl::Buffer& raw() const { return raw_; }

 private:
  ::cl::Buffer raw_;
  std::size_t count_ = 0;
};

/// An array in host memory that the device transfers directly (page-locked where supported). Transfers of other memory
/// take several times as long on GPUs, and may wait.
template <class T>
class HostBuffer {
 public:
  HostBuffer() = default;
  HostBuffer(std::shared_ptr<void> mapping, std::size_t count) : mapping_(std::move(mapping)), count_(count) {}
  [[nodiscard]] std::span<T> values() const { return {static_cast<T*>(mapping_.get()), count_}; }
  [[nodiscard]] std::size_t size() const { return count_; }

 private:
  std::shared_ptr<void> mapping_;
  std::size_t count_ = 0;
};

/// An array in host memory that kernels access directly: their output is there after wait(), without a transfer.
template <class T>
struct SharedBuffer {
  Buffer<T> on_device;
  HostBuffer<T> on_host;
};

/// Sizes of a launch; the second dimension is 1 unless given. Global sizes are multiples of local ones.
struct Launch {
  std::size_t global_0;
  std::size_t local_0;
  std::size_t global_1 = 1;
  std::size_t local_1 = 1;
  std::size_t global_2 = 1;
  std::size_t local_2 = 1;
};

/// The smallest multiple of `step` that is not below `value`.
constexpr std::size_t round_up(std::size_t value, std::size_t step) { return (value + step - 1) / step * step; }

/// Numbers of several arguments of a kernel that are set together.
template <std::size_t count>
struct Arguments {
  std::array<cl_uint, count> numbers{};
};

/// One kernel with its queue. Arguments are set in prepare() if they do not change, else per frame, then enqueue().
/// Their names are those of the .cl file; an unknown name is an Error with a message.
class Kernel {
 public:
  Kernel() = default;
  /// `signature` must outlive the kernel: it belongs to an embedded kernel.
  Kernel(::cl::Kernel raw, ::cl::CommandQueue queue, std::string stage, const KernelSignature& signature,
         std::shared_ptr<Recorder> recorder, std::shared_ptr<SharedCode> shared)
      : raw_(std::move(raw)),
        queue_(std::move(queue)),
        stage_(std::move(stage)),
        signature_(&signature),
        recorder_(std::move(recorder)),
        shared_(std::move(shared)) {}

  /// Sets all arguments, in order: Buffer<T> or plain values of OpenCL's own types.
  template <class... Values>
  void set_all(const Values&... values) {
    check_count(sizeof...(values));
    cl_uint number = 0;
    (set_one(number++, values), ...);
  }
  /// Sets one argument. Looks its name up, so only for prepare().
  template <class T>
  Kernel& set(std::string_view name, const T& value) {
    set_one(number_of(name), value);
    return *this;
  }
  /// Looks names up, in prepare(), for arguments that are set per frame.
  template <class... Names>
  [[nodiscard]] Arguments<sizeof...(Names)> arguments(const Names&... names) const {
    return {{number_of(names)...}};
  }
  /// Sets these arguments, in the order of the names given to arguments().
  template <std::size_t count, class... Values>
  requires(count == sizeof...(Values)) void set(const Arguments<count>& arguments, const Values&... values) {
    const cl_uint* number = arguments.numbers.data();
    (set_one(*number++, values), ...);
  }
  void enqueue(const Launch& launch);
  [[nodiscard]] const std::string& stage() const { return stage_; }

 private:
  template <class T>
  void set_one(cl_uint number, const Buffer<T>& buffer) {
    check(raw_.setArg(number, buffer.raw()), "clSetKernelArg");
  }
  template <class T>
  requires(std::is_trivially_copyable_v<T>) void set_one(cl_uint number, const T& value) {
    check(raw_.setArg(number, sizeof(T), &value), "clSetKernelArg");
  }
  void check(cl_int code, std::string_view call) const {
    if (code != CL_SUCCESS) {
      throw_device_error(stage_, call, code);
    }
  }
  [[nodiscard]] cl_uint number_of(std::string_view name) const;
  void check_count(std::size_t values) const;
  void record_use(const Launch& launch) const;
  ::cl::Kernel raw_;
  ::cl::CommandQueue queue_;
  std::string stage_;
  const KernelSignature* signature_ = nullptr;
  std::shared_ptr<Recorder> recorder_;
  std::shared_ptr<SharedCode> shared_;
};

/// Compile-time constants of a plan's program.
using Defines = std::map<std::string, std::string>;

/// A built program; hands out its kernels.
class Program {
 public:
  Program() = default;
  /// `embedded` must outlive the program and its kernels: an entry of embedded_kernels().
  Program(::cl::Program raw, ::cl::CommandQueue queue, std::string stage, const EmbeddedKernel& embedded,
          std::shared_ptr<Recorder> recorder)
      : raw_(std::move(raw)),
        queue_(std::move(queue)),
        stage_(std::move(stage)),
        embedded_(&embedded),
        recorder_(std::move(recorder)) {}
  /// A kernel of the file or of the files it needs.
  [[nodiscard]] Kernel kernel(const std::string& name) const;

 private:
  ::cl::Program raw_;
  ::cl::CommandQueue queue_;
  std::string stage_;
  const EmbeddedKernel* embedded_ = nullptr;
  std::shared_ptr<Recorder> recorder_;
};

/// kOn: the queue records when each command ran.
enum class Profiling { kOff, kOn };

/// One device with its context and one in-order queue. Cheap to copy: copies share the queue.
class Device {
 public:
  /// Throws DeviceError when there is no device or none fits the settings; the message lists the available ones.
  static Device open(const DeviceSettings& settings, Profiling profiling = Profiling::kOff);

  [[nodiscard]] const DeviceInfo& info() const { return info_; }
  /// This device with reduced capabilities: for tests of the paths for lesser devices.
  [[nodiscard]] Device restricted(const DeviceInfo& info) const {
    Device lesser = *this;
    lesser.info_ = info;
    return lesser;
  }

  template <class T>
  [[nodiscard]] Buffer<T> allocate(std::size_t count, std::string_view stage) const {
    return Buffer<T>(allocate_bytes(std::max<std::size_t>(count, 1) * sizeof(T), stage), count);
  }
  /// `count` values of `whole` from value `first` on, which must lie at a multiple of 4 KiB, as values of another type.
  template <class T, class Whole>
  [[nodiscard]] Buffer<T> part_of(const Buffer<Whole>& whole, std::size_t first, std::size_t count,
                                  std::string_view stage) const {
    return Buffer<T>(part_of_bytes(whole.raw(), first * sizeof(Whole), count * sizeof(T), stage), count);
  }
  /// The values are not initialised.
  template <class T>
  [[nodiscard]] HostBuffer<T> allocate_host(std::size_t count, std::string_view stage) const {
    return HostBuffer<T>(map_host_bytes(std::max<std::size_t>(count, 1) * sizeof(T), stage), count);
  }
  /// Empty if the device has no such memory.
  template <class T>
  [[nodiscard]] std::optional<SharedBuffer<T>> allocate_shared(std::size_t count, std::string_view stage) const {
    auto [raw, mapping] = share_host_bytes(std::max<std::size_t>(count, 1) * sizeof(T), stage);
    if (!mapping) {
      return std::nullopt;
    }
    return SharedBuffer<T>{Buffer<T>(std::move(raw), count), HostBuffer<T>(std::move(mapping), count)};
  }
  /// Allocates and fills; waits. For prepare().
  template <class T>
  [[nodiscard]] Buffer<T> upload(std::span<const T> values, std::string_view stage) const {
    Buffer<T> buffer = allocate<T>(values.size(), stage);
    write(buffer.raw(), 0, values.size_bytes(), values.data(), CL_TRUE, stage);
    return buffer;
  }
  /// Reads the whole buffer and waits. For tests and prepare().
  template <class T>
  [[nodiscard]] std::vector<T> download(const Buffer<T>& buffer, std::string_view stage) const {
    std::vector<T> values(buffer.size());
    read(buffer.raw(), 0, values.size() * sizeof(T), values.data(), CL_TRUE, stage);
    return values;
  }
  /// Enqueues a write of `values` from element `first` on. The host memory must stay unchanged until wait().
  template <class T>
  void enqueue_write(const Buffer<T>& buffer, std::size_t first, std::span<const T> values,
                     std::string_view stage) const {
    write(buffer.raw(), first * sizeof(T), values.size_bytes(), values.data(), CL_FALSE, stage);
  }
  /// Enqueues a read from the start of the buffer. The values are available after wait().
  template <class T>
  void enqueue_read(const Buffer<T>& buffer, std::span<T> values, std::string_view stage) const {
    read(buffer.raw(), 0, values.size_bytes(), values.data(), CL_FALSE, stage);
  }
  /// Like enqueue_read(), from element `first` on.
  template <class T>
  void enqueue_read_from(const Buffer<T>& buffer, std::size_t first, std::span<T> values,
                         std::string_view stage) const {
    read(buffer.raw(), first * sizeof(T), values.size_bytes(), values.data(), CL_FALSE, stage);
  }
  /// Enqueues a copy of the whole of `from` into `to`, from its element `first` on.
  template <class T>
  void enqueue_copy(const Buffer<T>& from, const Buffer<T>& to, std::size_t first, std::string_view stage) const {
    const std::size_t bytes = from.size() * sizeof(T);
    const cl_int code = queue_.enqueueCopyBuffer(from.raw(), to.raw(), 0, first * sizeof(T), bytes, nullptr,
                                                 event_of(recorder_.get(), stage, "copy", bytes));
    if (code != CL_SUCCESS) {
      throw_device_error(stage, "clEnqueueCopyBuffer", code);
    }
  }
  /// Enqueues a fill of the whole buffer.
  template <class T>
  void enqueue_fill(const Buffer<T>& buffer, const T& value, std::string_view stage) const {
    const cl_int code = queue_.enqueueFillBuffer(buffer.raw(), value, 0, buffer.size() * sizeof(T), nullptr,
                                                 event_of(recorder_.get(), stage, "fill", buffer.size() * sizeof(T)));
    if (code != CL_SUCCESS) {
      throw_device_error(stage, "clEnqueueFillBuffer", code);
    }
  }
  /// Waits until the queue is empty; called once per frame.
  void wait() const;
  /// Submits the enqueued commands to the device, and does not wait.
  void flush() const;
  /// The recorder of the commands' times; null unless opened with Profiling::kOn.
  [[nodiscard]] Recorder* recorder() const { return recorder_.get(); }
  /// recorder() as a shared pointer, for objects that may outlive this copy of the device.
  [[nodiscard]] const std::shared_ptr<Recorder>& shared_recorder() const { return recorder_; }

  /// Builds an embedded kernel file, such as "imaging/sonah.cl", with the files it needs. Throws DeviceError with the
  /// compiler's log.
  [[nodiscard]] Program build(std::string_view stage, std::string_view file, const Defines& defines) const;

  [[nodiscard]] const ::cl::Context& context() const { return context_; }
  [[nodiscard]] const ::cl::CommandQueue& queue() const { return queue_; }

 private:
  [[nodiscard]] ::cl::Buffer allocate_bytes(std::size_t bytes, std::string_view stage) const;
  [[nodiscard]] static ::cl::Buffer part_of_bytes(const ::cl::Buffer& whole, std::size_t offset, std::size_t bytes,
                                                  std::string_view stage);
  [[nodiscard]] std::shared_ptr<void> map_host_bytes(std::size_t bytes, std::string_view stage) const;
  /// Host memory that kernels write to directly, and its mapping; null if there is none.
  [[nodiscard]] std::pair<::cl::Buffer, std::shared_ptr<void>> share_host_bytes(std::size_t bytes,
                                                                                std::string_view stage) const;
  [[nodiscard]] std::shared_ptr<void> map(const ::cl::Buffer& buffer, std::size_t bytes, std::string_view stage) const;
  void write(const ::cl::Buffer& buffer, std::size_t offset, std::size_t bytes, const void* from, cl_bool blocking,
             std::string_view stage) const;
  void read(const ::cl::Buffer& buffer, std::size_t offset, std::size_t bytes, void* to, cl_bool blocking,
            std::string_view stage) const;
  ::cl::Device device_;
  ::cl::Context context_;
  ::cl::CommandQueue queue_;
  DeviceInfo info_;
  std::shared_ptr<Recorder> recorder_;
};

}  // namespace nearfield::ocl
