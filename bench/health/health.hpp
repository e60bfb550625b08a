#pragma once
#include <string>
#include <vector>

#include "bench/common/timing.hpp"
#include "core/microphones.hpp"

/// `nearfield bench health`: what watching the microphones takes of a processor's core (docs/use/health.md). No OpenCL.
namespace nearfield::bench {

struct HealthBenchOptions {
  ArrayGeometry geometry;
  WireLayout layout = WireLayout::kSoramaCam;
  std::vector<int> counts = {1, 4};  ///< numbers of frequencies; a monitor judges four at most
  int repetitions = 50;              ///< at least 5
};

struct HealthRun {
  std::string what;
  int frequencies = 0;      ///< 0: it does not matter
  int bad_microphones = 0;  ///< number in the judged array
  double per_second = 0.0;  ///< runs a second in a daemon
  Distribution time_s;
  /// Share of a core, by the median.
  [[nodiscard]] double share() const { return time_s.median * per_second; }
};

struct HealthReport {
  ArrayGeometry geometry;
  std::string processor;
  std::vector<HealthRun> runs;
};

/// Throws ConfigError when the layout does not fit the geometry.
HealthReport bench_health(const HealthBenchOptions& options);

std::string to_table(const HealthReport& report);
std::string to_json_text(const HealthReport& report);

}  // namespace nearfield::bench
