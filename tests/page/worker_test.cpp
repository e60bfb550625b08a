#include "page/worker.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <future>
#include <vector>

namespace nearfield::page {
namespace {

TEST(Worker, TasksThatWaitAreBoundedAndGoWithTheirOwner) {
  std::vector<std::size_t> done;  // of the worker's thread, until the last task
  std::promise<void> has_begun;
  std::promise<void> may_go_on;
  std::promise<void> is_last;
  Worker worker("nf-test");
  ASSERT_TRUE(worker.run(
      [&] {
        has_begun.set_value();
        may_go_on.get_future().wait();
      },
      1));
  has_begun.get_future().wait();
  for (std::size_t i = 0; i < Worker::kMostWaiting; ++i) {
    ASSERT_TRUE(worker.run([&done, i] { done.push_back(i); }, 1 + i % 2)) << i;
  }
  EXPECT_FALSE(worker.run([&done] { done.push_back(1000); }, 2)) << "one too many";
  worker.drop(1);
  EXPECT_TRUE(worker.run([&is_last] { is_last.set_value(); }, 3)) << "there is room again";
  may_go_on.set_value();
  is_last.get_future().wait();
  std::vector<std::size_t> expected;
  for (std::size_t i = 1; i < Worker::kMostWaiting; i += 2) {
    expected.push_back(i);
  }
  EXPECT_EQ(done, expected) << "in their order, without those of owner 1";
}

}  // namespace
}  // namespace nearfield::page
