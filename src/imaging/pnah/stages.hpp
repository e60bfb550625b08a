#pragma once
#include <string>
#include <vector>

#include "imaging/pnah/staged_pnah.hpp"

/// Shared by the imager's device stages.
namespace nearfield {

/// ROWS, COLUMNS, PADDED_ROWS, PADDED_COLUMNS, BEFORE_ROWS, BEFORE_COLUMNS.
ocl::Defines padding_defines(const ImagePlan& plan);
/// Window: 1 over the measured samples, half a cosine to zero over the padding; the outermost sample is 0. [padded]
std::vector<float> tukey_window(const PaddedAxis& axis);

struct TransferLayout {
  int stride;    ///< columns, at least PADDED_COLUMNS; the rest is 0
  double scale;  ///< factor of all values
};
/// Macros of kernels/imaging/propagate.cl.
ocl::Defines propagator_defines(const ImagePlan& plan);
/// Filter times propagator on the padded grid.
class TransferTable {
 public:
  /// Builds it with the plan's cut-offs. Waits.
  TransferTable(const ocl::Device& device, const ImagePlan& plan, const TransferLayout& layout);
  /// Rebuilds it with the cut-offs and slopes of `filters` [frequency]. Waits.
  void build(std::span<const FilterReport> filters);
  /// [plane][field][frequency][padded row][stride]
  [[nodiscard]] const ComplexBuffer& values() const { return values_; }

 private:
  ocl::Device device_;
  ocl::Buffer<float> wavenumbers_;
  ocl::Buffer<float> cutoffs_;
  ocl::Buffer<float> slopes_;
  ocl::Buffer<float> distances_;
  ComplexBuffer values_;
  ocl::Kernel build_;
  ocl::Launch launch_;
};

}  // namespace nearfield
