#include "core/system/unix_listener.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "core/error.hpp"

namespace nearfield {
namespace {

namespace fs = std::filesystem;

constexpr mode_t kPermissions = 07777;

[[noreturn]] void fail(const fs::path& path, std::string_view what) {
  throw IoError(fmt::format("{}: {}: {}", path.string(), what, std::strerror(errno)));
}

sockaddr_un address_of(const fs::path& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.native().empty() || path.native().size() >= sizeof address.sun_path) {
    throw ConfigError(fmt::format("{}: expected a path of 1 to {} bytes for a socket, found {}", path.string(),
                                  sizeof address.sun_path - 1, path.native().size()));
  }
  path.native().copy(address.sun_path, path.native().size());
  return address;
}

/// Pointer type of the socket interface for all kinds of addresses.
const sockaddr* head_of(const sockaddr_un& address) { return reinterpret_cast<const sockaddr*>(&address); }

FileDescriptor new_socket(int type) { return FileDescriptor(socket(AF_UNIX, type | SOCK_CLOEXEC | SOCK_NONBLOCK, 0)); }

/// Problem with a folder or link on the path to a socket.
std::optional<std::string> problem_of(const fs::path& place) {
  struct stat status {};
  if (lstat(place.c_str(), &status) != 0) {
    return fmt::format("{}: {}", place.string(), std::strerror(errno));
  }
  if (status.st_uid != 0 && status.st_uid != geteuid()) {
    return fmt::format(
        "{} belongs to user {}, who could put another socket there; expected a folder of root or of this "
        "user ({})",
        place.string(), status.st_uid, geteuid());
  }
  if (S_ISLNK(status.st_mode) || (status.st_mode & S_ISVTX) != 0) {
    return std::nullopt;  // a link has no mode of its own; in a sticky folder only owners can remove and rename
  }
  const bool group_writes = (status.st_mode & S_IWGRP) != 0 && status.st_gid != 0 && status.st_gid != getegid();
  if ((status.st_mode & S_IWOTH) != 0 || group_writes) {
    return fmt::format(
        "{} has mode {:04o}, so that other users could put another socket there; expected a folder that "
        "only root and this user ({}) may write",
        place.string(), status.st_mode & kPermissions, geteuid());
  }
  return std::nullopt;
}

std::optional<std::string> problem_on_the_way_to(const fs::path& folder) {
  fs::path place;
  for (const fs::path& part : folder) {
    place /= part;
    if (std::optional<std::string> problem = problem_of(place)) {
      return problem;
    }
  }
  return std::nullopt;
}

/// Creates the last folder if it is missing. Its mode does not depend on the umask.
void make_folder(const fs::path& folder, mode_t mode) {
  if (mkdir(folder.c_str(), S_IRWXU) != 0) {
    if (errno == EEXIST) {
      return;
    }
    fail(folder, "the folder of a socket can't be made");
  }
  const FileDescriptor made(open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (!made.valid() || fchmod(made.get(), mode) != 0) {
    fail(folder, "the folder of a socket can't be given its mode");
  }
}

/// Removes a socket whose process has ended.
void remove_stale(const fs::path& path, const sockaddr_un& address, int type) {
  struct stat status {};
  if (lstat(path.c_str(), &status) != 0) {
    return;
  }
  if (!S_ISSOCK(status.st_mode)) {
    throw IoError(fmt::format("{}: expected no file, or a socket, found something else", path.string()));
  }
  const FileDescriptor probe = new_socket(type);
  if (connect(probe.get(), head_of(address), sizeof address) == 0 || errno != ECONNREFUSED) {
    throw IoError(fmt::format("{}: expected a free socket, found one that another process serves", path.string()));
  }
  unlink(path.c_str());
}

}  // namespace

std::optional<std::string> socket_folder_problem(const fs::path& socket) {
  std::error_code error;
  fs::path folder = fs::absolute(socket, error).lexically_normal().parent_path();
  if (!fs::exists(folder, error)) {
    folder = folder.parent_path();
  }
  const fs::path real = fs::canonical(folder, error);
  if (error) {
    return fmt::format("{}: expected a folder, found: {}", folder.string(), error.message());
  }
  // Checks the links on the path as well as the folders that they refer to.
  std::optional<std::string> problem = problem_on_the_way_to(folder);
  return problem ? problem : problem_on_the_way_to(real);
}

namespace {

void require_safe_folder(const fs::path& socket) {
  if (const std::optional<std::string> problem = socket_folder_problem(socket)) {
    throw ConfigError(fmt::format("{}: {}", socket.string(), *problem));
  }
}

}  // namespace

void make_socket_folder(const fs::path& socket, bool serves_others) {
  require_safe_folder(socket);
  make_folder(fs::absolute(socket).lexically_normal().parent_path(), serves_others ? 0755 : 0700);
  require_safe_folder(socket);  // another user may have created it a moment ago
}

FileIdentity set_socket_mode(const fs::path& path, mode_t mode) {
  const FileDescriptor file(open(path.c_str(), O_PATH | O_NOFOLLOW | O_CLOEXEC));
  struct stat status {};
  if (!file.valid() || fstat(file.get(), &status) != 0) {
    fail(path, "the socket was removed while it was made");
  }
  if (!S_ISSOCK(status.st_mode) || status.st_uid != geteuid()) {
    throw IoError(fmt::format("{}: was replaced while it was made: expected a socket of this user", path.string()));
  }
  // fchmod() refuses an O_PATH descriptor; the kernel's link in /proc always refers to the open file.
  const std::string opened = fmt::format("/proc/self/fd/{}", file.get());
  if ((status.st_mode & kPermissions) != mode && chmod(opened.c_str(), mode) != 0) {
    fail(path, "the socket can't be given its mode");
  }
  return {status.st_dev, status.st_ino};
}

UnixListener::UnixListener(const fs::path& path, const Options& options) : path_(path.lexically_normal()) {
  const sockaddr_un address = address_of(path_);
  make_socket_folder(path_, options.serves_others);
  remove_stale(path_, address, options.type);
  socket_ = new_socket(options.type);
  // bind() creates the file with the descriptor's mode less the umask: never too wide. The bits that the umask removed
  // are restored below. The umask itself is not changed, since it applies to all threads of the process: PoCL's, say,
  // would write files that anybody may change.
  if (!socket_.valid() || fchmod(socket_.get(), options.mode) != 0 ||
      bind(socket_.get(), head_of(address), sizeof address) != 0) {
    fail(path_, "can't be made a socket");
  }
  identity_ = set_socket_mode(path_, options.mode);
  if (listen(socket_.get(), options.most_waiting) != 0) {
    fail(path_, "can't be listened at");
  }
}

UnixListener::~UnixListener() {
  struct stat status {};
  if (lstat(path_.c_str(), &status) == 0 && FileIdentity{status.st_dev, status.st_ino} == identity_) {
    unlink(path_.c_str());  // before closing, so that no other file can reuse the inode number yet
  }
}

}  // namespace nearfield
