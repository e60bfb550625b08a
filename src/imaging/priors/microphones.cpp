#include "imaging/priors/microphones.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "core/error.hpp"
#include "core/frame.hpp"
#include "imaging/priors/make_mask.hpp"

namespace nearfield {
namespace {

constexpr std::size_t kChannelGroup = 64;
constexpr std::size_t kTileColumns = 32;
constexpr std::size_t kTileRows = 4;

/// `places` of kernels/imaging/microphones.cl.
std::vector<float> places_in_space(const ArrayGeometry& geometry) {
  std::vector<float> places = {0.0F};
  if (!geometry.is_grid()) {
    places.clear();
    for (int channel = 0; channel < geometry.channels(); ++channel) {
      const MicrophonePosition at = geometry.position_m(channel);
      places.insert(places.end(), {static_cast<float>(at.x_m), static_cast<float>(at.y_m), static_cast<float>(at.z_m)});
    }
  }
  return places;
}

}  // namespace

ocl::Launch tiles(int columns, int rows, std::size_t images) {
  return {.global_0 = ocl::round_up(to_size(columns), kTileColumns),
          .local_0 = kTileColumns,
          .global_1 = ocl::round_up(to_size(rows), kTileRows),
          .local_1 = kTileRows,
          .global_2 = images,
          .local_2 = 1};
}

std::string float_define(double value) { return fmt::format("{:.9e}f", value); }

ocl::Defines microphone_defines(const ImagePlan& plan) {
  return {{"ROWS", std::to_string(plan.geometry.rows)},
          {"COLUMNS", std::to_string(plan.geometry.columns)},
          {"FREQUENCIES", std::to_string(plan.frequencies_hz.size())},
          {"PITCH_X", float_define(plan.geometry.pitch_x_m)},
          {"PITCH_Y", float_define(plan.geometry.pitch_y_m)},
          {"IRREGULAR", plan.geometry.is_grid() ? "0" : "1"},
          {"HAS_GAINS", plan.gains.empty() ? "0" : "1"},
          {"FILL_NEIGHBOURS", std::to_string(kFillNeighbours)},
          {"PREDICT_GROUP", std::to_string(kChannelGroup)},
          {"FLAG_MASKED", std::to_string(kFlagMaskedMicrophones)},
          {"FLAG_NON_FINITE", std::to_string(kFlagNonFiniteInput)}};
}

void MaskBuffers::write(const ocl::Device& device, const MicrophoneMask& mask_to_use) const {
  constexpr std::string_view kStage = "imaging/mask";
  const std::vector<std::int32_t>& channels = mask_to_use.channels;
  if (channels.size() >= mask.size()) {
    throw Error(ExitCode::kInternal, fmt::format("imager: expected at most {} masked microphones, found {}",
                                                 mask.size() - 1, channels.size()));
  }
  std::vector<std::uint8_t> flags(masked.size(), 0);
  for (const std::int32_t channel : channels) {
    flags[to_size(channel)] = 1;
  }
  std::vector<std::int32_t> list = {static_cast<std::int32_t>(channels.size())};
  list.insert(list.end(), channels.begin(), channels.end());
  device.enqueue_write<std::uint8_t>(masked, 0, flags, kStage);
  device.enqueue_write<std::int32_t>(mask, 0, list, kStage);
  if (!channels.empty()) {
    device.enqueue_write<std::int32_t>(neighbours, 0, mask_to_use.neighbours, kStage);
    device.enqueue_write<float>(weights, 0, mask_to_use.weights, kStage);
    if (prior_weights.size() >= mask_to_use.prior_weights.size() && !mask_to_use.prior_weights.empty()) {
      device.enqueue_write<float>(prior_weights, 0, mask_to_use.prior_weights, kStage);
    }
  }
  device.wait();
}

Microphones::Microphones(const ocl::Device& device, const ImagePlan& plan)
    : device_(device),
      launch_{.global_0 = ocl::round_up(to_size(plan.geometry.channels()), kChannelGroup),
              .local_0 = kChannelGroup,
              .global_1 = to_size(plan.batch)} {
  const std::string stage = "imaging/microphones";
  const std::size_t channels = to_size(plan.geometry.channels());
  const std::size_t room = mask_capacity(plan);
  mask_ = std::make_unique<MaskBuffers>(MaskBuffers{
      .masked = device.allocate<std::uint8_t>(channels, stage),
      .mask = device.allocate<std::int32_t>(1 + room, stage),
      .neighbours = device.allocate<std::int32_t>(room * kFillNeighbours, stage),
      .weights = device.allocate<float>(room * plan.frequencies_hz.size() * kFillNeighbours, stage),
      .prior_weights =
          device.allocate<float>(plan.fills_from_all ? room * plan.frequencies_hz.size() * channels : 1, stage)});
  usable_ = device.allocate<std::uint8_t>(to_size(plan.batch) * channels, stage);
  gains_ = plan.gains.empty() ? device.allocate<std::complex<float>>(1, stage)
                              : device.upload<std::complex<float>>(plan.gains, stage);
  places_ = device.upload<float>(places_in_space(plan.geometry), stage);
  conditioned_ = device.allocate<std::complex<float>>(channels * plan.holograms(), stage);
  const ocl::Program program = device.build(stage, "imaging/microphones.cl", microphone_defines(plan));
  check_ = program.kernel("microphone_check");
  fill_ = program.kernel("microphone_fill");
  predict_ = program.kernel("microphone_predict");
  predict_by_prior_ = program.kernel("microphone_predict_by_prior");
  fills_from_all_ = plan.fills_from_all;
  has_others_.resize(plan.frequencies_hz.size());
  masked_.reserve(channels);
  if (fills_from_all_) {
    prior_weights_.reserve(mask_->prior_weights.size());
  }
  predict_launch_ = {.global_0 = 0, .local_0 = kChannelGroup, .global_1 = plan.holograms()};
  use(make_mask(plan, {}));
}

Microphones::~Microphones() = default;

void Microphones::use(const MicrophoneMask& mask) {
  mask_->write(device_, mask);
  uses_prior_ = fills_from_all_ && !mask.prior_weights.empty();
  masked_.assign(mask.channels.begin(), mask.channels.end());
  std::fill(has_others_.begin(), has_others_.end(), false);
  if (fills_from_all_) {
    prior_weights_.assign(mask.prior_weights.begin(), mask.prior_weights.end());
  }
  predict_launch_.global_0 =
      uses_prior_ ? mask.channels.size() * kChannelGroup : ocl::round_up(mask.channels.size(), kChannelGroup);
}

void Microphones::enqueue_fill(std::size_t frequency, std::span<const float> weights) {
  if (!uses_prior_ || (weights.empty() && !has_others_[frequency])) {
    return;
  }
  has_others_[frequency] = !weights.empty();
  const std::size_t count = prior_weights_.size() / has_others_.size();
  const auto own = std::span<const float>(prior_weights_).subspan(frequency * count, count);
  device_.enqueue_write<float>(mask_->prior_weights, frequency * count, weights.empty() ? own : weights,
                               "imaging/microphones");
}

void Microphones::enqueue(const ComplexBuffer& spectra, const StatusBuffer& status) {
  check_.set_all(spectra, mask_->masked, usable_, status);
  check_.enqueue(launch_);
  fill_.set_all(spectra, gains_, places_, mask_->masked, usable_, conditioned_);
  fill_.enqueue(launch_);
  if (uses_prior_) {
    predict_by_prior_.set_all(mask_->mask, mask_->prior_weights, conditioned_);
    predict_by_prior_.enqueue(predict_launch_);
  } else if (predict_launch_.global_0 > 0) {
    predict_.set_all(mask_->mask, mask_->neighbours, mask_->weights, conditioned_);
    predict_.enqueue(predict_launch_);
  }
}

namespace {

constexpr std::string_view kIncompleteStage = "imaging/incomplete";

}  // namespace

void IncompleteFrames::reserve(ocl::Arena& arena, const ImagePlan& plan) {
  arena.reserve<std::int32_t>("INCOMPLETE", static_cast<std::size_t>(plan.batch));
}

void IncompleteFrames::fill(const ocl::Device& device, const ocl::Arena& arena, const ImagePlan& plan) {
  values_.fill(std::vector<std::int32_t>(static_cast<std::size_t>(plan.batch)));
  on_device_ = arena.part<std::int32_t>(device, "INCOMPLETE", values_.front());
}

void IncompleteFrames::enqueue(const ocl::Device& device, const FrameHops& hops) {
  const bool had_some = has_some_;
  has_some_ = !hops.incomplete.empty();
  if (!has_some_ && !had_some) {
    return;
  }
  turn_ = 1 - turn_;
  std::vector<std::int32_t>& values = values_.at(turn_);
  std::fill(values.begin(), values.end(), 0);
  std::copy_n(hops.incomplete.begin(), std::min(hops.incomplete.size(), values.size()), values.begin());
  device.enqueue_write(on_device_, 0, std::span<const std::int32_t>(values), kIncompleteStage);
}

}  // namespace nearfield
