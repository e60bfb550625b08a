#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numbers>

#include "processors/beamform/das_path.hpp"

namespace nearfield::das {
namespace {

using far_field::Formulation;
using Complex = std::complex<double>;
using ComplexF = std::complex<float>;

/// Building 128 MiB of transforms takes some seconds.
constexpr double kMostTransferBytes = 134217728.0;

/// Cut of das_columns.cl and das_rows.cl for a device. A vector has `lanes` neighbouring lines.
struct ConvolveCut {
  int lanes = 8;
  int column_group = 1;  ///< items per group
  int column_tile = 1;   ///< vectors per group
  int row_group = 1;
  int row_tile = 1;
  bool local_samples = false;
};

std::size_t size_of(int value) { return static_cast<std::size_t>(value); }

int multiple(int value, int step) { return (value + step - 1) / step * step; }

/// Sizes for which the plan's kernels are made.
struct Sizes {
  Sizes(const BeamformPlan& plan, const Lattice& of_plan)
      : lattice(of_plan),
        x(*of_plan.x.transform()),
        y(*of_plan.y.transform()),
        planes(static_cast<int>(plan.grid.axes[0].values.size())),
        frequencies(static_cast<int>(plan.frequencies())),
        fields(plan.settings.removes_diagonal() ? 2 : 1) {}
  /// Number of transfer functions of a plane: one per frequency, and one for the diagonals.
  [[nodiscard]] int transfers() const { return frequencies + fields - 1; }

  Lattice lattice;
  ShortDft x;
  ShortDft y;
  int planes;
  int frequencies;
  int fields;
};

/// Number of points that a line occupies in local memory.
int places(const ShortDft& transform, int lanes) { return transform.length() + (lanes == 1 ? transform.outer() : 0); }

std::size_t column_bytes(const Sizes& sizes, const ConvolveCut& cut) {
  const int copies = sizes.planes > 1 ? 2 : 1;
  const int microphones = sizes.lattice.y.microphones * (sizes.lattice.x.microphones + 1);
  const int values = (copies * places(sizes.y, cut.lanes) + sizes.lattice.x.microphones) * cut.column_tile * cut.lanes +
                     (cut.local_samples ? microphones : 0);
  return size_of(values) * sizeof(ComplexF);
}

std::size_t row_bytes(const Sizes& sizes, const ConvolveCut& cut) {
  return size_of(places(sizes.x, cut.lanes) * cut.row_tile * cut.lanes) * sizeof(ComplexF);
}

ConvolveCut convolve_cut(const ocl::DeviceInfo& device, const Sizes& sizes) {
  if (!device.is_gpu) {
    return {};
  }
  ConvolveCut cut{.lanes = 1, .column_group = 128, .column_tile = 4, .row_group = 64, .row_tile = 4};
  cut.local_samples = true;
  cut.local_samples = column_bytes(sizes, cut) <= device.local_memory_bytes;
  while (cut.column_tile > 1 && column_bytes(sizes, cut) > device.local_memory_bytes) {
    cut.column_tile /= 2;
  }
  while (cut.row_tile > 1 && row_bytes(sizes, cut) > device.local_memory_bytes) {
    cut.row_tile /= 2;
  }
  return cut;
}

/// e^{-2 pi j i / length}
std::vector<Complex> roots_of(int length) {
  std::vector<Complex> roots;
  for (int i = 0; i < length; ++i) {
    roots.push_back(std::polar(1.0, -2.0 * std::numbers::pi * i / length));
  }
  return roots;
}

std::vector<ComplexF> narrowed(const std::vector<Complex>& values) { return {values.begin(), values.end()}; }

/// Discrete Fourier transforms in double precision, by the two factors of a length (Cooley and Tukey 1965).
class HostTransform {
 public:
  explicit HostTransform(const ShortDft& split)
      : outer_(split.outer()),
        inner_(split.inner()),
        length_(split.length()),
        roots_(roots_of(length_)),
        line_(size_of(length_)),
        halfway_(size_of(length_)) {}
  /// Transforms in place, with values `step` apart.
  void apply(Complex* values, int step) {
    for (int n = 0; n < length_; ++n) {
      line_[size_of(n)] = values[size_of(n) * size_of(step)];
    }
    for (int n2 = 0; n2 < inner_; ++n2) {
      for (int k1 = 0; k1 < outer_; ++k1) {
        Complex sum = 0.0;
        for (int n1 = 0; n1 < outer_; ++n1) {
          sum += roots_[size_of(inner_ * n1 * k1 % length_)] * line_[size_of(inner_ * n1 + n2)];
        }
        halfway_[size_of(k1 * inner_ + n2)] = roots_[size_of(n2 * k1)] * sum;
      }
    }
    for (int k1 = 0; k1 < outer_; ++k1) {
      for (int k2 = 0; k2 < inner_; ++k2) {
        Complex sum = 0.0;
        for (int n2 = 0; n2 < inner_; ++n2) {
          sum += roots_[size_of(outer_ * n2 * k2 % length_)] * halfway_[size_of(k1 * inner_ + n2)];
        }
        values[size_of(k1 + outer_ * k2) * size_of(step)] = sum;
      }
    }
  }

