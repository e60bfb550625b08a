#include "bench/common/frame_needs.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <utility>

#include "frontend/common/running_sums.hpp"
#include "frontend/popcount/settings.hpp"
#include "frontend/samples/decimator_design.hpp"
#include "imaging/pnah/pnah_plan.hpp"
#include "nearfield/error.hpp"
#include "nearfield/layout.hpp"

namespace nearfield::bench {
namespace {

constexpr double kFloat = sizeof(float);
constexpr double kComplex = 2 * sizeof(float);
constexpr double kWord = sizeof(std::uint32_t);
/// An int2 of kernels/frontend/running_sums.cl.
constexpr double kSum = 2 * sizeof(std::int32_t);
constexpr double kComplexMultiply = 6.0;
constexpr double kMultiplyAdd = 8.0;
/// Of one word's moments up to this order, kernels/common/moments.cl: popcounts, masks, products and additions.
constexpr double kMomentOperations[] = {3.0, 24.0, 64.0};
/// Of one sample of a Burg stage: a product with its conjugate, two squares, and both errors' new values.
constexpr double kBurgOperations = 8.0 + 8.0 + 2.0 * kMultiplyAdd;

double transform_operations(double points) { return 5.0 * points * std::log2(points); }

double quotient_up(double value, double step) { return std::ceil(value / step); }

/// The sizes of a launch.
struct Sizes {
  double frames, frequencies, planes, microphones, lanes, window, hop, blocks, kept_words, terms, moments,
      moment_operations;
  double rows, columns, padded_rows, padded_columns, taps, upsample;
  bool predicts;

