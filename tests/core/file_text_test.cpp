#include <fmt/format.h>
#include <gtest/gtest.h>

#include <string>

#include "core/text.hpp"

namespace nearfield {
namespace {

FileTextError error_of(const std::string& text) {
  return FileTextError(
      [&](const FileTextStyle& shown) { return fmt::format("a.csv:3: expected x, found {}", shown(text)); });
}

TEST(FileText, IsForTheOwnerAlone) {
  const FileTextError error = error_of("root:secret");
  const Error& of_base = error;
  EXPECT_STREQ(error.what(), "a.csv:3: expected x, found other text");
  EXPECT_EQ(error.exit_code(), ExitCode::kBadData);
  EXPECT_EQ(message_for_owner(of_base), "a.csv:3: expected x, found \"root:secret\"");
  EXPECT_EQ(message_for_owner(DataError("as it is")), "as it is");
}

TEST(FileText, IsShortAndMovesNoCursor) {
  EXPECT_EQ(message_for_owner(error_of("\x1b[31m\r\n")), R"(a.csv:3: expected x, found "\x1b[31m\x0d\n")");
  EXPECT_EQ(message_for_owner(error_of("\u009b2J")), R"(a.csv:3: expected x, found "\x9b2J")");
  EXPECT_EQ(message_for_owner(error_of(std::string(61, 'a'))),
            "a.csv:3: expected x, found \"" + std::string(60, 'a') + "...\"");
  EXPECT_EQ(message_for_owner(error_of(std::string(59, 'a') + "\u00e9")),
            "a.csv:3: expected x, found \"" + std::string(59, 'a') + "...\"")
      << "no part of a character";
}

}  // namespace
}  // namespace nearfield
