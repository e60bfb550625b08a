#pragma once
#include <memory>
#include <string>
#include <vector>

#include "control/metrics/metrics.hpp"
#include "page/http_server.hpp"

namespace nearfield::page {

/// Serves Prometheus text at /metrics, for clients that address it by localhost, a number or a name in `allowed_hosts`:
/// a site whose name was made to resolve to this machine must not have a browser read it.
Site metrics_site(std::shared_ptr<const control::Metrics> metrics, std::vector<std::string> allowed_hosts);

}  // namespace nearfield::page
