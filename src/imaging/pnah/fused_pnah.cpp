#include "imaging/pnah/fused_pnah.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numbers>

#include "imaging/pnah/staged_pnah.hpp"
#include "imaging/priors/make_mask.hpp"
#include "imaging/shared/short_dft.hpp"

namespace nearfield {
namespace {

using ComplexF = std::complex<float>;

constexpr std::string_view kFusedStage = "imaging/fused";
constexpr int kMostTaps = 16;
/// Above this number of frequencies a kernel of its own checks the spectra once for values that are not finite.
constexpr std::size_t kMostCheckedHere = 16;
constexpr std::size_t kCheckGroup = 64;
constexpr int kVectorLanes = 8;

int round_up(int value, int step) { return (value + step - 1) / step * step; }

bool fits_a_predictor(const ImagePlan& plan) { return plan.holography.extrapolation.method == Extrapolation::kPlpbp; }

int taps_of(const ImagePlan& plan, const PaddedAxis& axis) {
  return fits_a_predictor(plan) ? usable_order(plan.holography.extrapolation.order, axis.measured) : 1;
}

int steps_of(const PaddedAxis& axis) { return std::max(axis.before, axis.padded - axis.measured - axis.before); }

/// Scalars between neighbouring positions in aperture.cl: LINE_STRIDE.
int line_stride(int lines, int lanes) { return lanes == 1 ? lines + 1 - lines % 2 : round_up(lines, lanes); }

/// Positions of a padded line: PLACES.
int places_of(const PaddedAxis& axis, int lanes) {
  const auto split = split_dft(axis.padded);
  return axis.padded + (lanes == 1 && split ? split->outer() : 0);
}

SpectrumTables spectrum_tables(const ImagePlan& plan, const FusedTuning& tuning) {
  return {plan, SpectrumCut{.lanes = tuning.lanes, .fit_group = tuning.fit_group}};
}

/// Local memory of aperture.cl.
std::size_t aperture_bytes(const ImagePlan& plan, const FusedTuning& tuning) {
  const PaddedAxis y = plan.rows();
  const PaddedAxis x = plan.columns();
  const bool by_gram = tuning.fit_group == 1;
  const std::size_t real = by_gram && fits_a_predictor(plan) ? sizeof(double) : sizeof(float);
  const int lanes = tuning.lanes;
  const int samples =
      std::max(x.measured * line_stride(y.measured, lanes), y.measured * line_stride(x.measured, lanes));
  const std::size_t spectrum_bytes = plan.measures_cutoff() ? spectrum_tables(plan, tuning).local_bytes() : 0;
  const std::size_t sample_bytes =
      2 * real * to_size(samples) + to_size(plan.geometry.channels()) + 64 + spectrum_bytes;
  if (!fits_a_predictor(plan)) {
    return sample_bytes;
  }
  const int taps = std::max(taps_of(plan, x), taps_of(plan, y));
  const int longest = std::max(x.measured, y.measured);
  const int steps = std::max({steps_of(x), steps_of(y), taps});
  const int fit_values = (by_gram ? longest + taps + 1 : 0) * (taps + 1) + 2 * (taps + 1);
  const std::size_t share_bytes = by_gram ? 0 : 3 * sizeof(float) * to_size(tuning.fit_group + 32);
  return sample_bytes + 2 * real * to_size(fit_values + steps * taps) + share_bytes;
}

/// Local memory of columns.cl.
std::size_t column_bytes(const ImagePlan& plan, const FusedTuning& tuning) {
  const PaddedAxis x = plan.columns();
  const PaddedAxis y = plan.rows();
  const std::size_t copies = plan.fields() > 1 ? 2 : 1;
  const std::size_t vector_values = copies * to_size(places_of(y, tuning.lanes)) + to_size(x.padded + 1);
  const int taps = steps_of(y) * taps_of(plan, y) + steps_of(x) * taps_of(plan, x) + 2;
  const int filter_values = plan.measures_cutoff() ? (y.padded / 2 + 1) * tuning.column_tile * tuning.lanes : 0;
  const std::size_t ring_bytes = plan.measures_cutoff() ? 1024 : 0;
  return ring_bytes + sizeof(float) * to_size(filter_values) +
         2 * sizeof(float) * vector_values * to_size(tuning.column_tile * tuning.lanes) +
         sizeof(ComplexF) * to_size(taps) +
         (tuning.local_samples ? sizeof(ComplexF) * to_size(plan.geometry.channels()) : 0);
}

/// Local memory of rows.cl.
std::size_t row_bytes(const ImagePlan& plan, const FusedTuning& tuning) {
  return 2 * sizeof(float) * plan.fields_per_plane() *
         to_size(places_of(plan.columns(), tuning.lanes) * tuning.row_tile * tuning.lanes);
}

/// Halves `tile` until `fits`, or it is 1.
template <class Fits>
void shrink(int& tile, const Fits& fits) {
  while (tile > 1 && !fits()) {
    tile /= 2;
  }
}

/// [step][tap] for `edge`, which repeats the outermost sample, and `zero`.
std::vector<ComplexF> fixed_extension(const ImagePlan& plan, const PaddedAxis& axis) {
  const float value = plan.holography.extrapolation.method == Extrapolation::kEdge ? 1.0F : 0.0F;
  return std::vector<ComplexF>(to_size(std::max(steps_of(axis), 1)), value);
}

/// e^{-2 pi j i / length}
std::vector<ComplexF> roots_of_unity(int length) {
  std::vector<ComplexF> roots;
  for (int i = 0; i < length; ++i) {
    roots.emplace_back(std::polar(1.0, -2.0 * std::numbers::pi * i / length));
  }
  return roots;
}

/// The taper times e^{-2 pi j x kx / padded}, [x][stride]; 0 past the last kx.
std::vector<ComplexF> ramps(const PaddedAxis& axis, int stride) {
  const std::vector<float> window = tukey_window(axis);
  std::vector<ComplexF> values(to_size(axis.padded * stride));
  for (int x = 0; x < axis.padded; ++x) {
    for (int k = 0; k < axis.padded; ++k) {
      const double turns = static_cast<double>(x * k % axis.padded) / axis.padded;
      values[to_size(x * stride + k)] =
          ComplexF(std::polar(static_cast<double>(window[to_size(x)]), -2.0 * std::numbers::pi * turns));
    }
  }
  return values;
}

/// kr of half of K-space, [ky from 0 to padded / 2][stride], rad/m; 0 past the last kx.
std::vector<float> radial_wavenumbers(const ImagePlan& plan, int stride) {
  const PaddedAxis y = plan.rows();
  const PaddedAxis x = plan.columns();
  std::vector<float> values(to_size((y.padded / 2 + 1) * stride));
  for (int row = 0; row <= y.padded / 2; ++row) {
    for (int column = 0; column < x.padded; ++column) {
      const double ky = 2.0 * std::numbers::pi * row / (y.padded * y.pitch_m);
      const double kx = 2.0 * std::numbers::pi * std::min(column, x.padded - column) / (x.padded * x.pitch_m);
      values[to_size(row * stride + column)] = static_cast<float>(std::hypot(ky, kx));
    }
  }
  return values;
}

/// Macros of short_dft.cl and padded_lines.cl for an axis.
ocl::Defines axis_defines(const ImagePlan& plan, const PaddedAxis& axis, int lanes) {
  ocl::Defines defines = dft_defines(*split_dft(axis.padded));
  defines["LANES"] = std::to_string(lanes);
  defines["LENGTH"] = std::to_string(axis.measured);
  defines["BEFORE"] = std::to_string(axis.before);
  defines["TAPS"] = std::to_string(taps_of(plan, axis));
  return defines;
}

ocl::Defines aperture_defines(const ImagePlan& plan, const FusedTuning& tuning,
                              const std::optional<SpectrumTables>& spectrum) {
  ocl::Defines defines = microphone_defines(plan);
  defines.erase("FREQUENCIES");  // is an argument
  defines.erase("ROWS");
  defines.erase("COLUMNS");
  defines["LANES"] = std::to_string(tuning.lanes);
  defines["LINES"] = std::to_string(plan.geometry.rows);
  defines["LENGTH"] = std::to_string(plan.geometry.columns);
  defines["MEASURES_CUTOFF"] = plan.measures_cutoff() ? "1" : "0";
  defines["PREDICT"] = fits_a_predictor(plan) ? "1" : "0";
  defines["TAPS"] = std::to_string(taps_of(plan, plan.columns()));
  defines["STEPS"] = std::to_string(steps_of(plan.columns()));
  defines["OTHER_TAPS"] = std::to_string(taps_of(plan, plan.rows()));
  defines["OTHER_STEPS"] = std::to_string(steps_of(plan.rows()));
  defines["CHECK_HERE"] = tuning.check_here ? "1" : "0";
  defines["INPUT_IS_FINITE"] = plan.input_is_finite ? "1" : "0";
  defines["FIT_GROUP"] = std::to_string(tuning.fit_group);
  defines["FLAG_FELL_BACK"] = std::to_string(kFlagExtrapolationFellBack);
  if (spectrum) {
    defines.merge(spectrum->defines(plan));
  }
  return defines;
}

ocl::Defines column_defines(const ImagePlan& plan, const FusedTuning& tuning) {
  const PaddedAxis x = plan.columns();
  ocl::Defines defines = axis_defines(plan, plan.rows(), tuning.lanes);
  defines["MEASURES_CUTOFF"] = plan.measures_cutoff() ? "1" : "0";
  defines["X_LENGTH"] = std::to_string(x.measured);
  defines["X_BEFORE"] = std::to_string(x.before);
  defines["X_PADDED"] = std::to_string(x.padded);
  defines["X_TAPS"] = std::to_string(taps_of(plan, x));
  defines["LOCAL_SAMPLES"] = tuning.local_samples ? "1" : "0";
  defines["PLANES"] = std::to_string(plan.fields());
  defines["COLUMN_GROUP"] = std::to_string(tuning.column_group);
  defines["COLUMN_TILE"] = std::to_string(tuning.column_tile);
  defines["EXTENSION_PER_IMAGE"] = fits_a_predictor(plan) ? "1" : "0";
  return defines;
}

ocl::Defines row_defines(const ImagePlan& plan, const FusedTuning& tuning) {
  ocl::Defines defines = axis_defines(plan, plan.columns(), tuning.lanes);
  defines["LINES"] = std::to_string(plan.geometry.rows);
  defines["MEASURES_CUTOFF"] = plan.measures_cutoff() ? "1" : "0";
  defines["ROW_GROUP"] = std::to_string(tuning.row_group);
  defines["ROW_TILE"] = std::to_string(tuning.row_tile);
  defines["INTENSITY"] = plan.fields_per_plane() > 1 ? "1" : "0";
  return defines;
}

}  // namespace

FusedTuning default_tuning(const ocl::DeviceInfo& device, const ImagePlan& plan) {
  FusedTuning tuning;
  tuning.check_here = plan.input_is_finite || plan.frequencies_hz.size() <= kMostCheckedHere;
  if (!device.is_gpu) {
    tuning.lanes = kVectorLanes;
    return tuning;
  }
  tuning.fit_group = 256;
  tuning.column_group = 128;
  tuning.row_group = 64;
  tuning.column_tile = 4;
  tuning.row_tile = 4;
  const auto columns_fit = [&] { return column_bytes(plan, tuning) <= device.local_memory_bytes; };
  tuning.local_samples = true;
  tuning.local_samples = columns_fit();
  if (device.groups_hand_over && fits_one_launch(plan, tuning)) {
    FusedTuning one = tuning;
    one.one_launch = true;
    one.column_group = tuning.fit_group;
    one.row_group = tuning.fit_group;
    one.column_tile = 8;  // with 4, a launch is slower than three at 100 frequencies: 108 and 88 us (H100)
    one.row_tile = 8;
    if (std::max(column_bytes(plan, one), row_bytes(plan, one)) <= device.local_memory_bytes) {
      return one;
    }
  }
  shrink(tuning.column_tile, columns_fit);
  shrink(tuning.row_tile, [&] { return row_bytes(plan, tuning) <= device.local_memory_bytes; });
  return tuning;
}

bool fits_one_launch(const ImagePlan& plan, const FusedTuning& tuning) {
  const PaddedAxis y = plan.rows();
  const PaddedAxis x = plan.columns();
  const bool are_alike = y.measured == x.measured && y.before == x.before && y.padded == x.padded;
  return plan.batch == 1 && tuning.lanes == 1 && are_alike;
}

std::string obstacle_to_fusing(const ocl::DeviceInfo& device, const ImagePlan& plan) {
  if (plan.holography.upsample > 1) {
    return "upsample > 1";
  }
  if (plan.holography.extrapolation.method == Extrapolation::kLpbp) {
    return "lpbp";
  }
  const FusedTuning tuning = default_tuning(device, plan);
  if (fits_a_predictor(plan) && tuning.fit_group == 1 && !device.has_fp64) {
    return "plpbp on a processor without double precision";
  }
  if (fits_a_predictor(plan) && plan.holography.extrapolation.order > kMostTaps) {
    return fmt::format("predictors of an order above {}", kMostTaps);
  }
  for (const PaddedAxis& axis : {plan.rows(), plan.columns()}) {
    if (!split_dft(axis.padded)) {
      return fmt::format("transforms of {} points", axis.padded);
    }
  }
  const std::size_t bytes =
      std::max({aperture_bytes(plan, tuning), column_bytes(plan, tuning), row_bytes(plan, tuning)});
  if (bytes > device.local_memory_bytes) {
    return fmt::format("{} x {} microphones in {} bytes of local memory; it needs {}", plan.geometry.rows,
                       plan.geometry.columns, device.local_memory_bytes, bytes);
  }
  return "";
}

FusedPnah::FusedPnah(const ocl::Device& device, const ImagePlan& plan, const FusedTuning& tuning)
    : Imager(device, plan),
      device_(device),
      plan_(plan),
      arena_(std::string(kFusedStage)),
      spectrum_stride_(round_up(plan.columns().padded, tuning.lanes * tuning.column_tile)),
      slice_stride_(round_up(plan.geometry.rows, tuning.lanes * tuning.row_tile)),
      frequencies_(static_cast<std::int32_t>(plan.frequencies_hz.size())),
      has_check_(!tuning.check_here),
      is_one_launch_(tuning.one_launch) {
  const ShortDft x = *split_dft(plan.columns().padded);
  const ShortDft y = *split_dft(plan.rows().padded);
  description_ = fmt::format("fused, ({} x {}) x ({} x {}) points, {} lanes, groups of {}", y.outer(), y.inner(),
                             x.outer(), x.inner(), tuning.lanes, tuning.fit_group);
  description_ += is_one_launch_ ? ", one launch" : fmt::format(", {} and {}", tuning.column_group, tuning.row_group);
  if (plan.measures_cutoff()) {
    spectrum_.emplace(spectrum_tables(plan, tuning));
  }
  allocate(device, plan);
  build(device, plan, tuning);
}

void FusedPnah::allocate(const ocl::Device& device, const ImagePlan& plan) {
  const PaddedAxis y = plan.rows();
  const PaddedAxis x = plan.columns();
  const std::size_t channels = to_size(plan.geometry.channels());
  const auto extension_values = [&](const PaddedAxis& axis) {
    return (fits_a_predictor(plan) ? plan.holograms() : 1) *
           std::max(to_size(steps_of(axis) * taps_of(plan, axis)), std::size_t{1});
  };
  transfer_table_ = std::make_unique<TransferTable>(
      device, plan, TransferLayout{.stride = spectrum_stride_, .scale = 1.0 / (y.padded * x.padded)});
  arena_.reserve<ComplexF>("GAINS", plan.gains.size());
  const std::size_t room = mask_capacity(plan);
  arena_.reserve<std::uint8_t>("MASKED", channels);
  arena_.reserve<std::int32_t>("MASK", 1 + room);
  arena_.reserve<std::int32_t>("NEIGHBOURS", room * kFillNeighbours);
  arena_.reserve<float>("WEIGHTS", room * plan.frequencies_hz.size() * kFillNeighbours);
  arena_.reserve<std::uint8_t>("USABLE", to_size(plan.batch) * channels);
  arena_.reserve<ComplexF>("SAMPLES", plan.holograms() * channels);
  arena_.reserve<ComplexF>("EXTENSION_X", extension_values(x));
  arena_.reserve<ComplexF>("EXTENSION_Y", extension_values(y));
  arena_.reserve<std::uint32_t>("COUNTERS", 3 * plan.frequencies_hz.size());
  arena_.reserve<ComplexF>("RAMPS", to_size(x.padded * spectrum_stride_));
  arena_.reserve<float>("WINDOW_Y", to_size(y.padded));
  arena_.reserve<ComplexF>("ROOTS_X", to_size(x.padded));
  arena_.reserve<ComplexF>("ROOTS_Y", to_size(y.padded));
  arena_.reserve<ComplexF>("TRANSFER", transfer_table_->values().size());
  arena_.reserve<ComplexF>("SLICES", plan.fields() * plan.holograms() * to_size(spectrum_stride_ * slice_stride_));
  if (spectrum_) {
    arena_.reserve<float>("KR", to_size((y.padded / 2 + 1) * spectrum_stride_));
    spectrum_->reserve(arena_, plan);
    incomplete_.reserve(arena_, plan);
  }
  arena_.allocate(device);
  const auto put = [&]<class T>(const std::string& name, const std::vector<T>& values) {
    return arena_.part<T>(device, name, values);
  };
  if (!plan.gains.empty()) {
    (void)put("GAINS", plan.gains);
  }
  mask_ = std::make_unique<MaskBuffers>(MaskBuffers{.masked = arena_.part<std::uint8_t>(device, "MASKED"),
                                                    .mask = arena_.part<std::int32_t>(device, "MASK"),
                                                    .neighbours = arena_.part<std::int32_t>(device, "NEIGHBOURS"),
                                                    .weights = arena_.part<float>(device, "WEIGHTS")});
  use(make_mask(plan, {}));
  usable_ = arena_.part<std::uint8_t>(device, "USABLE");
  samples_ = arena_.part<ComplexF>(device, "SAMPLES");
  extension_x_ = arena_.part<ComplexF>(device, "EXTENSION_X");
  extension_y_ = arena_.part<ComplexF>(device, "EXTENSION_Y");
  if (!fits_a_predictor(plan)) {
    extension_x_ = put("EXTENSION_X", fixed_extension(plan, x));
    extension_y_ = put("EXTENSION_Y", fixed_extension(plan, y));
  }
  (void)put("RAMPS", ramps(x, spectrum_stride_));
  (void)put("WINDOW_Y", tukey_window(y));
  (void)put("ROOTS_X", roots_of_unity(x.padded));
  (void)put("ROOTS_Y", roots_of_unity(y.padded));
  transfer_ = arena_.part<ComplexF>(device, "TRANSFER");
  device.enqueue_copy(transfer_table_->values(), transfer_, 0, kFusedStage);
  if (spectrum_) {
    (void)put("KR", radial_wavenumbers(plan, spectrum_stride_));
    spectrum_->fill(device, arena_, plan);
    incomplete_.fill(device, arena_, plan);
  }
  device.enqueue_fill(arena_.part<std::uint32_t>(device, "COUNTERS"), std::uint32_t{0}, kFusedStage);
  slices_ = arena_.part<ComplexF>(device, "SLICES");
  device.enqueue_fill(slices_, ComplexF(), kFusedStage);
  device.wait();
  if (!plan.searches_cutoff()) {
    transfer_table_.reset();
  }
}

FusedPnah::~FusedPnah() = default;

void FusedPnah::adopt(const std::shared_ptr<const Findings>& findings) {
  const std::vector<FilterReport>& filters = findings_as<FilterFindings>(findings).filters;
  transfer_table_->build(filters);
  device_.enqueue_copy(transfer_table_->values(), transfer_, 0, kFusedStage);
  set_reports(filters);
}

void FusedPnah::forget() {
  if (spectrum_) {
    SpectrumTables::forget(device_, arena_);
  }
}

void FusedPnah::use(const MicrophoneMask& mask) { mask_->write(device_, mask); }

ocl::Defines FusedPnah::with_tables(ocl::Defines defines, const ImagePlan& plan) const {
  defines.merge(arena_.defines());
  if (spectrum_) {
    defines.merge(spectrum_->record_defines(plan));
  }
  defines["STRIDE"] = std::to_string(spectrum_stride_);
  defines["ROW_STRIDE"] = std::to_string(slice_stride_);
  return defines;
}

void FusedPnah::build(const ocl::Device& device, const ImagePlan& plan, const FusedTuning& tuning) {
  if (is_one_launch_) {
    build_frame(device, plan, tuning);
  } else {
    build_stages(device, plan, tuning);
  }
  set_results();
  if (has_check_) {
    check_ = device.build(kFusedStage, "imaging/microphones.cl", microphone_defines(plan)).kernel("microphone_check");
    check_launch_ = {.global_0 = ocl::round_up(to_size(plan.geometry.channels()), kCheckGroup), .local_0 = kCheckGroup};
  }
}

void FusedPnah::build_stages(const ocl::Device& device, const ImagePlan& plan, const FusedTuning& tuning) {
  const std::size_t frequencies = plan.frequencies_hz.size();
  const std::size_t frame_images = plan.holography.planes_m.size() * frequencies;
  const auto kernel = [&](const char* file, const char* name, ocl::Defines defines) {
    return device.build(kFusedStage, file, with_tables(std::move(defines), plan)).kernel(name);
  };
  aperture_ = kernel("imaging/aperture.cl", "aperture", aperture_defines(plan, tuning, spectrum_));
  columns_ = kernel("imaging/columns.cl", "columns", column_defines(plan, tuning));
  rows_ = kernel("imaging/rows.cl", "rows", row_defines(plan, tuning));
  rows_.set("arena", arena_.whole())
      .set("images_per_frame", static_cast<std::int32_t>(frame_images))
      .set("frequencies", frequencies_);
  frame_status_ = rows_.arguments("status");
  rows_results_ = rows_.arguments("images", "taken");
  if (spectrum_) {
    rows_reports_ = rows_.arguments("reports");
    rows_place_ = rows_.arguments("half_number", "age");
  }
  const auto launch = [](int groups, int group, std::size_t count) {
    return ocl::Launch{.global_0 = to_size(groups * group), .local_0 = to_size(group), .global_1 = count};
  };
  const int spectrum_groups = spectrum_ && tuning.fit_group > 1 ? 1 : 0;
  aperture_launch_ = launch((fits_a_predictor(plan) ? 2 : 1) + spectrum_groups, tuning.fit_group, frequencies);
  columns_launch_ = launch(spectrum_stride_ / (tuning.lanes * tuning.column_tile), tuning.column_group, frequencies);
  rows_launch_ = launch(slice_stride_ / (tuning.lanes * tuning.row_tile), tuning.row_group, frame_images);
  aperture_.set("arena", arena_.whole()).set("frequencies", frequencies_);
  measured_ = aperture_.arguments("spectra", "status");
  columns_.set_all(arena_.whole(), frequencies_, std::int32_t{0}, std::int32_t{0});
  columns_place_ = columns_.arguments("half_number", "age");
}

/// Merges the macros of the three kernels into one set, as those of one axis equal those of the other.
void FusedPnah::build_frame(const ocl::Device& device, const ImagePlan& plan, const FusedTuning& tuning) {
  ocl::Defines defines = aperture_defines(plan, tuning, spectrum_);
  defines.merge(column_defines(plan, tuning));
  defines.merge(row_defines(plan, tuning));
  frame_ = device.build(kFusedStage, "imaging/frame.cl", with_tables(std::move(defines), plan)).kernel("frame");
  const auto planes = static_cast<std::int32_t>(plan.holography.planes_m.size());
  frame_.set("arena", arena_.whole())
      .set("frequencies", frequencies_)
      .set("planes", planes)
      .set("half_number", std::int32_t{0})
      .set("age", std::int32_t{0});
  frame_input_ = frame_.arguments("spectra", "status");
  frame_results_ = frame_.arguments("images", "taken");
  frame_number_ = frame_.arguments("number");
  frame_place_ = frame_.arguments("half_number", "age");
  if (spectrum_) {
    frame_reports_ = frame_.arguments("reports");
  }
  const int aperture_groups = 1 + (fits_a_predictor(plan) ? 1 : 0) + (spectrum_ ? 1 : 0);
  const int groups = aperture_groups + spectrum_stride_ / tuning.column_tile + planes * slice_stride_ / tuning.row_tile;
  frame_launch_ = {.global_0 = to_size(groups * frequencies_ * tuning.fit_group), .local_0 = to_size(tuning.fit_group)};
}

void FusedPnah::set_results() {
  ocl::Kernel& last = is_one_launch_ ? frame_ : rows_;
  last.set(is_one_launch_ ? frame_results_ : rows_results_, images(), taken_status());
  if (spectrum_) {
    last.set(is_one_launch_ ? frame_reports_ : rows_reports_, reports());
  }
}

void FusedPnah::enqueue(const ComplexBuffer& spectra, const StatusBuffer& status, std::size_t frames) {
  if (has_check_) {
    check_.set_all(spectra, mask_->masked, usable_, status);
    ocl::Launch launch = check_launch_;
    launch.global_1 *= frames;
    check_.enqueue(launch);
  }
  if (is_one_launch_) {
    enqueue_frame(spectra, status);
  } else {
    enqueue_stages(spectra, status, frames);
  }
  pass_hops(frames);
}

void FusedPnah::enqueue_frame(const ComplexBuffer& spectra, const StatusBuffer& status) {
  if (spectrum_) {
    const MemoryPlace place = memory_place(hops().first);
    incomplete_.enqueue(device_, hops());
    frame_.set(frame_place_, place.half, place.age);
  }
  frame_.set(frame_input_, spectra, status);
  frame_.set(frame_number_, launches_ + 1);
  frame_.enqueue(frame_launch_);
  ++launches_;  // not after a failed launch: its groups have counted nothing
}

void FusedPnah::enqueue_stages(const ComplexBuffer& spectra, const StatusBuffer& status, std::size_t frames) {
  const auto of_frames = [frames](ocl::Launch launch) {
    launch.global_1 *= frames;
    return launch;
  };
  if (spectrum_) {
    const MemoryPlace place = memory_place(hops().first);
    incomplete_.enqueue(device_, hops());
    columns_.set(columns_place_, place.half, place.age);
    rows_.set(rows_place_, place.half, place.age);
  }
  aperture_.set(measured_, spectra, status);
  aperture_.enqueue(of_frames(aperture_launch_));
  columns_.enqueue(of_frames(columns_launch_));
  rows_.set(frame_status_, status);
  rows_.enqueue(of_frames(rows_launch_));
}

}  // namespace nearfield
