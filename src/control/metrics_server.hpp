#pragma once
#include <prometheus/exposer.h>

#include <memory>
#include <string>

#include "control/metrics.hpp"

namespace nearfield::control {

/// Serves metrics as Prometheus text at http://ADDRESS/metrics, from threads at ordinary priority.
class MetricsServer {
 public:
  /// `address` is HOST:PORT; port 0 takes a free one. Throws IoError when it can't be had.
  MetricsServer(const std::string& address, const std::shared_ptr<Metrics>& metrics);
  [[nodiscard]] int port() const { return exposer_->GetListeningPorts().front(); }

 private:
  std::unique_ptr<prometheus::Exposer> exposer_;
};

}  // namespace nearfield::control
