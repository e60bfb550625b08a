#pragma once
#include <exception>
#include <string>
#include <string_view>

#include "core/error.hpp"

namespace nearfield {

/// Formats text that was read from a file for a message, or hides it.
class FileTextStyle {
 public:
  explicit FileTextStyle(bool is_shown) : is_shown_(is_shown) {}
  /// `"text"`, shortened and without control characters, or `other text`.
  std::string operator()(std::string_view text) const;

 private:
  bool is_shown_;
};

/// The content of a text file is wrong, and the message quotes it. A user who may set a path through the control socket
/// or the live page can have the daemon open files that only the daemon's user may read: what(), which all clients get,
/// contains only the line and what was expected there; message_for_owner(), printed for the user with whose rights the
/// file was read, also quotes its text.
class FileTextError : public DataError {
 public:
  /// `message` creates the message, given a FileTextStyle.
  template <class Message>
  explicit FileTextError(const Message& message)
      : DataError(message(FileTextStyle(false))), for_owner_(message(FileTextStyle(true))) {}
  [[nodiscard]] const std::string& for_owner() const noexcept { return for_owner_; }

 private:
  std::string for_owner_;
};

/// The message that a program prints on its own terminal, for the user with whose rights it runs.
std::string message_for_owner(const std::exception& error);

}  // namespace nearfield
