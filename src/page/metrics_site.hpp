#pragma once
#include <memory>

#include "control/metrics/metrics.hpp"
#include "page/http_server.hpp"

namespace nearfield::page {

/// Prometheus text at /metrics, for whoever reaches the address.
Site metrics_site(std::shared_ptr<const control::Metrics> metrics);

}  // namespace nearfield::page
