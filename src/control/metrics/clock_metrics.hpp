#pragma once
#include <nlohmann/json_fwd.hpp>

#include "control/metrics/metrics.hpp"

namespace nearfield::control {

/// State of the system's clock for `nearfield ctl status`: `synchronised`, `most_error_s`, `likely_error_s`,
/// `tai_offset_s`, all null if the kernel refuses to report it; `text` then has the reason (else it is empty).
nlohmann::json clock_status();

/// Adds this state as metrics: clock_synchronised, clock_most_error_seconds, clock_likely_error_seconds and
/// clock_tai_offset_seconds, which are NaN if the kernel refuses. Before the server starts.
void add_clock_metrics(Metrics& metrics);

}  // namespace nearfield::control
