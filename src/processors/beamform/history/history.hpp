#pragma once
#include <memory>

#include "cl/device.hpp"
#include "processors/beamform/plan.hpp"

namespace nearfield::history {

/// Maps computed from the last snapshots together, on a device; for a plan that is_history(). Throws ConfigError where
/// they do not fit in memory.
std::unique_ptr<Processor> make(const ocl::Device& device, const BeamformPlan& plan);
/// Reference in double precision, from the matrix of cross-spectra of all microphones.
std::unique_ptr<reference::Processor> make_reference(const BeamformPlan& plan);

}  // namespace nearfield::history
