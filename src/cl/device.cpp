#include "cl/device.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <cctype>
#include <chrono>

#include "cl/added_kernels.hpp"
#include "cl/error_name.hpp"
#include "cl/memory.hpp"
#include "cl/program_cache.hpp"

namespace nearfield::ocl {
namespace {

/// Size of the largest work-group of any kernel.
constexpr std::size_t kWorkGroupSize = 256;

struct Candidate {
  ::cl::Device device;
  DeviceInfo info;
};

/// OpenCL strings may carry the terminating zero.
std::string trimmed(std::string text) {
  while (!text.empty() && (text.back() == '\0' || std::isspace(static_cast<unsigned char>(text.back())) != 0)) {
    text.pop_back();
  }
  return text;
}

/// From cl_nv_device_attribute_query.
constexpr cl_device_info kComputeCapabilityMajorNv = 0x4000;
constexpr cl_uint kLeastHandingOver = 7;

bool groups_hand_over(const ::cl::Device& device) {
  if (device.getInfo<CL_DEVICE_EXTENSIONS>().find("cl_nv_device_attribute_query") == std::string::npos) {
    return false;
  }
  cl_uint major = 0;
  return clGetDeviceInfo(device(), kComputeCapabilityMajorNv, sizeof(major), &major, nullptr) == CL_SUCCESS &&
         major >= kLeastHandingOver;
}

DeviceInfo describe(const ::cl::Platform& platform, const ::cl::Device& device) {
  DeviceInfo info;
  info.platform = trimmed(platform.getInfo<CL_PLATFORM_NAME>());
  info.name = trimmed(device.getInfo<CL_DEVICE_NAME>());
  info.version = trimmed(device.getInfo<CL_DEVICE_VERSION>());
  info.driver = trimmed(device.getInfo<CL_DRIVER_VERSION>());
  info.is_gpu = (device.getInfo<CL_DEVICE_TYPE>() & CL_DEVICE_TYPE_GPU) != 0;
  info.has_fp64 = device.getInfo<CL_DEVICE_EXTENSIONS>().find("cl_khr_fp64") != std::string::npos;
  info.groups_hand_over = groups_hand_over(device);
  info.global_memory_bytes = device.getInfo<CL_DEVICE_GLOBAL_MEM_SIZE>();
  info.local_memory_bytes = device.getInfo<CL_DEVICE_LOCAL_MEM_SIZE>();
  info.compute_units = device.getInfo<CL_DEVICE_MAX_COMPUTE_UNITS>();
  info.max_work_group_size = device.getInfo<CL_DEVICE_MAX_WORK_GROUP_SIZE>();
  return info;
}

/// Without a registered platform the loader returns an error code, not an empty list.
std::vector<Candidate> find_devices() {
  const DriverCall driver_call;
  keep_pocl_cache_private();
  std::vector<Candidate> found;
  std::vector<::cl::Platform> platforms;
  if (::cl::Platform::get(&platforms) != CL_SUCCESS) {
    return found;
  }
  for (const ::cl::Platform& platform : platforms) {
    std::vector<::cl::Device> devices;
    if (platform.getDevices(CL_DEVICE_TYPE_ALL, &devices) != CL_SUCCESS) {
      continue;
    }
    for (const ::cl::Device& device : devices) {
      found.push_back({device, describe(platform, device)});
      found.back().info.number = found.size() - 1;
    }
  }
  return found;
}

std::string lower(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(), [](unsigned char c) { return std::tolower(c); });
  return text;
}

std::string listing(const std::vector<Candidate>& candidates) {
  std::vector<std::string> lines;
  for (const Candidate& candidate : candidates) {
    lines.push_back(fmt::format("\"{}\" on \"{}\"", candidate.info.name, candidate.info.platform));
  }
  return fmt::format("{}", fmt::join(lines, ", "));
}

/// GPUs first; within each kind in the platforms' order.
std::vector<Candidate> matching(const std::vector<Candidate>& all, const std::string& platform) {
  std::vector<Candidate> fitting;
  for (const Candidate& candidate : all) {
    const bool named = lower(candidate.info.platform).find(lower(platform)) != std::string::npos ||
                       lower(candidate.info.name).find(lower(platform)) != std::string::npos;
    if (platform == "auto" || named) {
      fitting.push_back(candidate);
    }
  }
  std::stable_partition(fitting.begin(), fitting.end(), [](const Candidate& c) { return c.info.is_gpu; });
  return fitting;
}

Candidate chosen_candidate(const DeviceSettings& settings) {
  const std::vector<Candidate> all = find_devices();
  if (all.empty()) {
    throw DeviceError(
        "no OpenCL device found; install a GPU driver with OpenCL, PoCL (apt-get install pocl-opencl-icd) or, in the "
        "Python that has Nearfield's wheel, Intel's driver for processors (pip install intel-opencl-rt "
        "intel-cmplr-lib-rt), and see that the loader's folder (OCL_ICD_VENDORS) and PoCL's cache (POCL_CACHE_DIR, "
        "XDG_CACHE_HOME or HOME) can be used");
  }
  const std::vector<Candidate> fitting = matching(all, settings.platform);
  if (fitting.empty()) {
    throw DeviceError(
        fmt::format("device.platform: no OpenCL device matches \"{}\"; found {}", settings.platform, listing(all)));
  }
  if (settings.index < 0 || static_cast<std::size_t>(settings.index) >= fitting.size()) {
    throw DeviceError(fmt::format("device.index: expected 0 to {}, found {}; devices are {}", fitting.size() - 1,
                                  settings.index, listing(fitting)));
  }
  return fitting[static_cast<std::size_t>(settings.index)];
}

std::vector<std::span<const EmbeddedKernel>>& kernel_tables() {
  static std::vector<std::span<const EmbeddedKernel>> tables = {embedded_kernels()};
  return tables;
}

const EmbeddedKernel& embedded_kernel(std::string_view path) {
  for (const std::span<const EmbeddedKernel> table : kernel_tables()) {
    for (const EmbeddedKernel& kernel : table) {
      if (kernel.path == path) {
        return kernel;
      }
    }
  }
  throw Error(ExitCode::kInternal, fmt::format("kernels/{}: not among the embedded kernels", path));
}

std::string options_of(const Defines& defines) {
  std::string options = "-cl-std=CL1.2";
  for (const auto& [name, value] : defines) {
    options += fmt::format(" -D {}={}", name, value);
  }
  return options;
}

/// cl_nv_create_buffer: host memory that kernels of NVIDIA's devices access directly. Its flags are not in Khronos'
/// headers. The pointer from clEnqueueMapBuffer stays valid while kernels write.
using CreateBufferNv = cl_mem(CL_API_CALL*)(cl_context, cl_mem_flags, cl_bitfield, std::size_t, void*, cl_int*);
constexpr cl_bitfield kLocationHostNv = 1;

CreateBufferNv create_buffer_nv(const ::cl::Device& device) {
  if (device.getInfo<CL_DEVICE_EXTENSIONS>().find("cl_nv_create_buffer") == std::string::npos) {
    return nullptr;
  }
  return reinterpret_cast<CreateBufferNv>(clGetExtensionFunctionAddressForPlatform(
      ::cl::Platform(device.getInfo<CL_DEVICE_PLATFORM>())(), "clCreateBufferNV"));
}

}  // namespace

