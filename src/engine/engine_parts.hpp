#pragma once
#include <algorithm>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>

#include "engine/devices.hpp"
#include "engine/engine.hpp"
#include "frontend/front_end.hpp"

/// Parts shared by the OpenCL and the reference engine.
namespace nearfield {

inline constexpr std::string_view kNoFrontEnd = "none (spectra)";
inline constexpr std::string_view kNoSpectra = "none (decimated samples)";

/// Plan of the run's front end: the requested frequencies, then the bins of bands. Throws ConfigError.
FrontEndPlan front_end_plan(const EnginePlan& plan);
/// Plan of a front end with other settings.
FrontEndPlan front_end_plan(const EnginePlan& plan, const FrontEndSettings& settings);

/// Part of `values` [sample][per_sample], whose first sample is `first`, from sample `begin` on.
template <typename Value>
struct Piece {
  std::uint64_t first = 0;
  std::span<const Value> values;
};
template <typename Value>
Piece<Value> piece_from(std::uint64_t begin, std::uint64_t first, std::span<const Value> values,
                        std::size_t per_sample) {
  const std::uint64_t samples = values.size() / per_sample;
  const std::uint64_t before = std::min(samples, begin > first ? begin - first : 0);
  return {.first = first + before, .values = values.subspan(before * per_sample)};
}

std::unique_ptr<Engine> make_opencl_engine(Devices devices, const EnginePlan& plan);
std::unique_ptr<Engine> make_reference_engine(const EnginePlan& plan);

}  // namespace nearfield
