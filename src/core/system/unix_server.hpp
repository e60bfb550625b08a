#pragma once
#include <sys/socket.h>
#include <sys/types.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "core/access.hpp"
#include "core/system/files.hpp"
#include "core/system/network.hpp"

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

/// A client of a UnixServer, which calls it on its thread alone. The socket does not block.
class UnixClient {
 public:
  /// The result of attend(): nothing, an answer to a request (a client without one is idle), or the client's end.
  enum class Outcome { kIdle, kUsed, kClosed };

  explicit UnixClient(FileDescriptor socket) : socket_(std::move(socket)) {}
  UnixClient(const UnixClient&) = delete;
  UnixClient& operator=(const UnixClient&) = delete;
  virtual ~UnixClient() = default;

  [[nodiscard]] int socket() const { return socket_.get(); }
  /// The events that the server polls for: POLLIN, POLLOUT or none. The peer's end is always reported.
  [[nodiscard]] virtual short wanted() const = 0;
  /// True where attend() has something to do without an event.
  [[nodiscard]] virtual bool has_work() const = 0;
  /// Called in every round, with poll()'s events or 0.
  virtual Outcome attend(short events) = 0;

 private:
  FileDescriptor socket_;
};

/// Handles the clients of a UnixServer. Only the server's thread calls it.
class UnixService {
 public:
  virtual ~UnixService() = default;
  /// Called once, when the thread begins.
  virtual void prepare_thread() {}
  /// Called for a permitted peer if the number of clients allows.
  virtual std::unique_ptr<UnixClient> admit(FileDescriptor socket) = 0;
  /// Called for a peer that is not permitted. Its socket is closed afterwards.
  virtual void refuse(int socket, const PeerProcess& peer) = 0;
  /// Called for a permitted peer if there are too many clients. Its socket is closed afterwards.
  virtual void turn_away(int /*socket*/) {}
  /// Called after one of the calls above, or a client's, threw and the server has disconnected all clients.
  virtual void recover(const std::exception& error) = 0;
};

/// Listens at a UNIX socket and serves permitted peers, on a thread of its own that receives no signals. Sockets never
/// block: a client that sends nothing or does not read delays no other. While the process has run out of descriptors,
/// no client is accepted for 100 ms at a time.
class UnixServer {
 public:
  struct Options {
    std::filesystem::path socket;
    SocketAccess access;
    std::string key;                ///< name of `access` in messages, such as "daemon.control"
    int type = SOCK_STREAM;         ///< or SOCK_SEQPACKET
    int most_waiting = 16;          ///< most connections that are not accepted yet
    std::size_t most_clients = 16;  ///< most clients at a time
    bool replaces_idle = false;     ///< a further client replaces the longest idle one
  };

  /// Listens when it returns. Throws what UnixListener throws, and ConfigError on unknown users or groups. `service`
  /// must be fully constructed and outlive the server: its owner has the server as its last member.
  UnixServer(Options options, UnixService& service);
  /// Stops the thread, closes all connections and removes the socket.
  ~UnixServer();
  UnixServer(const UnixServer&) = delete;
  UnixServer& operator=(const UnixServer&) = delete;

  /// Number of clients. Any thread.
  [[nodiscard]] std::size_t clients() const { return client_count_; }
  /// Rounds of the thread, one in a second at least unless a client's request takes longer. Any thread.
  [[nodiscard]] std::uint64_t rounds() const noexcept { return rounds_.load(std::memory_order_relaxed); }

 private:
  struct Place {
    std::unique_ptr<UnixClient> client;
    std::uint64_t last_used = 0;
  };

  void serve();
  /// Waits for something to do and does it; false when the server is to stop.
  bool serve_once();
  void accept_one();
  void give_up_longest_idle();

  Options options_;
  UnixService* service_;
  PeerRule rule_;
  UnixListener listener_;
  FileDescriptor stop_;        ///< eventfd
  std::vector<Place> places_;  ///< used by the thread only, like the next two
  std::uint64_t uses_ = 0;
  std::int64_t accept_again_ns_ = 0;  ///< by monotonic_ns(): set when the process is out of descriptors
  std::atomic<std::size_t> client_count_ = 0;
  std::atomic<std::uint64_t> rounds_ = 0;
  std::thread thread_;
};

}  // namespace nearfield
