#include "core/crc32c.hpp"

#include <gtest/gtest.h>

#include <string_view>
#include <vector>

namespace nearfield {
namespace {

std::uint32_t crc_of(std::string_view text) { return crc32c(std::as_bytes(std::span(text))); }

TEST(Crc32c, KnownVectors) {
  EXPECT_EQ(crc_of("123456789"), 0xE3069283U);
  EXPECT_EQ(crc_of(""), 0U);
  EXPECT_EQ(crc32c(std::vector<std::byte>(32, std::byte{0})), 0x8A9136AAU);     // RFC 3720, B.4
  EXPECT_EQ(crc32c(std::vector<std::byte>(32, std::byte{0xFF})), 0x62A8AB43U);  // RFC 3720, B.4
}

TEST(Crc32c, GoesOnWhereItStopped) {
  const std::string_view text = "123456789";
  EXPECT_EQ(crc32c(std::as_bytes(std::span(text.substr(4))), crc_of(text.substr(0, 4))), 0xE3069283U);
}

}  // namespace
}  // namespace nearfield
