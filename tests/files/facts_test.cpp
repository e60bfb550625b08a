#include "files/facts.hpp"

#include <gtest/gtest.h>

namespace nearfield {
namespace {

TEST(WithoutControls, NothingThatATerminalObeysIsLeft) {
  EXPECT_EQ(without_controls("a\x1b[2Jb\nc\x7f"), "a [2Jb c ");
  EXPECT_EQ(without_controls("a\xc2\x9b"
                             "2Jb\xc2\x80\xc2\x9f"),
            "a 2Jb  ")
      << "U+009B, U+0080 and U+009F";
}

TEST(WithoutControls, LettersOfAnyAlphabetStay) {
  const std::string text = "\xc2\xa0 \xc2\xb5Pa \xc3\x9f \xe2\x82\xac";  // U+00A0, micro, sharp s, euro
  EXPECT_EQ(without_controls(text), text);
  EXPECT_EQ(without_controls("a\xc2"), "a\xc2");
}

}  // namespace
}  // namespace nearfield
