#include "bench/common/timing.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>

#include "bench/common/figures.hpp"

namespace nearfield::bench {
namespace {

using Clock = std::chrono::steady_clock;

double nearest_rank(const std::vector<double>& sorted, double share) {
  const auto rank = static_cast<std::size_t>(std::ceil(share * static_cast<double>(sorted.size())));
  return sorted[std::clamp<std::size_t>(rank, 1, sorted.size()) - 1];
}

/// Calls `frame` until the options are content.
void repeat(const TimingOptions& options, const std::function<void()>& frame) {
  const Clock::time_point start = Clock::now();
  for (int i = 0; i < options.repetitions; ++i) {
    if (i >= kLeastRepetitions && seconds_since(start) > options.most_s) {
      return;
    }
    frame();
  }
}

/// Gathers the commands of one frame after another.
class StageSums {
 public:
  void add_phase(const std::string& phase, const std::vector<ocl::CommandTime>& commands) {
    std::map<std::size_t, double> sums;
    double phase_s = 0.0;
    for (const ocl::CommandTime& command : commands) {
      const double seconds = static_cast<double>(command.end_ns - command.begin_ns) * 1e-9;
      const std::size_t index = index_of(phase, command.stage);
      ++stages_[index].commands;
      stages_[index].bytes += static_cast<double>(command.bytes);
      sums[index] += seconds;
      phase_s += seconds;
    }
    for (const auto& [index, seconds] : sums) {
      stages_[index].seconds.push_back(seconds);
    }
    phase_s_[phase].push_back(phase_s);
    frame_s_ += phase_s;
  }
  void finish_frame() {
    total_s_.push_back(frame_s_);
    frame_s_ = 0.0;
  }
  void store(FrameTiming& timing) const {
    const auto frames = static_cast<double>(total_s_.size());
    timing.device_s = distribution(total_s_);
    for (const auto& [phase, seconds] : phase_s_) {
      timing.phase_device_s[phase] = distribution(seconds);
    }
    for (const Stage& stage : stages_) {
      timing.stages.push_back({stage.name, stage.phase, distribution(stage.seconds),
                               static_cast<double>(stage.commands) / frames, stage.bytes / frames});
    }
  }

