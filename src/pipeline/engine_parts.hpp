#pragma once
#include <memory>
#include <string_view>

#include "frontend/front_end.hpp"
#include "pipeline/engine.hpp"

/// What the two engines share.
namespace nearfield {

inline constexpr std::string_view kNoFrontEnd = "none (spectra)";
inline constexpr std::string_view kNoProcessor = "none (spectra alone)";

/// Its frequencies are those that were asked for, then the bins of bands. Throws ConfigError.
FrontEndPlan front_end_plan(const EnginePlan& plan);

std::unique_ptr<Engine> make_opencl_engine(const ocl::Device& device, const EnginePlan& plan);
std::unique_ptr<Engine> make_reference_engine(const EnginePlan& plan);

}  // namespace nearfield
