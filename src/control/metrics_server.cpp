#include "control/metrics_server.hpp"

#include <fmt/format.h>

#include <exception>
#include <future>
#include <vector>

#include "control/realtime.hpp"
#include "nearfield/error.hpp"

namespace nearfield::control {
namespace {

/// Threads for requests and how long each may take: a client that says nothing holds up one of them that long.
const std::vector<std::string> kServerOptions = {"num_threads", "4", "request_timeout_ms", "2000"};

std::unique_ptr<prometheus::Exposer> make_exposer(const std::string& address) {
  std::vector<std::string> options = {"listening_ports", address};
  options.insert(options.end(), kServerOptions.begin(), kServerOptions.end());
  try {
    return std::make_unique<prometheus::Exposer>(options);
  } catch (const std::exception& error) {
    throw IoError(
        fmt::format("daemon.metrics.address: expected an address to listen at, found {}: {}", address, error.what()));
  }
}

}  // namespace

MetricsServer::MetricsServer(const std::string& address, const std::shared_ptr<Metrics>& metrics) {
  // The server's threads inherit the scheduling of the thread that starts them.
  exposer_ = std::async(std::launch::async, [&address] {
               leave_realtime();
               return make_exposer(address);
             }).get();
  exposer_->RegisterCollectable(metrics);
}

}  // namespace nearfield::control
