#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <cstdio>
#include <thread>

#include "ring/ring_sink.hpp"
#include "ring_support.hpp"

namespace nearfield::ring {
namespace {

using testing::HasSubstr;

/// examples/controller.c as it is built, against the shared library.
TEST(ControllerExample, ActsOnGoodFramesAndOnNoOthers) {
  const test::SocketFolder folder;
  const std::string socket = folder / "ring.sock";
  const ImagesHeader header = test::ring_header();
  RingSink sink({}, {.socket = socket});
  sink.begin_epoch(header, 1);
  std::atomic<bool> stop = false;
  std::thread publisher([&] {
    test::TestFrame frame(header);
    for (std::uint64_t sequence = 1; !stop; ++sequence) {
      sink.write(frame.make(sequence));
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
  });
  const auto bin = std::filesystem::path(NEARFIELD_BINARY).parent_path();
  FILE* pipe = popen(((bin / "controller").string() + " " + socket + " 100 2>&1").c_str(), "r");
  ASSERT_NE(pipe, nullptr);
  std::string output;
  std::array<char, 4096> chunk{};
  while (const std::size_t count = std::fread(chunk.data(), 1, chunk.size(), pipe)) {
    output.append(chunk.data(), count);
  }
  EXPECT_EQ(pclose(pipe), 0) << output;
  stop = true;
  publisher.join();
  EXPECT_THAT(output, HasSubstr("mode at 500.0 Hz"));
  EXPECT_THAT(output, HasSubstr("no action: the frame is flagged"));
  EXPECT_THAT(output, Not(HasSubstr("expected holography.quantity")));
}

}  // namespace
}  // namespace nearfield::ring
