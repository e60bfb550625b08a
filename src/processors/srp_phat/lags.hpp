#pragma once
#include <complex>
#include <cstddef>
#include <cstdint>

#include "cl/device.hpp"
#include "processors/far_field/device_tables.hpp"
#include "processors/srp_phat/cut.hpp"

namespace nearfield {

/// Sizes for the kernels of the time domain (kernels/processors/srp_phat/lags.cl). A cut for it has one way.
struct LagSizes {
  LagSizes(const ocl::DeviceInfo& device, const SrpPlan& plan, const SrpCut& cut);
  std::size_t padded_pairs = 0;
  std::size_t part_pairs = 0;  ///< pairs per item
  std::size_t parts = 0;       ///< number of parts of the pairs
  std::size_t lag_group = 1;   ///< items along the lags
  std::size_t lag_ways = 1;    ///< parts of a group that split the bins; a vector then has one lane
  std::size_t lag_stride = 0;  ///< lags per row
  [[nodiscard]] ocl::Defines defines(const SrpPlan& plan) const;
};

/// Computes the map's powers in the time domain: the lags of all pairs, then their look-ups.
class SrpLags {
 public:
  /// Buffers that it reads and writes, as in kernels/processors/srp_phat/weights.cl; they must outlive it.
  struct Buffers {
    const ocl::Buffer<far_field::Float4>& pixels;
    const ocl::Buffer<far_field::Float4>& positions;
    const ocl::Buffer<std::int32_t>& pairs;
    const ocl::Buffer<std::complex<float>>& phases;
    const ocl::Buffer<float>& powers;
  };
  /// `program` is made with LagSizes::defines().
  SrpLags(const ocl::Device& device, const SrpPlan& plan, const SrpCut& cut, const LagSizes& sizes,
          const ocl::Program& program, const Buffers& buffers);
  void enqueue(std::size_t windows);

 private:
  LagSizes sizes_;
  std::size_t bins_;
  std::size_t map_items_;
  std::size_t map_group_;
  std::size_t lag_items_;
  ocl::Kernel cross_kernel_;
  ocl::Kernel lags_kernel_;
  ocl::Kernel map_kernel_;
  ocl::Buffer<float> turns_;
  ocl::Buffer<std::complex<float>> cross_;
  ocl::Buffer<float> lags_;
};

}  // namespace nearfield
