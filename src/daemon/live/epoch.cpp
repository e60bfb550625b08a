#include "daemon/live/epoch.hpp"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>
#include <utility>

#include "cl/device.hpp"
#include "control/service/log.hpp"
#include "core/daemon_settings.hpp"
#include "core/system/clocks.hpp"
#include "daemon/device_check.hpp"
#include "engine/devices.hpp"
#include "engine/feeder.hpp"

namespace nearfield::daemon {
namespace {

/// Far from the start of streams, so that no stream continues it.
constexpr std::uint64_t kWarmUpSample = std::uint64_t{1} << 40U;

/// Reports the steps of a start, each with the time that the one before took.
class Steps {
 public:
  explicit Steps(StepReport report) : report_(std::move(report)) {}
  void begin(const std::string& what) {
    const std::int64_t now_ns = monotonic_ns();
    const std::string took = number_ == 0 ? ""
                                          : fmt::format(" (the step before took {:.1f} s)",
                                                        static_cast<double>(now_ns - begun_ns_) * kSecondsPerNs);
    begun_ns_ = now_ns;
    ++number_;
    if (report_) {
      report_(fmt::format("step {} of {}: {}{}", number_, kSteps, what, took));
    }
  }

 private:
  static constexpr int kSteps = 4;
  const StepReport report_;
  int number_ = 0;
  std::int64_t begun_ns_ = 0;
};

/// [processor] Shortest time of a slow-cadence processor for a window, s.
using ShortestTimes = std::vector<double>;

/// Runs each slow-cadence processor on a batch.
void run_late(Engine& engine, const FinishedBatch& batch, ShortestTimes& shortest_s) {
  for (std::size_t processor = 0; processor < engine.processors(); ++processor) {
    if (!engine.is_late(processor)) {
      continue;
    }
    const std::int64_t begun_ns = monotonic_ns();
    engine.begin_late(batch, {&processor, 1});
    engine.finish_late();
    const double taken_s = static_cast<double>(monotonic_ns() - begun_ns) * kSecondsPerNs;
    shortest_s[processor] = std::min(shortest_s[processor], taken_s / static_cast<double>(batch.windows()));
  }
}

/// Images silence, so that a device that compiles only when a kernel first runs does so now, which takes seconds on
/// PoCL. One single window, one that follows another, and a batch are all the cases.
void image_silence(Engine& engine, const EnginePlan& plan, const LiveInput& input, std::uint64_t first,
                   ShortestTimes& shortest_s) {
  const FrontEndSettings& front_end = plan.settings.front_end;
  const auto hop = static_cast<std::uint64_t>(front_end.hop_samples);
  const auto batch = static_cast<std::size_t>(plan.settings.device.batch);
  Feeder feeder(front_end);
  feeder.begin(first);
  std::uint64_t next = first + (engine.history_samples() + hop - 1) / hop * hop;  // every processor has its window
  const std::vector<float> quiet(input.form == InputForm::kSamples ? engine.piece_samples() * input.words_per_sample()
                                                                   : 0);
  const std::vector<std::size_t> rounds = {1, 1, batch, 1};
  for (const std::size_t windows : rounds) {
    const SampleSpan span = feeder.next(next, windows, engine);
    for (std::uint64_t fed = span.first; fed < span.end;) {
      const std::uint64_t samples = std::min(span.end - fed, engine.piece_samples());
      if (plan.input == InputForm::kBits) {
        const std::span<std::uint32_t> room = engine.room_for_bits(samples * input.words_per_sample());
        fill_silence(0, input.words_per_element, room);
        engine.push_bits(fed, room);
      } else {
        engine.push_samples(fed, std::span(quiet).first(samples * input.words_per_sample()));
      }
      fed += samples;
    }
    run_late(engine, engine.compute({.first_sample = next, .windows = windows}), shortest_s);
    next += windows * hop;
  }
}

/// Runs with a microphone masked too, which takes further kernels, and may happen at any time.
ShortestTimes run_every_kernel(Engine& engine, const EnginePlan& plan, const LiveInput& input, Steps& steps) {
  ShortestTimes shortest_s(engine.processors(), std::numeric_limits<double>::infinity());
  const ArrayPlan& array = engine.array_plan();
  const std::set<int> dead(array.dead_channels.begin(), array.dead_channels.end());
  int masked = 0;
  while (dead.contains(masked)) {
    ++masked;
  }
  const bool masks = plan.settings.array.health.mask != HealthMask::kNone && masked < array.geometry.channels() &&
                     most_maskable(array.geometry) > 0;
  steps.begin(masks ? "imaging silence with a microphone masked, for kernels that are compiled when they first run"
                    : "no microphone can be masked: nothing to do");
  if (masks) {
    std::vector<ArrayPlan> plans = engine.array_plans();
    for (ArrayPlan& plan_of_mask : plans) {
      plan_of_mask.imaged.reset();  // not needed for these images, and slow to compute
    }
    engine.use(make_masks(plans, {masked}));
    image_silence(engine, plan, input, kWarmUpSample, shortest_s);
    engine.use(make_masks(engine.array_plans(), {}));
  }
  steps.begin("imaging silence, for kernels that are compiled when they first run");
  image_silence(engine, plan, input, 2 * kWarmUpSample, shortest_s);
  engine.forget();  // no average may contain this silence
  return shortest_s;
}

/// True if a window of the processor takes more work with more hops between its windows.
bool grows_with_cadence(const EnginePlan& plan, const ProcessorSettings& processor) {
  ProcessorSettings slower = processor;
  slower.every_hops *= 2;
  return needs_of(plan.settings, slower, plan.sample_rate_hz).sample_window >
         needs_of(plan.settings, processor, plan.sample_rate_hz).sample_window;
}

std::vector<limits::LimitPlan> limits_of(const Settings& settings, const Engine& engine) {
  std::vector<const ResultHeader*> headers;
  for (std::size_t p = 0; p < engine.processors(); ++p) {
    headers.push_back(&engine.header(p));
  }
  return limits::plan_limits(settings.daemon->limits, headers);
}

}  // namespace

std::vector<std::string> cadence_warnings(const EnginePlan& plan, std::span<const double> taken_s, double hop_s) {
  std::vector<std::string> warnings;
  for (std::size_t i = 0; i < plan.settings.processors.size(); ++i) {
    const ProcessorSettings& processor = plan.settings.processors[i];
    const double one_s = taken_s[taken_s.size() - plan.settings.processors.size() + i];
    if (processor.every_hops > 1 && one_s > hop_s * processor.every_hops) {
      warnings.push_back(fmt::format(
          "processors.{0}: a frame of silence took {1:.3g} ms on this device, and every_hops: {2} leaves {3:.3g} ms: "
          "hops "
          "will be dropped. {4}",
          processor.name, one_s * 1e3, processor.every_hops, hop_s * processor.every_hops * 1e3,
          grows_with_cadence(plan, processor)
              ? "Fewer beams or microphones take less"
              : fmt::format("every_hops: {:.0f} leaves enough; a smaller grid takes less", std::ceil(one_s / hop_s))));
    }
  }
  return warnings;
}

void warm_up(Engine& engine, const EnginePlan& plan, const LiveInput& input) {
  Steps steps({});
  (void)run_every_kernel(engine, plan, input, steps);
}

std::unique_ptr<Epoch> make_epoch(const Settings& settings, const LiveInput& input, std::uint64_t number,
                                  std::shared_ptr<TrackIds> track_ids, const StepReport& report) {
  Steps steps(report);
  steps.begin("opening the device");
  auto epoch = std::make_unique<Epoch>();
  epoch->number = number;
  epoch->plan = live_plan(settings, input);
  epoch->plan.track_ids = std::move(track_ids);
  const ocl::Device device = ocl::Device::open(epoch->plan.settings.device);
  const DeviceInfos devices = find_devices(device.info(), epoch->plan.settings);
  require_memory(needs_of_epoch(epoch->plan.settings, devices.of_processors), free_memory(devices.all));
  steps.begin(fmt::format("compiling programs for {}", device.info().name));
  epoch->engine = make_engine(device, epoch->plan);
  const Engine& engine = *epoch->engine;
  epoch->limits = limits_of(settings, engine);
  const ShortestTimes shortest_s = run_every_kernel(*epoch->engine, epoch->plan, input, steps);
  epoch->notes = plan_notes(engine);
  epoch->notes.insert(epoch->notes.begin(), "microphones: " + text_of(microphone_use(engine)));
  epoch->warnings = plan_warnings(engine);
  if (!input.waits) {
    const double sample_s = static_cast<double>(input.elements_per_sample) / input.element_rate_hz;
    std::ranges::move(cadence_warnings(epoch->plan, shortest_s, sample_s * epoch->plan.settings.front_end.hop_samples),
                      std::back_inserter(epoch->warnings));
  }
  return epoch;
}

void announce(const Epoch& epoch) {
  for (const std::string& note : epoch.notes) {
    spdlog::info("{}", note);
  }
  control::log_warnings(epoch.warnings);
}

std::vector<std::pair<std::string, std::string>> devices_of(const Engine& engine) {
  std::vector<std::pair<std::string, std::string>> devices;
  for (std::size_t p = 0; p < engine.processors(); ++p) {
    devices.emplace_back(engine.header(p).processor, engine.header(p).device);
  }
  return devices;
}

}  // namespace nearfield::daemon