void add_kernels(std::span<const EmbeddedKernel> files) { kernel_tables().push_back(files); }

void throw_device_error(std::string_view stage, std::string_view call, cl_int code) {
  throw DeviceError(fmt::format("{}: {} failed with OpenCL error {} ({})", stage, call, code, error_name(code)));
}

std::vector<DeviceInfo> list_devices() {
  std::vector<DeviceInfo> infos;
  for (Candidate& candidate : find_devices()) {
    infos.push_back(std::move(candidate.info));
  }
  return infos;
}

void Kernel::enqueue(const Launch& launch) {
  const DriverCall driver_call;
  const ::cl::NDRange global(launch.global_0, launch.global_1, launch.global_2);
  const ::cl::NDRange local(launch.local_0, launch.local_1, launch.local_2);
  if (recorder_ != nullptr && recorder_->is_active()) {
    record_use(launch);
  }
  ::cl::Event* const event = event_of(recorder_.get(), stage_);
  check(shared_ != nullptr ? shared_->enqueue(queue_, raw_, launch, event)
                           : queue_.enqueueNDRangeKernel(raw_, ::cl::NullRange, global, local, nullptr, event),
        "clEnqueueNDRangeKernel");
}

void Kernel::record_use(const Launch& launch) const {
  const auto device = queue_.getInfo<CL_QUEUE_DEVICE>();
  recorder_->note_use(
      stage_, {.work_group_items = launch.local_0 * launch.local_1 * launch.local_2,
               .work_items = launch.global_0 * launch.global_1 * launch.global_2,
               .most_work_group_items = raw_.getWorkGroupInfo<CL_KERNEL_WORK_GROUP_SIZE>(device),
               .preferred_multiple = raw_.getWorkGroupInfo<CL_KERNEL_PREFERRED_WORK_GROUP_SIZE_MULTIPLE>(device),
               .local_bytes = raw_.getWorkGroupInfo<CL_KERNEL_LOCAL_MEM_SIZE>(device),
               .private_bytes = raw_.getWorkGroupInfo<CL_KERNEL_PRIVATE_MEM_SIZE>(device)});
}

