#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "bench/common/files.hpp"
#include "bench/common/roofline.hpp"
#include "bench/frames/frames.hpp"
#include "publish/plot.hpp"

namespace nearfield::bench {
namespace {

/// Of a frame, from which on a stage is drawn against n and window.
constexpr double kLeastShare = 0.01;

/// A processor's times are milliseconds, a GPU's microseconds.
struct TimeUnit {
  double per_s;
  const char* label;
};
TimeUnit unit_of(const FrameReport& report) {
  return report.device.is_gpu ? TimeUnit{1e6, "time of a frame [\u00b5s]"} : TimeUnit{1e3, "time of a frame [ms]"};
}

std::string device_note(const FrameReport& report) {
  return fmt::format("{}, driver {}", report.device.name, report.device.driver);
}

/// One stage a series, one point a run, so that it can be seen to move with n.
Plot stages_roofline(const FrameReport& report, const std::vector<const FrameRun*>& runs, const std::string& title,
                     std::string_view part) {
  std::vector<PlotSeries> series;
  std::string counts = "Points of a stage: n =";
  for (const FrameRun* run : runs) {
    counts += fmt::format(" {}", run->frequencies());
    for (std::size_t i = 0; i < run->timing.stages.size(); ++i) {
      const StageTiming& stage = run->timing.stages[i];
      if (stage.stage.find(part) == std::string::npos) {
        continue;
      }
      auto found =
          std::find_if(series.begin(), series.end(), [&](const PlotSeries& s) { return s.name == stage.stage; });
      if (found == series.end()) {
        found = series.insert(series.end(), PlotSeries{.name = stage.stage, .x = {}, .y = {}});
      }
      add_point(*found, run->needs[i], stage.device_s.median);
    }
  }
  Plot plot = roofline(title, report.device, report.ceilings, series);
  plot.notes.push_back(counts);
  return plot;
}

double stage_median_s(const FrameRun& run, const std::string& stage) {
  for (const StageTiming& timing : run.timing.stages) {
    if (timing.stage == stage) {
      return timing.device_s.median / run.what.batch();
    }
  }
  return 0.0;
}

/// Wall time with its line, and the larger stages' device times, against the sweep's factor.
Plot against(const FrameReport& report, std::string_view sweep, const std::string& title, const std::string& label) {
  const TimeUnit unit = unit_of(report);
  const std::vector<const FrameRun*> runs = runs_of(report, sweep);
  Plot plot{
      .title = title, .x = {.label = label}, .y = {.label = unit.label, .low = 0.0}, .notes = {device_note(report)}};
  PlotSeries wall{.name = "frame, wall, median", .x = {}, .y = {}};
  PlotSeries device{.name = "frame, device", .x = {}, .y = {}};
  PlotSeries floor{.name = "floor: bytes or launches", .x = {}, .y = {}};
  for (const FrameRun* run : runs) {
    for (PlotSeries* series : {&wall, &device, &floor}) {
      series->x.push_back(run->what.value);
    }
    wall.y.push_back(run->frame_s() * unit.per_s);
    device.y.push_back(run->timing.device_s.median / run->what.batch() * unit.per_s);
    floor.y.push_back(std::max(run->floors.bytes_s, run->floors.launches_s) / run->what.batch() * unit.per_s);
  }
  plot.series = {wall, device, floor};
  for (const SweepLine& found : report.lines) {
    if (found.sweep != sweep || found.what != "frame") {
      continue;
    }
    PlotSeries fitted{.name = "line through the walls", .x = wall.x, .y = {}, .markers = false};
    for (const double x : fitted.x) {
      fitted.y.push_back((found.line.offset + found.line.slope * x) * unit.per_s);
    }
    plot.series.push_back(fitted);
    plot.notes.push_back(fmt::format("Line: {:.4g} {:+.4g} x, residual {:.1f} % of the mean",
                                     found.line.offset * unit.per_s, found.line.slope * unit.per_s,
                                     100.0 * found.line.relative_residual));
  }
  for (const StageTiming& stage : runs.back()->timing.stages) {
    PlotSeries series{.name = stage.stage, .x = wall.x, .y = {}};
    for (const FrameRun* run : runs) {
      series.y.push_back(stage_median_s(*run, stage.stage) * unit.per_s);
    }
    if (series.y.back() >= kLeastShare * wall.y.back()) {
      plot.series.push_back(series);
    }
  }
  return plot;
}

}  // namespace

std::vector<std::string> write_plots(const FrameReport& report, const std::filesystem::path& folder) {
  make_folder(folder);
  std::vector<std::string> names;
  const auto write = [&](const std::string& name, const Plot& plot) {
    names.push_back(name);
    write_plot(folder / name, plot);
  };
  std::vector<const FrameRun*> runs = runs_of(report, "n");
  if (runs.empty()) {
    runs = runs_of(report, "base");
  } else {
    write("frames_against_n.png", against(report, "n", "A frame from bits to images against n", "frequencies n"));
  }
  write("frames_roofline.png", stages_roofline(report, runs, "Roofline of a frame's stages", ""));
  if (const std::vector<const FrameRun*> transforms = runs_of(report, kTransformSweep); !transforms.empty()) {
    write("transforms_roofline.png",
          stages_roofline(report, transforms, "Roofline of clFFT, 96 x 96 (fig. 7.11)", "_fft/clfft"));
  }
  if (!runs_of(report, "window").empty()) {
    write("frames_against_window.png",
          against(report, "window", "A frame from bits to images against the window", "samples of a window"));
  }
  return names;
}

}  // namespace nearfield::bench
