#include "core/file_text.hpp"

#include <cstdlib>

#include "core/text.hpp"

namespace nearfield {
namespace {

/// An environment variable, so that a daemon started by a player inherits it.
constexpr const char* kHidesFileText = "NEARFIELD_HIDE_FILE_TEXT";

}  // namespace

std::string FileTextStyle::operator()(std::string_view text) const {
  return is_shown_ ? "\"" + shown_text(text) + "\"" : "other text";
}

std::string message_for_owner(const std::exception& error) {
  const auto* const of_file = dynamic_cast<const FileTextError*>(&error);
  return of_file != nullptr && std::getenv(kHidesFileText) == nullptr ? of_file->for_owner() : error.what();
}

void hide_file_text() { setenv(kHidesFileText, "1", 1); }

}  // namespace nearfield
