#include "control/socket/unix_socket.hpp"

#include <fmt/format.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>

#include <cerrno>
#include <cmath>
#include <cstring>

#include "core/error.hpp"

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

}  // namespace

void set_timeout(int socket, double timeout_s) {
  constexpr double kMicrosecond_s = 1e-6;
  timeval timeout{};
  timeout.tv_sec = static_cast<time_t>(timeout_s);
  timeout.tv_usec = static_cast<suseconds_t>((timeout_s - std::floor(timeout_s)) / kMicrosecond_s);
  setsockopt(socket, SOL_SOCKET, SO_RCVTIMEO, &timeout, sizeof timeout);
  setsockopt(socket, SOL_SOCKET, SO_SNDTIMEO, &timeout, sizeof timeout);
}

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

}  // namespace nearfield::control
