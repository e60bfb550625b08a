#pragma once
#include <sys/types.h>

#include <filesystem>
#include <optional>
#include <string>

#include "core/system/file_descriptor.hpp"

namespace nearfield {

/// Describes how a user other than root and this process's own could replace `socket` by another socket: a folder or
/// link on the path that belongs to another user, or that others may write (a sticky folder such as /tmp is safe: only
/// the owner can remove and rename there). Empty if no other user can. A missing last folder is not a problem, since
/// UnixListener creates it.
std::optional<std::string> socket_folder_problem(const std::filesystem::path& socket);

/// Creates the last folder of the path of `socket` if it is missing: 0755 if the socket serves other users, else 0700,
/// whatever the umask is. Throws ConfigError when the folder is not safe, IoError when it cannot be created.
void make_socket_folder(const std::filesystem::path& socket, bool serves_others);

/// Identifies a file independently of its name.
struct FileIdentity {
  dev_t device = 0;
  ino_t inode = 0;
  friend bool operator==(const FileIdentity&, const FileIdentity&) = default;
};

/// Gives the socket at `path` this mode. The file is opened first, without following a link, and only the open file is
/// checked and changed. Throws IoError when it is not a socket of this user.
FileIdentity set_socket_mode(const std::filesystem::path& path, mode_t mode);

/// A UNIX socket that listens, under a name in the file system. It replaces a socket that no process serves any more,
/// has its mode whatever the umask is, and creates the last folder of its path if that is missing. The destructor
/// removes the name if it still is this socket's.
class UnixListener {
 public:
  struct Options {
    int type = 0;                ///< SOCK_STREAM or SOCK_SEQPACKET
    mode_t mode = 0600;          ///< permissions of the socket
    bool serves_others = false;  ///< a new folder is 0755 then, else 0700
    int most_waiting = 16;       ///< most connections that are not accepted yet
  };

  /// The socket is nonblocking. Throws ConfigError when the path is too long or its folder not safe, IoError when
  /// another process serves there, another file exists there, or the system refuses.
  UnixListener(const std::filesystem::path& path, const Options& options);
  ~UnixListener();
  UnixListener(const UnixListener&) = delete;
  UnixListener& operator=(const UnixListener&) = delete;

  [[nodiscard]] int get() const { return socket_.get(); }

 private:
  std::filesystem::path path_;
  FileDescriptor socket_;
  FileIdentity identity_;  ///< identifies the file that bind() created
};

}  // namespace nearfield
