#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>

#include "bench/common/figures.hpp"
#include "bench/common/outputs.hpp"
#include "bench/front_ends/front_ends.hpp"
#include "config/config.hpp"

namespace nearfield::bench {
namespace {

std::vector<int> counts_of(const FrontEndReport& report) {
  std::set<int> counts;
  for (const FrontEndRun& run : report.runs) {
    counts.insert(run.frequencies);
  }
  return {counts.begin(), counts.end()};
}

double phase_s(const FrontEndRun& run, const char* phase) {
  const auto found = run.timing.phase_device_s.find(phase);
  return found == run.timing.phase_device_s.end() ? 0.0 : found->second.median;
}

std::string head_lines(const FrontEndReport& report) {
  const Ceilings& c = report.ceilings;
  const FrontEndSettings& f = report.settings.front_end;
  return fmt::format(
      "{} ({}, driver {}), {} compute units\n"
      "{} microphones, windows of {} samples (32 bits each), hop {} samples\n"
      "ceilings: copy {:.1f} GB/s, to the device {:.1f} GB/s, back {:.1f} GB/s, {:.0f} Gflop/s, kernel and wait {:.1f} "
      "us, each further kernel {:.1f} us\n",
      report.device.name, report.device.platform, report.device.driver, report.device.compute_units,
      report.settings.array.geometry.channels(), f.window_samples, f.hop_samples, c.copy_bytes_per_s * 1e-9,
      c.write_bytes_per_s * 1e-9, c.read_bytes_per_s * 1e-9, c.operations_per_s * 1e-9, c.launch_and_wait_s * kMicro,
      c.further_launch_s * kMicro);
}

std::string run_lines(const FrontEndReport& report) {
  std::string text = fmt::format(
      "\nA frame, from a hop's bits to spectra [us]; the thesis has table 7.1 and section 7.3\n"
      "{:<27}{:>4}{:>9}{:>10}{:>10}{:>10}{:>10}{:>10}{:>10}{:>10}\n",
      "", "n", "bits", "spectra", "device", "wall min", "median", "p99", "max", "thesis");
  for (const FrontEndRun& run : report.runs) {
    const FrameTiming& t = run.timing;
    if (!run.problem.empty()) {
      text += fmt::format("{:<27}{:>4}  {}\n", run.variant.name, run.frequencies, in_short(run.problem));
      continue;
    }
    text += fmt::format("{:<27}{:>4}{:>9.1f}{:>10.1f}{:>10.1f}{:>10.1f}{:>10.1f}{:>10.1f}{:>10.1f}{:>10}\n",
                        run.variant.name, run.frequencies, phase_s(run, kBitsPhase) * kMicro,
                        phase_s(run, kSpectraPhase) * kMicro, t.device_s.median * kMicro, t.wall_s.minimum * kMicro,
                        t.wall_s.median * kMicro, t.wall_s.p99 * kMicro, t.wall_s.maximum * kMicro,
                        number_or_dash(thesis_time_s(run.variant, run.frequencies) * kMicro, 0));
  }
  return text;
}

/// Kernels and ways that plans chose by themselves.
std::string choice_lines(const FrontEndReport& report) {
  std::string text;
  for (const FrontEndRun& run : report.runs) {
    if (run.problem.empty() && run.variant.use != VariantUse::kKernels && run.description != run.variant.kind) {
      text += fmt::format("{:<27}{:>4}  {}\n", run.variant.name, run.frequencies, run.description);
    }
  }
  return text.empty() ? text : fmt::format("\nWhat the plans took{:>12}\n{}", "n", text);
}

/// The stages of one run; the smallest count stands for table 7.1, whose times do not depend on it.
std::string stage_lines(const FrontEndRun& run, const Ceilings& ceilings) {
  std::string text =
      fmt::format("\n{}, n = {}: stages, device time [us]\n{:<44}{:>10}{:>10}{:>9}{:>9}{:>9}{:>9}\n", run.variant.name,
                  run.frequencies, "", "median", "p99", "share", "GB/s", "of copy", "Gflop/s");
  for (std::size_t i = 0; i < run.timing.stages.size(); ++i) {
    const StageTiming& stage = run.timing.stages[i];
    const StageNeed& need = run.needs[i];
    const double seconds = stage.device_s.median;
    const double rate = need.bytes > 0.0 ? need.bytes / seconds : kUnknown;
    text += fmt::format("{:<44}{:>10.1f}{:>10.1f}{:>8.1f}%{:>9}{:>9}{:>9}\n", stage.stage, seconds * kMicro,
                        stage.device_s.p99 * kMicro, 100.0 * seconds / run.timing.device_s.median,
                        number_or_dash(rate * 1e-9, 1), number_or_dash(rate / ceilings.copy_bytes_per_s, 2),
                        number_or_dash(need.operations > 0.0 ? need.operations / seconds * 1e-9 : kUnknown, 1));
  }
  return text;
}

std::string occupancy_lines(const FrontEndReport& report) {
  std::string text = fmt::format(
      "\nWork-groups (the thesis's occupancy: plain and mirrored reduction 100 %, four outputs "
      "100 % at n = 4 falling to 20 % at n = 16, cBLAS 20 %)\n"
      "{:<64}{:>9}{:>7}{:>7}{:>9}{:>11}{:>12}\n",
      "", "items", "group", "most", "multiple", "local [B]", "private [B]");
  const std::vector<int> counts = counts_of(report);
  const std::string last = fmt::format("n = {}:", counts.empty() ? 0 : counts.front());
  for (const auto& [name, use] : report.kernels) {
    if (name.find(last) != std::string::npos) {
      text += fmt::format("{:<64}{:>9}{:>7}{:>7}{:>9}{:>11}{:>12}\n", name, use.work_items, use.work_group_items,
                          use.most_work_group_items, use.preferred_multiple, use.local_bytes, use.private_bytes);
    }
  }
  return text;
}

/// The transform alone, of the nominal chain: clFFT's commands.
double clfft_s(const FrontEndReport& report, int frequencies) {
  const FrontEndRun* nominal = find_run(report, "decimated_fft", frequencies);
  double seconds = kUnknown;
  if (nominal != nullptr) {
    for (const StageTiming& stage : nominal->timing.stages) {
      if (stage.stage.ends_with("/clfft")) {
        seconds = stage.device_s.median;
      }
    }
  }
  return seconds;
}

std::vector<std::string_view> dot_variants() {
  std::vector<std::string_view> names;
  for (const Variant& variant : variants()) {
    if (variant.kind == "dot_product") {
      names.push_back(variant.name);
    }
  }
  return names;
}

/// Figures 7.2 and 7.4 in numbers: each kernel's spectra phase over clFFT's time and over the gemm's.
std::string dot_lines(const FrontEndReport& report) {
  if (!has_front_end("dot_product")) {
    return "";
  }
  std::string text =
      "\nDot products: device time from samples to spectra [us] (over clFFT's)\n"
      "the thesis: its kernels beat cBLAS for n < 44, tenfold at n = 1 (fig. 7.2), and clFFT for n <= 5 (fig. 7.4)\n   "
      "n";
  const std::vector<std::string_view> names = dot_variants();
  for (const std::string_view name : names) {
    text += fmt::format("{:>26}", name);
  }
  text += fmt::format("{:>12}\n", "clFFT");
  for (const int count : counts_of(report)) {
    const double fft_s = clfft_s(report, count);
    text += fmt::format("{:>4}", count);
    for (const std::string_view name : names) {
      const FrontEndRun* run = find_run(report, name, count);
      const double seconds = run == nullptr ? kUnknown : phase_s(*run, kSpectraPhase);
      text += fmt::format("{:>26}", std::isfinite(seconds)
                                        ? fmt::format("{:.1f} ({:.2f})", seconds * kMicro, seconds / fft_s)
                                        : std::string("-"));
    }
    text += fmt::format("{:>12}\n", number_or_dash(fft_s * kMicro, 1));
  }
  return text;
}

std::string walsh_lines(const FrontEndReport& report) {
  if (report.walsh_counts.empty()) {
    return "";
  }
  const auto [low, high] = std::minmax_element(report.walsh_counts.begin(), report.walsh_counts.end());
  std::string text = fmt::format("\nWalsh coefficients above {} of bins 1 to {} (fig. 5.4): {} to {}\n",
                                 kWalshThreshold, report.walsh_counts.size(), *low, *high);
  std::vector<std::string> parts;
  for (const int bin : kThesisTenCoefficientBins) {
    if (static_cast<std::size_t>(bin) <= report.walsh_counts.size()) {
      parts.push_back(fmt::format("bin {}: {} (thesis {})", bin, report.walsh_counts[static_cast<std::size_t>(bin) - 1],
                                  kThesisFewestCoefficients));
    }
  }
  return text + fmt::format("{}\n", fmt::join(parts, ", "));
}

nlohmann::ordered_json run_json(const FrontEndRun& run) {
  nlohmann::ordered_json json = {
      {"variant", run.variant.name},     {"kind", run.variant.kind},
      {"use", name_of(run.variant.use)}, {"thesis", run.variant.thesis},
      {"frequencies", run.frequencies},  {"thesis_s", thesis_time_s(run.variant, run.frequencies)}};
  if (!run.problem.empty()) {
    json["problem"] = run.problem;
    return json;
  }
  json["plan_s"] = run.plan_s;
  json["description"] = run.description;
  json["wall_s"] = to_json(run.timing.wall_s);
  json["device_s"] = to_json(run.timing.device_s);
  for (const auto& [phase, seconds] : run.timing.phase_device_s) {
    json["phase_device_s"][phase] = to_json(seconds);
  }
  for (std::size_t i = 0; i < run.timing.stages.size(); ++i) {
    const StageTiming& stage = run.timing.stages[i];
    json["stages"].push_back({{"stage", stage.stage},
                              {"phase", stage.phase},
                              {"commands", stage.commands},
                              {"device_s", to_json(stage.device_s)},
                              {"bytes", run.needs[i].bytes},
                              {"operations", run.needs[i].operations}});
  }
  return json;
}

}  // namespace

std::string to_table(const FrontEndReport& report) {
  std::string text = head_lines(report) + run_lines(report) + choice_lines(report);
  const std::vector<int> counts = counts_of(report);
  for (const FrontEndRun& run : report.runs) {
    if (run.problem.empty() && run.frequencies == counts.front() && run.variant.use == VariantUse::kAlways) {
      text += stage_lines(run, report.ceilings);
      if (run.variant.thesis == "nominal") {
        text += "the thesis (table 7.1): decimation filter about 1, windowing 48, FFT 89, together 138\n";
      } else if (run.variant.thesis == "basic averaging") {
        text += "the thesis (section 7.3.2): population counts 5, besides its dot products\n";
      }
    }
  }
  return text + dot_lines(report) + walsh_lines(report) + occupancy_lines(report);
}

std::string to_csv(const FrontEndReport& report) {
  std::string text =
      "variant,frequencies,phase,stage,commands,bytes,operations,minimum_s,median_s,p99_s,p99_9_s,maximum_s\n";
  const auto line = [&](const FrontEndRun& run, std::string_view phase, std::string_view stage, double commands,
                        const StageNeed& need, const Distribution& d) {
    text += fmt::format("\"{}\",{},{},{},{:.6g},{:.9g},{:.9g},{:.9g},{:.9g},{:.9g},{:.9g},{:.9g}\n", run.variant.name,
                        run.frequencies, phase, stage, commands, need.bytes, need.operations, d.minimum, d.median,
                        d.p99, d.p999, d.maximum);
  };
  for (const FrontEndRun& run : report.runs) {
    if (!run.problem.empty()) {
      continue;
    }
    line(run, "all", "wall", 1.0, {}, run.timing.wall_s);
    line(run, "all", "device", 1.0, {}, run.timing.device_s);
    for (std::size_t i = 0; i < run.timing.stages.size(); ++i) {
      const StageTiming& stage = run.timing.stages[i];
      line(run, stage.phase, stage.stage, stage.commands, run.needs[i], stage.device_s);
    }
  }
  return text;
}

std::string to_json_text(const FrontEndReport& report) {
  nlohmann::ordered_json json = report_head("frontends", report.device);
  json["settings"] = to_yaml(report.settings);
  json["ceilings"] = to_json(report.ceilings);
  json["thesis"] = {{"source", "Oznaya Angeles 2014, table 7.1 and section 7.3"},
                    {"decimation_filter_s", 1e-6},
                    {"windowing_s", 48e-6},
                    {"fft_s", 89e-6},
                    {"total_s", 138e-6},
                    {"population_counts_s", 5e-6},
                    {"walsh_precomputed_s_per_hologram", 0.32e-3},
                    {"walsh_computed_s_per_hologram", 1.25e-3}};
  json["runs"] = nlohmann::ordered_json::array();
  for (const FrontEndRun& run : report.runs) {
    json["runs"].push_back(run_json(run));
  }
  for (const auto& [name, use] : report.kernels) {
    json["kernels"][name] = {{"work_items", use.work_items},
                             {"work_group_items", use.work_group_items},
                             {"most_work_group_items", use.most_work_group_items},
                             {"preferred_multiple", use.preferred_multiple},
                             {"local_bytes", use.local_bytes},
                             {"private_bytes", use.private_bytes}};
  }
  json["walsh_coefficients"] = {
      {"threshold", kWalshThreshold},
      {"bin_hz", kBitRateHz / kBitsPerWord / report.settings.front_end.window_samples},
      {"by_bin_from_1", report.walsh_counts},
      {"thesis", {{"bins", kThesisTenCoefficientBins}, {"coefficients", kThesisFewestCoefficients}}}};
  return json.dump(1) + "\n";
}

}  // namespace nearfield::bench
