#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "bench/common/figures.hpp"
#include "bench/common/outputs.hpp"
#include "bench/frames/frames.hpp"
#include "config/config.hpp"

namespace nearfield::bench {
namespace {

constexpr double kGiga = 1e-9;

/// The thesis's table 7.2, s, for n = 1 to 5.
struct ThesisRow {
  std::string_view name;
  std::array<double, 5> seconds;
};
constexpr ThesisRow kTable72[] = {{"nominal", {0.643e-3, 0.666e-3, 0.691e-3, 0.721e-3, 0.742e-3}},
                                  {"n dot products", {0.577e-3, 0.619e-3, 0.658e-3, 0.687e-3, 0.733e-3}},
                                  {"basic averaging", {0.535e-3, 0.577e-3, 0.615e-3, 0.645e-3, 0.689e-3}}};
constexpr double kThesisRealTime_s = 1e-3;
constexpr int kThesisRealTimeCount = 10;
constexpr double kThesisExtrapolationShare = 0.63;
/// Time of one-dimensional transforms; twenty two-dimensional ones take a little less.
constexpr double kThesisTwentyTransforms_s = 0.089e-3;
constexpr int kThesisTransforms = 20;

double thesis_s(std::string_view approach, int count) {
  for (const ThesisRow& row : kTable72) {
    if (row.name == approach && count >= 1 && count <= static_cast<int>(row.seconds.size())) {
      return row.seconds[static_cast<std::size_t>(count) - 1];
    }
  }
  return kUnknown;
}

/// The approach that a case of the sweep stands for: its label without the count.
std::string approach_of(const FrameRun& run) { return run.what.label.substr(0, run.what.label.rfind(", n = ")); }

std::string head_lines(const FrameReport& report) {
  const Ceilings& c = report.ceilings;
  const FrontEndSettings& f = report.settings.front_end;
  const HolographySettings& h = report.settings.holography;
  return fmt::format(
      "{} ({}, driver {}), {} compute units\n"
      "{} x {} microphones, windows of {} samples (32 bits each), hop {}, {} frequencies, {} planes, {}, {} frames a "
      "launch\n"
      "front end: {}\n"
      "ceilings: copy {:.1f} GB/s; page-locked to the device {:.1f} GB/s, back {:.1f} GB/s (pageable {:.1f} and "
      "{:.1f}); {:.0f} Gflop/s; kernel and wait {:.1f} us, each further kernel {:.2f} us\n",
      report.device.name, report.device.platform, report.device.driver, report.device.compute_units,
      report.settings.array.geometry.rows, report.settings.array.geometry.columns, f.window_samples, f.hop_samples,
      f.frequencies_hz.size(), h.planes_m.size(), name_of(h.extrapolation.method), report.settings.device.batch,
      report.runs.front().front_end, c.copy_bytes_per_s * kGiga, c.locked_write_bytes_per_s * kGiga,
      c.locked_read_bytes_per_s * kGiga, c.write_bytes_per_s * kGiga, c.read_bytes_per_s * kGiga,
      c.operations_per_s * kGiga, c.launch_and_wait_s * kMicro, c.further_launch_s * kMicro);
}

std::string run_lines(const FrameReport& report) {
  std::string text = fmt::format(
      "\nFrom bits in host memory to images in host memory, one launch in flight [us a frame]; floors: bytes over "
      "bandwidth, commands times their launch\n"
      "{:<34}{:>10}{:>10}{:>10}{:>10}{:>10}{:>10}{:>9}{:>9}{:>11}{:>8}\n",
      "", "wall min", "median", "p99", "p99.9", "max", "device", "bytes", "launch", "frames/s", "plan s");
  std::string sweep;
  for (const FrameRun& run : report.runs) {
    if (run.what.sweep != sweep) {
      sweep = run.what.sweep;
      text += fmt::format("{}\n", sweep);
    }
    if (!run.measured()) {
      text += fmt::format("  {:<32}  {}\n", run.what.label, in_short(run.problem));
      continue;
    }
    const double each = kMicro / run.what.batch();
    const Distribution& wall = run.timing.wall_s;
    text +=
        fmt::format("  {:<32}{:>10.1f}{:>10.1f}{:>10.1f}{:>10.1f}{:>10.1f}{:>10.1f}{:>9.1f}{:>9.1f}{:>11.0f}{:>8.2f}\n",
                    run.what.label, wall.minimum * each, wall.median * each, wall.p99 * each, wall.p999 * each,
                    wall.maximum * each, run.timing.device_s.median * each, run.floors.bytes_s * each,
                    run.floors.launches_s * each, 1.0 / run.frame_s(), run.plan_s);
  }
  return text;
}

std::string stage_lines(const FrameReport& report) {
  const FrameRun& run = report.runs.front();
  const Ceilings& ceilings = report.ceilings;
  std::string text = fmt::format(
      "\nStages of the configuration, a launch of {} frames, device time [us]; floor: the larger of bytes and "
      "operations over their ceilings\n{:<40}{:>5}{:>9}{:>9}{:>9}{:>9}{:>9}{:>8}{:>10}{:>9}{:>10}{:>9}{:>9}\n",
      run.what.batch(), "", "no.", "min", "median", "p99", "p99.9", "max", "share", "KiB", "GB/s", "Mop", "Gop/s",
      "floor");
  for (std::size_t i = 0; i < run.timing.stages.size(); ++i) {
    const StageTiming& stage = run.timing.stages[i];
    const StageNeed& need = run.needs[i];
    const Distribution& d = stage.device_s;
    const bool known = need.bytes > 0.0 || need.operations > 0.0;
    text += fmt::format("{:<40}{:>5.1f}{:>9.1f}{:>9.1f}{:>9.1f}{:>9.1f}{:>9.1f}{:>7.1f}%{:>10}{:>9}{:>10}{:>9}{:>9}\n",
                        stage.stage, stage.commands, d.minimum * kMicro, d.median * kMicro, d.p99 * kMicro,
                        d.p999 * kMicro, d.maximum * kMicro, 100.0 * d.median / run.timing.device_s.median,
                        number_or_dash(known ? need.bytes / 1024.0 : kUnknown, 1),
                        number_or_dash(known ? need.bytes / d.median * kGiga : kUnknown, 2),
                        number_or_dash(known ? need.operations * 1e-6 : kUnknown, 3),
                        number_or_dash(known ? need.operations / d.median * kGiga : kUnknown, 1),
                        number_or_dash(known ? stage_floor_s(stage, need, ceilings) * kMicro : kUnknown, 2));
  }
  return text;
}

std::string line_lines(const FrameReport& report) {
  if (report.lines.empty()) {
    return "";
  }
  std::string text = fmt::format(
      "\nStraight lines through the medians [us a frame]; exponent: of the growth from first to last point, 1 as the "
      "input\n{:<50}{:>12}{:>12}{:>12}{:>10}{:>10}\n",
      "", "slope", "offset", "residual", "of mean", "exponent");
  for (const SweepLine& found : report.lines) {
    text += fmt::format("{:<50}{:>12.5f}{:>12.2f}{:>12.3f}{:>9.1f}%{:>10.2f}\n",
                        fmt::format("{} against {}", found.what, found.sweep), found.line.slope * kMicro,
                        found.line.offset * kMicro, found.line.residual * kMicro, 100.0 * found.line.relative_residual,
                        found.exponent);
  }
  return text;
}

std::string hop_lines(const FrameReport& report) {
  const std::vector<HopCost> costs = hop_costs(report.runs);
  if (costs.size() < 2) {
    return "";
  }
  std::string text = fmt::format(
      "\nHops: a frame's time over the time at hop 32, times hop / 32 where the hop is longer; above {:.2f} a hop "
      "costs "
      "more than it should\n{:>8}{:>12}{:>12}\n",
      HopCost::kMostOfHop32, "hop", "us", "of hop 32");
  for (const HopCost& cost : costs) {
    text += fmt::format("{:>8}{:>12.1f}{:>12.2f}{}\n", cost.hop_samples, cost.frame_s * kMicro, cost.of_hop_32,
                        cost.is_cliff() ? "  ABOVE" : "");
  }
  return text;
}

std::string step_lines(const FrameReport& report) {
  std::string text;
  for (const SweepStep& step : sweep_steps(report.runs)) {
    if (step.is_large()) {
      text +=
          fmt::format("{:<10}{:<40}{:>8.2f}  {}\n", step.sweep, fmt::format("{} to {}", step.from, step.to), step.ratio,
                      step.breaks_rule() ? "ABOVE" : fmt::format("another {}", fmt::join(step.changes, ", ")));
    }
  }
  if (text.empty()) {
    return "";
  }
  return fmt::format(
             "\nSteps above {:.2f} between neighbours of a sweep: the larger one's time over the smaller one's, over "
             "the "
             "growth of the factor; or the other way round\n",
             SweepStep::kMostRatio) +
         text;
}

std::string broken_lines(const FrameReport& report) {
  const std::vector<std::string> broken = broken_rules(report.runs);
  if (hop_costs(report.runs).size() < 2 && sweep_steps(report.runs).empty()) {
    return "";
  }
  return broken.empty() ? "\nNothing breaks the rules of hops and steps.\n"
                        : fmt::format("\nBREAKS THE RULES:\n  {}\n", fmt::join(broken, "\n  "));
}

/// Kernels that the thesis counts: its nominal chain and its dot products get decimated samples from an FPGA.
double counted_s(const FrameRun& run) {
  return kernels_s(run) - kernels_s(run, "/decimator/") - kernels_s(run, "/bit_ring/");
}

std::string table_72_lines(const FrameReport& report) {
  const std::vector<const FrameRun*> runs = runs_of(report, kThesisSweep);
  if (runs.empty()) {
    return "";
  }
  std::string text = fmt::format(
      "\nTable 7.2, a frame [us]. The thesis (Radeon HD 7950): kernels by its profiler; the nominal chain and the dot "
      "products from decimated samples.\nHere: counted: kernels without turning and decimating bits, which its FPGA "
      "did; "
      "all: with them; wall: bits in host memory to images in host memory.\nIts front ends take whole windows each "
      "frame; ours, where they are incremental, take a hop.\n"
      "{:<20}{:>4}{:>10}{:>10}{:>10}{:>10}{:>18}  {}\n",
      "", "n", "thesis", "counted", "all", "wall", "thesis / counted", "here");
  for (const ThesisRow& row : kTable72) {
    for (const FrameRun* run : runs) {
      if (approach_of(*run) != row.name) {
        continue;
      }
      const double thesis = thesis_s(row.name, run->frequencies());
      const double counted = counted_s(*run);
      text += fmt::format("{:<20}{:>4}{:>10.0f}{:>10.1f}{:>10.1f}{:>10.1f}{:>18.2f}  {}\n", row.name,
                          run->frequencies(), thesis * kMicro, counted * kMicro, kernels_s(*run) * kMicro,
                          run->frame_s() * kMicro, thesis / counted, run->front_end);
    }
  }
  return text;
}

/// Statements of the thesis's text on the figure, which prints no values.
std::string figure_35_lines(const FrameReport& report) {
  std::string text = fmt::format(
      "\nFigure 3.5. The thesis: at most {:.0f} us up to n = {}; extrapolation about {:.0f} %, 1-D transform 17 to 10 "
      "%, "
      "both 2-D transforms 11 to 16 %.\nHere, with clFFT: kernels' times; ours are from bits, so its first share has "
      "no "
      "like.\n{:>4}{:>12}{:>18}{:>20}{:>14}\n",
      kThesisRealTime_s * kMicro, kThesisRealTimeCount, 100.0 * kThesisExtrapolationShare, "n", "kernels",
      "extrapolation", "2-D transforms", "front end");
  const std::vector<const FrameRun*> runs = runs_of(report, kTransformSweep);
  for (const FrameRun* run : runs) {
    const double all = kernels_s(*run);
    const double extrapolation = kernels_s(*run, "imaging/extrapolat") + kernels_s(*run, "imaging/predictor");
    text += fmt::format("{:>4}{:>12.1f}{:>17.1f}%{:>19.1f}%{:>13.1f}%\n", run->frequencies(), all * kMicro,
                        100.0 * extrapolation / all, 100.0 * kernels_s(*run, "_fft/clfft") / all,
                        100.0 * kernels_s(*run, "front_end/") / all);
  }
  return runs.empty() ? "" : text;
}

std::string figure_710_lines(const FrameReport& report) {
  const std::vector<const FrameRun*> runs = runs_of(report, kTransformSweep);
  if (runs.empty()) {
    return "";
  }
  std::string text = fmt::format(
      "\nFigure 7.10, clFFT forward, 96 x 96 [us]. The thesis prints no values; its text: n = {} takes a little less "
      "than {:.0f}. Here n frequencies of one plane.\n{:>4}{:>12}{:>14}\n",
      kThesisTransforms, kThesisTwentyTransforms_s * kMicro, "n", "forward", "thesis");
  for (const FrameRun* run : runs) {
    const bool said = run->frequencies() == kThesisTransforms;
    text += fmt::format("{:>4}{:>12.1f}{:>14}\n", run->frequencies(), kernels_s(*run, "forward_fft") * kMicro,
                        said ? fmt::format("< {:.0f}", kThesisTwentyTransforms_s * kMicro) : std::string("-"));
  }
  return text;
}

std::string sustained_lines(const FrameReport& report) {
  if (!report.sustained) {
    return "";
  }
  const SustainedRun& run = *report.sustained;
  const std::string problem = run.problem();
  return fmt::format(
      "\nA stream for {:.1f} s, {} frames a launch, {} in flight: {} frames, {:.0f} frames/s, {:.0f} holograms/s, "
      "{:.2f} times real "
      "time; slowest launch {:.1f} us; checksum {:016x}, {} launches repeated\n"
      "{} frames of {} different windows against the reference: worst relative L2 {:.2g}{}\n",
      run.seconds, run.batch, run.in_flight, run.frames, run.frames_per_s, run.holograms_per_s, run.times_real_time,
      run.slowest_s * kMicro, run.checksum, run.repeated, run.check.frames, run.check.windows, run.check.worst,
      problem.empty() ? "" : fmt::format("\nWRONG: {}", problem));
}

nlohmann::ordered_json to_json(const Line& line) {
  return {{"slope_s", line.slope},
          {"offset_s", line.offset},
          {"residual_s", line.residual},
          {"relative_residual", line.relative_residual}};
}

nlohmann::ordered_json run_json(const FrameRun& run, const Ceilings& ceilings) {
  const FrontEndSettings& front_end = run.what.settings.front_end;
  nlohmann::ordered_json json = {{"sweep", run.what.sweep},
                                 {"label", run.what.label},
                                 {"value", run.what.value},
                                 {"kind", front_end.kind},
                                 {"frequencies", run.frequencies()},
                                 {"planes", run.what.settings.holography.planes_m.size()},
                                 {"rows", run.what.settings.array.geometry.rows},
                                 {"columns", run.what.settings.array.geometry.columns},
                                 {"window_samples", front_end.window_samples},
                                 {"hop_samples", front_end.hop_samples},
                                 {"fft", run.what.settings.device.fft},
                                 {"batch", run.what.batch()}};
  if (!run.measured()) {
    json["problem"] = run.problem;
    return json;
  }
  json["front_end"] = run.front_end;
  json["imager"] = run.imager;
  json["plan_s"] = run.plan_s;
  json["frame_s"] = run.frame_s();
  json["launch_wall_s"] = to_json(run.timing.wall_s);
  json["launch_device_s"] = to_json(run.timing.device_s);
  json["launch_floors_s"] = {{"bytes", run.floors.bytes_s}, {"launches", run.floors.launches_s}};
  if (run.what.sweep == kThesisSweep) {
    json["kernels_s"] = kernels_s(run);
    json["counted_kernels_s"] = counted_s(run);
    json["thesis_s"] = thesis_s(approach_of(run), run.frequencies());
  }
  for (std::size_t i = 0; i < run.timing.stages.size(); ++i) {
    const StageTiming& stage = run.timing.stages[i];
    const StageNeed& need = run.needs[i];
    json["stages"].push_back({{"stage", stage.stage},
                              {"commands", stage.commands},
                              {"device_s", to_json(stage.device_s)},
                              {"share", stage.device_s.median / run.timing.device_s.median},
                              {"bytes", need.bytes},
                              {"operations", need.operations},
                              {"floor_s", stage_floor_s(stage, need, ceilings)}});
  }
  return json;
}

nlohmann::ordered_json rules_json(const std::vector<FrameRun>& runs) {
  nlohmann::ordered_json hops = nlohmann::ordered_json::array();
  for (const HopCost& cost : hop_costs(runs)) {
    hops.push_back({{"hop_samples", cost.hop_samples},
                    {"frame_s", cost.frame_s},
                    {"of_hop_32", cost.of_hop_32},
                    {"breaks_rule", cost.is_cliff()}});
  }
  nlohmann::ordered_json steps = nlohmann::ordered_json::array();
  for (const SweepStep& step : sweep_steps(runs)) {
    steps.push_back({{"sweep", step.sweep},
                     {"from", step.from},
                     {"to", step.to},
                     {"ratio", step.ratio},
                     {"changes", step.changes},
                     {"breaks_rule", step.breaks_rule()}});
  }
  return {{"most_of_hop_32", HopCost::kMostOfHop32},
          {"most_step", SweepStep::kMostRatio},
          {"hops", hops},
          {"steps", steps},
          {"broken", broken_rules(runs)}};
}

nlohmann::ordered_json to_json(const SustainedRun& run) {
  return {{"batch", run.batch},
          {"in_flight", run.in_flight},
          {"seconds", run.seconds},
          {"frames", run.frames},
          {"frames_per_s", run.frames_per_s},
          {"holograms_per_s", run.holograms_per_s},
          {"times_real_time", run.times_real_time},
          {"slowest_launch_s", run.slowest_s},
          {"checksum", fmt::format("{:016x}", run.checksum)},
          {"repeated_launches", run.repeated},
          {"checked_frames", run.check.frames},
          {"checked_windows", run.check.windows},
          {"worst_relative_l2", run.check.worst},
          {"most_relative_l2", kMostDifference},
          {"problem", run.problem()}};
}

}  // namespace

std::string to_table(const FrameReport& report) {
  return head_lines(report) + run_lines(report) + stage_lines(report) + hop_lines(report) + step_lines(report) +
         broken_lines(report) + line_lines(report) + table_72_lines(report) + figure_35_lines(report) +
         figure_710_lines(report) + sustained_lines(report);
}

std::string to_csv(const FrameReport& report) {
  std::string text =
      "sweep,label,frequencies,planes,window,hop,batch,stage,commands,bytes,operations,floor_s,minimum_s,median_s,p99_"
      "s,"
      "p99_9_s,maximum_s\n";
  const auto line = [&](const FrameRun& run, std::string_view stage, double commands, const StageNeed& need,
                        double floor_s, const Distribution& d) {
    const FrontEndSettings& front_end = run.what.settings.front_end;
    text += fmt::format("{},\"{}\",{},{},{},{},{},{},{:.6g},{:.9g},{:.9g},{:.9g},{:.9g},{:.9g},{:.9g},{:.9g},{:.9g}\n",
                        run.what.sweep, run.what.label, run.frequencies(), run.what.settings.holography.planes_m.size(),
                        front_end.window_samples, front_end.hop_samples, run.what.batch(), stage, commands, need.bytes,
                        need.operations, floor_s, d.minimum, d.median, d.p99, d.p999, d.maximum);
  };
  for (const FrameRun& run : report.runs) {
    if (!run.measured()) {
      continue;
    }
    line(run, "wall", 1.0, {}, std::max(run.floors.bytes_s, run.floors.launches_s), run.timing.wall_s);
    line(run, "device", 1.0, {}, run.floors.bytes_s, run.timing.device_s);
    for (std::size_t i = 0; i < run.timing.stages.size(); ++i) {
      const StageTiming& stage = run.timing.stages[i];
      line(run, stage.stage, stage.commands, run.needs[i], stage_floor_s(stage, run.needs[i], report.ceilings),
           stage.device_s);
    }
  }
  return text;
}

std::string to_json_text(const FrameReport& report) {
  nlohmann::ordered_json json = report_head("frames", report.device);
  json["settings"] = to_yaml(report.settings);
  json["batch"] = report.settings.device.batch;
  json["ceilings"] = to_json(report.ceilings);
  json["thesis"] = {{"source", "Oznaya Angeles 2014, table 7.2; figures 3.5 and 7.10 by its text"},
                    {"most_at_10_frequencies_s", kThesisRealTime_s},
                    {"extrapolation_share", kThesisExtrapolationShare},
                    {"twenty_forward_transforms_below_s", kThesisTwentyTransforms_s}};
  json["runs"] = nlohmann::ordered_json::array();
  for (const FrameRun& run : report.runs) {
    json["runs"].push_back(run_json(run, report.ceilings));
  }
  json["rules"] = rules_json(report.runs);
  json["lines"] = nlohmann::ordered_json::array();
  for (const SweepLine& found : report.lines) {
    nlohmann::ordered_json line = {{"sweep", found.sweep}, {"of", found.what}};
    line.update(to_json(found.line));
    line["exponent"] = found.exponent;
    json["lines"].push_back(line);
  }
  if (report.sustained) {
    json["sustained"] = to_json(*report.sustained);
  }
  return json.dump(1) + "\n";
}

}  // namespace nearfield::bench