 private:
  int outer_;
  int inner_;
  int length_;
  std::vector<Complex> roots_;
  std::vector<Complex> line_;
  std::vector<Complex> halfway_;
};

/// w of kernels/processors/beamform/das_norms.cl.
double weight_at(double r, Formulation formulation) {
  return formulation == Formulation::kClassic ? 1.0 : formulation == Formulation::kInverse ? r : 1.0 / r;
}

/// H of kernels/processors/beamform/das_columns.cl, [plane][frequency, then w^2][ky][stride].
class TransferMaker {
 public:
  TransferMaker(const BeamformPlan& plan, const Sizes& sizes, int stride)
      : plan_(plan), sizes_(sizes), stride_(stride), along_x_(sizes.x), along_y_(sizes.y) {}
  std::vector<ComplexF> table() {
    const int points = sizes_.x.length() * sizes_.y.length();
    std::vector<ComplexF> table(size_of(sizes_.planes) * size_of(sizes_.transfers()) * size_of(sizes_.y.length()) *
                                size_of(stride_));
    ComplexF* to = table.data();
    for (int plane = 0; plane < sizes_.planes; ++plane) {
      for (int transfer = 0; transfer < sizes_.transfers(); ++transfer) {
        const std::vector<Complex> spectrum = spectrum_of(plane, transfer);
        for (int ky = 0; ky < sizes_.y.length(); ++ky, to += stride_) {
          for (int kx = 0; kx < sizes_.x.length(); ++kx) {
            to[kx] = ComplexF(spectrum[size_of(ky * sizes_.x.length() + kx)] / static_cast<double>(points));
          }
        }
      }
    }
    return table;
  }

