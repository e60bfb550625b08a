#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>

#include "core/error.hpp"
#include "core/system/files.hpp"
#include "core/system/network.hpp"

namespace nearfield {
namespace {

PeerProcess peer(uid_t user, const std::vector<gid_t>& groups = {}) {
  return {.process = 1, .user = user, .groups = groups};
}

TEST(PeerRule, OwnUserRootAndTheNamed) {
  const PeerRule rule({{"1234"}, {"root", "500", "501"}}, "here");
  EXPECT_TRUE(rule.permits(peer(0)));
  EXPECT_TRUE(rule.permits(peer(9999, {0})));
  EXPECT_TRUE(rule.permits(peer(geteuid())));
  EXPECT_TRUE(rule.permits(peer(1234, {7})));
  EXPECT_TRUE(rule.permits(peer(4321, {7, 501})));
  EXPECT_FALSE(rule.permits(peer(4321, {7, 1234})));
  EXPECT_FALSE(rule.permits(peer(501))) << "a group's number is no user's";
  EXPECT_FALSE(rule.permits(PeerProcess{})) << "the kernel does not say who";
}

TEST(PeerRule, NamesWhoIsUnknown) {
  const auto make = [] { const PeerRule rule({{"root", "no such user"}, {"no such group"}}, "here"); };
  EXPECT_THAT(make, testing::ThrowsMessage<ConfigError>(
                        testing::AllOf(testing::HasSubstr("here.allowed_users: expected one of this system's names, or "
                                                          "a number, found \"no such user\""),
                                       testing::HasSubstr("here.allowed_groups"))));
}

TEST(PeerOf, IsThisProcess) {
  std::array<int, 2> ends{};
  ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()), 0);
  const FileDescriptor one(ends[0]);
  const FileDescriptor other(ends[1]);
  const PeerProcess found = peer_of(one.get());
  EXPECT_EQ(found.process, getpid());
  EXPECT_EQ(found.user, geteuid());
  EXPECT_THAT(found.groups, testing::Contains(getegid()));
  EXPECT_EQ(peer_of(-1).user, PeerProcess::kUnknown);
}

}  // namespace
}  // namespace nearfield
