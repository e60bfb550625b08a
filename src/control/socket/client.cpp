#include "control/socket/client.hpp"

#include <fmt/format.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>

#include <array>
#include <cerrno>
#include <cmath>
#include <cstring>

#include "core/error.hpp"
#include "core/system/network.hpp"

namespace nearfield::control {
namespace {

sockaddr_un address_of(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.empty() || path.size() >= sizeof address.sun_path) {
    throw IoError(fmt::format("{}: expected a path of 1 to {} bytes for a socket, found {}", path,
                              sizeof address.sun_path - 1, path.size()));
  }
  std::memcpy(address.sun_path, path.data(), path.size());
  return address;
}

/// Casts to the type of address that the socket functions take.
const sockaddr* head_of(const sockaddr_un& address) { return reinterpret_cast<const sockaddr*>(&address); }

FileDescriptor new_socket() {
  FileDescriptor result(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (!result.valid()) {
    throw IoError(fmt::format("control socket: {}", std::strerror(errno)));
  }
  return result;
}

/// Limits reads and writes of the socket to this time from now on.
void set_timeout(int socket, double timeout_s) {
  constexpr double kMicrosecond_s = 1e-6;
  timeval timeout{};
  timeout.tv_sec = static_cast<time_t>(timeout_s);
  timeout.tv_usec = static_cast<suseconds_t>((timeout_s - std::floor(timeout_s)) / kMicrosecond_s);
  setsockopt(socket, SOL_SOCKET, SO_RCVTIMEO, &timeout, sizeof timeout);
  setsockopt(socket, SOL_SOCKET, SO_SNDTIMEO, &timeout, sizeof timeout);
}

}  // namespace

FileDescriptor connect_to(const std::string& path, double timeout_s) {
  const sockaddr_un address = address_of(path);
  FileDescriptor result = new_socket();
  set_timeout(result.get(), timeout_s);
  if (connect(result.get(), head_of(address), sizeof address) == 0) {
    return result;
  }
  const int error = errno;
  if (error == ENOENT || error == ECONNREFUSED || error == ENOTDIR) {
    throw NoInputError(fmt::format("{}: expected a running nearfieldd, found none ({})", path, std::strerror(error)));
  }
  if (error == EACCES || error == EPERM) {
    throw Error(ExitCode::kNoPermission, fmt::format("{}: this user may not connect", path));
  }
  throw IoError(fmt::format("{}: can't connect: {}", path, std::strerror(error)));
}

namespace {

/// Exit codes of Nearfield; any other number in a reply is a defect.
ExitCode exit_code_of(const json& error) {
  constexpr std::array kKnown = {ExitCode::kUsage, ExitCode::kBadData,      ExitCode::kNoInput,  ExitCode::kNoDevice,
                                 ExitCode::kIo,    ExitCode::kNoPermission, ExitCode::kBadConfig};
  const auto given = error.find("exit_code");
  if (given != error.end() && given->is_number_integer()) {
    for (const ExitCode code : kKnown) {
      if (*given == static_cast<int>(code)) {
        return code;
      }
    }
  }
  return ExitCode::kInternal;
}

}  // namespace

Client::Client(const std::string& path, double timeout_s) : path_(path), socket_(connect_to(path, timeout_s)) {}

json Client::call(const json& request) {
  const json command = request.is_object() ? request.value("command", json()) : json();
  if (command == "set" || command == "reload" || command == "freeze") {  // freeze writes gigabytes
    set_timeout(socket_.get(), kConfigurationTimeout_s);
  }
  const std::string line = request.dump(-1, ' ', false, json::error_handler_t::replace) + '\n';
  std::size_t sent = 0;
  while (sent < line.size()) {
    const ssize_t bytes = send(socket_.get(), line.data() + sent, line.size() - sent, MSG_NOSIGNAL);
    if (bytes < 0) {
      break;  // a daemon that refuses has sent the reason before closing the connection
    }
    sent += static_cast<std::size_t>(bytes);
  }
  const json reply = json::parse(read_line(), nullptr, false);
  if (!reply.is_object() || !reply.contains("ok") || !reply["ok"].is_boolean()) {
    throw DataError(fmt::format("{}: expected a reply of nearfieldd, found something else", path_));
  }
  if (reply["ok"].get<bool>()) {
    return reply.value("result", json());
  }
  const json error = reply.value("error", json::object());
  const json message = error.is_object() ? error.value("message", json()) : json();
  throw Error(error.is_object() ? exit_code_of(error) : ExitCode::kInternal,
              message.is_string() ? message.get<std::string>() : "refused without a reason");
}

uid_t Client::server_user() const { return peer_of(socket_.get()).user; }

void Client::break_off() noexcept { shutdown(socket_.get(), SHUT_RDWR); }

std::string Client::read_line() {
  constexpr std::size_t kChunkBytes = 65536;
  std::string chunk(kChunkBytes, '\0');
  while (input_.find('\n') == std::string::npos) {
    if (input_.size() > kMostReplyBytes) {
      throw DataError(fmt::format("{}: expected a reply of at most {} bytes, found more", path_, kMostReplyBytes));
    }
    const ssize_t bytes = recv(socket_.get(), chunk.data(), chunk.size(), 0);
    if (bytes == 0) {
      throw IoError(fmt::format("{}: expected a reply, found the connection closed", path_));
    }
    if (bytes < 0 && errno != EINTR) {
      throw IoError(fmt::format("{}: expected a reply, found none: {}", path_,
                                errno == EAGAIN ? "the time is over" : std::strerror(errno)));
    }
    input_.append(chunk, 0, static_cast<std::size_t>(std::max<ssize_t>(bytes, 0)));
  }
  const std::size_t end = input_.find('\n');
  std::string line = input_.substr(0, end);
  input_.erase(0, end + 1);
  return line;
}

}  // namespace nearfield::control
