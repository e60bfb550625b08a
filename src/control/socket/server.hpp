#pragma once
#include <cstdint>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "control/service/log.hpp"
#include "control/socket/peers.hpp"
#include "control/socket/protocol.hpp"
#include "core/system/file_descriptor.hpp"
#include "core/system/unix_listener.hpp"
#include "nearfield/daemon_settings.hpp"

namespace nearfield::control {

/// Serves the control protocol over a UNIX socket, on a thread of its own at ordinary priority, where the handlers run
/// too. Sockets never block: a client that is silent or does not read holds up nobody, and when all places are taken
/// the one that is idle longest gives way. The destructor stops the thread and removes the socket.
class Server {
 public:
  static constexpr std::size_t kMostClients = 16;

  /// Listens when it returns. Refused clients are written to `log`. Throws what UnixListener throws, and ConfigError on
  /// unknown users or groups.
  Server(const DaemonSettings::Control& settings, Handlers handlers, std::shared_ptr<RateLimitedLog> log);
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;
  ~Server();

 private:
  struct Client {
    FileDescriptor socket;
    std::string input;   ///< of a request that is not whole yet, and of those behind it
    std::string output;  ///< replies that are not read yet
    std::uint64_t last_used = 0;
    bool closing = false;  ///< once the output is out
  };

  void serve();
  /// Waits for something to do and does it; false when the server is to stop.
  bool serve_once();
  void accept_client();
  void give_up_longest_idle();
  /// False when the client is to be dropped.
  bool attend(Client& client, short events);
  bool receive(Client& client);
  void answer_next(Client& client);
  static bool flush(Client& client);

  DaemonSettings::Control settings_;
  Handlers handlers_;
  std::shared_ptr<RateLimitedLog> log_;
  PeerRule rule_;
  UnixListener listener_;
  FileDescriptor wake_;
  std::vector<Client> clients_;  ///< of the thread alone, as is all that follows
  std::uint64_t uses_ = 0;
  std::thread thread_;
};

}  // namespace nearfield::control
