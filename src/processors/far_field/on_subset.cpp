#include <algorithm>
#include <iterator>
#include <utility>

#include "cl/device.hpp"
#include "processors/far_field/subset.hpp"

namespace nearfield::far_field {
namespace {

constexpr std::string_view kSubsetStage = "processors/far_field";
constexpr std::size_t kSubsetGroup = 64;

ResultHeader with_channels(ResultHeader header, const std::vector<int>& channels) {
  header.axes.push_back({.name = "channel", .unit = "1", .values = {channels.begin(), channels.end()}});
  return header;
}

/// Reduces a mask of the whole array to the chosen microphones, without predictions.
MicrophoneMask mask_of_part(const MicrophoneMask& mask, const std::vector<int>& channels) {
  MicrophoneMask part;
  for (std::size_t i = 0; i < channels.size(); ++i) {
    if (std::binary_search(mask.channels.begin(), mask.channels.end(), channels[i])) {
      part.channels.push_back(static_cast<std::int32_t>(i));
    }
  }
  return part;
}

class OnSubset : public Processor {
 public:
  OnSubset(const ocl::Device& device, const PlanOfSubset& of, std::size_t all_channels,
           std::unique_ptr<Processor> processor)
      : device_(device),
        channels_(of.channels),
        constant_flags_(of.plan.array.constant_flags()),
        spectra_(of.plan.array.frequencies_hz.size()),
        processor_(std::move(processor)),
        choose_(device
                    .build(kSubsetStage, "processors/far_field/subset.cl",
                           {{"CHANNELS", std::to_string(all_channels)},
                            {"CHOSEN", std::to_string(channels_.size())},
                            {"SPECTRA", std::to_string(spectra_)}})
                    .kernel("choose_microphones")),
        of_choose_(choose_.arguments("spectra")),
        on_device_(
            device.upload<std::int32_t>(std::vector<std::int32_t>(channels_.begin(), channels_.end()), kSubsetStage)),
        chosen_(device.allocate<std::complex<float>>(
            static_cast<std::size_t>(of.plan.batch) * spectra_ * channels_.size(), kSubsetStage)),
        status_(device.allocate<std::uint32_t>(static_cast<std::size_t>(of.plan.batch) * kStatusWords, kSubsetStage)) {
    choose_.set("channels", on_device_).set("chosen", chosen_);
  }
  [[nodiscard]] ResultHeader header() const override { return with_channels(processor_->header(), channels_); }
  void enqueue(const BatchInput& input) override {
    choose_.set(of_choose_, input.spectra);
    choose_.enqueue({.global_0 = ocl::round_up(channels_.size(), kSubsetGroup),
                     .local_0 = kSubsetGroup,
                     .global_1 = spectra_,
                     .global_2 = input.windows});
    device_.enqueue_copy(input.status, status_, 0, kSubsetStage);  // own copy: others on the tap read the status of all
    processor_->enqueue({.spectra = chosen_,
                         .status = status_,
                         .windows = input.windows,
                         .hops = input.hops,
                         .samples = input.samples,
                         .place = input.place});
  }
  [[nodiscard]] std::span<const int> subset() const override { return channels_; }
  WindowProducts products(const WindowToRead& of) override { return processor_->products(of); }
  [[nodiscard]] std::span<const std::uint32_t> host_status(std::size_t place) const override {
    const std::span<const std::uint32_t> words = processor_->host_status(place);
    words_.assign(words.begin(), words.end());
    for (std::size_t i = 0; i < words_.size(); i += kStatusWords) {
      words_[i] |= constant_flags_;
    }
    return words_;
  }
  void use(const MicrophoneMask& mask) override { processor_->use(mask_of_part(mask, channels_)); }
  void forget() override { processor_->forget(); }
  [[nodiscard]] std::string description() const override { return processor_->description(); }

 private:
  ocl::Device device_;
  std::vector<int> channels_;
  std::uint32_t constant_flags_;
  std::size_t spectra_;  ///< values of a window
  std::unique_ptr<Processor> processor_;
  ocl::Kernel choose_;
  ocl::Arguments<1> of_choose_;
  ocl::Buffer<std::int32_t> on_device_;
  ComplexBuffer chosen_;
  StatusBuffer status_;
  mutable std::vector<std::uint32_t> words_;  ///< result of the last host_status()
};

}  // namespace
}  // namespace nearfield::far_field

namespace nearfield::reference {
namespace {

class OnSubset : public Processor {
 public:
  OnSubset(const far_field::PlanOfSubset& of, std::size_t all_channels, std::unique_ptr<Processor> processor)
      : channels_(of.channels),
        all_channels_(all_channels),
        constant_flags_(of.plan.array.constant_flags()),
        processor_(std::move(processor)) {}
  [[nodiscard]] ResultHeader header() const override {
    return far_field::with_channels(processor_->header(), channels_);
  }
  [[nodiscard]] std::span<const int> subset() const override { return channels_; }
  WindowProducts products(const WindowToRead& of) override { return processor_->products(of); }
  void forget() override { processor_->forget(); }
  void use(const MicrophoneMask& mask) override { processor_->use(far_field::mask_of_part(mask, channels_)); }

 private:
  void begin() override { processor_->begin(); }
  Outcome add(const WindowInput& window) override {
    std::vector<Complex> chosen;
    for (std::size_t first = 0; first < window.spectra.size(); first += all_channels_) {
      std::transform(channels_.begin(), channels_.end(), std::back_inserter(chosen),
                     [&](int channel) { return window.spectra[first + static_cast<std::size_t>(channel)]; });
    }
    Outcome outcome = processor_->add({.spectra = chosen, .hop = window.hop, .is_whole = window.is_whole});
    outcome.flags |= constant_flags_;
    return outcome;
  }
  std::vector<int> channels_;
  std::size_t all_channels_;
  std::uint32_t constant_flags_;
  std::unique_ptr<Processor> processor_;
};

}  // namespace
}  // namespace nearfield::reference

namespace nearfield::far_field {

std::unique_ptr<Processor> on_subset(
    const ocl::Device& device, const ProcessorPlan& plan, const std::optional<SubsetSettings>& own,
    const std::function<std::unique_ptr<Processor>(const ocl::Device&, const ProcessorPlan&)>& make) {
  const PlanOfSubset of(plan, own);
  if (of.is_whole()) {
    return make(device, plan);
  }
  return std::make_unique<OnSubset>(device, of, static_cast<std::size_t>(plan.array.geometry.channels()),
                                    make(device, of.plan));
}

std::unique_ptr<reference::Processor> on_subset_reference(
    const ProcessorPlan& plan, const std::optional<SubsetSettings>& own,
    const std::function<std::unique_ptr<reference::Processor>(const ProcessorPlan&)>& make) {
  const PlanOfSubset of(plan, own);
  if (of.is_whole()) {
    return make(plan);
  }
  return std::make_unique<reference::OnSubset>(of, static_cast<std::size_t>(plan.array.geometry.channels()),
                                               make(of.plan));
}

}  // namespace nearfield::far_field
