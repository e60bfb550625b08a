#include <algorithm>
#include <cmath>
#include <numbers>

#include "core/frame.hpp"
#include "imaging/pnah/staged_pnah.hpp"

namespace nearfield {
namespace {

using ComplexF = std::complex<float>;

constexpr int kPooledGroup = 128;
constexpr int kLineGroup = 64;

std::size_t padded_size(const ImagePlan& plan) {
  return plan.holograms() * to_size(plan.rows().padded) * to_size(plan.columns().padded);
}

/// Applies E_y * measured * transpose(E_x); the derived class, or another kernel, fills the matrices.
class MatrixProduct {
 public:
  MatrixProduct(const ocl::Device& device, const ImagePlan& plan, bool matrix_per_frequency) {
    ocl::Defines defines = padding_defines(plan);
    defines["MATRIX_PER_FREQUENCY"] = matrix_per_frequency ? "1" : "0";
    const ocl::Program program = device.build("imaging/extrapolate", "imaging/extrapolate.cl", defines);
    columns_ = program.kernel("extrapolate_columns");
    rows_ = program.kernel("extrapolate_rows");
    const std::size_t frequencies = plan.holograms();
    extended_ = device.allocate<ComplexF>(frequencies * to_size(plan.rows().padded * plan.columns().measured),
                                          "imaging/extrapolate");
    columns_launch_ = tiles(plan.columns().measured, plan.rows().padded, frequencies);
    rows_launch_ = tiles(plan.columns().padded, plan.rows().padded, frequencies);
  }
  void enqueue(const ComplexBuffer& measured, const ComplexBuffer& matrix_columns, const ComplexBuffer& matrix_rows,
               const ComplexBuffer& padded) {
    columns_.set_all(measured, matrix_columns, extended_);
    columns_.enqueue(columns_launch_);
    rows_.set_all(extended_, matrix_rows, padded);
    rows_.enqueue(rows_launch_);
  }

 private:
  ComplexBuffer extended_;
  ocl::Kernel columns_;
  ocl::Kernel rows_;
  ocl::Launch columns_launch_{};
  ocl::Launch rows_launch_{};
};

/// `edge` and `zero`: fixed matrices.
class FixedExtrapolator : public Extrapolator {
 public:
  FixedExtrapolator(const ocl::Device& device, const ImagePlan& plan) : product_(device, plan, false) {
    const bool replicate = plan.holography.extrapolation.method == Extrapolation::kEdge;
    matrix_columns_ = device.upload<ComplexF>(matrix(plan.rows(), replicate), "imaging/extrapolate");
    matrix_rows_ = device.upload<ComplexF>(matrix(plan.columns(), replicate), "imaging/extrapolate");
    padded_ = device.allocate<ComplexF>(padded_size(plan), "imaging/extrapolate");
  }
  void enqueue(const ComplexBuffer& conditioned, const StatusBuffer& /*status*/) override {
    product_.enqueue(conditioned, matrix_columns_, matrix_rows_, padded_);
  }

 private:
  /// [measured][padded], window folded in.
  static std::vector<ComplexF> matrix(const PaddedAxis& axis, bool replicate) {
    const std::vector<float> window = tukey_window(axis);
    std::vector<ComplexF> values(to_size(axis.measured * axis.padded));
    for (int n = 0; n < axis.padded; ++n) {
      const int from = std::clamp(n - axis.before, 0, axis.measured - 1);
      if (replicate || from == n - axis.before) {
        values[to_size(from * axis.padded + n)] = window[to_size(n)];
      }
    }
    return values;
  }
  MatrixProduct product_;
  ComplexBuffer matrix_columns_;
  ComplexBuffer matrix_rows_;
};

/// Macros of kernels/imaging/predictor.cl for groups that pool `lines` lines; decides where prediction errors lie.
ocl::Defines predictor_defines(const ocl::Device& device, const ImagePlan& plan, int group, int lines) {
  ocl::Defines defines = padding_defines(plan);
  const int order = plan.holography.extrapolation.order;
  const std::size_t real_bytes = device.info().has_fp64 ? sizeof(double) : sizeof(float);
  const int longest = std::max(plan.geometry.rows, plan.geometry.columns);
  const std::size_t longest_padded = to_size(std::max(plan.rows().padded, plan.columns().padded));
  const std::size_t scratch_bytes = 4 * to_size(lines * longest) * real_bytes;
  const std::size_t other_bytes = (3 * to_size(group) + 2 * to_size(longest) + 2 * longest_padded + 16) * real_bytes;
  defines["ORDER_ROWS"] = std::to_string(usable_order(order, plan.geometry.columns));
  defines["ORDER_COLUMNS"] = std::to_string(usable_order(order, plan.geometry.rows));
  defines["GROUP"] = std::to_string(group);
  defines["SCRATCH_LINES"] = std::to_string(lines);
  defines["LOCAL_SCRATCH"] = scratch_bytes + other_bytes <= device.info().local_memory_bytes ? "1" : "0";
  defines["FREQUENCIES"] = std::to_string(plan.frequencies_hz.size());
  defines["FLAG_FELL_BACK"] = std::to_string(kFlagExtrapolationFellBack);
  if (device.info().has_fp64) {
    defines["USE_FP64"] = "1";
    defines["REAL"] = "double";
    defines["REAL2"] = "double2";
  }
  return defines;
}

/// Buffer for prediction errors in global memory, one byte if they fit into local memory.
ocl::Buffer<std::uint8_t> predictor_scratch(const ocl::Device& device, const ocl::Defines& defines,
                                            const ImagePlan& plan, std::size_t groups, int lines) {
  if (defines.at("LOCAL_SCRATCH") == "1") {
    return device.allocate<std::uint8_t>(1, "imaging/predictor");
  }
  const std::size_t longest = to_size(std::max(plan.geometry.rows, plan.geometry.columns));
  return device.allocate<std::uint8_t>(groups * 4 * to_size(lines) * longest * sizeof(double), "imaging/predictor");
}

/// `plpbp`: one predictor for all rows and one for all columns, both from the measured aperture alone.
class PooledExtrapolator : public Extrapolator {
 public:
  PooledExtrapolator(const ocl::Device& device, const ImagePlan& plan) : product_(device, plan, true) {
    const int lines = std::max(plan.geometry.rows, plan.geometry.columns);
    const std::size_t frequencies = plan.holograms();
    const ocl::Defines defines = predictor_defines(device, plan, kPooledGroup, lines);
    predictors_ = device.build("imaging/predictor", "imaging/predictor.cl", defines).kernel("pooled_predictors");
    scratch_ = predictor_scratch(device, defines, plan, 2 * frequencies, lines);
    window_rows_ = device.upload<float>(tukey_window(plan.rows()), "imaging/predictor");
    window_columns_ = device.upload<float>(tukey_window(plan.columns()), "imaging/predictor");
    matrix_columns_ = device.allocate<ComplexF>(frequencies * to_size(plan.rows().measured * plan.rows().padded),
                                                "imaging/predictor");
    matrix_rows_ = device.allocate<ComplexF>(frequencies * to_size(plan.columns().measured * plan.columns().padded),
                                             "imaging/predictor");
    padded_ = device.allocate<ComplexF>(padded_size(plan), "imaging/predictor");
    launch_ = {.global_0 = 2 * to_size(kPooledGroup), .local_0 = to_size(kPooledGroup), .global_1 = frequencies};
  }
  void enqueue(const ComplexBuffer& conditioned, const StatusBuffer& status) override {
    predictors_.set_all(conditioned, window_rows_, window_columns_, matrix_columns_, matrix_rows_, scratch_, status);
    predictors_.enqueue(launch_);
    product_.enqueue(conditioned, matrix_columns_, matrix_rows_, padded_);
  }