cl_uint Kernel::number_of(std::string_view name) const {
  const std::span<const std::string_view> names = signature_->arguments;
  const auto found = std::find(names.begin(), names.end(), name);
  if (found == names.end()) {
    throw Error(ExitCode::kInternal, fmt::format("{}: the kernel has no argument \"{}\"; expected one of {}", stage_,
                                                 name, fmt::join(names, ", ")));
  }
  return static_cast<cl_uint>(found - names.begin());
}

void Kernel::check_count(std::size_t values) const {
  if (values < signature_->fixed || values > signature_->arguments.size()) {
    throw Error(ExitCode::kInternal, fmt::format("{}: expected a value for each of the arguments {}, found {} values",
                                                 stage_, fmt::join(signature_->arguments, ", "), values));
  }
}

Kernel Program::kernel(const std::string& name) const {
  const DriverCall driver_call;
  const std::span<const KernelSignature> kernels = embedded_->kernels;
  const auto signature =
      std::find_if(kernels.begin(), kernels.end(), [&](const KernelSignature& kernel) { return kernel.name == name; });
  if (signature == kernels.end()) {
    throw Error(ExitCode::kInternal, fmt::format("{}: kernels/{} has no kernel {}", stage_, embedded_->path, name));
  }
  cl_int code = CL_SUCCESS;
  ::cl::Kernel raw(raw_, name.c_str(), &code);
  if (code != CL_SUCCESS) {
    throw_device_error(stage_, fmt::format("clCreateKernel({})", name), code);
  }
  std::string stage = fmt::format("{}/{}", stage_, name);
  if (recorder_ != nullptr) {
    recorder_->note_kernel(stage);
  }
  std::shared_ptr<SharedCode> shared = SharedCode::of(raw_, embedded_->path, name, queue_.getInfo<CL_QUEUE_DEVICE>());
  return {std::move(raw), queue_, std::move(stage), *signature, recorder_, std::move(shared)};
}

DeviceInfo find_device(const DeviceSettings& settings) { return chosen_candidate(settings).info; }

Device Device::open(const DeviceSettings& settings, Profiling profiling) {
  const DriverCall driver_call;
  const Candidate chosen = chosen_candidate(settings);
  if (chosen.info.max_work_group_size < kWorkGroupSize) {
    throw DeviceError(fmt::format("{}: expected work-groups of {} items, found at most {}", chosen.info.name,
                                  kWorkGroupSize, chosen.info.max_work_group_size));
  }
  Device opened;
  cl_int code = CL_SUCCESS;
  opened.device_ = chosen.device;
  opened.info_ = chosen.info;
  opened.context_ = ::cl::Context(chosen.device, nullptr, nullptr, nullptr, &code);
  if (code != CL_SUCCESS) {
    throw_device_error(chosen.info.name, "clCreateContext", code);
  }
  const cl_command_queue_properties properties = profiling == Profiling::kOn ? CL_QUEUE_PROFILING_ENABLE : 0;
  opened.queue_ = ::cl::CommandQueue(opened.context_, chosen.device, properties, &code);
  if (code != CL_SUCCESS) {
    throw_device_error(chosen.info.name, "clCreateCommandQueue", code);
  }
  if (profiling == Profiling::kOn) {
    opened.recorder_ = std::make_shared<Recorder>();
  }
  return opened;
}

void Device::wait() const {
  const DriverCall driver_call;
  if (const cl_int code = queue_.finish(); code != CL_SUCCESS) {
    throw_device_error(info_.name, "clFinish", code);
  }
}

void Device::flush() const {
  const DriverCall driver_call;
  if (const cl_int code = queue_.flush(); code != CL_SUCCESS) {
    throw_device_error(info_.name, "clFlush", code);
  }
}

Program Device::build(std::string_view stage, std::string_view file, const Defines& defines) const {
  const DriverCall driver_call;
  const EmbeddedKernel& embedded = embedded_kernel(file);
  std::string source;
  for (const std::string_view text : embedded.texts) {
    source += text;
  }
  const std::string options = options_of(defines);
  const ProgramCache cache{CacheFiles(program_cache_folder(info_.platform))};
  const CacheKey key = ProgramCache::key_of(device_, options, source);
  if (std::optional<::cl::Program> cached = cache.load(key, context_, device_, options)) {
    return {std::move(*cached), queue_, std::string(stage), embedded, recorder_};
  }
  cl_int code = CL_SUCCESS;
  ::cl::Program program(context_, source, false, &code);
  if (code != CL_SUCCESS) {
    throw_device_error(stage, "clCreateProgramWithSource", code);
  }
  const auto begun = std::chrono::steady_clock::now();
  code = program.build(device_, options.c_str());
  if (code != CL_SUCCESS) {
    const std::string log = program.getBuildInfo<CL_PROGRAM_BUILD_LOG>(device_);
    throw DeviceError(fmt::format("{}: clBuildProgram failed with OpenCL error {} ({}) for {} on {}:\n{}", stage, code,
                                  error_name(code), file, info_.name, log));
  }
  spdlog::debug("{}: {} compiled in {:.2f} s", stage, file,
                std::chrono::duration<double>(std::chrono::steady_clock::now() - begun).count());
  cache.store(key, program);
  return {std::move(program), queue_, std::string(stage), embedded, recorder_};
}

