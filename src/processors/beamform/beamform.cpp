#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "cl/device.hpp"
#include "imaging/priors/make_mask.hpp"
#include "processors/beamform/das_path.hpp"
#include "processors/beamform/history/history.hpp"
#include "processors/beamform/plan.hpp"
#include "processors/beamform/publisher.hpp"
#include "processors/beamform/snapshots.hpp"
#include "processors/beamform/work.hpp"
#include "processors/far_field/subset.hpp"

namespace nearfield {
namespace {

constexpr std::size_t kBeamformGroup = 64;

/// Maps of each window, or averages of their powers.
class Beamform : public Processor {
 public:
  Beamform(const ocl::Device& device, const BeamformPlan& plan)
      : Processor(header_of(plan)),
        device_(device),
        plan_(plan),
        values_(plan_.frequencies() * plan_.pixels()),
        das_(device_, plan_, plan_.pixels()),
        losses_(LossesOfAverage()) {
    if (plan_.is_averaged()) {
      allocate_average();
    } else {
      allocate_maps();
    }
    use(make_mask(plan_.array, {}));
  }
  void enqueue(const BatchInput& input) override {
    das_.enqueue_microphones(input.spectra, input.status, input.windows);
    losses_.begin();
    if (plan_.is_averaged()) {
      enqueue_average(input.windows);
    } else {
      enqueue_maps(input.windows);
    }
  }
  WindowProducts products(const WindowToRead& of) override {
    if (!publisher_) {
      return {.products = maps_of(of.window)};
    }
    losses_.stamp(of);
    return {.products = publisher_->products(of.window), .missing_bit_times = losses_.missing_bit_times(of.window)};
  }
  [[nodiscard]] std::span<const std::uint32_t> host_status(std::size_t /*place*/) const override {
    return das_.host_status();
  }
  void use(const MicrophoneMask& mask) final {
    das_.use(mask);
    if (publisher_) {
      publisher_->use(mask);
    }
    if (largest_) {
      largest_->use(mask);
    }
    if (sectors_) {
      sectors_->use_norms();
    }
  }
  void forget() override {
    plan_.snapshots.forget();
    losses_.held().forget();
    if (plan_.is_averaged()) {
      device_.enqueue_fill(sums_, das::Two{0.0F, 0.0F}, das::kStage);
    }
  }
  [[nodiscard]] std::string description() const override { return das_.description(); }

 private:
  [[nodiscard]] std::size_t batch() const { return static_cast<std::size_t>(plan_.batch); }
  /// Number of values of a window as published.
  [[nodiscard]] std::size_t map_values() const { return plan_.frequencies() * plan_.map_pixels(); }
  Products maps_of(std::size_t window) {
    const std::size_t values = map_values();
    const std::size_t of_sectors = plan_.frequencies() * plan_.sector_values();
    of_window_ = products_of<std::complex<float>>(
        plan_,
        {.maps = maps_on_host_.values().subspan(window * values, values),
         .focus_m = largest_ ? focus_on_host_.values().subspan(window * values, values) : std::span<float>(),
         .sectors = sectors_ ? sectors_on_host_.values().subspan(window * of_sectors, of_sectors) : std::span<float>(),
         .effective = {}});
    return of_window_;
  }
  void allocate_maps() {
    maps_ = device_.allocate<std::complex<float>>(batch() * values_, das::kStage);
    maps_on_host_ = device_.allocate_host<std::complex<float>>(batch() * map_values(), das::kStage);
    das_.write_to(maps_);
    const std::size_t images = batch() * plan_.frequencies();
    if (plan_.has_focus()) {
      largest_.emplace(device_, plan_, maps_, images, PublishedMaps(plan_).lowest_hz);
      focus_on_host_ = device_.allocate_host<float>(batch() * map_values(), das::kStage);
    }
    if (!plan_.sectors.empty()) {
      sectors_.emplace(device_, plan_, das_, maps_, images);
      sectors_on_host_ = device_.allocate_host<float>(images * plan_.sector_values(), das::kStage);
    }
  }
  void enqueue_maps(std::size_t windows) {
    das_.enqueue_maps(0, windows, 0);
    const std::size_t images = windows * plan_.frequencies();
    if (largest_) {
      largest_->enqueue(images);
      device_.enqueue_read(largest_->focus_m(), focus_on_host_.values().first(windows * map_values()), das::kStage);
    }
    device_.enqueue_read(largest_ ? largest_->maps() : maps_, maps_on_host_.values().first(windows * map_values()),
                         das::kStage);
    if (sectors_) {
      sectors_->enqueue(images);
      device_.enqueue_read(sectors_->powers(), sectors_on_host_.values().first(images * plan_.sector_values()),
                           das::kStage);
    }
  }
  void allocate_average() {
    average_ = das_.program().kernel("das_average");
    step_arguments_ = average_.arguments("keep", "publishes");
    powers_ = device_.allocate<float>(values_, das::kStage);
    sums_ = device_.allocate<das::Two>(values_, das::kStage);
    published_ = device_.allocate<float>(values_, das::kStage);
    device_.enqueue_fill(sums_, das::Two{0.0F, 0.0F}, das::kStage);
    das_.write_to(powers_);
    average_.set("map", powers_).set("average", sums_).set("published", published_);
    publisher_.emplace(device_, plan_, das_, published_);
  }
  void enqueue_average(std::size_t windows) {
    for (std::size_t window = 0; window < windows; ++window) {
      const Snapshots::Step step = plan_.snapshots.next();
      losses_.next(step);
      if (step.is_snapshot) {
        das_.enqueue_maps(window, 1, 0);
        average_.set(step_arguments_, static_cast<float>(step.keep), static_cast<cl_int>(step.publishes ? 1 : 0));
        average_.enqueue({.global_0 = ocl::round_up(values_, kBeamformGroup), .local_0 = kBeamformGroup});
      }
      if (step.publishes) {
        publisher_->publish(plan_.snapshots.effective());
      }
      publisher_->give_to(window);
    }
  }

