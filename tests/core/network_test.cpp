#include "core/system/network.hpp"

#include <gtest/gtest.h>

namespace nearfield {
namespace {

IpAddress address(const std::string& text) { return parse_network(text).value().first; }

TEST(Network, AddressesComeBackAsText) {
  for (const char* text : {"0.0.0.0", "192.168.7.5", "::1", "fd00::1:2", "fe80::"}) {
    EXPECT_EQ(text_of(address(text)), text);
  }
  EXPECT_EQ(address("::ffff:10.1.2.3"), address("10.1.2.3"));
}

TEST(Network, HoldsWhatAgreesInItsPrefix) {
  struct Case {
    const char* network;
    const char* address;
    bool inside;
  };
  for (const Case& c : {Case{"192.168.7.5", "192.168.7.5", true}, Case{"192.168.7.5", "192.168.7.4", false},
                        Case{"192.168.8.0/22", "192.168.11.255", true}, Case{"192.168.8.0/22", "192.168.12.0", false},
                        Case{"192.168.8.77/24", "192.168.8.1", true}, Case{"0.0.0.0/0", "8.8.8.8", true},
                        Case{"0.0.0.0/0", "::1", false}, Case{"fd00::/8", "fdff::1", true},
                        Case{"fd00::/8", "fe00::1", false}, Case{"::/0", "8.8.8.8", true}, Case{"::1", "::2", false}}) {
    EXPECT_EQ(parse_network(c.network).value().contains(address(c.address)), c.inside) << c.network << " " << c.address;
  }
}

TEST(Network, OtherTextsAreNone) {
  for (const char* text : {"", "/", "10.0.0", "10.0.0.1/", "10.0.0.1/33", "10.0.0.1/-1", "10.0.0.1/8x", "::/129",
                           "host", "10.0.0.1:80", "[::1]", "10.0.0.0/8/8"}) {
    EXPECT_FALSE(parse_network(text)) << text;
  }
}

}  // namespace
}  // namespace nearfield
