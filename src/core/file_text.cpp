#include "core/file_text.hpp"

#include "core/text.hpp"

namespace nearfield {

std::string FileTextStyle::operator()(std::string_view text) const {
  return is_shown_ ? "\"" + shown_text(text) + "\"" : "other text";
}

std::string message_for_owner(const std::exception& error) {
  const auto* const of_file = dynamic_cast<const FileTextError*>(&error);
  return of_file != nullptr ? of_file->for_owner() : error.what();
}

}  // namespace nearfield
