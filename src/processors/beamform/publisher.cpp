#include "processors/beamform/publisher.hpp"

#include <algorithm>

#include "processors/beamform/das_path.hpp"

namespace nearfield::das {
namespace {

constexpr std::size_t kPublisherGroup = 64;

}  // namespace

Publisher::Publisher(const ocl::Device& device, const BeamformPlan& plan, const ocl::Buffer<float>& maps)
    : device_(device),
      plan_(plan),
      published_(plan_),
      maps_(&maps),
      on_host_(device_.allocate_host<float>((static_cast<std::size_t>(plan_.batch) + 1) * values(), kStage)),
      slot_of_window_(static_cast<std::size_t>(plan_.batch)),
      figures_(static_cast<std::size_t>(plan_.batch) * plan_.frequencies()) {
  if (plan_.bands_hz.empty()) {
    return;
  }
  std::vector<std::int32_t> ends = {0};
  std::vector<std::int32_t> bins;
  std::vector<float> weights;
  for (std::size_t map = 0; map < published_.size(); ++map) {
    for (const std::size_t bin : published_.bins[map]) {
      bins.push_back(static_cast<std::int32_t>(bin));
    }
    ends.push_back(static_cast<std::int32_t>(bins.size()));
    weights.push_back(static_cast<float>(published_.weights[map]));
  }
  ends_ = device_.upload<std::int32_t>(ends, kStage);
  bins_ = device_.upload<std::int32_t>(bins, kStage);
  weights_ = device_.upload<float>(weights, kStage);
  sums_ = device_.allocate<float>(values(), kStage);
  kernel_ = device_.build(kStage, "processors/beamform/publish.cl", {{"PIXELS", std::to_string(plan_.pixels())}})
                .kernel("beamform_publish");
  kernel_.set_all(maps, ends_, bins_, weights_, sums_);
}

void Publisher::publish(double effective_snapshots) {
  slot_ = (slot_ + 1) % (static_cast<std::size_t>(plan_.batch) + 1);
  effective_ = effective_snapshots;
  if (!plan_.bands_hz.empty()) {
    kernel_.enqueue({.global_0 = ocl::round_up(plan_.pixels(), kPublisherGroup),
                     .local_0 = kPublisherGroup,
                     .global_1 = published_.size()});
  }
  const ocl::Buffer<float>& from = plan_.bands_hz.empty() ? *maps_ : sums_;
  device_.enqueue_read(from, on_host_.values().subspan(slot_ * values(), values()), kStage);
}

void Publisher::give_to(std::size_t window) {
  slot_of_window_[window] = slot_;
  std::fill_n(figures_.begin() + static_cast<std::ptrdiff_t>(window * plan_.frequencies()), plan_.frequencies(),
              static_cast<float>(effective_));
}

Products Publisher::products(std::size_t window) {
  of_window_ =
      products_of(plan_, std::span<const float>(figures_).subspan(window * plan_.frequencies(), plan_.frequencies()),
                  on_host_.values().subspan(slot_of_window_[window] * values(), values()));
  return of_window_;
}

}  // namespace nearfield::das
