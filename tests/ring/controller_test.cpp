#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <cmath>
#include <cstdio>
#include <thread>

#include "ring/ring_output.hpp"
#include "ring/ring_support.hpp"
#include "support/images.hpp"
#include "support/places.hpp"

namespace nearfield::ring {
namespace {

using testing::HasSubstr;

struct Said {
  std::string output;
  int exit_code = -1;
};

/// What examples/controller.c, as it is built, says of these arguments.
Said say(const std::string& arguments) {
  const auto bin = std::filesystem::path(NEARFIELD_BINARY).parent_path();
  FILE* pipe = popen(((bin / "controller").string() + " " + arguments + " 2>&1").c_str(), "r");
  EXPECT_NE(pipe, nullptr);
  Said said;
  std::array<char, 4096> chunk{};
  while (const std::size_t count = std::fread(chunk.data(), 1, chunk.size(), pipe)) {
    said.output.append(chunk.data(), count);
  }
  const int status = pclose(pipe);
  said.exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  return said;
}

/// What it says of 100 frames whose expected error is this.
Said with_error(float error_estimate, const ImagesHeader& header = test::ring_header()) {
  const test::SocketFolder folder;
  const std::string socket = folder / "ring.sock";
  RingOutput ring({}, {.socket = socket});
  ring.begin(result_header(header), {.epoch = 1});
  std::atomic<bool> stop = false;
  std::thread publisher([&] {
    test::TestFrame frame(header);
    frame.images.error_estimate.front() = error_estimate;
    for (std::uint64_t sequence = 1; !stop; ++sequence) {
      ring.write(frame.make(sequence));
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
  });
  Said said = say(socket + " 100");
  stop = true;
  publisher.join();
  return said;
}

std::string output_with_error(float error_estimate) {
  const Said said = with_error(error_estimate);
  EXPECT_EQ(said.exit_code, 0) << said.output;
  return said.output;
}

TEST(ControllerExample, ActsOnGoodFramesAndOnNoOthers) {
  const std::string output = output_with_error(0.04F);
  EXPECT_THAT(output, HasSubstr("mode at 500.0 Hz"));
  EXPECT_THAT(output, HasSubstr("no action: the frame is flagged"));
  EXPECT_THAT(output, Not(HasSubstr("expected holography.quantity")));
}

// A NaN is smaller than no limit and larger than none.
TEST(ControllerExample, DoesNotActWhereTheErrorIsLargeOrNotKnown) {
  const std::string unknown = output_with_error(std::nanf(""));
  EXPECT_THAT(unknown, HasSubstr("no action: the image's error is not known"));
  EXPECT_THAT(unknown, Not(HasSubstr("mode at")));
  const std::string large = output_with_error(0.5F);
  EXPECT_THAT(large, HasSubstr("no action: the image's error is too large"));
  EXPECT_THAT(large, Not(HasSubstr("mode at")));
}

// A pressure taken for a velocity would drive the machine.
TEST(ControllerExample, EndsWhereTheImagesAreNoVelocity) {
  ImagesHeader header = test::ring_header();
  header.quantity = "pressure";
  header.unit = "Pa";
  const Said said = with_error(0.04F, header);
  EXPECT_EQ(said.exit_code, 78);
  EXPECT_THAT(said.output, HasSubstr("expected holography.quantity: normal_velocity, found pressure"));
  EXPECT_THAT(said.output, Not(HasSubstr("mode at")));
}

TEST(ControllerExample, TakesNoOptionForASocket) {
  EXPECT_EQ(say("--help").exit_code, 0);
  EXPECT_THAT(say("--help").output, HasSubstr("usage: controller [SOCKET [FRAMES]]"));
  EXPECT_EQ(say("--quiet").exit_code, 64);
  EXPECT_EQ(say("'' ten").exit_code, 64);
}

}  // namespace
}  // namespace nearfield::ring
