#pragma once
#include <sys/types.h>

#include <string>

#include "control/socket/protocol.hpp"
#include "core/system/files.hpp"

namespace nearfield::control {

/// A stream socket connected to `path`, whose reads and writes take at most `timeout_s`. Throws NoInputError if no
/// process listens there, Error with kNoPermission if this user may not connect, else IoError.
FileDescriptor connect_to(const std::string& path, double timeout_s);

/// A client of a daemon's control socket.
class Client {
 public:
  /// Throws NoInputError (66) if no daemon serves there, Error with kNoPermission (77) if this user may not connect.
  explicit Client(const std::string& path, double timeout_s = 60.0);
  /// The time limit of a reply to `set` and `reload`: the daemon compiles first, for at most 300 s.
  static constexpr double kConfigurationTimeout_s = 360.0;
  /// The result of a request, such as {{"command", "status"}}. Throws Error with the daemon's message and exit code if
  /// it refuses, IoError if it does not answer, DataError if its reply violates the protocol.
  json call(const json& request);
  /// The user whose process serves the socket; PeerProcess::kUnknown if the kernel has no record.
  [[nodiscard]] uid_t server_user() const;
  /// Ends the connection, so that a concurrent call() throws IoError. Any thread.
  void break_off() noexcept;

 private:
  std::string read_line();

  std::string path_;
  FileDescriptor socket_;
  std::string input_;
};

}  // namespace nearfield::control
