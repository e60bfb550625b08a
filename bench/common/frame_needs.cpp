#include "bench/common/frame_needs.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "config/schema/processor_kinds.hpp"
#include "core/error.hpp"
#include "files/files.hpp"
#include "frontend/front_end.hpp"
#include "processors/images/image_plan.hpp"
#include "processors/processor.hpp"

namespace nearfield::bench {
namespace {

void append(WorkModel& model, const WorkModel& more) { model.insert(model.end(), more.begin(), more.end()); }

}  // namespace

WorkModel work_model_of(const Settings& settings) {
  const FrontEndSettings& front_end = settings.front_end;
  const int batch = settings.device.batch;
  WorkModel model = front_end_entry(front_end.kind)
                        .work({.geometry = settings.array.geometry,
                               .layout = settings.array.layout,
                               .settings = front_end,
                               .dead_channels = {},
                               .batch = batch});
  ProcessorPlan plan;
  plan.settings = &settings;
  plan.frequencies_hz = front_end.frequencies_hz;
  plan.batch = batch;
  plan.files = array_files_on_disk();
  plan.array.geometry = settings.array.geometry;
  plan.array.frequencies_hz = front_end.frequencies_hz;
  plan.sample_rate_hz = kBitRateHz / front_end.decimation;
  for (const ProcessorSettings& processor : processors_of(settings, front_end.frequencies_hz.size())) {
    const Settings own = settings_of(settings, processor, plan.sample_rate_hz);
    plan.settings = &own;
    plan.frequencies_hz = own.front_end.frequencies_hz;
    plan.array.frequencies_hz = own.front_end.frequencies_hz;
    plan.own = processor.own.get();
    plan.every_hops = processor.every_hops;
    append(model, processor_entry(processor.kind).work(plan));
  }
  return model;
}

StageKind kind_of_stage(std::string_view stage) {
  if (stage.ends_with("/write")) {
    return StageKind::kUpload;
  }
  return stage.ends_with("/read") ? StageKind::kDownload : StageKind::kDevice;
}

StageNeed need_of(std::string_view stage, const WorkModel& model) {
  const auto known =
      std::find_if(model.begin(), model.end(), [&](const StageWork& work) { return work.stage == stage; });
  return known == model.end() ? StageNeed{} : StageNeed{.bytes = known->bytes, .operations = known->operations};
}

StageNeed frame_need_of(std::string_view stage, const Settings& settings) {
  return need_of(stage, work_model_of(settings));
}

double stage_floor_s(const StageTiming& stage, const StageNeed& need, const Ceilings& ceilings) {
  switch (kind_of_stage(stage.stage)) {
    case StageKind::kUpload:
      return need.bytes / ceilings.locked_write_bytes_per_s;
    case StageKind::kDownload:
      return need.bytes / ceilings.locked_read_bytes_per_s;
    case StageKind::kDevice:
      break;
  }
  return std::max(need.bytes / ceilings.copy_bytes_per_s, need.operations / ceilings.operations_per_s);
}

Floors floors_of(const FrameTiming& timing, const std::vector<StageNeed>& needs, const Ceilings& ceilings) {
  Floors floors;
  double commands = 0.0;
  for (std::size_t i = 0; i < timing.stages.size(); ++i) {
    // Bytes only: operations have their own ceiling, beside each stage.
    floors.bytes_s += stage_floor_s(timing.stages[i], {.bytes = needs[i].bytes, .operations = 0.0}, ceilings);
    commands += timing.stages[i].commands;
  }
  floors.launches_s = ceilings.launch_and_wait_s + std::max(0.0, commands - 1.0) * ceilings.further_launch_s;
  return floors;
}

Line fit_line(const std::vector<double>& x, const std::vector<double>& y) {
  if (x.size() != y.size() || x.empty() || std::all_of(x.begin(), x.end(), [&](double v) { return v == x.front(); })) {
    throw Error(
        ExitCode::kInternal,
        fmt::format("bench: expected a line's points at two places at least, found {} x and {} y", x.size(), y.size()));
  }
  const auto count = static_cast<double>(x.size());
  const double mean_x = std::accumulate(x.begin(), x.end(), 0.0) / count;
  const double mean_y = std::accumulate(y.begin(), y.end(), 0.0) / count;
  double xx = 0.0;
  double xy = 0.0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    xx += (x[i] - mean_x) * (x[i] - mean_x);
    xy += (x[i] - mean_x) * (y[i] - mean_y);
  }
  Line line{.slope = xy / xx, .offset = mean_y - xy / xx * mean_x};
  double squares = 0.0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    squares += std::pow(y[i] - line.offset - line.slope * x[i], 2);
  }
  line.residual = std::sqrt(squares / count);
  line.relative_residual = line.residual / mean_y;
  return line;
}

}  // namespace nearfield::bench
