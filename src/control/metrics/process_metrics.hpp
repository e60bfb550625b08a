#pragma once
#include <prometheus/metric_family.h>

#include <vector>

namespace nearfield::control {

/// This process as the kernel describes it in /proc/self, under the names that Prometheus's clients use: processor
/// time, resident and virtual memory, open descriptors and their limit, threads, and the start in Unix time. What
/// cannot be read is left out.
std::vector<prometheus::MetricFamily> process_metrics();

}  // namespace nearfield::control
