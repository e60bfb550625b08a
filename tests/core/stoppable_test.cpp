#include <gtest/gtest.h>

#include <thread>

#include "core/system/threads.hpp"

namespace nearfield {
namespace {

TEST(Stoppable, EndsWhatItsThreadDoesAndNoOther) {
  EXPECT_NO_THROW(Stoppable::end_if_stopped());
  EXPECT_FALSE(Stoppable::token().stop_possible());
  std::stop_source outer;
  const Stoppable stoppable(outer.get_token());
  EXPECT_NO_THROW(Stoppable::end_if_stopped());
  {
    std::stop_source inner;
    const Stoppable nested(inner.get_token());
    inner.request_stop();
    EXPECT_THROW(Stoppable::end_if_stopped(), Stopped);
    std::jthread([] { EXPECT_NO_THROW(Stoppable::end_if_stopped()); }).join();
  }
  EXPECT_NO_THROW(Stoppable::end_if_stopped()) << "of the inner one alone";
  outer.request_stop();
  EXPECT_THROW(Stoppable::end_if_stopped(), Stopped);
}

}  // namespace
}  // namespace nearfield
