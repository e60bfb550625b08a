#pragma once
#include <prometheus/metric_family.h>

#include <vector>

namespace nearfield::control {

/// Metrics of this process from /proc/self, under the names that Prometheus's clients use: processor time, resident and
/// virtual memory, open descriptors and their limit, threads, and the start in Unix time. Unreadable values are left
/// out.
std::vector<prometheus::MetricFamily> process_metrics();

}  // namespace nearfield::control
