#pragma once
#include <string>
#include <vector>

#include "imaging/pnah/staged_pnah.hpp"

/// Shared by the imager's device stages.
namespace nearfield {

constexpr std::size_t to_size(int value) { return static_cast<std::size_t>(value); }
/// Launch over columns x rows x images in tiles of 32 x 4.
ocl::Launch tiles(int columns, int rows, std::size_t images);
/// A float literal for a kernel's macro.
std::string float_define(double value);
/// ROWS, COLUMNS, PADDED_ROWS, PADDED_COLUMNS, BEFORE_ROWS, BEFORE_COLUMNS.
ocl::Defines padding_defines(const PnahPlan& plan);
/// Window: 1 over the measured samples, half a cosine to zero over the padding; the outermost sample is 0. [padded]
std::vector<float> tukey_window(const PaddedAxis& axis);
/// Macros and buffers of kernels/imaging/microphones.cl.
ocl::Defines microphone_defines(const PnahPlan& plan);
/// A mask in the layout of microphones.cl.
struct MaskBuffers {
  ocl::Buffer<std::uint8_t> masked;       ///< [row][column]
  ocl::Buffer<std::int32_t> mask;         ///< [1 + masked]
  ocl::Buffer<std::int32_t> neighbours;   ///< [masked][kFillNeighbours]
  ocl::Buffer<float> weights;             ///< [masked][frequency][kFillNeighbours]
  ocl::Buffer<float> prior_weights = {};  ///< [frequency][masked][row][column], if the plan fills from all

  /// Throws Error if the mask has more microphones than there is room for. Waits.
  void write(const ocl::Device& device, const MicrophoneMask& mask_to_use) const;
};

struct TransferLayout {
  int stride;    ///< columns, at least PADDED_COLUMNS; the rest is 0
  double scale;  ///< factor of all values
};
/// Macros of kernels/imaging/propagate.cl.
ocl::Defines propagator_defines(const PnahPlan& plan);
/// Filter times propagator on the padded grid.
class TransferTable {
 public:
  /// Builds it with the plan's cut-offs. Waits.
  TransferTable(const ocl::Device& device, const PnahPlan& plan, const TransferLayout& layout);
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
