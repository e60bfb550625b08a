#pragma once
#include <string>
#include <vector>

#include "bench/common/frame_needs.hpp"
#include "bench/common/timing.hpp"
#include "publish/plot.hpp"

namespace nearfield::bench {

/// Adds a stage's point to its series: operations a byte, 1e9 operations a second. Nothing where they are not known.
void add_point(PlotSeries& series, const StageNeed& need, double seconds);

/// The series under the two roofs that were measured: what copies bring, and what multiply-adds can do.
Plot roofline(const std::string& title, const ocl::DeviceInfo& device, const Ceilings& ceilings,
              const std::vector<PlotSeries>& stages);

}  // namespace nearfield::bench
