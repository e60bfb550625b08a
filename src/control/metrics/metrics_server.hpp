#pragma once
#include <cstdint>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "control/metrics/metrics.hpp"
#include "core/system/file_descriptor.hpp"

namespace nearfield::control {

/// Serves metrics as Prometheus text at http://ADDRESS/metrics, from one thread at ordinary priority. Sockets never
/// block, so a client that is slow or idle delays no other. Such a client is disconnected after kPatienceNs, or earlier
/// when kMostClients are connected and another one arrives: then the oldest connection is closed.
class MetricsServer {
 public:
  static constexpr std::size_t kMostClients = 64;
  static constexpr std::int64_t kPatienceNs = 10'000'000'000;

  /// `address` is HOST:PORT; port 0 takes a free one. Listens when it returns. Throws IoError where it is not free.
  MetricsServer(const std::string& address, std::shared_ptr<Metrics> metrics);
  MetricsServer(const MetricsServer&) = delete;
  MetricsServer& operator=(const MetricsServer&) = delete;
  ~MetricsServer();
  [[nodiscard]] int port() const { return port_; }

 private:
  struct Client {
    FileDescriptor socket;
    std::int64_t until_ns = 0;  ///< of CLOCK_MONOTONIC; then it is disconnected
    std::string request;
    std::string answer;  ///< what is not sent yet; empty while the request is not whole
  };

  void serve();
  /// Waits for events and handles them; false when the server is to stop.
  bool serve_once();
  void accept_client();
  /// False when the client is to be disconnected.
  bool attend(Client& client, short events);
  [[nodiscard]] std::string answer_to(const std::string& request) const;

  std::shared_ptr<Metrics> metrics_;
  FileDescriptor listener_;
  FileDescriptor wake_;
  int port_ = 0;
  std::vector<Client> clients_;  ///< of the thread alone, oldest first
  std::thread thread_;
};

}  // namespace nearfield::control
