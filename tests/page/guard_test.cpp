#include "page/guard.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace nearfield::page {
namespace {

const std::vector<std::string> kNone;

TEST(Guard, OwnHostsAreAllowedWithAnyPort) {
  for (const char* host : {"localhost", "LocalHost:7232", "127.0.0.1", "127.0.0.1:1", "[::1]", "[::1]:7232"}) {
    EXPECT_TRUE(is_host_allowed(host, kNone)) << host;
  }
}

// A name that another site has made to resolve to this machine is that site's own.
TEST(Guard, OtherHostsAreNot) {
  for (const char* host : {"", "evil.example", "localhost.evil.example", "127.0.0.1.evil.example:7232", "localhost:",
                           "localhost:x", "localhost:7232:1", "::1", "[::1", "[::1]x", "[::1]:x", "127.0.0.2"}) {
    EXPECT_EQ(is_host_allowed(host, kNone), std::string(host) == "localhost:") << host;
  }
}

TEST(Guard, ANumberIsNobodysName) {
  for (const char* host : {"127.0.0.2", "192.168.7.5:9187", "[fe80::1]", "[fe80::1]:9187"}) {
    EXPECT_TRUE(is_host_number(host)) << host;
  }
  for (const char* host :
       {"", "localhost", "1.2.3.4.evil.example", "1.2.3", "fe80::1", "[1.2.3.4]", "[evil.example]"}) {
    EXPECT_FALSE(is_host_number(host)) << host;
  }
}

TEST(Guard, ConfiguredHostsAreAllowed) {
  const std::vector<std::string> allowed = {"Array.Lab", "192.168.7.5"};
  EXPECT_TRUE(is_host_allowed("array.lab:8080", allowed));
  EXPECT_TRUE(is_host_allowed("192.168.7.5", allowed));
  EXPECT_FALSE(is_host_allowed("other.lab", allowed));
}

TEST(Guard, AnOriginIsThePagesOwnOrConfigured) {
  EXPECT_TRUE(is_origin_allowed("http://localhost:7232", "localhost:7232", kNone));
  EXPECT_TRUE(is_origin_allowed("https://array.lab", "array.lab", kNone)) << "behind a proxy with TLS";
  EXPECT_FALSE(is_origin_allowed("http://localhost:3000", "localhost:7232", kNone)) << "another program's page";
  EXPECT_FALSE(is_origin_allowed("http://evil.example", "localhost:7232", kNone));
  EXPECT_FALSE(is_origin_allowed("null", "localhost:7232", kNone));
  EXPECT_FALSE(is_origin_allowed("", "localhost:7232", kNone));
  EXPECT_TRUE(is_origin_allowed("https://desk.lab", "localhost:7232", {"https://desk.lab"}));
}

TEST(Guard, ThePortOfAHost) {
  EXPECT_EQ(host_port("localhost:7232"), "7232");
  EXPECT_EQ(host_port("[::1]:7232"), "7232");
  for (const char* without : {"localhost", "[::1]", "", "localhost:", "localhost:7232; Path=/", "localhost:123456"}) {
    EXPECT_EQ(host_port(without), "") << without;
  }
}

TEST(Guard, CookiesAndQueriesAreTakenApart) {
  EXPECT_EQ(cookie_of("a=1; nearfield_token=abc; b=2", "nearfield_token"), "abc");
  EXPECT_EQ(cookie_of("xnearfield_token=abc", "nearfield_token"), "");
  EXPECT_EQ(cookie_of("nearfield_token", "nearfield_token"), "");
  EXPECT_EQ(cookie_of("", "nearfield_token"), "");
  EXPECT_EQ(query_value("a=b&token=t=1", "token"), "t=1");
  EXPECT_EQ(query_value("tokens=1", "token"), "");
}

TEST(Guard, OnlyTheWholeTokenIsTheToken) {
  EXPECT_TRUE(is_token("0123456789abcdef", "0123456789abcdef"));
  for (const char* other : {"", "0", "0123456789abcde", "0123456789abcdef0", "0123456789abcdeF", "1123456789abcdef"}) {
    EXPECT_FALSE(is_token(other, "0123456789abcdef")) << other;
  }
  EXPECT_FALSE(is_token("", "")) << "without a token nobody has it";
}

}  // namespace
}  // namespace nearfield::page
