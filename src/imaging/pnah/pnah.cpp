#include "imaging/pnah/pnah.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "core/error.hpp"
#include "imaging/pnah/fused_pnah.hpp"
#include "imaging/pnah/pnah_reference.hpp"
#include "imaging/pnah/staged_pnah.hpp"
#include "imaging/shared/image_plan.hpp"
#include "imaging/shared/imager_reference.hpp"

namespace nearfield {
namespace {

/// Always empty: the staged path supports every plan.
std::string no_obstacle(const ocl::DeviceInfo& /*device*/, const ImagePlan& /*plan*/) { return {}; }

std::unique_ptr<Imager> make_pnah(const ocl::Device& device, const ImagePlan& plan) {
  if (plan.fft == "clfft") {
    return std::make_unique<StagedPnah>(device, plan);
  }
  const std::string obstacle = obstacle_to_fusing(device.info(), plan);
  if (obstacle.empty()) {
    return std::make_unique<FusedPnah>(device, plan, default_tuning(device.info(), plan));
  }
  if (plan.fft == "fused") {
    throw ConfigError(fmt::format("device.fft: fused cannot do {}; use auto or clfft", obstacle));
  }
  return std::make_unique<StagedPnah>(device, plan);
}

}  // namespace

ImagerEntry pnah_imager() {
  return {
      .kind = ImagerKind::kPnah, .obstacle = no_obstacle, .make = make_pnah, .make_reference = reference::make_pnah};
}

}  // namespace nearfield

namespace nearfield::work {
namespace {

/// Operations per sample of a Burg stage: a product with its conjugate, two squares, and both errors' new values.
constexpr double kBurgOperations = 8.0 + 8.0 + 2.0 * kMultiplyAdd;

/// Sizes of a launch.
struct Sizes {
  double windows, frequencies, planes, microphones;
  double rows, columns, padded_rows, padded_columns, taps, upsample, pixels;
  bool predicts;

