#include "imaging/pnah/staged_pnah.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numbers>

#include "imaging/pnah/stages.hpp"
#include "nearfield/error.hpp"
#include "nearfield/frame.hpp"

namespace nearfield {
namespace {

constexpr std::size_t kChannelGroup = 64;
constexpr std::size_t kTileColumns = 32;
constexpr std::size_t kTileRows = 4;
/// Items per group on GPUs, and lines per vector on processors, for the measurement of the spectrum.
constexpr int kSpectrumGroup = 128;
constexpr int kSpectrumLanes = 8;

constexpr std::string_view kPropagate = "imaging/propagate.cl";

std::vector<float> to_floats(const std::vector<double>& values) { return {values.begin(), values.end()}; }

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

/// FILTER of kernels/imaging/propagate.cl.
int filter_number(const PnahPlan& plan) {
  if (plan.measures_cutoff()) {
    return 3;
  }
  switch (plan.holography.filter.kind) {
    case FilterKind::kCos:
      return 0;
    case FilterKind::kTikhonov:
      return 1;
    case FilterKind::kNone:
      return 2;
  }
  return 0;
}

int quantity_number(Quantity quantity) {
  switch (quantity) {
    case Quantity::kPressure:
      return 0;
    case Quantity::kNormalVelocity:
      return 1;
    case Quantity::kDisplacement:
      return 2;
    case Quantity::kActiveIntensity:
      return 3;
  }
  return 0;
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

ocl::Defines padding_defines(const PnahPlan& plan) {
  const PaddedAxis rows = plan.rows();
  const PaddedAxis columns = plan.columns();
  return {{"ROWS", std::to_string(rows.measured)},      {"COLUMNS", std::to_string(columns.measured)},
          {"PADDED_ROWS", std::to_string(rows.padded)}, {"PADDED_COLUMNS", std::to_string(columns.padded)},
          {"BEFORE_ROWS", std::to_string(rows.before)}, {"BEFORE_COLUMNS", std::to_string(columns.before)}};
}

ocl::Defines microphone_defines(const PnahPlan& plan) {
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

ocl::Defines propagator_defines(const PnahPlan& plan) {
  ocl::Defines defines = padding_defines(plan);
  const PaddedAxis rows = plan.rows();
  const PaddedAxis columns = plan.columns();
  defines["FREQUENCIES"] = std::to_string(plan.frequencies_hz.size());
  defines["PLANES"] = std::to_string(plan.holography.planes_m.size());
  defines["UPSAMPLE"] = std::to_string(plan.holography.upsample);
  defines["STEP_KX"] = float_define(2.0 * std::numbers::pi / (columns.padded * columns.pitch_m));
  defines["STEP_KY"] = float_define(2.0 * std::numbers::pi / (rows.padded * rows.pitch_m));
  defines["FILTER"] = std::to_string(filter_number(plan));
  defines["LAMBDA"] = float_define(plan.holography.filter.tikhonov_lambda);
  defines["QUANTITY"] = std::to_string(quantity_number(plan.holography.quantity));
  defines["SOUND_SPEED"] = float_define(plan.medium.sound_speed_m_s);
  defines["IMPEDANCE"] = float_define(plan.medium.density_kg_m3 * plan.medium.sound_speed_m_s);
  return defines;
}

TransferTable::TransferTable(const ocl::Device& device, const PnahPlan& plan, const TransferLayout& layout)
    : device_(device), launch_(tiles(layout.stride, plan.rows().padded, plan.fields() * plan.frequencies_hz.size())) {
  const std::string stage = "imaging/propagate";
  ocl::Defines defines = propagator_defines(plan);
  defines["TRANSFER_STRIDE"] = std::to_string(layout.stride);
  defines["SCALE"] = float_define(layout.scale);
  std::vector<double> wavenumbers;
  for (std::size_t f = 0; f < plan.frequencies_hz.size(); ++f) {
    wavenumbers.push_back(plan.wavenumber(f));
  }
  std::vector<double> distances;
  for (const double plane_m : plan.holography.planes_m) {
    distances.push_back(plan.standoff_m - plane_m);
  }
  wavenumbers_ = device.upload<float>(to_floats(wavenumbers), stage);
  distances_ = device.upload<float>(to_floats(distances), stage);
  cutoffs_ = device.allocate<float>(wavenumbers.size(), stage);
  slopes_ = device.allocate<float>(wavenumbers.size(), stage);
  values_ = device.allocate<std::complex<float>>(
      plan.fields() * wavenumbers.size() * to_size(plan.rows().padded * layout.stride), stage);
  build_ = device.build(stage, kPropagate, defines).kernel("build_transfer");
  std::vector<FilterReport> filters;
  for (const double cutoff_rad_per_m : plan.cutoff_rad_per_m) {
    filters.push_back({.cutoff_rad_per_m = static_cast<float>(cutoff_rad_per_m),
                       .slope = static_cast<float>(plan.holography.filter.slope)});
  }
  build(filters);
}

void TransferTable::build(std::span<const FilterReport> filters) {
  const std::string stage = "imaging/propagate";
  std::vector<float> cutoffs;
  std::vector<float> slopes;
  for (const FilterReport& filter : filters) {
    cutoffs.push_back(filter.cutoff_rad_per_m);
    slopes.push_back(filter.slope);
  }
  device_.enqueue_write<float>(cutoffs_, 0, cutoffs, stage);
  device_.enqueue_write<float>(slopes_, 0, slopes, stage);
  build_.set_all(wavenumbers_, cutoffs_, slopes_, distances_, values_);
  build_.enqueue(launch_);
  device_.wait();
}

Microphones::Microphones(const ocl::Device& device, const PnahPlan& plan)
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

CutoffMeter::CutoffMeter(const ocl::Device& device, const PnahPlan& plan)
    : device_(device),
      tables_(plan, device.info().is_gpu ? SpectrumCut{.lanes = 1, .fit_group = kSpectrumGroup}
                                         : SpectrumCut{.lanes = kSpectrumLanes, .fit_group = 1}),
      arena_("imaging/auto_cutoff"),
      frequencies_(static_cast<std::int32_t>(plan.frequencies_hz.size())) {
  const std::string stage = "imaging/auto_cutoff";
  const bool is_gpu = device.info().is_gpu;
  tables_.reserve(arena_, plan);
  incomplete_.reserve(arena_, plan);
  arena_.allocate(device);
  tables_.fill(device, arena_, plan);
  incomplete_.fill(device, arena_, plan);
  ocl::Defines defines = tables_.defines(plan);
  defines.merge(arena_.defines());
  defines["LINES"] = std::to_string(plan.geometry.rows);
  defines["LENGTH"] = std::to_string(plan.geometry.columns);
  defines["PREDICT"] = "0";
  defines["LANES"] = std::to_string(is_gpu ? 1 : kSpectrumLanes);
  defines["FIT_GROUP"] = std::to_string(is_gpu ? kSpectrumGroup : 1);
  const ocl::Program program = device.build(stage, "imaging/auto_cutoff.cl", defines);
  measure_ = program.kernel("measure_cutoff");
  settle_ = program.kernel("settle_cutoff");
  keep_ = program.kernel("keep_cutoff");
  const std::size_t group = is_gpu ? to_size(kSpectrumGroup) : 1;
  measure_launch_ = {.global_0 = group, .local_0 = group, .global_1 = plan.frequencies_hz.size()};
}

void CutoffMeter::enqueue(const ComplexBuffer& conditioned, const ReportBuffer& reports, std::size_t frames,
                          const FrameHops& hops) {
  const MemoryPlace place = memory_place(hops.first);
  incomplete_.enqueue(device_, hops);
  ocl::Launch launch = measure_launch_;
  launch.global_1 *= frames;
  measure_.set_all(conditioned, arena_.whole(), frequencies_);
  measure_.enqueue(launch);
  settle_.set_all(arena_.whole(), frequencies_, place.half, place.age);
  settle_.enqueue({.global_0 = launch.global_1, .local_0 = 1});
  keep_.set_all(arena_.whole(), reports, frequencies_, static_cast<std::int32_t>(frames), place.half, place.age);
  keep_.enqueue({.global_0 = static_cast<std::size_t>(frequencies_), .local_0 = 1});
}

Propagator::Propagator(const ocl::Device& device, const PnahPlan& plan)
    : transfer_(
          std::make_unique<TransferTable>(device, plan, TransferLayout{.stride = plan.columns().padded, .scale = 1.0})),
      is_measured_(plan.measures_cutoff()) {
  const std::string stage = "imaging/propagate";
  const std::size_t images = plan.holography.planes_m.size() * plan.holograms();
  const std::size_t fields = plan.fields() * plan.holograms();
  const int upsample = plan.holography.upsample;
  const int rows = plan.rows().padded;
  const int columns = plan.columns().padded;
  filtered_ =
      device.allocate<std::complex<float>>(fields * to_size(upsample * rows) * to_size(upsample * columns), stage);
  inverse_ = std::make_unique<ocl::ComplexFft2d>(device, upsample * rows, upsample * columns, static_cast<int>(fields),
                                                 "imaging/inverse_fft");
  const ocl::Program program = device.build(stage, kPropagate, propagator_defines(plan));
  apply_ = program.kernel("apply_transfer");
  crop_ = program.kernel("crop");
  apply_launch_ = tiles(upsample * columns, upsample * rows, fields);
  crop_launch_ = tiles(plan.image_columns(), plan.image_rows(), images);
}

Propagator::~Propagator() = default;

void Propagator::use(std::span<const FilterReport> filters) { transfer_->build(filters); }

const ComplexBuffer& Propagator::transfer() const { return transfer_->values(); }

void Propagator::enqueue(const ComplexBuffer& spectrum, const StatusBuffer& status, const ComplexBuffer& images,
                         const StatusBuffer& taken_status, const ReportBuffer& reports) {
  if (is_measured_) {
    apply_.set_all(spectrum, transfer_->values(), filtered_, reports);
  } else {
    apply_.set_all(spectrum, transfer_->values(), filtered_);
  }
  apply_.enqueue(apply_launch_);
  inverse_->enqueue_backward(filtered_);
  crop_.set_all(filtered_, images, taken_status, status);
  crop_.enqueue(crop_launch_);
}

StagedPnah::StagedPnah(const ocl::Device& device, const PnahPlan& plan)
    : Imager(device, plan),
      plan_(plan),
      description_(fmt::format("stage by stage, clFFT {} x {}", plan.rows().padded, plan.columns().padded)),
      microphones_(device, plan),
      extrapolator_(make_extrapolator(device, plan)),
      forward_(device, plan.rows().padded, plan.columns().padded, static_cast<int>(plan.holograms()),
               "imaging/forward_fft"),
      propagator_(device, plan) {
  if (plan.measures_cutoff()) {
    cutoff_meter_.emplace(device, plan);
  }
}

void StagedPnah::adopt(const std::shared_ptr<const Findings>& findings) {
  const std::vector<FilterReport>& filters = findings_as<FilterFindings>(findings).filters;
  propagator_.use(filters);
  set_reports(filters);
}

void StagedPnah::forget() {
  if (cutoff_meter_) {
    cutoff_meter_->forget();
  }
}

void StagedPnah::enqueue(const ComplexBuffer& spectra, const StatusBuffer& status, std::size_t frames) {
  microphones_.enqueue(spectra, status);
  if (cutoff_meter_) {
    cutoff_meter_->enqueue(microphones_.conditioned(), reports(), frames, hops());
  }
  pass_hops(frames);
  extrapolator_->enqueue(microphones_.conditioned(), status);
  forward_.enqueue_forward(extrapolator_->padded());
  propagator_.enqueue(extrapolator_->padded(), status, images(), taken_status(), reports());
}

}  // namespace nearfield
