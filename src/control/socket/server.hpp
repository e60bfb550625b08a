#pragma once
#include <cstddef>
#include <memory>

#include "control/service/log.hpp"
#include "control/socket/protocol.hpp"
#include "core/daemon_settings.hpp"
#include "core/system/unix_server.hpp"

namespace nearfield::control {

/// Serves the control protocol over a UNIX socket, on its own thread at ordinary priority, which runs the handlers too.
/// When all places are taken the client that is idle longest is disconnected. The destructor stops the thread and
/// removes the socket.
class Server : private UnixService {
 public:
  static constexpr std::size_t kMostClients = 16;

  /// Listens when it returns. Refused clients are written to `log`. Throws what UnixServer throws.
  Server(const DaemonSettings::Control& settings, Handlers handlers, std::shared_ptr<RateLimitedLog> log);
  /// Passes of the thread's loop, at least one a second unless a request takes longer. Callable by any thread.
  [[nodiscard]] std::uint64_t rounds() const noexcept { return server_.rounds(); }

 private:
  void prepare_thread() override;
  std::unique_ptr<UnixClient> admit(FileDescriptor socket) override;
  void refuse(int socket, const PeerProcess& peer) override;
  void recover(const std::exception& error) override;

  DaemonSettings::Control settings_;
  Handlers handlers_;
  std::shared_ptr<RateLimitedLog> log_;
  UnixServer server_;  ///< last: its thread uses the rest
};

}  // namespace nearfield::control