 private:
  MatrixProduct product_;
  ocl::Kernel predictors_;
  ocl::Buffer<std::uint8_t> scratch_;
  ocl::Buffer<float> window_rows_;
  ocl::Buffer<float> window_columns_;
  ComplexBuffer matrix_columns_;
  ComplexBuffer matrix_rows_;
  ocl::Launch launch_{};
};

/// `lpbp`: a predictor for every row, then one for every column of the result.
class LineExtrapolator : public Extrapolator {
 public:
  LineExtrapolator(const ocl::Device& device, const ImagePlan& plan) {
    const std::size_t frequencies = plan.holograms();
    const ocl::Defines defines = predictor_defines(device, plan, kLineGroup, 1);
    const ocl::Program program = device.build("imaging/predictor", "imaging/predictor.cl", defines);
    rows_ = program.kernel("extend_rows");
    columns_ = program.kernel("extend_columns");
    window_rows_ = device.upload<float>(tukey_window(plan.rows()), "imaging/predictor");
    window_columns_ = device.upload<float>(tukey_window(plan.columns()), "imaging/predictor");
    extended_ = device.allocate<ComplexF>(frequencies * to_size(plan.rows().measured * plan.columns().padded),
                                          "imaging/predictor");
    padded_ = device.allocate<ComplexF>(padded_size(plan), "imaging/predictor");
    const auto launch = [&](int lines) {
      return ocl::Launch{
          .global_0 = to_size(kLineGroup * lines), .local_0 = to_size(kLineGroup), .global_1 = frequencies};
    };
    rows_launch_ = launch(plan.rows().measured);
    columns_launch_ = launch(plan.columns().padded);
  }
  void enqueue(const ComplexBuffer& conditioned, const StatusBuffer& status) override {
    rows_.set_all(conditioned, extended_, status);
    rows_.enqueue(rows_launch_);
    columns_.set_all(extended_, window_rows_, window_columns_, padded_, status);
    columns_.enqueue(columns_launch_);
  }

 private:
  ocl::Kernel rows_;
  ocl::Kernel columns_;
  ocl::Buffer<float> window_rows_;
  ocl::Buffer<float> window_columns_;
  ComplexBuffer extended_;
  ocl::Launch rows_launch_{};
  ocl::Launch columns_launch_{};
};

}  // namespace

std::vector<float> tukey_window(const PaddedAxis& axis) {
  const int after = axis.padded - axis.before - axis.measured;
  std::vector<float> window(to_size(axis.padded), 1.0F);
  for (int d = 1; d <= axis.before; ++d) {
    window[to_size(axis.before - d)] =
        static_cast<float>(std::pow(std::cos(std::numbers::pi / 2.0 * d / axis.before), 2));
  }
  for (int d = 1; d <= after; ++d) {
    window[to_size(axis.before + axis.measured - 1 + d)] =
        static_cast<float>(std::pow(std::cos(std::numbers::pi / 2.0 * d / after), 2));
  }
  return window;
}

std::unique_ptr<Extrapolator> make_extrapolator(const ocl::Device& device, const ImagePlan& plan) {
  switch (plan.holography.extrapolation.method) {
    case Extrapolation::kPlpbp:
      return std::make_unique<PooledExtrapolator>(device, plan);
    case Extrapolation::kLpbp:
      return std::make_unique<LineExtrapolator>(device, plan);
    case Extrapolation::kEdge:
    case Extrapolation::kZero:
      break;
  }
  return std::make_unique<FixedExtrapolator>(device, plan);
}

}  // namespace nearfield
