#pragma once
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <filesystem>
#include <memory>
#include <mutex>

#include "core/system/file_descriptor.hpp"
#include "core/system/unix_server.hpp"
#include "nearfield/daemon_settings.hpp"

namespace nearfield::ring {

struct ServerOptions {
  std::filesystem::path socket = {};
  DaemonSettings::Access access = {};
  std::size_t most_clients = 64;
};

/// Hands the ring's descriptor to permitted users over a UNIX socket, from a thread of its own. A connection stays open
/// while both sides live, so that a reader notices the writer's end; nothing is ever read from it.
class RingServer : private UnixService {
 public:
  /// Listens. Throws what UnixServer throws, with the path.
  explicit RingServer(const ServerOptions& options);

  /// Clients get this descriptor from now on (a duplicate of it). Throws IoError.
  void offer(int memory);
  [[nodiscard]] std::size_t clients() const { return server_.clients(); }
  [[nodiscard]] std::uint64_t refused() const { return refused_; }

 private:
  std::unique_ptr<UnixClient> admit(FileDescriptor socket) override;
  void refuse(int socket, const PeerProcess& peer) override;
  void turn_away(int socket) override;
  void recover(const std::exception& /*error*/) override {}  // readers find that it is gone, and open it again
  FileDescriptor offered();

  std::filesystem::path socket_;
  std::mutex mutex_;       ///< guards memory_
  FileDescriptor memory_;  ///< what is handed over
  std::atomic<std::uint64_t> refused_ = 0;
  UnixServer server_;  ///< last: its thread uses the rest
};

}  // namespace nearfield::ring
