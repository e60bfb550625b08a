#pragma once
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "daemon/live/live_input.hpp"
#include "engine/engine.hpp"
#include "limits/limit_plan.hpp"

namespace nearfield::daemon {

/// One configuration, planned and ready to compute.
struct Epoch {
  std::uint64_t number = 1;
  EnginePlan plan;
  std::unique_ptr<Engine> engine;
  std::vector<std::string> notes;  ///< from its processors, such as the microphones that one uses
  std::vector<limits::LimitPlan> limits;
  std::vector<std::string> warnings;  ///< reservations about the images, a sentence each
};

/// A sentence for each processor with `every_hops` above 1 that takes longer for a window than the time between two of
/// its windows. `taken_s` [processor] includes the first one's, which is ignored.
std::vector<std::string> cadence_warnings(const EnginePlan& plan, std::span<const double> taken_s, double hop_s);

/// Runs each kernel that a stream may ever need, on silence, since some drivers compile at the first launch: a live
/// stream must not wait for a compiler. Part of make_epoch().
void warm_up(Engine& engine, const EnginePlan& plan, const LiveInput& input);

/// Receives a line about the step that begins, such as "step 2 of 4: compiling programs for NAME".
using StepReport = std::function<void(const std::string& line)>;

/// Opens the devices, compiles and allocates. Throws ConfigError, also for limits on products that no processor has,
/// DeviceError and what calibration files throw. `track_ids` is shared by all epochs of a run, null in tests. `report`
/// is called at each step, on the calling thread.
std::unique_ptr<Epoch> make_epoch(const Settings& settings, const LiveInput& input, std::uint64_t number,
                                  std::shared_ptr<TrackIds> track_ids = nullptr, const StepReport& report = {});

/// Logs the notes on an epoch before its first frame.
void announce(const Epoch& epoch);

/// Name and device of each processor.
std::vector<std::pair<std::string, std::string>> devices_of(const Engine& engine);

}  // namespace nearfield::daemon
