#pragma once
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "cl/device.hpp"
#include "core/settings.hpp"

/// `nearfield bench devices`: what several devices of one host make of one's work (docs/use/several_devices.md).
namespace nearfield::bench {

struct DevicesBenchOptions {
  Settings settings;                    ///< frequencies that were not set become bins
  std::vector<DeviceSettings> devices;  ///< two at least; the first one is the one alone
  std::vector<int> replay_batches = {1, 32};
  std::vector<int> split_batches = {1, 4};
  int replay_count = 5;   ///< frequencies, where the settings have none of their own
  int split_count = 200;  ///< likewise
  int split_planes = 4;
  int rounds = 3;
  double most_s = 4.0;                               ///< longest time of one measurement
  std::uint64_t block_hops = 0;                      ///< hops per block, as in ReplayOptions
  std::function<void(const std::string&)> progress;  ///< receives the name of each measurement; may be empty
};

/// One device and all of them, measured one after the other.
struct DevicesRound {
  double one_per_s = 0.0;  ///< frames a second
  double all_per_s = 0.0;
  [[nodiscard]] double ratio() const { return all_per_s / one_per_s; }
};

struct DevicesRun {
  std::string what;  ///< "replay" or "frequencies"
  int batch = 1;
  int frequencies = 0;
  int planes = 0;
  std::uint64_t frames = 0;  ///< number in one measurement of a replay
  std::vector<DevicesRound> rounds = {};
  double difference = 0.0;  ///< relative L2 between images of one device and of all; a replay: 0 or infinite

  /// Median of the rounds' ratios.
  [[nodiscard]] double median_ratio() const;
};

struct DevicesReport {
  std::vector<ocl::DeviceInfo> devices;
  Settings settings;
  std::vector<DevicesRun> runs;
};

/// The settings with their frequencies cut into as many parts as there are devices: the first part is imaged by the
/// section holography, each other one by a processor of the same settings on a device of its own.
Settings split_over(const Settings& settings, const std::vector<DeviceSettings>& devices);

/// Throws DeviceError and ConfigError.
DevicesReport bench_devices(const DevicesBenchOptions& options);

std::string to_table(const DevicesReport& report);
std::string to_json_text(const DevicesReport& report);

}  // namespace nearfield::bench
