#include "bench/common/roofline.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace nearfield::bench {
namespace {

constexpr double kGiga = 1e-9;
/// Of the intensities that the roofs are drawn over, beyond the stages' own.
constexpr double kRoom = 2.0;

}  // namespace

void add_point(PlotSeries& series, const StageNeed& need, double seconds) {
  if (need.bytes > 0.0 && need.operations > 0.0) {
    series.x.push_back(need.operations / need.bytes);
    series.y.push_back(need.operations / seconds * kGiga);
  }
}

Plot roofline(const std::string& title, const ocl::DeviceInfo& device, const Ceilings& ceilings,
              const std::vector<PlotSeries>& stages) {
  const double corner = ceilings.operations_per_s / ceilings.copy_bytes_per_s;
  double low = corner;
  double high = corner;
  for (const PlotSeries& series : stages) {
    for (const double intensity : series.x) {
      low = std::min(low, intensity);
      high = std::max(high, intensity);
    }
  }
  PlotSeries roof{
      .name = "roof: copy, multiply-adds", .x = {low / kRoom, corner, high * kRoom}, .y = {}, .markers = false};
  for (const double intensity : roof.x) {
    roof.y.push_back(std::min(intensity * ceilings.copy_bytes_per_s, ceilings.operations_per_s) * kGiga);
  }
  Plot plot{.title = title,
            .x = {.label = "operations a byte", .logarithmic = true},
            .y = {.label = "operations a second [10\u2079/s]", .logarithmic = true},
            .series = {roof},
            .notes = {fmt::format("{}, driver {}", device.name, device.driver),
                      "Bytes and operations of the plan, a stage's input and output once; roofs as measured."}};
  std::copy_if(stages.begin(), stages.end(), std::back_inserter(plot.series),
               [](const PlotSeries& series) { return !series.x.empty(); });
  return plot;
}

}  // namespace nearfield::bench
