#include "cl/memory.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <memory>
#include <optional>

#include "core/system/memory.hpp"

namespace nearfield::ocl {
namespace {

/// Alignment of parts of a buffer that is valid on any device.
constexpr std::size_t kPartBytes = 4096;

}  // namespace

void Arena::reserve_bytes(const std::string& name, std::size_t bytes, std::size_t count) {
  places_.emplace(name, Place{.offset = bytes_, .count = count});
  bytes_ += round_up(bytes, kPartBytes);
}

Defines Arena::defines() const {
  Defines defines = {{"HAS_ARENA", "1"}};
  for (const auto& [name, place] : places_) {
    defines[name + "_AT"] = fmt::format("{}ul", place.offset);
  }
  return defines;
}

namespace {

/// Per process, like its memory: drivers destroy buffers on their own threads.
std::atomic<std::uint64_t> host_buffer_bytes{0};
std::atomic<std::uint64_t> device_buffer_bytes{0};

/// The share of one buffer in a total.
struct CountedBuffer {
  std::atomic<std::uint64_t>* total;
  std::uint64_t bytes;
};

void CL_CALLBACK uncount(cl_mem /*buffer*/, void* counted) {
  const std::unique_ptr<CountedBuffer> gone(static_cast<CountedBuffer*>(counted));
  gone->total->fetch_sub(gone->bytes, std::memory_order_relaxed);
}

std::set<std::string> mapped_files() {
  std::set<std::string> paths;
  if (const std::optional<MappedMemory> memory = read_mapped_memory()) {
    for (const auto& [path, file] : memory->files) {
      paths.insert(path);
    }
  }
  return paths;
}

}  // namespace

BufferBytes buffer_bytes() {
  return {.host = host_buffer_bytes.load(std::memory_order_relaxed),
          .device = device_buffer_bytes.load(std::memory_order_relaxed)};
}

void count_buffer(const ::cl::Buffer& buffer, std::size_t bytes, BufferPlace place) {
  std::atomic<std::uint64_t>& total = place == BufferPlace::kHost ? host_buffer_bytes : device_buffer_bytes;
  auto counted = std::make_unique<CountedBuffer>(CountedBuffer{&total, bytes});
  total.fetch_add(bytes, std::memory_order_relaxed);
  if (clSetMemObjectDestructorCallback(buffer(), &uncount, counted.get()) == CL_SUCCESS) {
    (void)counted.release();  // uncount() owns it
  } else {
    total.fetch_sub(bytes, std::memory_order_relaxed);
  }
}

DriverAccount::DriverAccount() : buffers_before_bytes_(buffer_bytes().host), files_before_(mapped_files()) {
  DriverCall::account = this;
}

DriverAccount::~DriverAccount() {
  if (DriverCall::account == this) {
    DriverCall::account = nullptr;
  }
}

DriverMemory DriverAccount::finish() {
  DriverCall::account = nullptr;
  const auto buffers_bytes = static_cast<std::int64_t>(buffer_bytes().host - buffers_before_bytes_);
  DriverMemory memory;
  memory.anonymous_bytes = static_cast<std::uint64_t>(std::max<std::int64_t>(grown_bytes_ - buffers_bytes, 0));
  for (const std::string& path : mapped_files()) {
    if (!files_before_.contains(path)) {
      memory.files.insert(path);
    }
  }
  return memory;
}

void DriverCall::begin() {
  if (!account->is_in_call_) {
    account->is_in_call_ = true;
    is_counted_ = true;
    release_free_memory();
    before_bytes_ = anonymous_memory_bytes();
  }
}

void DriverCall::end() const {
  if (account != nullptr) {
    release_free_memory();
    account->grown_bytes_ += static_cast<std::int64_t>(anonymous_memory_bytes() - before_bytes_);
    account->is_in_call_ = false;
  }
}

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
