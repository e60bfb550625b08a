#include "processors/beamform/sector_powers.hpp"

#include <complex>
#include <type_traits>

namespace nearfield::das {
namespace {

constexpr std::size_t kSectorGroup = 64;

/// True for methods that map one source to one pixel.
bool has_points(const BeamformPlan& plan) {
  return plan.settings.method == Method::kOrthogonal || plan.settings.method == Method::kCleanSc;
}

ocl::Defines defines_of_sectors(const BeamformPlan& plan, const ocl::DeviceInfo& device, bool is_complex) {
  ocl::Defines defines = shared_defines(plan, device);
  const far_field::Formulation formulation = plan.settings.steering.formulation;
  defines["LANES"] = "1";
  defines["PLANES"] = std::to_string(plan.planes());
  defines["PLANE_PIXELS"] = std::to_string(plan.plane_pixels());
  defines["PLANE_COLUMNS"] = std::to_string(plan.grid.axes.back().size());
  defines["SECTORS"] = std::to_string(plan.sectors.size());
  defines["IS_COMPLEX"] = is_complex ? "1" : "0";
  defines["GROUP"] = std::to_string(kSectorGroup);
  if (plan.is_history()) {  // their beams have formulation IV, whatever the maps have
    defines["FORMULATION"] = std::to_string(static_cast<int>(far_field::Formulation::kTrueLocation));
    defines["FUNCTIONAL"] = "1";
    defines["EXPONENT"] = far_field::literal(plan.settings.functional_exponent);
    defines["TRUE_LEVEL"] = formulation == far_field::Formulation::kTrueLevel ? "1" : "0";
  }
  return defines;
}

std::vector<cl_int4> table_of(const std::vector<SectorPixels>& sectors) {
  std::vector<cl_int4> table;
  for (const SectorPixels& one : sectors) {
    table.push_back({{static_cast<cl_int>(one.first_row), static_cast<cl_int>(one.rows),
                      static_cast<cl_int>(one.first_column), static_cast<cl_int>(one.columns)}});
  }
  return table;
}

std::vector<std::int32_t> centres_of(const std::vector<SectorPixels>& sectors) {
  std::vector<std::int32_t> centres;
  for (const SectorPixels& one : sectors) {
    centres.push_back(static_cast<std::int32_t>(one.centre));
  }
  return centres;
}

}  // namespace

template <class Value>
SectorPowers<Value>::SectorPowers(const ocl::Device& device, const BeamformPlan& plan, const Maps& das,
                                  const ocl::Buffer<Value>& maps, std::size_t images)
    : device_(device),
      plan_(plan),
      answers_(device_.allocate<float>(plan_.frequencies() * plan_.sector_values(), kStage)),
      powers_(device_.allocate<float>(images * plan_.sector_values(), kStage)),
      sectors_(device_.upload<cl_int4>(table_of(plan_.sectors), kStage)),
      centres_(device_.upload<std::int32_t>(centres_of(plan_.sectors), kStage)),
      program_(device_.build(kStage, "processors/beamform/sectors.cl",
                             defines_of_sectors(plan_, device_.info(), !std::is_same_v<Value, float>))),
      sums_(program_.kernel("beamform_sectors")),
      answer_(program_.kernel("sector_answers")) {
  sums_.set_all(maps, sectors_, answers_, powers_);
  answer_.set("pixels", das.input().pixels).set("positions", das.input().positions);
  answer_.set("waves_per_m", das.input().waves_per_m).set("norms", das.norms()).set("shading", das.shading_on_device());
  answer_.set("sectors", sectors_).set("centres", centres_).set("answers", answers_);
  if (has_points(plan_)) {
    device_.enqueue_fill(answers_, 1.0F, kStage);
  }
}

template <class Value>
void SectorPowers<Value>::use_norms() {
  if (!has_points(plan_)) {
    answer_.enqueue(
        {.global_0 = kSectorGroup * plan_.sector_values(), .local_0 = kSectorGroup, .global_1 = plan_.frequencies()});
  }
  device_.wait();
}

template <class Value>
void SectorPowers<Value>::enqueue(std::size_t images) {
  sums_.enqueue({.global_0 = kSectorGroup * plan_.sector_values(), .local_0 = kSectorGroup, .global_1 = images});
}

template class SectorPowers<float>;
template class SectorPowers<std::complex<float>>;

}  // namespace nearfield::das