::cl::Buffer Device::allocate_bytes(std::size_t bytes, std::string_view stage) const {
  const DriverCall driver_call;
  cl_int code = CL_SUCCESS;
  ::cl::Buffer buffer(context_, CL_MEM_READ_WRITE, bytes, nullptr, &code);
  if (code != CL_SUCCESS) {
    throw_device_error(stage, fmt::format("clCreateBuffer of {} bytes", bytes), code);
  }
  count_buffer(buffer, bytes, info_.is_gpu ? BufferPlace::kDevice : BufferPlace::kHost);
  return buffer;
}

::cl::Buffer Device::part_of_bytes(const ::cl::Buffer& whole, std::size_t offset, std::size_t bytes,
                                   std::string_view stage) {
  const cl_buffer_region region{offset, bytes};
  cl_int code = CL_SUCCESS;
  cl_mem part = clCreateSubBuffer(whole(), CL_MEM_READ_WRITE, CL_BUFFER_CREATE_TYPE_REGION, &region, &code);
  if (code != CL_SUCCESS) {
    throw_device_error(stage, fmt::format("clCreateSubBuffer of {} bytes at {}", bytes, offset), code);
  }
  return ::cl::Buffer(part);
}

std::shared_ptr<void> Device::map_host_bytes(std::size_t bytes, std::string_view stage) const {
  const DriverCall driver_call;
  cl_int code = CL_SUCCESS;
  ::cl::Buffer buffer(context_, CL_MEM_READ_WRITE | CL_MEM_ALLOC_HOST_PTR, bytes, nullptr, &code);
  if (code != CL_SUCCESS) {
    throw_device_error(stage, fmt::format("clCreateBuffer of {} bytes of host memory", bytes), code);
  }
  count_buffer(buffer, bytes, BufferPlace::kHost);
  return map(buffer, bytes, stage);
}

std::pair<::cl::Buffer, std::shared_ptr<void>> Device::share_host_bytes(std::size_t bytes,
                                                                        std::string_view stage) const {
  const DriverCall driver_call;
  const CreateBufferNv create = create_buffer_nv(device_);
  if (create == nullptr) {
    return {};
  }
  cl_int code = CL_SUCCESS;
  const cl_mem memory = create(context_(), CL_MEM_READ_WRITE, kLocationHostNv, bytes, nullptr, &code);
  if (code != CL_SUCCESS) {
    return {};  // transfers work too
  }
  const ::cl::Buffer buffer(memory);
  count_buffer(buffer, bytes, BufferPlace::kHost);
  return {buffer, map(buffer, bytes, stage)};
}

std::shared_ptr<void> Device::map(const ::cl::Buffer& buffer, std::size_t bytes, std::string_view stage) const {
  const DriverCall driver_call;
  cl_int code = CL_SUCCESS;
  void* mapped =
      queue_.enqueueMapBuffer(buffer, CL_TRUE, CL_MAP_READ | CL_MAP_WRITE, 0, bytes, nullptr, nullptr, &code);
  if (code != CL_SUCCESS) {
    throw_device_error(stage, "clEnqueueMapBuffer", code);
  }
  return {mapped, [buffer, queue = queue_](void* memory) { (void)queue.enqueueUnmapMemObject(buffer, memory); }};
}

void Device::write(const ::cl::Buffer& buffer, std::size_t offset, std::size_t bytes, const void* from,
                   cl_bool blocking, std::string_view stage) const {
  const DriverCall driver_call;
  if (bytes == 0) {
    return;
  }
  ::cl::Event* event = event_of(recorder_.get(), stage, "write", bytes);
  const cl_int code = queue_.enqueueWriteBuffer(buffer, blocking, offset, bytes, from, nullptr, event);
  if (code != CL_SUCCESS) {
    throw_device_error(stage, "clEnqueueWriteBuffer", code);
  }
}

void Device::read(const ::cl::Buffer& buffer, std::size_t offset, std::size_t bytes, void* to, cl_bool blocking,
                  std::string_view stage) const {
  const DriverCall driver_call;
  if (bytes == 0) {
    return;
  }
  ::cl::Event* event = event_of(recorder_.get(), stage, "read", bytes);
  const cl_int code = queue_.enqueueReadBuffer(buffer, blocking, offset, bytes, to, nullptr, event);
  if (code != CL_SUCCESS) {
    throw_device_error(stage, "clEnqueueReadBuffer", code);
  }
}

}  // namespace nearfield::ocl
