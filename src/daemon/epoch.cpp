#include "daemon/epoch.hpp"

#include <cmath>
#include <set>

#include "pipeline/calibration.hpp"

namespace nearfield::daemon {
namespace {

/// Microphones that are neither dead nor without a gain.
std::uint32_t live_microphones(const Settings& settings, const std::vector<double>& frequencies_hz) {
  const auto channels = static_cast<std::size_t>(settings.array.geometry.channels());
  std::set<int> dead(settings.array.dead_channels.begin(), settings.array.dead_channels.end());
  const std::vector<std::complex<float>> gains = calibration_gains(settings.array, frequencies_hz);
  for (std::size_t i = 0; i < gains.size(); ++i) {
    if (!std::isfinite(gains[i].real()) || !std::isfinite(gains[i].imag())) {
      dead.insert(static_cast<int>(i % channels));
    }
  }
  return static_cast<std::uint32_t>(channels - dead.size());
}

}  // namespace

std::unique_ptr<Epoch> make_epoch(const Settings& settings, const LiveInput& input, std::uint64_t number) {
  auto epoch = std::make_unique<Epoch>();
  epoch->number = number;
  epoch->plan = live_plan(settings, input);
  epoch->engine = make_engine(EngineKind::kOpencl, epoch->plan);
  const Engine& engine = *epoch->engine;
  epoch->header = images_header(epoch->plan, engine);
  epoch->constants = empty_frame(epoch->header);
  epoch->engine->stamp(epoch->constants);
  epoch->live_microphones = live_microphones(epoch->plan.settings, engine.frequencies_hz());
  epoch->warnings = plan_warnings(epoch->plan, engine.frequencies_hz());
  return epoch;
}

std::vector<std::string> fixed_changes(const Settings& now, const Settings& next) {
  const DaemonSettings& a = now.daemon;
  const DaemonSettings& b = next.daemon;
  std::vector<std::string> keys;
  const auto check = [&keys](bool same, const char* key) {
    if (!same) {
      keys.emplace_back(key);
    }
  };
  check(a.source == b.source, "daemon.source");
  check(a.publish == b.publish, "daemon.publish");
  check(a.control == b.control, "daemon.control");
  check(a.metrics == b.metrics, "daemon.metrics");
  check(a.realtime == b.realtime, "daemon.realtime");
  check(a.log.target == b.log.target, "daemon.log.target");
  check(a.no_input == b.no_input, "daemon.no_input");
  check(now.array.geometry.rows == next.array.geometry.rows, "array.rows");
  check(now.array.geometry.columns == next.array.geometry.columns, "array.columns");
  check(now.array.layout == next.array.layout, "array.layout");
  return keys;
}

}  // namespace nearfield::daemon
