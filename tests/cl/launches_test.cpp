#include <gtest/gtest.h>

#include "cl/added_kernels.hpp"
#include "cl/device.hpp"
#include "support/environment.hpp"

namespace nearfield::ocl {
namespace {

/// Adds 1 `rounds` times to each value.
constexpr std::string_view kText = R"(
__kernel void count(__global float* values, int rounds) {
  float sum = values[get_global_id(0)];
  for (int i = 0; i < rounds; ++i) sum += 1.0f;
  values[get_global_id(0)] = sum;
}
)";
constexpr std::array<std::string_view, 2> kArguments = {"values", "rounds"};
constexpr KernelSignature kSignature = {.name = "count", .arguments = kArguments, .fixed = 2};
constexpr EmbeddedKernel kFile = {
    .path = "tests/count.cl", .texts = std::span(&kText, 1), .kernels = std::span(&kSignature, 1)};

/// One queue with a launch of `items` work-items.
class Counter {
 public:
  explicit Counter(std::size_t items) : items_(items) {}
  void enqueue(int rounds) {
    kernel_.set_all(values_, cl_int{rounds});
    kernel_.enqueue({items_, 1});
    device_.flush();
  }
  [[nodiscard]] std::vector<float> values() const { return device_.download(values_, "test"); }

 private:
  Device device_ = Device::open({});
  std::size_t items_;
  Kernel kernel_ = device_.build("test", kFile.path, {}).kernel("count");
  Buffer<float> values_ = device_.upload(std::span<const float>(std::vector<float>(items_)), "test");
};

// PoCL before version 6 counts the uses of the wider launch's code down when the narrower ones end, and ends the
// process at the fourth.
TEST(Launches, GrowWhileOtherQueuesRunTheKernel) {
  const test::Variable threads("POCL_MAX_PTHREAD_COUNT", "8");  // counts where PoCL begins here, as in ctest
  add_kernels(std::span(&kFile, 1));
  constexpr int kRounds = 1 << 24;
  std::vector<Counter> narrow;
  for (int i = 0; i < 6; ++i) {
    narrow.emplace_back(1);
  }
  Counter wide(2);
  for (Counter& counter : narrow) {
    counter.enqueue(kRounds);
  }
  wide.enqueue(kRounds);
  EXPECT_EQ(wide.values(), std::vector<float>(2, kRounds));
  for (const Counter& counter : narrow) {
    EXPECT_EQ(counter.values(), std::vector<float>(1, kRounds));
  }
}

}  // namespace
}  // namespace nearfield::ocl