 private:
  struct Stage {
    std::string name;
    std::string phase;
    std::vector<double> seconds;
    std::size_t commands = 0;
    double bytes = 0.0;
  };
  std::size_t index_of(const std::string& phase, const std::string& name) {
    const auto found = std::find_if(stages_.begin(), stages_.end(),
                                    [&](const Stage& s) { return s.name == name && s.phase == phase; });
    if (found == stages_.end()) {
      stages_.push_back({name, phase, {}, 0, 0.0});
      return stages_.size() - 1;
    }
    return static_cast<std::size_t>(found - stages_.begin());
  }
  std::vector<Stage> stages_;
  std::map<std::string, std::vector<double>> phase_s_;
  std::vector<double> total_s_;
  double frame_s_ = 0.0;
};

ocl::Recorder& recorder_of(const ocl::Device& device) {
  if (device.recorder() == nullptr) {
    throw Error(ExitCode::kInternal, "bench: the device was not opened for profiling");
  }
  return *device.recorder();
}

constexpr std::string_view kStage = "bench/ceilings";
constexpr std::size_t kGroup = 64;
constexpr std::size_t kCopyBytes = std::size_t{64} << 20U;
constexpr std::size_t kTransferBytes = std::size_t{16} << 20U;
constexpr std::size_t kQuickShare = 16;
constexpr int kFurtherLaunches = 8;
constexpr int kArithmeticRounds = 256;
/// mad_rounds() in kernels/bench/ceilings.cl: 4 chains of float4.
constexpr int kOperationsPerRound = 4 * 4 * 2;
/// wide_mad_rounds(): 8 chains of float16.
constexpr int kWideOperationsPerRound = 8 * 16 * 2;

/// Median wall time of a call and the wait for it.
double median_s(const ocl::Device& device, int repetitions, const std::function<void()>& enqueue) {
  std::vector<double> seconds;
  for (int i = 0; i < repetitions + 2; ++i) {
    const Clock::time_point start = Clock::now();
    enqueue();
    device.wait();
    if (i >= 2) {
      seconds.push_back(seconds_since(start));
    }
  }
  return distribution(seconds).median;
}

}  // namespace

Distribution distribution(std::vector<double> values) {
  if (values.empty() || !std::all_of(values.begin(), values.end(), [](double v) { return std::isfinite(v); })) {
    throw Error(ExitCode::kInternal,
                fmt::format("bench: expected finite measurements, found {} values", values.size()));
  }
  std::sort(values.begin(), values.end());
  return {.count = values.size(),
          .minimum = values.front(),
          .median = nearest_rank(values, 0.5),
          .p99 = nearest_rank(values, 0.99),
          .p999 = nearest_rank(values, 0.999),
          .maximum = values.back()};
}

Distribution time_wall(const ocl::Device& device, const TimingOptions& options, const FrameWork& work) {
  std::vector<double> wall_s;
  const auto frame = [&] {
    work.prepare();
    const Clock::time_point start = Clock::now();
    for (const FrameWork::Phase& phase : work.phases) {
      phase.enqueue();
    }
    if (!work.waits) {
      device.wait();
    }
    return seconds_since(start);
  };
  for (int i = 0; i < options.warm_up; ++i) {
    frame();
  }
  repeat(options, [&] { wall_s.push_back(frame()); });
  return distribution(std::move(wall_s));
}

void time_stages(const ocl::Device& device, const TimingOptions& options, const FrameWork& work, FrameTiming& timing) {
  ocl::Recorder& recorder = recorder_of(device);
  StageSums sums;
  recorder.set_active(true);
  repeat(options, [&] {
    work.prepare();
    for (const FrameWork::Phase& phase : work.phases) {
      phase.enqueue();
      device.wait();
      sums.add_phase(phase.name, recorder.take());
    }
    sums.finish_frame();
  });
  recorder.set_active(false);
  sums.store(timing);
}

FrameTiming time_frames(const ocl::Device& device, const TimingOptions& options, const FrameWork& work) {
  recorder_of(device).set_active(false);
  FrameTiming timing;
  timing.wall_s = time_wall(device, options, work);
  time_stages(device, options, work, timing);
  return timing;
}

Ceilings measure_ceilings(const ocl::Device& device, bool quick) {
  const std::size_t share = quick ? kQuickShare : 1;
  const int repetitions = quick ? 5 : 20;
  const ocl::Program program = device.build(kStage, "bench/ceilings.cl", {});
  ocl::Kernel empty = program.kernel("empty");
  ocl::Kernel copy = program.kernel("copy");
  ocl::Kernel arithmetic = program.kernel("mad_rounds");
  ocl::Kernel wide_arithmetic = program.kernel("wide_mad_rounds");
  const std::size_t floats = kCopyBytes / share / sizeof(float);
  const ocl::Buffer<float> from = device.allocate<float>(floats, kStage);
  const ocl::Buffer<float> to = device.allocate<float>(floats, kStage);
  device.enqueue_fill(from, 1.0F, kStage);
  const ocl::Launch one{.global_0 = kGroup, .local_0 = kGroup};
  const ocl::Launch many{.global_0 = floats / 4, .local_0 = kGroup};
  empty.set_all(to);
  copy.set_all(from, to);

  Ceilings ceilings;
  ceilings.launch_and_wait_s = median_s(device, 10 * repetitions, [&] { empty.enqueue(one); });
  const double several_s = median_s(device, 10 * repetitions, [&] {
    for (int i = 0; i <= kFurtherLaunches; ++i) {
      empty.enqueue(one);
    }
  });
  ceilings.further_launch_s = std::max(0.0, (several_s - ceilings.launch_and_wait_s) / kFurtherLaunches);
  const double copy_s = median_s(device, repetitions, [&] { copy.enqueue(many); });
  ceilings.copy_bytes_per_s = 2.0 * static_cast<double>(floats * sizeof(float)) / copy_s;
  std::vector<float> host(kTransferBytes / share / sizeof(float));
  const auto host_bytes = static_cast<double>(host.size() * sizeof(float));
  ceilings.write_bytes_per_s = host_bytes / median_s(device, repetitions, [&] {
                                 device.enqueue_write(to, 0, std::span<const float>(host), kStage);
                               });
  ceilings.read_bytes_per_s =
      host_bytes / median_s(device, repetitions, [&] { device.enqueue_read(from, std::span<float>(host), kStage); });
  const ocl::HostBuffer<float> locked = device.allocate_host<float>(host.size(), kStage);
  std::copy(host.begin(), host.end(), locked.values().begin());
  ceilings.locked_write_bytes_per_s = host_bytes / median_s(device, repetitions, [&] {
                                        device.enqueue_write(to, 0, std::span<const float>(locked.values()), kStage);
                                      });
  ceilings.locked_read_bytes_per_s =
      host_bytes / median_s(device, repetitions, [&] { device.enqueue_read(from, locked.values(), kStage); });
  const std::size_t items =
      std::min(floats / 4, ocl::round_up(std::size_t{device.info().compute_units} * 4096, kGroup));
  const auto operations_per_s = [&](ocl::Kernel& kernel, int per_round) {
    kernel.set_all(to, std::int32_t{kArithmeticRounds});
    const double seconds =
        median_s(device, quick ? 3 : 10, [&] { kernel.enqueue({.global_0 = items, .local_0 = kGroup}); });
    return static_cast<double>(items) * kArithmeticRounds * per_round / seconds;
  };
  ceilings.operations_per_s = std::max(operations_per_s(arithmetic, kOperationsPerRound),
                                       operations_per_s(wide_arithmetic, kWideOperationsPerRound));
  return ceilings;
}

}  // namespace nearfield::bench
