#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "bench/frames/frames.hpp"

namespace nearfield::bench {
namespace {

/// Whose time other hops are held against.
constexpr double kUsualHop = 32.0;
constexpr const char* kStepSweeps[] = {"n", "planes", "batch", "window", "rows", "columns"};

SweepStep step_between(const FrameRun& from, const FrameRun& to) {
  SweepStep step{.sweep = from.what.sweep, .from = from.what.label, .to = to.what.label, .changes = {}};
  const double growth = to.timing.wall_s.median / from.timing.wall_s.median;
  step.ratio = std::max(growth * from.what.value / to.what.value, 1.0 / growth);
  if (from.front_end != to.front_end) {
    step.changes.emplace_back("front end");
  }
  if (from.imager != to.imager) {
    step.changes.emplace_back("imager");
  }
  return step;
}

}  // namespace

std::vector<HopCost> hop_costs(const std::vector<FrameRun>& runs) {
  std::vector<HopCost> costs;
  const std::vector<const FrameRun*> points = measured_runs(runs, "hop");
  const auto usual =
      std::find_if(points.begin(), points.end(), [](const FrameRun* run) { return run->what.value == kUsualHop; });
  if (usual == points.end()) {
    return costs;
  }
  for (const FrameRun* run : points) {
    const double allowed_s = (*usual)->frame_s() * std::max(run->what.value / kUsualHop, 1.0);
    costs.push_back({.hop_samples = static_cast<int>(run->what.value),
                     .frame_s = run->frame_s(),
                     .of_hop_32 = run->frame_s() / allowed_s});
  }
  return costs;
}

std::vector<SweepStep> sweep_steps(const std::vector<FrameRun>& runs) {
  std::vector<SweepStep> steps;
  for (const std::string_view sweep : kStepSweeps) {
    const std::vector<const FrameRun*> points = measured_runs(runs, sweep);
    for (std::size_t i = 1; i < points.size(); ++i) {
      if (points[i]->what.value > points[i - 1]->what.value) {
        steps.push_back(step_between(*points[i - 1], *points[i]));
      }
    }
  }
  return steps;
}

std::vector<std::string> broken_rules(const std::vector<FrameRun>& runs) {
  std::vector<std::string> broken;
  for (const HopCost& cost : hop_costs(runs)) {
    if (cost.is_cliff()) {
      broken.push_back(fmt::format("hop {}: a frame takes {:.2f} times what hop 32 allows, at most {:.2f} are expected",
                                   cost.hop_samples, cost.of_hop_32, HopCost::kMostOfHop32));
    }
  }
  for (const SweepStep& step : sweep_steps(runs)) {
    if (step.breaks_rule()) {
      broken.push_back(fmt::format("{}, from {} to {}: a step of {:.2f}, at most {:.2f} is expected", step.sweep,
                                   step.from, step.to, step.ratio, SweepStep::kMostRatio));
    }
  }
  return broken;
}

}  // namespace nearfield::bench
