#include "processors/far_field/subset.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>
#include <numbers>
#include <set>
#include <utility>

#include "cl/device.hpp"
#include "core/error.hpp"
#include "core/numerics.hpp"
#include "processors/far_field/array.hpp"

namespace nearfield::far_field {
namespace {

using Kind = SubsetSettings::Kind;

/// Indices of `count` evenly spaced elements out of `of`, including the first and the last; for one the middle.
std::vector<int> evenly(int count, int of) {
  std::vector<int> indices;
  for (int i = 0; i < count; ++i) {
    const double place = count == 1 ? (of - 1) / 2.0 : static_cast<double>(i) * (of - 1) / (count - 1);
    indices.push_back(static_cast<int>(std::floor(place + 0.5)));
  }
  return indices;
}

std::vector<int> on_grid(const SubsetSettings& subset, const ArrayGeometry& geometry, const std::string& key) {
  if (!geometry.is_grid() || subset.rows > geometry.rows || subset.columns > geometry.columns) {
    throw ConfigError(fmt::format("{}: expected rows and columns of the array's {}, found grid {}x{}", key,
                                  geometry.is_grid() ? text_of_size(geometry) : "regular grid, which it has not",
                                  subset.rows, subset.columns));
  }
  std::vector<int> channels;
  for (const int row : evenly(subset.rows, geometry.rows)) {
    for (const int column : evenly(subset.columns, geometry.columns)) {
      channels.push_back(row * geometry.columns + column);
    }
  }
  return channels;
}

struct Disc {
  double x_m = 0.0;
  double y_m = 0.0;
  double radius_m = 0.0;
};

Disc disc_of(const ArrayGeometry& geometry, const std::vector<Position>& microphones) {
  if (geometry.is_grid()) {
    return {.radius_m =
                0.5 * std::min((geometry.rows - 1) * geometry.pitch_y_m, (geometry.columns - 1) * geometry.pitch_x_m)};
  }
  Disc disc;
  for (const Position& one : microphones) {
    disc.x_m += one.x / static_cast<double>(microphones.size());
    disc.y_m += one.y / static_cast<double>(microphones.size());
  }
  for (const Position& one : microphones) {
    disc.radius_m = std::max(disc.radius_m, std::hypot(one.x - disc.x_m, one.y - disc.y_m));
  }
  return disc;
}

std::vector<int> on_spiral(int count, const ArrayGeometry& geometry, std::vector<int> usable) {
  const std::vector<Position> microphones = microphones_of(geometry);
  const Disc disc = disc_of(geometry, microphones);
  std::vector<int> channels;
  for (int n = 0; n < count; ++n) {
    constexpr double kReach = 0.97;
    const double radius = kReach * disc.radius_m * std::sqrt((n + 0.5) / count);
    const double angle = n * std::numbers::pi * (3.0 - std::sqrt(5.0));
    const double x_m = disc.x_m + radius * std::cos(angle);
    const double y_m = disc.y_m + radius * std::sin(angle);
    const auto nearest = std::min_element(usable.begin(), usable.end(), [&](int a, int b) {
      const auto distance_m = [&](int channel) {
        const Position& at = microphones[static_cast<std::size_t>(channel)];
        return std::hypot(at.x - x_m, at.y - y_m);
      };
      return distance_m(a) < distance_m(b);
    });
    channels.push_back(*nearest);
    usable.erase(nearest);
  }
  return channels;
}

std::vector<int> at_random(int count, std::vector<int> usable) {
  RandomStream random(1, 0);
  for (std::size_t i = 0; i < static_cast<std::size_t>(count); ++i) {
    std::swap(usable[i], usable[i + random.next() % (usable.size() - i)]);
  }
  usable.resize(static_cast<std::size_t>(count));
  return usable;
}

/// Keeps positions also for a grid: the part's origin is the array's.
ArrayGeometry geometry_of_part(const ArrayGeometry& whole, const std::vector<int>& channels) {
  std::vector<MicrophonePosition> positions_m;
  for (const int channel : channels) {
    positions_m.push_back(whole.position_m(channel));
  }
  constexpr double kSame_m = 1e-9;
  ArrayGeometry part = geometry_of(positions_m);
  bool is_exact = part.is_grid() && !part.is_reordered();
  for (std::size_t i = 0; is_exact && i < positions_m.size(); ++i) {
    const MicrophonePosition found = part.position_m(static_cast<int>(i));
    is_exact = std::hypot(found.x_m - positions_m[i].x_m, found.y_m - positions_m[i].y_m,
                          found.z_m - positions_m[i].z_m) < kSame_m;
  }
  return is_exact ? part.in_channel_order() : irregular_geometry_of(std::move(positions_m));
}

}  // namespace

std::vector<int> chosen_channels(const SubsetSettings& subset, const ArrayPlan& array, const std::string& key) {
  const std::set<int> masked(array.dead_channels.begin(), array.dead_channels.end());
  std::vector<int> usable;
  for (int channel = 0; channel < array.geometry.channels(); ++channel) {
    if (!masked.contains(channel)) {
      usable.push_back(channel);
    }
  }
  const bool is_counted = subset.kind == Kind::kSpiral || subset.kind == Kind::kRandom;
  if (is_counted && static_cast<std::size_t>(subset.count) > usable.size()) {
    throw ConfigError(fmt::format("{}: expected at most the {} microphones that are not masked, found {}", key,
                                  usable.size(), subset.count));
  }
  std::vector<int> channels;
  switch (subset.kind) {
    case Kind::kAll:
      return usable;
    case Kind::kGrid:
      channels = on_grid(subset, array.geometry, key);
      break;
    case Kind::kSpiral:
      channels = on_spiral(subset.count, array.geometry, usable);
      break;
    case Kind::kRandom:
      channels = at_random(subset.count, usable);
      break;
    case Kind::kChannels:
      channels = subset.channels;
      break;
  }
  std::sort(channels.begin(), channels.end());
  if (!channels.empty() && channels.back() >= array.geometry.channels()) {
    throw ConfigError(fmt::format("{}: expected channels from 0 to {}, found {}", key, array.geometry.channels() - 1,
                                  channels.back()));
  }
  std::erase_if(channels, [&](int channel) { return masked.contains(channel); });
  if (channels.size() < static_cast<std::size_t>(kFewestMicrophones)) {
    throw ConfigError(fmt::format("{}: expected at least {} microphones that are not masked, found {}", key,
                                  kFewestMicrophones, channels.size()));
  }
  return channels;
}

ArrayPlan part_of(const ArrayPlan& array, const std::vector<int>& channels) {
  ArrayPlan part = array;
  part.geometry = geometry_of_part(array.geometry, channels);
  part.dead_channels.clear();
  part.gains.clear();
  const auto all = static_cast<std::size_t>(array.geometry.channels());
  for (std::size_t first = 0; first < array.gains.size(); first += all) {
    std::transform(channels.begin(), channels.end(), std::back_inserter(part.gains),
                   [&](int channel) { return array.gains[first + static_cast<std::size_t>(channel)]; });
  }
  return part;
}

PlanOfSubset::PlanOfSubset(const ProcessorPlan& whole, const std::optional<SubsetSettings>& own) : plan(whole) {
  const SubsetSettings& subset = own ? *own : whole.settings->array.subset;
  if (subset.kind != Kind::kAll) {
    channels = chosen_channels(subset, whole.array,
                               own ? fmt::format("processors.{}.steering.subset", whole.name) : "array.subset");
    plan.array = part_of(whole.array, channels);
    plan.channels = channels;
  }
}

Remarks remarks_of(const ProcessorPlan& plan, const std::optional<SubsetSettings>& own) {
  const PlanOfSubset of(plan, own);
  const std::string name = fmt::format("processors.{}", plan.name);
  Remarks remarks;
  if (!of.is_whole()) {
    remarks.notes.push_back(fmt::format("{}: uses {} of {} microphones: {}", name, of.channels.size(),
                                        plan.array.geometry.channels(), fmt::join(of.channels, ", ")));
  }
  const ArrayGeometry& geometry = of.plan.array.geometry;
  const double alias = of.plan.array.alias_wavenumber();
  const double apart_m = std::numbers::pi / alias;  // for a grid the larger pitch
  const double highest_hz =
      plan.frequencies_hz.empty() ? 0.0 : *std::max_element(plan.frequencies_hz.begin(), plan.frequencies_hz.end());
  const double wavelength_m = plan.array.medium.sound_speed_m_s / highest_hz;
  if (wavelength_m < 2.0 * apart_m) {
    const double sine = std::clamp(wavelength_m / apart_m - 1.0, 0.0, 1.0);
    remarks.warnings.push_back(fmt::format(
        "{}: its microphones are {}, more than half a wavelength above {:.4g} Hz: at {:.4g} Hz grating "
        "lobes appear from {:.0f} degrees on",
        name,
        geometry.is_grid() ? fmt::format("up to {:.4g} m from the nearest", apart_m)
                           : fmt::format("placed like those of a pitch of {:.4g} m", apart_m),
        plan.array.medium.sound_speed_m_s / (2.0 * apart_m), highest_hz, std::asin(sine) * 180.0 / std::numbers::pi));
  }
  return remarks;
}

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
      : Processor(with_channels(processor->header(), of.channels)),
        device_(device),
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
      : Processor(far_field::with_channels(processor->header(), of.channels)),
        channels_(of.channels),
        all_channels_(all_channels),
        constant_flags_(of.plan.array.constant_flags()),
        processor_(std::move(processor)) {}
  std::uint64_t complete(const WindowToRead& of, OwnedProducts& products) override {
    return processor_->complete(of, products);
  }
  void forget() override { processor_->forget(); }
  void use(const MicrophoneMask& mask) override { processor_->use(far_field::mask_of_part(mask, channels_)); }
  WindowResult compute(const WindowInput& window) override {
    std::vector<Complex> chosen;
    for (std::size_t first = 0; first < window.spectra.size(); first += all_channels_) {
      std::transform(channels_.begin(), channels_.end(), std::back_inserter(chosen),
                     [&](int channel) { return window.spectra[first + static_cast<std::size_t>(channel)]; });
    }
    WindowInput part = window;
    part.spectra = chosen;
    WindowResult result = processor_->compute(part);
    result.outcome.flags |= constant_flags_;
    return result;
  }

 private:
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