 private:
  /// Transform of h.
  std::vector<Complex> spectrum_of(int plane, int transfer) {
    const int columns = sizes_.x.length();
    std::vector<Complex> values(size_of(columns) * size_of(sizes_.y.length()));
    const double first_x = plan_.grid.axes[2].values.front() - plan_.array.geometry.x_m(0);
    const double first_y = plan_.grid.axes[1].values.front() - plan_.array.geometry.y_m(0);
    const double z = plan_.grid.axes[0].values[size_of(plane)];
    const LatticeAxis& x = sizes_.lattice.x;
    const LatticeAxis& y = sizes_.lattice.y;
    for (int i = -y.microphone_step * (y.microphones - 1); i <= y.pixel_step * (y.pixels - 1); ++i) {
      const int row = i < 0 ? i + sizes_.y.length() : i;
      for (int j = -x.microphone_step * (x.microphones - 1); j <= x.pixel_step * (x.pixels - 1); ++j) {
        const int column = j < 0 ? j + columns : j;
        const double r = std::hypot(first_x + j * x.spacing_m, first_y + i * y.spacing_m, z);
        values[size_of(row * columns + column)] = value_at(r, transfer);
      }
      along_x_.apply(values.data() + size_of(row * columns), 1);
    }
    for (int column = 0; column < columns; ++column) {
      along_y_.apply(values.data() + column, columns);
    }
    return values;
  }
  [[nodiscard]] Complex value_at(double r, int transfer) const {
    const double weight = weight_at(r, plan_.settings.steering.formulation);
    if (transfer == sizes_.frequencies) {
      return weight * weight;
    }
    return std::polar(weight, 2.0 * std::numbers::pi * plan_.waves_per_m(size_of(transfer)) * r);
  }
  const BeamformPlan& plan_;
  const Sizes& sizes_;
  int stride_;
  HostTransform along_x_;
  HostTransform along_y_;
};

/// Phase ramps of the microphones' columns, [column][stride].
std::vector<ComplexF> ramps_of(const Sizes& sizes, int stride) {
  const std::vector<Complex> roots = roots_of(sizes.x.length());
  const LatticeAxis& x = sizes.lattice.x;
  std::vector<ComplexF> values(size_of(x.microphones) * size_of(stride));
  for (int column = 0; column < x.microphones; ++column) {
    for (int kx = 0; kx < sizes.x.length(); ++kx) {
      values[size_of(column * stride + kx)] =
          ComplexF(roots[size_of(x.microphone_step * column * kx % sizes.x.length())]);
    }
  }
  return values;
}

class Convolve : public Path {
 public:
  Convolve(const ocl::Device& device, const BeamformPlan& plan, const Input& input, const Sizes& sizes,
           const ConvolveCut& cut)
      : Path(Sums(device, plan, 1)),
        stride_(multiple(sizes.x.length(), cut.lanes * cut.column_tile)),
        row_stride_(multiple(sizes.lattice.y.pixels, cut.lanes * cut.row_tile)),
        ramps_(device.upload<ComplexF>(ramps_of(sizes, stride_), kStage)),
        roots_x_(device.upload<ComplexF>(narrowed(roots_of(sizes.x.length())), kStage)),
        roots_y_(device.upload<ComplexF>(narrowed(roots_of(sizes.y.length())), kStage)),
        transfer_(device.upload<ComplexF>(TransferMaker(plan, sizes, stride_).table(), kStage)),
        slices_(device.allocate<ComplexF>(windows_at_once(plan) * size_of(sizes.planes) * size_of(sizes.fields) *
                                              plan.frequencies() * size_of(stride_) * size_of(row_stride_),
                                          kStage)),
        columns_(device.build(kStage, "processors/beamform/das_columns.cl", column_defines(plan, device, sizes, cut))
                     .kernel("das_columns")),
        rows_(device.build(kStage, "processors/beamform/das_rows.cl", row_defines(plan, device, sizes, cut))
                  .kernel("das_rows")),
        first_window_(columns_.arguments("first_window")),
        columns_launch_{.global_0 = size_of(stride_ / (cut.lanes * cut.column_tile) * cut.column_group),
                        .local_0 = size_of(cut.column_group),
                        .global_1 = size_of(sizes.fields * sizes.frequencies)},
        rows_launch_{.global_0 = size_of(row_stride_ / (cut.lanes * cut.row_tile) * cut.row_group),
                     .local_0 = size_of(cut.row_group),
                     .global_1 = size_of(sizes.planes * sizes.fields * sizes.frequencies)},
        description_(fmt::format("das_convolve, {} x {} points", sizes.y.length(), sizes.x.length())) {
    device.enqueue_fill(slices_, ComplexF(), kStage);
    columns_.set("pressures", input.pressures).set("ramps", ramps_).set("roots", roots_y_);
    columns_.set("transfer", transfer_).set("slices", slices_);
    rows_.set_all(slices_, roots_x_, sums().sums, sums().diagonals);
  }
  void enqueue(std::size_t first_window, std::size_t windows) override {
    columns_.set(first_window_, static_cast<cl_int>(first_window));
    const auto of_windows = [windows](ocl::Launch launch) {
      launch.global_1 *= windows;
      return launch;
    };
    columns_.enqueue(of_windows(columns_launch_));
    rows_.enqueue(of_windows(rows_launch_));
  }
  [[nodiscard]] bool counts_from_pixels() const override { return true; }
  [[nodiscard]] std::string description() const override { return description_; }

