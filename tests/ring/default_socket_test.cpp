#include <gtest/gtest.h>

#include "core/daemon_settings.hpp"
#include "ring/ring_output.hpp"
#include "ring/ring_support.hpp"

namespace nearfield::ring {
namespace {

// A daemon at its default and a reader that names no socket meet, by the same rule.
TEST(DefaultSocket, AReaderThatNamesNoneFindsTheDaemonThatNamesNone) {
  const test::SocketFolder folder;
  setenv("NEARFIELD_RUNTIME_DIR", (folder / "").c_str(), 1);
  nf_ring* ring = nullptr;
  EXPECT_EQ(nf_ring_open(nullptr, &ring), NF_RING_NO_SOCKET);
  EXPECT_EQ(nf_ring_open("", &ring), NF_RING_NO_SOCKET);
  const DaemonSettings::Ring defaults;
  RingOutput output({}, {.socket = socket_to_serve(defaults.socket, DaemonSettings::Ring::kFile)});
  output.begin(result_header(test::ring_header()), {.epoch = 1});
  EXPECT_EQ(nf_ring_open("", &ring), NF_RING_OK) << "an empty name is none";
  nf_ring_close(ring);
  EXPECT_EQ(nf_ring_open(nullptr, &ring), NF_RING_OK);
  nf_ring_close(ring);
  unsetenv("NEARFIELD_RUNTIME_DIR");
}

}  // namespace
}  // namespace nearfield::ring
