#include "processors/beamform/publisher.hpp"

#include <algorithm>
#include <complex>
#include <type_traits>
#include <utility>

namespace nearfield::das {
namespace {

constexpr std::size_t kSectorGroup = 64;
constexpr std::size_t kPlaneGroup = 64;

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
LargestPlane<Value>::LargestPlane(const ocl::Device& device, const BeamformPlan& plan, const ocl::Buffer<Value>& maps,
                                  std::size_t images, std::vector<double> lowest_hz)
    : device_(device),
      plan_(plan),
      lowest_hz_(std::move(lowest_hz)),
      limits_on_host_(lowest_hz_.size()),
      distances_m_(
          device_.upload<float>(std::vector<float>(plan_.distances_m.begin(), plan_.distances_m.end()), kStage)),
      limits_m_(device_.allocate<float>(lowest_hz_.size(), kStage)),
      largest_(device_.allocate<Value>(images * plan_.plane_pixels(), kStage)),
      focus_m_(device_.allocate<float>(images * plan_.plane_pixels(), kStage)),
      kernel_(device_
                  .build(kStage, "processors/beamform/focus.cl",
                         {{"PLANES", std::to_string(plan_.planes())},
                          {"PLANE_PIXELS", std::to_string(plan_.plane_pixels())},
                          {"LIMITS", std::to_string(lowest_hz_.size())},
                          {"IS_COMPLEX", std::is_same_v<Value, float> ? "0" : "1"}})
                  .kernel("beamform_focus")) {
  kernel_.set_all(maps, distances_m_, limits_m_, largest_, focus_m_);
}

template <class Value>
void LargestPlane<Value>::use(const MicrophoneMask& mask) {
  constexpr double kQuarter = 0.25;  // 2 lambda (d/D)^2 = d/2 at D^2 / (4 lambda)
  const double side_m = aperture_side_m(plan_, mask);
  std::transform(lowest_hz_.begin(), lowest_hz_.end(), limits_on_host_.begin(), [&](double frequency_hz) {
    return static_cast<float>(kQuarter * side_m * side_m * frequency_hz / plan_.array.medium.sound_speed_m_s);
  });
  device_.enqueue_write(limits_m_, 0, std::span<const float>(limits_on_host_), kStage);
  device_.wait();
}

template <class Value>
void LargestPlane<Value>::enqueue(std::size_t images) {
  kernel_.enqueue(
      {.global_0 = ocl::round_up(plan_.plane_pixels(), kPlaneGroup), .local_0 = kPlaneGroup, .global_1 = images});
}

template class LargestPlane<float>;
template class LargestPlane<std::complex<float>>;

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

namespace {

constexpr std::size_t kPublisherGroup = 64;

std::vector<std::int32_t> ends_of(const PublishedMaps& published) {
  std::vector<std::int32_t> ends = {0};
  for (const std::vector<BandBin>& sum : published.sums) {
    ends.push_back(ends.back() + static_cast<std::int32_t>(sum.size()));
  }
  return ends;
}

std::vector<std::int32_t> bins_of(const PublishedMaps& published) {
  std::vector<std::int32_t> all;
  for (const std::vector<BandBin>& sum : published.sums) {
    for (const BandBin& bin : sum) {
      all.push_back(static_cast<std::int32_t>(bin.frequency));
    }
  }
  return all;
}

std::vector<float> weights_of_bins(const PublishedMaps& published) {
  std::vector<float> all;
  for (const std::vector<BandBin>& sum : published.sums) {
    for (const BandBin& bin : sum) {
      all.push_back(static_cast<float>(bin.weight));
    }
  }
  return all;
}

}  // namespace

Publisher::BandSums::BandSums(const ocl::Device& device, const PublishedMaps& published, const ocl::Buffer<float>& bins,
                              std::size_t values)
    : maps_(published.size()),
      values_(values),
      ends_(device.upload<std::int32_t>(ends_of(published), kStage)),
      bins_(device.upload<std::int32_t>(bins_of(published), kStage)),
      weights_(device.upload<float>(weights_of_bins(published), kStage)),
      sums_(device.allocate<float>(maps_ * values_, kStage)),
      kernel_(device.build(kStage, "processors/beamform/publish.cl", {{"PIXELS", std::to_string(values_)}})
                  .kernel("beamform_publish")) {
  kernel_.set_all(bins, ends_, bins_, weights_, sums_);
}

void Publisher::BandSums::enqueue() {
  kernel_.enqueue({.global_0 = ocl::round_up(values_, kPublisherGroup), .local_0 = kPublisherGroup, .global_1 = maps_});
}

Publisher::Publisher(const ocl::Device& device, const BeamformPlan& plan, const Maps& das,
                     const ocl::Buffer<float>& maps)
    : device_(device),
      plan_(plan),
      published_(plan_),
      maps_(&maps),
      on_host_(device_.allocate_host<float>((static_cast<std::size_t>(plan_.batch) + 1) * slot_values(), kStage)),
      slot_of_window_(static_cast<std::size_t>(plan_.batch)),
      figures_(static_cast<std::size_t>(plan_.batch) * plan_.frequencies()) {
  const bool has_bands = !plan_.bands_hz.empty();
  if (has_bands) {
    bands_.emplace(device_, published_, maps, plan_.pixels());
    maps_ = &bands_->sums();
  }
  if (!plan_.sectors.empty()) {
    sectors_.emplace(device_, plan_, das, maps, plan_.frequencies());
  }
  if (!plan_.sectors.empty() && has_bands) {
    bands_of_sectors_.emplace(device_, published_, sectors_->powers(), plan_.sector_values());
  }
  if (plan_.has_focus()) {
    largest_.emplace(device_, plan_, *maps_, published_.size(), published_.lowest_hz);
  }
}

void Publisher::use(const MicrophoneMask& mask) {
  if (sectors_) {
    sectors_->use_norms();
  }
  if (largest_) {
    largest_->use(mask);
  }
}

void Publisher::publish(double effective_snapshots) {
  slot_ = (slot_ + 1) % (static_cast<std::size_t>(plan_.batch) + 1);
  effective_ = effective_snapshots;
  const std::span<float> to = slot(slot_);
  if (bands_) {
    bands_->enqueue();
  }
  if (largest_) {
    largest_->enqueue(published_.size());
    device_.enqueue_read(largest_->focus_m(), to.subspan(map_values(), focus_values()), kStage);
  }
  device_.enqueue_read(largest_ ? largest_->maps() : *maps_, to.first(map_values()), kStage);
  if (sectors_) {
    sectors_->enqueue(plan_.frequencies());
    if (bands_of_sectors_) {
      bands_of_sectors_->enqueue();
    }
    device_.enqueue_read(bands_of_sectors_ ? bands_of_sectors_->sums() : sectors_->powers(), to.last(sector_values()),
                         kStage);
  }
}

void Publisher::give_to(std::size_t window) {
  slot_of_window_[window] = slot_;
  std::fill_n(figures_.begin() + static_cast<std::ptrdiff_t>(window * plan_.frequencies()), plan_.frequencies(),
              static_cast<float>(effective_));
}

Products Publisher::products(std::size_t window) {
  const std::span<const float> from = slot(slot_of_window_[window]);
  of_window_ = products_of<float>(plan_, {.maps = from.first(map_values()),
                                          .focus_m = from.subspan(map_values(), focus_values()),
                                          .sectors = from.last(sector_values()),
                                          .effective = std::span<const float>(figures_).subspan(
                                              window * plan_.frequencies(), plan_.frequencies())});
  return of_window_;
}

}  // namespace nearfield::das