  [[nodiscard]] double holograms() const { return windows * frequencies; }
  [[nodiscard]] double images() const { return planes * holograms(); }
  [[nodiscard]] double spectra_bytes() const { return holograms() * microphones * kComplex; }
  [[nodiscard]] double padded() const { return padded_rows * padded_columns; }
};

Sizes sizes_of(const ArrayPlan& array, const HolographySettings& holography, int windows) {
  const ArrayGeometry& geometry = array.geometry;
  const PaddedAxis y = pad_axis(geometry.rows, holography.extrapolation.factor, geometry.pitch_y_m);
  const PaddedAxis x = pad_axis(geometry.columns, holography.extrapolation.factor, geometry.pitch_x_m);
  const bool predicts = nearfield::predicts(holography.extrapolation.method);
  const int order = usable_order(holography.extrapolation.order, std::min(geometry.rows, geometry.columns));
  return {.windows = static_cast<double>(windows),
          .frequencies = static_cast<double>(array.frequencies_hz.size()),
          .planes = static_cast<double>(holography.planes_m.size()),
          .microphones = static_cast<double>(geometry.channels()),
          .rows = static_cast<double>(geometry.rows),
          .columns = static_cast<double>(geometry.columns),
          .padded_rows = static_cast<double>(y.padded),
          .padded_columns = static_cast<double>(x.padded),
          .taps = predicts ? order : 0.0,
          .upsample = static_cast<double>(holography.upsample),
          .pixels = static_cast<double>(image_grid(geometry, holography.upsample).pixels()),
          .predicts = predicts};
}

double burg_operations(const Sizes& s) {
  return s.predicts ? 2.0 * s.holograms() * s.microphones * s.taps * kBurgOperations : 0.0;
}

/// Predictors, and the matrices that apply them to every measured sample.
StageWork predictors(const Sizes& s) {
  const double values = s.rows * s.padded_rows + s.columns * s.padded_columns;
  const double recursions = (s.padded_rows - s.rows) * s.rows + (s.padded_columns - s.columns) * s.columns;
  return {.stage = "imaging/predictor/pooled_predictors",
          .bytes = s.spectra_bytes() + s.holograms() * values * kComplex,
          .operations = burg_operations(s) + s.holograms() * recursions * s.taps * kMultiplyAdd};
}

double column_extension(const Sizes& s) {
  return s.holograms() * s.padded_columns * (s.padded_rows - s.rows) * s.taps * kMultiplyAdd;
}

/// Products with full matrices: first the measured columns, then every padded row.
StageWork extrapolate_columns(const Sizes& s) {
  const double values = s.rows * s.columns + s.rows * s.padded_rows + s.padded_rows * s.columns;
  return {.stage = "imaging/extrapolate/extrapolate_columns",
          .bytes = s.holograms() * values * kComplex,
          .operations = s.holograms() * s.padded_rows * s.columns * s.rows * kMultiplyAdd};
}

StageWork extrapolate_rows(const Sizes& s) {
  const double values = s.padded_rows * s.columns + s.columns * s.padded_columns + s.padded();
  return {.stage = "imaging/extrapolate/extrapolate_rows",
          .bytes = s.holograms() * values * kComplex,
          .operations = s.holograms() * s.padded() * s.columns * kMultiplyAdd};
}

/// Predictors of both axes, as the extensions they give, and the samples they continue.
StageWork aperture(const Sizes& s) {
  const double steps = std::ceil((s.padded_rows - s.rows) / 2.0) + std::ceil((s.padded_columns - s.columns) / 2.0);
  return {.stage = "imaging/fused/aperture",
          .bytes = s.spectra_bytes() + s.holograms() * (s.rows * s.columns + steps * s.taps) * kComplex,
          .operations = burg_operations(s)};
}

/// Rows transformed along x by one sum over their samples and extensions; columns extended and transformed, multiplied
/// by the transfer function for each plane, and transformed back.
StageWork columns(const Sizes& s) {
  const double transform = s.padded_columns * transform_operations(s.padded_rows);
  const double sums = s.padded_columns * (s.rows * s.columns + (s.padded_columns - s.columns) * s.taps) * kMultiplyAdd;
  return {.stage = "imaging/fused/columns",
          .bytes = (s.holograms() * s.rows * s.columns + s.images() * s.rows * s.padded_columns) * kComplex +
                   s.planes * s.frequencies * s.padded() * kComplex,
          .operations = s.holograms() * (sums + transform) + column_extension(s) +
                        s.images() * (kComplexMultiply * s.padded() + transform)};
}

StageWork rows(const Sizes& s) {
  return {.stage = "imaging/fused/rows",
          .bytes = s.images() * s.rows * (s.padded_columns + s.columns) * kComplex,
          .operations = s.images() * s.rows * transform_operations(s.padded_columns)};
}

/// The three kernels in one launch.
StageWork frame(const Sizes& s) {
  StageWork sum{.stage = "imaging/fused/frame"};
  for (const StageWork& part : {aperture(s), columns(s), rows(s)}) {
    sum.bytes += part.bytes;
    sum.operations += part.operations;
  }
  return sum;
}

StageWork forward_transform(const Sizes& s) {
  return {.stage = "imaging/forward_fft/clfft",
          .bytes = 2.0 * s.holograms() * s.padded() * kComplex,
          .operations = s.holograms() * transform_operations(s.padded())};
}

StageWork inverse_transform(const Sizes& s) {
  const double points = s.upsample * s.upsample * s.padded();
  return {.stage = "imaging/inverse_fft/clfft",
          .bytes = 2.0 * s.images() * points * kComplex,
          .operations = s.images() * transform_operations(points)};
}

StageWork apply_transfer(const Sizes& s) {
  const double points = s.upsample * s.upsample * s.padded();
  return {
      .stage = "imaging/propagate/apply_transfer",
      .bytes = (s.holograms() * s.padded() + s.planes * s.frequencies * s.padded() + s.images() * points) * kComplex,
      .operations = kComplexMultiply * s.images() * s.padded()};
}

StageWork crop(const Sizes& s) {
  return {.stage = "imaging/propagate/crop",
          .bytes = 2.0 * s.images() * s.pixels * kComplex,
          .operations = 2.0 * s.images() * s.pixels};
}

}  // namespace

WorkModel microphones(const ArrayPlan& array, int windows) {
  const double values = static_cast<double>(windows) * static_cast<double>(array.frequencies_hz.size()) *
                        static_cast<double>(array.geometry.channels());
  return {{.stage = "imaging/microphones/microphone_check", .bytes = values * kComplex, .operations = 2.0 * values},
          {.stage = "imaging/fused/microphone_check", .bytes = values * kComplex, .operations = 2.0 * values},
          {.stage = "imaging/microphones/microphone_fill", .bytes = 2.0 * values * kComplex}};
}

WorkModel pnah(const ArrayPlan& array, const HolographySettings& holography, int windows) {
  const Sizes s = sizes_of(array, holography, windows);
  WorkModel model = microphones(array, windows);
  for (const auto stage : {aperture, columns, rows, frame, predictors, extrapolate_rows, extrapolate_columns,
                           forward_transform, inverse_transform, apply_transfer, crop}) {
    model.push_back(stage(s));
  }
  return model;
}

}  // namespace nearfield::work
