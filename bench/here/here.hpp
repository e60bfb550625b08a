#pragma once
#include <CLI/CLI.hpp>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

/// `nearfield bench --here`: whether this machine holds a configuration of nearfieldd live, and if not, what would
/// help.
namespace nearfield::bench {

/// Frames of one configuration, computed one after the other as fast as the device takes them.
struct HereRun {
  std::vector<std::string> changes =
      {};                    ///< settings beside the configuration, KEY=VALUE; none: the configuration's own
  std::string problem = {};  ///< why it was not measured; else empty
  std::string device = {};
  int frames = 0;
  double period_s = 0.0;  ///< time from hop to hop: longest mean time of a frame
  double mean_s = 0.0;    ///< mean time of a frame, from its hop's bits in host memory to its products there
  double p50_s = 0.0;
  double p99_s = 0.0;
  double longest_s = 0.0;
  double cores = 0.0;      ///< processor time of all threads over the time in which the hops come in
  double waited_s = 0.0;   ///< the longest that a hop's bits would have waited for the frames before, and its own frame
  double allowed_s = 0.0;  ///< daemon.overload.shed_hops_ms: from this wait on hops are given up

  [[nodiscard]] bool measured() const { return problem.empty(); }
  /// The share of the time in which frames are computed.
  [[nodiscard]] double load() const { return mean_s / period_s; }
  /// With a tenth of the time for what else the daemon does.
  [[nodiscard]] bool holds() const { return measured() && load() <= kMostLoad && waited_s <= allowed_s; }
  static constexpr double kMostLoad = 0.9;
};

/// The longest time from a hop's last bit to its frame, where hops come every `period_s` and are computed one after the
/// other in `frames_s` (D. V. Lindley, Proc. Camb. Phil. Soc. 48, 1952).
double longest_wait_s(const std::vector<double>& frames_s, double period_s);

struct HereOptions {
  std::string config;
  std::vector<std::string> overrides;
  double seconds = 20.0;  ///< longest time of the whole benchmark
};

struct HereReport {
  std::string name;           ///< name of the configuration
  std::vector<HereRun> runs;  ///< the configuration's own first
  double seconds = 0.0;

  [[nodiscard]] bool holds() const { return runs.front().holds(); }
  /// One sentence.
  [[nodiscard]] std::string verdict() const;
};

/// Each configuration in a process of its own, which is killed when the time is over. Throws what
/// load_daemon_settings() throws.
HereReport bench_here(const HereOptions& options);

/// Changes of a configuration that make it lighter, each a list of settings, those that cost the least first.
std::vector<std::vector<std::string>> lighter_changes(const std::string& config,
                                                      const std::vector<std::string>& overrides);

/// `nearfield bench here`, and `nearfield bench --here`.
void add_here(CLI::App& bench);

std::string to_table(const HereReport& report);
nlohmann::json to_json(const HereReport& report);

}  // namespace nearfield::bench
