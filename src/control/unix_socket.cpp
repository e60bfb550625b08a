#include "control/unix_socket.hpp"

#include <fmt/format.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/un.h>

#include <cerrno>
#include <cmath>
#include <cstring>

#include "nearfield/error.hpp"

namespace nearfield::control {
namespace {

constexpr int kWaitingConnections = 16;

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

/// The sockets' interface takes every kind of address by a pointer to their common head.
const sockaddr* head_of(const sockaddr_un& address) { return reinterpret_cast<const sockaddr*>(&address); }

FileDescriptor new_socket(int flags) {
  FileDescriptor result(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | flags, 0));
  if (!result.valid()) {
    throw IoError(fmt::format("control socket: {}", std::strerror(errno)));
  }
  return result;
}

/// Removes a socket whose process is gone.
void remove_stale(const std::string& path, const sockaddr_un& address) {
  struct stat status {};
  if (lstat(path.c_str(), &status) != 0) {
    return;
  }
  if (!S_ISSOCK(status.st_mode)) {
    throw IoError(fmt::format("{}: expected no file, or a socket, found something else", path));
  }
  const FileDescriptor probe = new_socket(SOCK_NONBLOCK);
  if (connect(probe.get(), head_of(address), sizeof address) == 0 || errno != ECONNREFUSED) {
    throw IoError(fmt::format("{}: expected a free socket, found one that another process serves", path));
  }
  unlink(path.c_str());
}

void set_timeout(int socket, double timeout_s) {
  constexpr double kMicrosecond_s = 1e-6;
  timeval timeout{};
  timeout.tv_sec = static_cast<time_t>(timeout_s);
  timeout.tv_usec = static_cast<suseconds_t>((timeout_s - std::floor(timeout_s)) / kMicrosecond_s);
  setsockopt(socket, SOL_SOCKET, SO_RCVTIMEO, &timeout, sizeof timeout);
  setsockopt(socket, SOL_SOCKET, SO_SNDTIMEO, &timeout, sizeof timeout);
}

}  // namespace

FileDescriptor listen_at(const std::string& path, std::uint32_t mode) {
  const sockaddr_un address = address_of(path);
  remove_stale(path, address);
  FileDescriptor listener = new_socket(SOCK_NONBLOCK);
  // Before the name exists: bind() gives the file the descriptor's mode, less the umask, so it is never too wide.
  fchmod(listener.get(), mode);
  if (bind(listener.get(), head_of(address), sizeof address) != 0) {
    throw IoError(fmt::format("{}: can't be made a socket: {}", path, std::strerror(errno)));
  }
  if (chmod(path.c_str(), mode) != 0 || listen(listener.get(), kWaitingConnections) != 0) {
    throw IoError(fmt::format("{}: {}", path, std::strerror(errno)));
  }
  return listener;
}

FileDescriptor connect_to(const std::string& path, double timeout_s) {
  const sockaddr_un address = address_of(path);
  FileDescriptor result = new_socket(0);
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
