#pragma once
#include <exception>
#include <string>
#include <string_view>

#include "nearfield/error.hpp"

namespace nearfield {

/// How a message shows text that was read from a file.
class FileTextStyle {
 public:
  explicit FileTextStyle(bool is_shown) : is_shown_(is_shown) {}
  /// `"text"`, shortened and without control characters, or `other text`.
  std::string operator()(std::string_view text) const;

 private:
  bool is_shown_;
};

/// The content of a text file is wrong, and the message quotes it. Whoever may set a path through the control socket or
/// the live page has the daemon open files that only the daemon's user may read: what(), which all clients get, says
/// the line and what was expected there, and only what is printed for the user whose rights the file was read with
/// quotes its text (message_for_owner()).
class FileTextError : public DataError {
 public:
  /// `message` makes the message of a FileTextStyle.
  template <class Message>
  explicit FileTextError(const Message& message)
      : DataError(message(FileTextStyle(false))), for_owner_(message(FileTextStyle(true))) {}
  [[nodiscard]] const std::string& for_owner() const noexcept { return for_owner_; }

 private:
  std::string for_owner_;
};

/// The message that a program prints on its own terminal, for the user whose rights it has.
std::string message_for_owner(const std::exception& error);

/// Has message_for_owner() quote no file from now on, in this process and in those that it starts: what it prints is
/// passed on to clients.
void hide_file_text();

}  // namespace nearfield
