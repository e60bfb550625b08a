#include "core/file_text.hpp"

#include <algorithm>
#include <cstdlib>

namespace nearfield {
namespace {

/// An environment variable, so that a daemon that a player starts has it, too.
constexpr const char* kHidesFileText = "NEARFIELD_HIDE_FILE_TEXT";

}  // namespace

std::string FileTextStyle::operator()(std::string_view text) const {
  constexpr std::size_t kMostShown = 60;
  constexpr unsigned char kFirstPrintable = 0x20;
  constexpr unsigned char kDelete = 0x7f;
  if (!is_shown_) {
    return "other text";
  }
  std::string shown(text.substr(0, kMostShown));
  std::replace_if(
      shown.begin(), shown.end(),
      [](char character) {
        const auto code = static_cast<unsigned char>(character);
        return code < kFirstPrintable || code == kDelete;
      },
      ' ');
  return "\"" + shown + "\"";
}

std::string message_for_owner(const std::exception& error) {
  const auto* const of_file = dynamic_cast<const FileTextError*>(&error);
  return of_file != nullptr && std::getenv(kHidesFileText) == nullptr ? of_file->for_owner() : error.what();
}

void hide_file_text() { setenv(kHidesFileText, "1", 1); }

}  // namespace nearfield
