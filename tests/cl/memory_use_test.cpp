#include <gtest/gtest.h>
#include <sys/mman.h>

#include <chrono>
#include <cstring>
#include <optional>
#include <thread>
#include <vector>

#include "cl/device.hpp"
#include "cl/memory.hpp"

namespace nearfield::ocl {
namespace {

constexpr std::size_t kBytes = std::size_t{48} << 20U;
/// Far below kBytes: what a driver keeps of a few transfers, and how exactly the kernel counts.
constexpr std::uint64_t kOtherBytes = std::uint64_t{8} << 20U;

/// Written pages that the heap has no part in.
class Pages {
 public:
  Pages() : memory_(mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)) {
    std::memset(memory_, 1, kBytes);
  }
  ~Pages() { munmap(memory_, kBytes); }
  Pages(const Pages&) = delete;
  Pages& operator=(const Pages&) = delete;

 private:
  void* memory_;
};

TEST(MemoryUse, BuffersCountAsLongAsTheyExist) {
  const Device device = Device::open({});
  const BufferBytes before = buffer_bytes();
  const bool is_gpu = device.info().is_gpu;
  {
    const auto first = device.allocate<float>(1000, "test");
    EXPECT_EQ(buffer_bytes().host - before.host, is_gpu ? 0U : 4000U);
    EXPECT_EQ(buffer_bytes().device - before.device, is_gpu ? 4000U : 0U);
    const auto mapped = device.allocate_host<double>(500, "test");
    EXPECT_EQ(buffer_bytes().host - before.host, is_gpu ? 4000U : 8000U);
    const auto whole = device.allocate<std::uint8_t>(8192, "test");
    const auto part = device.part_of<float>(whole, 4096, 1024, "test");
    EXPECT_EQ(buffer_bytes().host + buffer_bytes().device - before.host - before.device, 4000U + 4000U + 8192U)
        << "a part is no memory of its own";
  }
  device.wait();  // until then a mapped buffer may be in use
  // NVIDIA's driver calls back later, on a thread of its own.
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(30);
  const auto remains = [&] { return buffer_bytes().host != before.host || buffer_bytes().device != before.device; };
  while (remains() && std::chrono::steady_clock::now() < deadline) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  EXPECT_EQ(buffer_bytes().host, before.host);
  EXPECT_EQ(buffer_bytes().device, before.device);
}

// The same buffers, said to be a GPU's.
TEST(MemoryUse, BuffersOfAGpuAreNoMemoryOfTheHost) {
  const Device device = Device::open({});
  DeviceInfo info = device.info();
  info.is_gpu = true;
  const Device gpu = device.restricted(info);
  const BufferBytes before = buffer_bytes();
  const auto buffer = gpu.allocate<float>(1000, "test");
  EXPECT_EQ(buffer_bytes().host, before.host);
  EXPECT_EQ(buffer_bytes().device - before.device, 4000U);
  const auto mapped = gpu.allocate_host<float>(1000, "test");
  EXPECT_EQ(buffer_bytes().host - before.host, 4000U) << "what is mapped is the host's";
}

TEST(MemoryUse, TheDriversAreThePagesOfItsCalls) {
  DriverAccount account;
  std::optional<Pages> of_driver;
  {
    const DriverCall call;
    const DriverCall nested;
    of_driver.emplace();
  }
  const Pages of_program;
  const std::uint64_t bytes = account.finish().anonymous_bytes;
  EXPECT_GT(bytes, kBytes - kOtherBytes);
  EXPECT_LT(bytes, kBytes + kOtherBytes);
}

TEST(MemoryUse, BuffersAndTheProgramsPagesAreNotTheDrivers) {
  const Device device = Device::open({});
  (void)device.upload<std::uint8_t>(std::vector<std::uint8_t>(kBytes, 1), "test");  // its memory may be kept for others
  DriverAccount account;
  const std::vector<std::uint8_t> values(kBytes, 2);
  const auto buffer = device.upload<std::uint8_t>(values, "test");
  const Pages of_program;
  device.wait();
  EXPECT_LT(account.finish().anonymous_bytes, kOtherBytes);
}

TEST(MemoryUse, CallsOutsideAnAccountAreNotCounted) {
  std::optional<Pages> before;
  {
    const DriverCall call;
    before.emplace();
  }
  DriverAccount account;
  EXPECT_LT(account.finish().anonymous_bytes, kOtherBytes);
}

}  // namespace
}  // namespace nearfield::ocl