  [[nodiscard]] double holograms() const { return frames * frequencies; }
  [[nodiscard]] double images() const { return planes * holograms(); }
  [[nodiscard]] double spectra_bytes() const { return holograms() * microphones * kComplex; }
  [[nodiscard]] double padded() const { return padded_rows * padded_columns; }
  [[nodiscard]] double hop_words() const { return frames * hop; }
  /// One block's sums, with what tells clipping.
  [[nodiscard]] double block_bytes() const { return (terms + 1.0) * lanes * kSum; }
};

Sizes sizes_of(const Settings& settings) {
  const int batch = settings.device.batch;
  const FrontEndSettings& front_end = settings.front_end;
  const ArrayGeometry& geometry = settings.array.geometry;
  const HolographySettings& holography = settings.holography;
  const bool hann = front_end.window == WindowKind::kHann;
  // As on GPUs, which cut no block into pieces.
  const BlockGrid grid(static_cast<std::size_t>(front_end.window_samples),
                       static_cast<std::size_t>(front_end.hop_samples), std::numeric_limits<std::size_t>::max());
  const auto order = static_cast<std::size_t>(std::clamp(front_end.own.get<PopcountSettings>().order, 0, 2));
  const auto count = static_cast<double>(front_end.frequencies_hz.size());
  const PaddedAxis y = pad_axis(geometry.rows, holography.extrapolation.factor, geometry.pitch_y_m);
  const PaddedAxis x = pad_axis(geometry.columns, holography.extrapolation.factor, geometry.pitch_x_m);
  const bool predicts = nearfield::predicts(holography.extrapolation.method);
  Sizes s{};
  s.frames = batch;
  s.frequencies = count;
  s.planes = static_cast<double>(holography.planes_m.size());
  s.microphones = geometry.channels();
  s.lanes = kBitsPerWord * words_per_bit_time(settings.array.layout, geometry);
  s.window = front_end.window_samples;
  s.hop = front_end.hop_samples;
  s.blocks = static_cast<double>(batch) * static_cast<double>(grid.hop_blocks());
  s.kept_words = static_cast<double>(batch) * static_cast<double>(grid.kept_words);
  s.terms = count * (hann ? 3.0 : 1.0) + (front_end.remove_dc ? (hann ? 2.0 : 1.0) : 0.0);
  s.moments = static_cast<double>(order) + 1.0;
  s.moment_operations = kMomentOperations[order];
  s.rows = geometry.rows;
  s.columns = geometry.columns;
  s.padded_rows = y.padded;
  s.padded_columns = x.padded;
  s.taps = predicts ? usable_order(holography.extrapolation.order, std::min(geometry.rows, geometry.columns)) : 0;
  s.upsample = holography.upsample;
  s.predicts = predicts;
  return s;
}

// --- front ends ------------------------------------------------------------------------------------------------------

/// Moments of the hop's words, times their coefficients, turned to the stream's time.
StageNeed block_sums(const Sizes& s) {
  const double block_words = s.kept_words / s.blocks;
  return {.bytes = s.kept_words * s.lanes * kWord + block_words * s.terms * s.moments * kComplex +
                   s.blocks * s.block_bytes(),
          .operations = s.kept_words * s.microphones * (s.moment_operations + s.terms * s.moments * 4.0) +
                        s.blocks * s.microphones * s.terms * kComplexMultiply};
}

/// Each window adds the blocks that come and subtracts those that leave; its terms are turned back and weighed.
StageNeed slide(const Sizes& s) {
  return {.bytes = 2.0 * s.blocks * s.block_bytes() + 2.0 * s.block_bytes() + s.spectra_bytes(),
          .operations = s.microphones * (4.0 * s.blocks * s.terms + s.frames * s.terms * kComplexMultiply +
                                         s.holograms() * 3.0 * kMultiplyAdd)};
}

/// Both in one launch: the block that comes is not read again.
StageNeed advance(const Sizes& s) {
  const StageNeed sums = block_sums(s);
  const StageNeed move = slide(s);
  return {.bytes = sums.bytes + move.bytes - s.blocks * s.block_bytes(),
          .operations = sums.operations + move.operations};
}

StageNeed word_sums(const Sizes& s) {
  return {.bytes = s.frames * s.window * s.microphones * kWord + s.window * s.frequencies * s.moments * kComplex,
          .operations = s.frames * s.window * s.microphones * (s.moment_operations + s.frequencies * s.moments * 4.0)};
}

/// Slices of Popcount's dot path: blocks of 64 words, at most 16 of them.
StageNeed sum_slices(const Sizes& s) {
  const double lane_blocks = quotient_up(s.window, 64.0);
  const double slices = quotient_up(lane_blocks, quotient_up(lane_blocks, 16.0));
  return {.bytes = (slices + 1.0) * s.spectra_bytes(), .operations = 2.0 * slices * s.holograms() * s.microphones};
}

StageNeed corner_turn(const Sizes& s) {
  return {.bytes = 2.0 * s.hop_words() * s.microphones * kWord, .operations = 0.0};
}

StageNeed window_lines(const Sizes& s) {
  return {.bytes = 2.0 * s.frames * s.window * s.microphones * kFloat,
          .operations = s.frames * s.window * s.microphones};
}

/// Real input: half of the usual 5 N lg N.
StageNeed line_transforms(const Sizes& s) {
  return {.bytes = 2.0 * s.frames * s.window * s.microphones * kFloat,
          .operations = 0.5 * s.frames * s.microphones * transform_operations(s.window)};
}

StageNeed pick_bins(const Sizes& s) {
  return {.bytes = 2.0 * s.spectra_bytes(), .operations = kComplexMultiply * s.holograms() * s.microphones};
}

/// Four bytes of a word and five ages of each add a table's entry.
StageNeed cic(const Sizes& s) {
  return {.bytes = s.hop_words() * s.microphones * (1.0 + kFirFactor) * kWord,
          .operations = 20.0 * s.hop_words() * s.microphones};
}

StageNeed fir(const Sizes& s) {
  return {.bytes = s.hop_words() * s.microphones * (1.0 + kFirFactor) * kFloat,
          .operations = 2.0 * kFirTaps * s.hop_words() * s.microphones};
}

/// As block_sums, of decimated samples.
StageNeed sample_block_sums(const Sizes& s) {
  const double block_samples = s.kept_words / s.blocks;
  return {
      .bytes = s.kept_words * s.microphones * kFloat + block_samples * s.terms * kComplex + s.blocks * s.block_bytes(),
      .operations =
          s.kept_words * s.microphones * s.terms * 4.0 + s.blocks * s.microphones * s.terms * kComplexMultiply};
}

StageNeed moment_lines(const Sizes& s) {
  return {.bytes = s.frames * s.window * s.microphones * (kWord + s.moments * kFloat),
          .operations = s.frames * s.window * s.microphones * s.moment_operations};
}

StageNeed moment_transforms(const Sizes& s) {
  const StageNeed one = line_transforms(s);
  return {.bytes = s.moments * one.bytes, .operations = s.moments * one.operations};
}

/// Decimated samples times one complex vector a frequency.
StageNeed sample_dots(const Sizes& s) {
  return {.bytes = s.frames * s.window * s.microphones * kFloat + s.spectra_bytes(),
          .operations = 4.0 * s.frames * s.window * s.microphones * s.frequencies};
}

/// The same as a product with a matrix, which is read too.
StageNeed matrix_dots(const Sizes& s) {
  StageNeed need = sample_dots(s);
  need.bytes += s.frequencies * s.window * kComplex;
  return need;
}

// --- imager ----------------------------------------------------------------------------------------------------------

StageNeed check(const Sizes& s) {
  return {.bytes = s.spectra_bytes(), .operations = 2.0 * s.holograms() * s.microphones};
}

StageNeed fill(const Sizes& s) { return {.bytes = 2.0 * s.spectra_bytes(), .operations = 0.0}; }

double burg_operations(const Sizes& s) {
  return s.predicts ? 2.0 * s.holograms() * s.microphones * s.taps * kBurgOperations : 0.0;
}

/// Predictors, and as matrices what they make of every measured sample.
StageNeed predictors(const Sizes& s) {
  const double values = s.rows * s.padded_rows + s.columns * s.padded_columns;
  const double recursions = (s.padded_rows - s.rows) * s.rows + (s.padded_columns - s.columns) * s.columns;
  return {.bytes = s.spectra_bytes() + s.holograms() * values * kComplex,
          .operations = burg_operations(s) + s.holograms() * recursions * s.taps * kMultiplyAdd};
}

double column_extension(const Sizes& s) {
  return s.holograms() * s.padded_columns * (s.padded_rows - s.rows) * s.taps * kMultiplyAdd;
}

/// Products with full matrices: first the measured columns, then every padded row.
StageNeed extrapolate_columns(const Sizes& s) {
  const double values = s.rows * s.columns + s.rows * s.padded_rows + s.padded_rows * s.columns;
  return {.bytes = s.holograms() * values * kComplex,
          .operations = s.holograms() * s.padded_rows * s.columns * s.rows * kMultiplyAdd};
}

StageNeed extrapolate_rows(const Sizes& s) {
  const double values = s.padded_rows * s.columns + s.columns * s.padded_columns + s.padded();
  return {.bytes = s.holograms() * values * kComplex,
          .operations = s.holograms() * s.padded() * s.columns * kMultiplyAdd};
}

/// Predictors of both axes, as the extensions they give, and the samples they continue.
StageNeed aperture(const Sizes& s) {
  const double steps = std::ceil((s.padded_rows - s.rows) / 2.0) + std::ceil((s.padded_columns - s.columns) / 2.0);
  return {.bytes = s.spectra_bytes() + s.holograms() * (s.rows * s.columns + steps * s.taps) * kComplex,
          .operations = burg_operations(s)};
}

/// Rows transformed along x by one sum over their samples, with what extends them; columns extended and transformed;
/// for each plane times the transfer function, and transformed back.
StageNeed columns(const Sizes& s) {
  const double transform = s.padded_columns * transform_operations(s.padded_rows);
  const double sums = s.padded_columns * (s.rows * s.columns + (s.padded_columns - s.columns) * s.taps) * kMultiplyAdd;
  return {.bytes = (s.holograms() * s.rows * s.columns + s.images() * s.rows * s.padded_columns) * kComplex +
                   s.planes * s.frequencies * s.padded() * kComplex,
          .operations = s.holograms() * (sums + transform) + column_extension(s) +
                        s.images() * (kComplexMultiply * s.padded() + transform)};
}

StageNeed rows(const Sizes& s) {
  return {.bytes = s.images() * s.rows * (s.padded_columns + s.columns) * kComplex,
          .operations = s.images() * s.rows * transform_operations(s.padded_columns)};
}

StageNeed forward_transform(const Sizes& s) {
  return {.bytes = 2.0 * s.holograms() * s.padded() * kComplex,
          .operations = s.holograms() * transform_operations(s.padded())};
}

StageNeed inverse_transform(const Sizes& s) {
  const double points = s.upsample * s.upsample * s.padded();
  return {.bytes = 2.0 * s.images() * points * kComplex, .operations = s.images() * transform_operations(points)};
}

StageNeed apply_transfer(const Sizes& s) {
  const double points = s.upsample * s.upsample * s.padded();
  return {
      .bytes = (s.holograms() * s.padded() + s.planes * s.frequencies * s.padded() + s.images() * points) * kComplex,
      .operations = kComplexMultiply * s.images() * s.padded()};
}

StageNeed crop(const Sizes& s) {
  const double pixels = s.upsample * s.upsample * s.microphones;
  return {.bytes = 2.0 * s.images() * pixels * kComplex, .operations = 2.0 * s.images() * pixels};
}

struct Entry {
  std::string_view ending;
  StageNeed (*need)(const Sizes& sizes);
};
/// The first ending that fits.
constexpr Entry kEntries[] = {{"popcount/block_sums", block_sums},
                              {"/sample_block_sums", sample_block_sums},
                              {"/slide", slide},
                              {"popcount/moment_lines", moment_lines},
                              {"popcount/clfft", moment_transforms},
                              {"decimator/cic", cic},
                              {"decimator/fir", fir},
                              {"popcount/advance", advance},
                              {"popcount/word_sums", word_sums},
                              {"popcount/sum_slices", sum_slices},
                              {"bit_ring/corner_turn", corner_turn},
                              {"decimated_fft/window_lines", window_lines},
                              {"decimated_fft/clfft", line_transforms},
                              {"decimated_fft/pick_bins", pick_bins},
                              {"dot_reduce", sample_dots},
                              {"dot_tiled", sample_dots},
                              {"dot_product/gemm", matrix_dots},
                              {"microphone_check", check},
                              {"microphone_fill", fill},
                              {"imaging/fused/aperture", aperture},
                              {"imaging/fused/columns", columns},
                              {"imaging/fused/rows", rows},
                              {"pooled_predictors", predictors},
                              {"extrapolate_rows", extrapolate_rows},
                              {"extrapolate_columns", extrapolate_columns},
                              {"imaging/forward_fft/clfft", forward_transform},
                              {"imaging/inverse_fft/clfft", inverse_transform},
                              {"apply_transfer", apply_transfer},
                              {"imaging/propagate/crop", crop}};

}  // namespace

StageKind kind_of_stage(std::string_view stage) {
  if (stage.ends_with("/write")) {
    return StageKind::kUpload;
  }
  return stage.ends_with("/read") ? StageKind::kDownload : StageKind::kDevice;
}

StageNeed frame_need_of(std::string_view stage, const Settings& settings) {
  for (const Entry& entry : kEntries) {
    if (stage.ends_with(entry.ending)) {
      return entry.need(sizes_of(settings));
    }
  }
  return {};
}

double stage_floor_s(const StageTiming& stage, const StageNeed& need, const Ceilings& ceilings) {
  switch (kind_of_stage(stage.stage)) {
    case StageKind::kUpload:
      return need.bytes / ceilings.locked_write_bytes_per_s;
    case StageKind::kDownload:
      return need.bytes / ceilings.locked_read_bytes_per_s;
    case StageKind::kDevice:
      break;
  }
  return std::max(need.bytes / ceilings.copy_bytes_per_s, need.operations / ceilings.operations_per_s);
}

Floors floors_of(const FrameTiming& timing, const std::vector<StageNeed>& needs, const Ceilings& ceilings) {
  Floors floors;
  double commands = 0.0;
  for (std::size_t i = 0; i < timing.stages.size(); ++i) {
    // Bytes only: operations have their own ceiling, beside each stage.
    floors.bytes_s += stage_floor_s(timing.stages[i], {.bytes = needs[i].bytes, .operations = 0.0}, ceilings);
    commands += timing.stages[i].commands;
  }
  floors.launches_s = ceilings.launch_and_wait_s + std::max(0.0, commands - 1.0) * ceilings.further_launch_s;
  return floors;
}

Line fit_line(const std::vector<double>& x, const std::vector<double>& y) {
  if (x.size() != y.size() || x.empty() || std::all_of(x.begin(), x.end(), [&](double v) { return v == x.front(); })) {
    throw Error(
        ExitCode::kInternal,
        fmt::format("bench: expected a line's points at two places at least, found {} x and {} y", x.size(), y.size()));
  }
  const auto count = static_cast<double>(x.size());
  const double mean_x = std::accumulate(x.begin(), x.end(), 0.0) / count;
  const double mean_y = std::accumulate(y.begin(), y.end(), 0.0) / count;
  double xx = 0.0;
  double xy = 0.0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    xx += (x[i] - mean_x) * (x[i] - mean_x);
    xy += (x[i] - mean_x) * (y[i] - mean_y);
  }
  Line line{.slope = xy / xx, .offset = mean_y - xy / xx * mean_x};
  double squares = 0.0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    squares += std::pow(y[i] - line.offset - line.slope * x[i], 2);
  }
  line.residual = std::sqrt(squares / count);
  line.relative_residual = line.residual / mean_y;
  return line;
}

}  // namespace nearfield::bench
