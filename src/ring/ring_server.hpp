#pragma once
#include <sys/types.h>

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <mutex>
#include <thread>
#include <vector>

#include "core/system/file_descriptor.hpp"
#include "core/system/unix_listener.hpp"
#include "nearfield/daemon_settings.hpp"
#include "nearfield_ring.h"

namespace nearfield::ring {

struct ServerOptions {
  std::filesystem::path socket = {};
  mode_t mode = DaemonSettings::Access{}.mode;  ///< of the socket's file: who may connect at all
  std::vector<uid_t> uids = {};                 ///< permitted beside the own user and root
  std::vector<gid_t> gids = {};                 ///< permitted: members of these groups
  std::size_t most_clients = 64;
};

/// Whether a process of this user, in these groups, may have the ring: the own user, root, or one that is named.
bool may_read(const ServerOptions& options, uid_t user, const std::vector<gid_t>& groups);

/// Hands the ring's descriptor to permitted users over a UNIX socket, from a thread of its own. A connection stays open
/// while both sides live, so that a reader notices the writer's end; nothing is ever read from it.
class RingServer {
 public:
  /// Listens. Throws what UnixListener throws, with the path.
  explicit RingServer(ServerOptions options);
  /// Closes the socket and all connections.
  ~RingServer();
  RingServer(const RingServer&) = delete;
  RingServer& operator=(const RingServer&) = delete;

  /// Clients get this descriptor from now on (a duplicate of it). Throws IoError.
  void offer(int memory);
  [[nodiscard]] std::size_t clients() const { return client_count_; }
  [[nodiscard]] std::uint64_t refused() const { return refused_; }

 private:
  void run();
  bool accept_one();
  FileDescriptor offered();
  [[nodiscard]] nf_ring_status judge(int client, bool ready) const;
  static void hand_over(int client, nf_ring_status status, int memory);

  ServerOptions options_;
  UnixListener listener_;
  FileDescriptor stop_;                  ///< eventfd
  std::mutex mutex_;                     ///< guards memory_
  FileDescriptor memory_;                ///< what is handed over
  std::vector<FileDescriptor> clients_;  ///< the thread's own
  std::atomic<std::size_t> client_count_ = 0;
  std::atomic<std::uint64_t> refused_ = 0;
  std::thread thread_;
};

}  // namespace nearfield::ring
