#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "bench/files.hpp"
#include "bench/frames.hpp"
#include "publish/plot.hpp"

namespace nearfield::bench {
namespace {

constexpr double kGiga = 1e-9;
/// Of the intensities that the roofs are drawn over, beyond the stages' own.
constexpr double kRoofRoom = 4.0;
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

/// Stages whose bytes and operations are known, transfers left out: they have no operations.
std::vector<std::size_t> known_stages(const FrameRun& run) {
  std::vector<std::size_t> known;
  for (std::size_t i = 0; i < run.timing.stages.size(); ++i) {
    if (run.needs[i].operations > 0.0 && run.needs[i].bytes > 0.0) {
      known.push_back(i);
    }
  }
  return known;
}

/// A stage's points over all runs of the sweep, so that it can be seen to move with n.
PlotSeries roofline_series(const std::vector<const FrameRun*>& runs, const std::string& stage) {
  PlotSeries series{.name = stage, .x = {}, .y = {}};
  for (const FrameRun* run : runs) {
    for (const std::size_t i : known_stages(*run)) {
      if (run->timing.stages[i].stage == stage) {
        series.x.push_back(run->needs[i].operations / run->needs[i].bytes);
        series.y.push_back(run->needs[i].operations / run->timing.stages[i].device_s.median * kGiga);
      }
    }
  }
  return series;
}

/// Figures 7.3, 7.5 and 7.11: one stage a series, one point an n.
Plot roofline(const FrameReport& report, const std::vector<const FrameRun*>& runs) {
  Plot plot{.title = "Roofline: stages against what the device does at best",
            .x = {.label = "operations a byte", .logarithmic = true},
            .y = {.label = "operations a second [10\u2079/s]", .logarithmic = true},
            .notes = {device_note(report),
                      "Bytes and operations of the plan (a stage's input and output once); roofs: measured copy and "
                      "multiply-adds."}};
  std::vector<std::string> counts;
  for (const FrameRun* run : runs) {
    counts.push_back(std::to_string(run->frequencies()));
    for (const std::size_t i : known_stages(*run)) {
      const std::string& stage = run->timing.stages[i].stage;
      if (std::none_of(plot.series.begin(), plot.series.end(),
                       [&](const PlotSeries& series) { return series.name == stage; })) {
        plot.series.push_back(roofline_series(runs, stage));
      }
    }
  }
  std::string points = "Points of a stage: n =";
  for (const std::string& count : counts) {
    points += " " + count;
  }
  plot.notes.push_back(points + ".");
  double low = report.ceilings.operations_per_s / report.ceilings.copy_bytes_per_s;
  double high = low;
  for (const PlotSeries& series : plot.series) {
    low = std::min(low, *std::min_element(series.x.begin(), series.x.end()));
    high = std::max(high, *std::max_element(series.x.begin(), series.x.end()));
  }
  const double corner = report.ceilings.operations_per_s / report.ceilings.copy_bytes_per_s;
  PlotSeries roof{.name = "roof: copy, then arithmetic",
                  .x = {low / kRoofRoom, corner, high * kRoofRoom},
                  .y = {},
                  .markers = false};
  for (const double intensity : roof.x) {
    roof.y.push_back(std::min(intensity * report.ceilings.copy_bytes_per_s, report.ceilings.operations_per_s) * kGiga);
  }
  plot.series.insert(plot.series.begin(), roof);
  return plot;
}

double stage_median_s(const FrameRun& run, const std::string& stage) {
  for (const StageTiming& timing : run.timing.stages) {
    if (timing.stage == stage) {
      return timing.device_s.median / run.what.batch;
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
    device.y.push_back(run->timing.device_s.median / run->what.batch * unit.per_s);
    floor.y.push_back(std::max(run->floors.bytes_s, run->floors.launches_s) / run->what.batch * unit.per_s);
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
  write("frames_roofline.png", roofline(report, runs));
  if (!runs_of(report, "window").empty()) {
    write("frames_against_window.png",
          against(report, "window", "A frame from bits to images against the window", "samples of a window"));
  }
  return names;
}

}  // namespace nearfield::bench