  ocl::Device device_;
  BeamformPlan plan_;
  std::size_t values_;  ///< values of a map: frequencies times pixels
  das::Maps das_;
  StampedLosses<LossesOfAverage> losses_;
  // Used without an average:
  ocl::Buffer<std::complex<float>> maps_;
  ocl::HostBuffer<std::complex<float>> maps_on_host_;  ///< [window][frequency][pixel]; with focus, per published pixel
  std::optional<das::LargestPlane<std::complex<float>>> largest_;
  ocl::HostBuffer<float> focus_on_host_;  ///< likewise
  std::optional<das::SectorPowers<std::complex<float>>> sectors_;
  ocl::HostBuffer<float> sectors_on_host_;  ///< [window][frequency][plane][sector]
  // Used with an average:
  ocl::Kernel average_;
  ocl::Arguments<2> step_arguments_;
  ocl::Buffer<float> powers_;  ///< for one window, [frequency][pixel]
  ocl::Buffer<das::Two> sums_;
  ocl::Buffer<float> published_;
  std::optional<das::Publisher> publisher_;
  std::vector<std::span<const std::byte>> of_window_;
};

std::optional<SubsetSettings> subset_of_beamform(const ProcessorPlan& plan) {
  return dynamic_cast<const BeamformSettings&>(*plan.own).steering.subset;
}

Remarks remarks_of_beamform(const ProcessorPlan& plan) {
  const auto& own = dynamic_cast<const BeamformSettings&>(*plan.own);
  Remarks remarks = far_field::remarks_of(plan, own.steering.subset);
  if (own.steering.model == far_field::Model::kMeasured && own.grid != far_field::GridSettings()) {
    remarks.warnings.push_back(
        fmt::format("processors.{0}: its grid is not used: with steering.model measured its pixels are the places of "
                    "the templates in {1}",
                    plan.name, own.steering.templates_path));
  }
  return remarks;
}

}  // namespace

ProcessorEntry beamform_entry() {
  return {.kind = "beamform",
          .make = [](const ocl::Device& device, const ProcessorPlan& plan) -> std::unique_ptr<Processor> {
            return far_field::on_subset(
                device, plan, subset_of_beamform(plan), [](const ocl::Device& on, const ProcessorPlan& part) {
                  const BeamformPlan own(part);
                  return own.is_history() ? history::make(on, own) : std::make_unique<Beamform>(on, own);
                });
          },
          .make_reference = [](const ProcessorPlan& plan) -> std::unique_ptr<reference::Processor> {
            return far_field::on_subset_reference(plan, subset_of_beamform(plan), make_beamform_reference);
          },
          .remarks = remarks_of_beamform,
          .work = das::work_of};
}

}  // namespace nearfield
