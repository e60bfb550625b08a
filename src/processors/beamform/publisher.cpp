#include "processors/beamform/publisher.hpp"

#include <algorithm>

namespace nearfield::das {
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
