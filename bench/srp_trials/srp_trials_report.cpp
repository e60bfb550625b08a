#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "bench/common/files.hpp"
#include "bench/srp_trials/srp_trials.hpp"

namespace nearfield::bench {
namespace {

double percent(int part, int whole) { return 100.0 * part / std::max(whole, 1); }

std::string table_of_directions(const std::vector<DirectionFigures>& all) {
  if (all.empty()) {
    return "";
  }
  std::string text = fmt::format(
      "\ndirections, 1.5 m away, 500 to 4000 Hz, one window; degrees\n{:<12}{:>8}{:>8}{:>9}{:>9}{:>9}{:>12}{:>14}\n",
      "array", "SNR, dB", "draws", "median", "95 %", "above 5", "confidence", "squared error");
  for (const DirectionFigures& one : all) {
    text += fmt::format("{:<12}{:>8}{:>8}{:>9.3f}{:>9.3f}{:>9}{:>12.3f}{:>14.3f}\n", one.array, one.snr_db, one.draws,
                        one.median_deg, one.p95_deg, one.gross, one.confidence, one.squared_error);
  }
  return text;
}

std::string table_of_cylinder(const std::vector<CylinderFigures>& all) {
  if (all.empty()) {
    return "";
  }
  std::string text =
      fmt::format("\nsixteen microphones on a cylinder, 0 dB; degrees\n{:>8} {:<10}{:>7}{:>13}{:>15}{:>9}{:>9}\n",
                  "pixels", "domain", "draws", "within 10, %", "5 and 3, %", "median", "largest");
  for (const CylinderFigures& one : all) {
    text += fmt::format("{:>8} {:<10}{:>7}{:>13.2f}{:>15.2f}{:>9.3f}{:>9.3f}\n", one.pixels, one.domain, one.draws,
                        percent(one.within_10_deg, one.draws), percent(one.within_5_and_3_deg, one.draws),
                        one.median_deg, one.largest_deg);
  }
  return text;
}

std::string table_of_noise(const std::vector<NoiseFigures>& all) {
  std::string text;
  for (const NoiseFigures& one : all) {
    text += fmt::format(
        "\nnoise alone, {} windows\nsignificance 1: {} windows, of {:.1f} expected; 2: {} of {:.1f}; 3: {} of {:.1f}; "
        "largest {:.2f}; confirmed tracks: {}\n",
        one.frames, one.false_frames[0], one.frames * 0.1, one.false_frames[1], one.frames * 0.01, one.false_frames[2],
        one.frames * 0.001, one.largest, one.confirmed);
  }
  return text;
}

std::string table_of_stream(const std::vector<StreamFigures>& all) {
  std::string text;
  for (const StreamFigures& one : all) {
    text += fmt::format(
        "\nnoise alone, a stream of {:.1f} s, {} overlapping windows\nsignificance 1: {} windows, of {:.1f} expected; "
        "2: {} of {:.1f}; 3: {} of {:.1f}; largest {:.2f}; confirmed tracks: {}\n",
        one.seconds, one.frames, one.false_frames[0], one.frames * 0.1, one.false_frames[1], one.frames * 0.01,
        one.false_frames[2], one.frames * 0.001, one.largest, one.confirmed);
  }
  return text;
}

std::string table_of_crossing(const std::vector<CrossingFigures>& all) {
  std::string text;
  for (const CrossingFigures& one : all) {
    text += fmt::format(
        "\ntwo sources that cross, {} runs\nids swapped: {}; changed: {}; without a track: {}; rms error {:.2f} "
        "degrees\n",
        one.runs, one.swapped, one.changed, one.unseen, one.rms_deg);
  }
  return text;
}

/// The two longest stages of a window that takes more than twice its bound.
std::string longest_stages(const TimeFigures& one) {
  if (one.least_s <= 2.0 * one.bound_s) {
    return "";
  }
  std::vector<StageFigures> stages = one.stages;
  std::sort(stages.begin(), stages.end(),
            [](const StageFigures& a, const StageFigures& b) { return a.median_s > b.median_s; });
  stages.resize(std::min<std::size_t>(stages.size(), 2));
  std::string text;
  for (const StageFigures& stage : stages) {
    text += fmt::format("{}{} {:.2f} in {:.0f}", text.empty() ? "  " : ", ",
                        stage.stage.substr(stage.stage.rfind('/') + 1), 1e3 * stage.median_s, stage.commands);
  }
  return text;
}

std::string table_of_times(const std::vector<TimeFigures>& all) {
  if (all.empty()) {
    return "";
  }
  std::string text = fmt::format(
      "\na window of microphones on a cylinder, {} bins; least, ms; bound: bytes and operations over their ceilings;\n"
      "launches: of as many empty kernels; where more than twice the bound: the longest stages, in so many launches\n"
      "{:>12}{:>9} {:<10}{:>10}{:>10}{:>10}\n",
      all.front().bins, "microphones", "pixels", "domain", "ms", "bound", "launches");
  for (const TimeFigures& one : all) {
    text += fmt::format("{:>12}{:>9} {:<10}{:>10.2f}{:>10.2f}{:>10.2f}{}\n", one.microphones, one.pixels, one.domain,
                        1e3 * one.least_s, 1e3 * one.bound_s, 1e3 * one.launches_s, longest_stages(one));
  }
  return text;
}

nlohmann::ordered_json json_of(const TimeFigures& one) {
  nlohmann::ordered_json json = {{"microphones", one.microphones}, {"pixels", one.pixels},
                                 {"domain", one.domain},           {"bins", one.bins},
                                 {"least_s", one.least_s},         {"bound_s", one.bound_s},
                                 {"launches_s", one.launches_s},   {"stages", nlohmann::ordered_json::array()}};
  for (const StageFigures& stage : one.stages) {
    json["stages"].push_back({{"stage", stage.stage},
                              {"commands", stage.commands},
                              {"median_s", stage.median_s},
                              {"bound_s", stage.bound_s}});
  }
  return json;
}

}  // namespace

std::string to_table(const SrpTrialReport& report) {
  return fmt::format("{}, seed {}\n", report.device.name, report.seed) + table_of_directions(report.directions) +
         table_of_cylinder(report.cylinder) + table_of_noise(report.noise) + table_of_stream(report.stream) +
         table_of_crossing(report.crossing) + table_of_times(report.times);
}

std::string to_json_text(const SrpTrialReport& report) {
  using nlohmann::ordered_json;
  ordered_json json = report_head("srp_trials", report.device);
  json["seed"] = report.seed;
  for (const char* part : {"directions", "cylinder", "noise", "stream", "crossing", "times"}) {
    json[part] = ordered_json::array();
  }
  for (const DirectionFigures& one : report.directions) {
    json["directions"].push_back({{"array", one.array},
                                  {"snr_db", one.snr_db},
                                  {"draws", one.draws},
                                  {"median_deg", one.median_deg},
                                  {"p95_deg", one.p95_deg},
                                  {"above_5_deg", one.gross},
                                  {"confidence", one.confidence},
                                  {"squared_error", finite_or_null(one.squared_error)}});
  }
  for (const CylinderFigures& one : report.cylinder) {
    json["cylinder"].push_back({{"pixels", one.pixels},
                                {"domain", one.domain},
                                {"draws", one.draws},
                                {"within_10_deg", one.within_10_deg},
                                {"within_5_and_3_deg", one.within_5_and_3_deg},
                                {"median_deg", one.median_deg},
                                {"largest_deg", one.largest_deg}});
  }
  for (const NoiseFigures& one : report.noise) {
    json["noise"].push_back({{"frames", one.frames},
                             {"false_frames", one.false_frames},
                             {"largest_significance", one.largest},
                             {"confirmed", one.confirmed}});
  }
  for (const StreamFigures& one : report.stream) {
    json["stream"].push_back({{"seconds", one.seconds},
                              {"frames", one.frames},
                              {"false_frames", one.false_frames},
                              {"largest_significance", one.largest},
                              {"confirmed", one.confirmed}});
  }
  for (const CrossingFigures& one : report.crossing) {
    json["crossing"].push_back({{"runs", one.runs},
                                {"swapped", one.swapped},
                                {"changed", one.changed},
                                {"unseen", one.unseen},
                                {"rms_deg", one.rms_deg}});
  }
  for (const TimeFigures& one : report.times) {
    json["times"].push_back(json_of(one));
  }
  return json.dump(2) + "\n";
}

}  // namespace nearfield::bench
