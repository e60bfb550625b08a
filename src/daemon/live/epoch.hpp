#pragma once
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "daemon/live/live_input.hpp"
#include "pipeline/engine.hpp"

namespace nearfield::daemon {

/// One configuration, planned and ready to compute.
struct Epoch {
  std::uint64_t number = 1;
  EnginePlan plan;
  std::unique_ptr<Engine> engine;
  std::vector<std::string> notes;     ///< of its processors, such as the microphones that one uses
  std::vector<std::string> warnings;  ///< reservations about the images, a sentence each
};

/// A sentence for each processor with `every_hops` above 1 that takes longer for a window than the time between two of
/// its windows. `taken_s` [processor], the first one's too, which is not looked at.
std::vector<std::string> cadence_warnings(const EnginePlan& plan, std::span<const double> taken_s, double hop_s);

/// Opens the devices, compiles and allocates. Throws ConfigError, DeviceError and what calibration files throw.
/// `track_ids`: of the run, null in tests.
std::unique_ptr<Epoch> make_epoch(const Settings& settings, const LiveInput& input, std::uint64_t number,
                                  std::shared_ptr<TrackIds> track_ids = nullptr);

}  // namespace nearfield::daemon
