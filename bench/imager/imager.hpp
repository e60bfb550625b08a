#pragma once
#include <functional>
#include <string>
#include <vector>

#include "bench/common/timing.hpp"
#include "core/settings.hpp"
#include "imaging/pnah/fused_pnah.hpp"

/// `nearfield bench imager`: what a frame's images take from spectra on the device, by each path.
namespace nearfield::bench {

struct ImagerBenchOptions {
  Settings settings;        ///< array, medium, holography and device; frequencies are set by the benchmark
  std::vector<int> counts;  ///< numbers of frequencies; empty: 1, 5, 10, 20, 50, 100
  int batch = 1;            ///< frames a launch
  TimingOptions timing;
  bool sweep = false;                                ///< also the fused path cut otherwise
  std::function<void(const std::string&)> progress;  ///< receives the name of each measurement; may be empty
};

struct ImagerRun {
  std::string path;         ///< "clfft", "sonah", "fused", or how the fused path was cut
  std::string description;  ///< description of the imager, or the reason why it was not measured
  int frequencies = 0;
  bool measured = false;
  double plan_s = 0.0;      ///< to build the imager
  double difference = 0.0;  ///< relative L2 distance of its images from the first measured path's of that count
  FrameTiming timing = {};
};

struct ImagerReport {
  ocl::DeviceInfo device;
  Settings settings;
  int batch = 1;
  Ceilings ceilings;
  std::vector<ImagerRun> runs;  ///< [count][path], path fastest
};

/// Ways to cut the fused kernels that are worth a look on this device, the default one first.
std::vector<FusedTuning> tunings_to_try(const ocl::DeviceInfo& device, const ImagePlan& plan);

/// Throws DeviceError when there is no device.
ImagerReport bench_imager(const ImagerBenchOptions& options);

std::string to_table(const ImagerReport& report);
std::string to_json_text(const ImagerReport& report);

}  // namespace nearfield::bench
