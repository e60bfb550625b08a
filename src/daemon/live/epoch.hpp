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
  std::vector<std::string> notes;     ///< of its processors, such as the microphones that one uses
  std::vector<std::string> warnings;  ///< reservations about the images, a sentence each
};

/// Opens the devices, compiles and allocates. Throws ConfigError, DeviceError and what calibration files throw.
std::unique_ptr<Epoch> make_epoch(const Settings& settings, const LiveInput& input, std::uint64_t number);

}  // namespace nearfield::daemon
