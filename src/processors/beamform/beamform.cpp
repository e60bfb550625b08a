#include <algorithm>
#include <array>
#include <optional>

#include "cl/device.hpp"
#include "processors/beamform/das_maps.hpp"
#include "processors/beamform/history/history.hpp"
#include "processors/beamform/plan.hpp"
#include "processors/beamform/publisher.hpp"
#include "processors/beamform/work.hpp"
#include "processors/far_field/subset.hpp"

namespace nearfield {
namespace {

constexpr std::size_t kBeamformGroup = 64;

/// Maps of each window, or averages of their powers.
class Beamform : public Processor {
 public:
  Beamform(const ocl::Device& device, const BeamformPlan& plan)
      : device_(device),
        plan_(plan),
        header_(header_of(plan_)),
        values_(plan_.frequencies() * plan_.pixels()),
        das_(device_, plan_, plan_.pixels()) {
    if (plan_.is_averaged()) {
      allocate_average();
    } else {
      maps_ = device_.allocate<std::complex<float>>(batch() * values_, das::kStage);
      maps_on_host_ = device_.allocate_host<std::complex<float>>(maps_.size(), das::kStage);
      das_.write_to(maps_);
    }
    use(make_mask(plan_.array, {}));
  }
  [[nodiscard]] ResultHeader header() const override { return header_; }
  void enqueue(const ComplexBuffer& spectra, const StatusBuffer& status, std::size_t windows) override {
    das_.enqueue_microphones(spectra, status, windows);
    if (plan_.is_averaged()) {
      enqueue_average(windows);
    } else {
      das_.enqueue_maps(0, windows, 0);
      device_.enqueue_read(maps_, maps_on_host_.values().first(windows * values_), das::kStage);
    }
  }
  Products products(std::size_t window) override {
    if (publisher_) {
      return publisher_->products(window);
    }
    map_[0] = std::as_bytes(maps_on_host_.values().subspan(window * values_, values_));
    return map_;
  }
  [[nodiscard]] std::span<const std::uint32_t> host_status() const override { return das_.host_status(); }
  void use(const MicrophoneMask& mask) final { das_.use(mask); }
  void forget() override {
    plan_.snapshots.forget();
    if (plan_.is_averaged()) {
      device_.enqueue_fill(sums_, das::Two{0.0F, 0.0F}, das::kStage);
    }
  }
  [[nodiscard]] std::string description() const override { return das_.description(); }

 private:
  [[nodiscard]] std::size_t batch() const { return static_cast<std::size_t>(plan_.batch); }
  void allocate_average() {
    average_ = das_.program().kernel("das_average");
    step_arguments_ = average_.arguments("keep", "publishes");
    powers_ = device_.allocate<float>(values_, das::kStage);
    sums_ = device_.allocate<das::Two>(values_, das::kStage);
    published_ = device_.allocate<float>(values_, das::kStage);
    device_.enqueue_fill(sums_, das::Two{0.0F, 0.0F}, das::kStage);
    das_.write_to(powers_);
    average_.set("map", powers_).set("average", sums_).set("published", published_);
    publisher_.emplace(device_, plan_, published_);
  }
  void enqueue_average(std::size_t windows) {
    for (std::size_t window = 0; window < windows; ++window) {
      const Snapshots::Step step = plan_.snapshots.next();
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
  ResultHeader header_;
  std::size_t values_;  ///< of a map: frequencies times pixels
  das::Maps das_;
  // Without an average:
  ocl::Buffer<std::complex<float>> maps_;
  ocl::HostBuffer<std::complex<float>> maps_on_host_;  ///< [window][frequency][pixel]
  // With one:
  ocl::Kernel average_;
  ocl::Arguments<2> step_arguments_;
  ocl::Buffer<float> powers_;  ///< of one window, [frequency][pixel]
  ocl::Buffer<das::Two> sums_;
  ocl::Buffer<float> published_;
  std::optional<das::Publisher> publisher_;
  std::array<std::span<const std::byte>, 1> map_;
};

std::optional<SubsetSettings> subset_of_beamform(const ProcessorPlan& plan) {
  return dynamic_cast<const BeamformSettings&>(*plan.own).steering.subset;
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
          .remarks = [](const ProcessorPlan& plan) { return far_field::remarks_of(plan, subset_of_beamform(plan)); },
          .work = das::work_of};
}

}  // namespace nearfield
