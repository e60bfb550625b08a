#pragma once
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <filesystem>
#include <memory>
#include <mutex>

#include "core/daemon_settings.hpp"
#include "core/system/file_descriptor.hpp"
#include "core/system/inheriting_mutex.hpp"
#include "core/system/unix_server.hpp"

namespace nearfield::ring {

struct ServerOptions {
  std::filesystem::path socket = {};
  DaemonSettings::Access access = {};
  std::size_t most_clients = 64;
};

/// Sends the ring's descriptor to permitted users over a UNIX socket, from a thread of its own. A connection stays open
/// until either process ends, so that a reader notices the writer's end; the server reads no data from it.
class RingServer : private UnixService {
 public:
  /// Listens. Throws what UnixServer throws, with the path.
  explicit RingServer(const ServerOptions& options);

  /// Sends a duplicate of this descriptor to clients from now on. Throws IoError.
  void offer(int memory);
  [[nodiscard]] std::size_t clients() const { return server_.clients(); }
  [[nodiscard]] std::uint64_t refused() const { return refused_; }
  /// Called by the server's thread after an error that disconnected all readers: logs it. Readers find that the
  /// connection is closed, and open the ring again.
  void recover(const std::exception& error) override;

 private:
  std::unique_ptr<UnixClient> admit(FileDescriptor socket) override;
  void refuse(int socket, const PeerProcess& peer) override;
  void turn_away(int socket) override;
  FileDescriptor offered();

  std::filesystem::path socket_;
  InheritingMutex mutex_;  ///< guards memory_
  FileDescriptor memory_;  ///< sent to clients
  std::atomic<std::uint64_t> refused_ = 0;
  UnixServer server_;  ///< last: its thread uses the rest
};

}  // namespace nearfield::ring
