#pragma once
#include <array>
#include <complex>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "cl/memory.hpp"
#include "imaging/shared/imager.hpp"

namespace nearfield {

constexpr std::size_t to_size(int value) { return static_cast<std::size_t>(value); }
/// Launch over columns x rows x images in tiles of 32 x 4.
ocl::Launch tiles(int columns, int rows, std::size_t images);
/// A float literal for a kernel's macro.
std::string float_define(double value);
/// Macros and buffers of kernels/imaging/microphones.cl.
ocl::Defines microphone_defines(const ImagePlan& plan);

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

/// Replaces unusable microphones and applies the calibration: spectra -> conditioned, [frame][frequency][row][column],
/// Pa.
class Microphones {
 public:
  Microphones(const ocl::Device& device, const ImagePlan& plan);
  ~Microphones();
  Microphones(const Microphones&) = delete;
  Microphones& operator=(const Microphones&) = delete;
  void use(const MicrophoneMask& mask);
  /// Writes other predictions from all microphones, [masked][row][column], of one frequency, until another mask is
  /// used; for a plan that fills from all; empty: those of the mask itself. They must stay unchanged until the write
  /// has been done.
  void enqueue_fill(std::size_t frequency, std::span<const float> weights);
  /// Channels that the mask in use leaves out, ascending.
  [[nodiscard]] const std::vector<std::int32_t>& masked() const { return masked_; }
  void enqueue(const ComplexBuffer& spectra, const StatusBuffer& status);
  [[nodiscard]] const ComplexBuffer& conditioned() const { return conditioned_; }

 private:
  ocl::Device device_;
  ComplexBuffer gains_;
  ocl::Buffer<float> places_;  ///< [channel][x, y, z], m; one value for a regular grid, which does not use it
  std::unique_ptr<MaskBuffers> mask_;
  ocl::Buffer<std::uint8_t> usable_;
  ComplexBuffer conditioned_;
  ocl::Kernel check_;
  ocl::Kernel fill_;
  ocl::Kernel predict_;
  ocl::Kernel predict_by_prior_;
  bool fills_from_all_ = false;
  bool uses_prior_ = false;  ///< true if the mask has predictions from all microphones
  std::vector<std::int32_t> masked_;
  std::vector<float> prior_weights_;  ///< predictions of the mask in use, if the plan fills from all
  std::vector<bool> has_others_;      ///< true if the device holds others than prior_weights_, [frequency]
  ocl::Launch launch_;
  ocl::Launch predict_launch_{};  ///< no items if nothing is masked
};

/// Frames of a batch that an imager must not remember, INCOMPLETE in its arena: int [frame].
class IncompleteFrames {
 public:
  static void reserve(ocl::Arena& arena, const ImagePlan& plan);
  /// Marks all frames as whole. Waits.
  void fill(const ocl::Device& device, const ocl::Arena& arena, const ImagePlan& plan);
  /// Enqueues a transfer if this batch or the one before has an incomplete frame.
  void enqueue(const ocl::Device& device, const FrameHops& hops);

 private:
  ocl::Buffer<std::int32_t> on_device_;
  std::array<std::vector<std::int32_t>, 2> values_;  ///< alternating; each stays until the next batch is enqueued
  std::size_t turn_ = 0;
  bool has_some_ = false;
};

}  // namespace nearfield
