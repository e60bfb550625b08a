#include "imaging/pnah/staged_pnah.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numbers>

#include "core/error.hpp"
#include "core/frame.hpp"

namespace nearfield {
namespace {

/// Items per group on GPUs, and lines per vector on processors, for the measurement of the spectrum.
constexpr int kSpectrumGroup = 128;
constexpr int kSpectrumLanes = 8;

constexpr std::string_view kPropagate = "imaging/propagate.cl";

std::vector<float> to_floats(const std::vector<double>& values) { return {values.begin(), values.end()}; }

/// FILTER of kernels/imaging/propagate.cl.
int filter_number(const ImagePlan& plan) {
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

ocl::Defines padding_defines(const ImagePlan& plan) {
  const PaddedAxis rows = plan.rows();
  const PaddedAxis columns = plan.columns();
  return {{"ROWS", std::to_string(rows.measured)},      {"COLUMNS", std::to_string(columns.measured)},
          {"PADDED_ROWS", std::to_string(rows.padded)}, {"PADDED_COLUMNS", std::to_string(columns.padded)},
          {"BEFORE_ROWS", std::to_string(rows.before)}, {"BEFORE_COLUMNS", std::to_string(columns.before)}};
}

ocl::Defines propagator_defines(const ImagePlan& plan) {
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

TransferTable::TransferTable(const ocl::Device& device, const ImagePlan& plan, const TransferLayout& layout)
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

CutoffMeter::CutoffMeter(const ocl::Device& device, const ImagePlan& plan)
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

Propagator::Propagator(const ocl::Device& device, const ImagePlan& plan)
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

StagedPnah::StagedPnah(const ocl::Device& device, const ImagePlan& plan)
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
