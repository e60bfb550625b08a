#pragma once
#include <cstdint>
#include <memory>
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
  std::vector<std::string> warnings;  ///< what one should know before trusting the images
};

/// Opens the device, compiles and allocates. Throws ConfigError, DeviceError and what calibration files throw.
std::unique_ptr<Epoch> make_epoch(const Settings& settings, const LiveInput& input, std::uint64_t number);

}  // namespace nearfield::daemon