 private:
  [[nodiscard]] ocl::Defines defines_along(const BeamformPlan& plan, const ocl::Device& device, const Sizes& sizes,
                                           const LatticeAxis& axis, const ShortDft& transform, int lanes) const {
    ocl::Defines defines = shared_defines(plan, device.info());
    defines.merge(dft_defines(transform));
    defines["LANES"] = std::to_string(lanes);
    // Used by padded_lines.cl, without its extension.
    defines["LENGTH"] = std::to_string(transform.length());
    defines["BEFORE"] = "0";
    defines["TAPS"] = "1";
    defines["FIELDS"] = std::to_string(sizes.fields);
    defines["PLANES"] = std::to_string(sizes.planes);
    defines["PIXEL_STEP"] = std::to_string(axis.pixel_step);
    defines["PIXEL_ROWS"] = std::to_string(sizes.lattice.y.pixels);
    defines["STRIDE"] = std::to_string(stride_);
    defines["ROW_STRIDE"] = std::to_string(row_stride_);
    return defines;
  }
  [[nodiscard]] ocl::Defines column_defines(const BeamformPlan& plan, const ocl::Device& device, const Sizes& sizes,
                                            const ConvolveCut& cut) const {
    ocl::Defines defines = defines_along(plan, device, sizes, sizes.lattice.y, sizes.y, cut.lanes);
    defines["ROWS"] = std::to_string(sizes.lattice.y.microphones);
    defines["COLUMNS"] = std::to_string(sizes.lattice.x.microphones);
    defines["MICROPHONE_STEP"] = std::to_string(sizes.lattice.y.microphone_step);
    defines["VECTOR_TILE"] = std::to_string(cut.column_tile);
    defines["GROUP"] = std::to_string(cut.column_group);
    defines["LOCAL_SAMPLES"] = cut.local_samples ? "1" : "0";
    return defines;
  }
  [[nodiscard]] ocl::Defines row_defines(const BeamformPlan& plan, const ocl::Device& device, const Sizes& sizes,
                                         const ConvolveCut& cut) const {
    ocl::Defines defines = defines_along(plan, device, sizes, sizes.lattice.x, sizes.x, cut.lanes);
    defines["PIXEL_COLUMNS"] = std::to_string(sizes.lattice.x.pixels);
    defines["VECTOR_TILE"] = std::to_string(cut.row_tile);
    defines["GROUP"] = std::to_string(cut.row_group);
    return defines;
  }
  int stride_;      ///< along kx
  int row_stride_;  ///< along rows of pixels
  ocl::Buffer<ComplexF> ramps_;
  ocl::Buffer<ComplexF> roots_x_;
  ocl::Buffer<ComplexF> roots_y_;
  ocl::Buffer<ComplexF> transfer_;
  ocl::Buffer<ComplexF> slices_;
  ocl::Kernel columns_;
  ocl::Kernel rows_;
  ocl::Arguments<1> first_window_;
  ocl::Launch columns_launch_;  ///< for one window; same for the next
  ocl::Launch rows_launch_;
  std::string description_;
};

}  // namespace

std::string obstacle_to_convolving(const ocl::DeviceInfo& device, const BeamformPlan& plan) {
  const far_field::GridKind kind = plan.settings.grid.kind;
  if ((kind != far_field::GridKind::kPlane && kind != far_field::GridKind::kVolume) || plan.is_plane_wave) {
    return "pixels are not planes of monopoles parallel to the array";
  }
  if (!is_regular(plan)) {
    return "microphones are not on a regular grid";
  }
  const std::optional<Lattice> lattice = lattice_of(plan.settings.grid, plan.array.geometry);
  if (!lattice) {
    return fmt::format(
        "grid.step_m is neither a pitch divided by a whole number nor a multiple of it, or array and "
        "plane together span more than {} steps of the finer of the two along a side",
        kMostInAnItem * kMostInAnItem);
  }
  const Sizes sizes(plan, *lattice);
  const double transfer_bytes = static_cast<double>(sizes.planes) * sizes.transfers() * sizes.x.length() *
                                sizes.y.length() * static_cast<double>(sizeof(ComplexF));
  if (transfer_bytes > kMostTransferBytes) {
    return fmt::format("its transforms of {} planes at {} frequencies have more than {:.0f} MiB", sizes.planes,
                       sizes.frequencies, kMostTransferBytes / 1048576.0);
  }
  const ConvolveCut cut = convolve_cut(device, sizes);
  const std::size_t bytes = std::max(column_bytes(sizes, cut), row_bytes(sizes, cut));
  return bytes > device.local_memory_bytes
             ? fmt::format("it needs {} bytes of local memory, and the device has {}", bytes, device.local_memory_bytes)
             : "";
}

std::unique_ptr<Path> make_convolve(const ocl::Device& device, const BeamformPlan& plan, const Input& input) {
  const Sizes sizes(plan, *lattice_of(plan.settings.grid, plan.array.geometry));
  return std::make_unique<Convolve>(device, plan, input, sizes, convolve_cut(device.info(), sizes));
}

}  // namespace nearfield::das
