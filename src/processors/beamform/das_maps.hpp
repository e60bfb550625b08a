#pragma once
#include "processors/beamform/das_path.hpp"

namespace nearfield::das {

/// From the spectra of windows to their maps by delay and sum: microphones are weighed, one of the ways makes sums,
/// and maps are made of these.
class Maps {
 public:
  /// Maps are written to lines of `stride` values a frequency: the plan's pixels, or pixel_stride().
  Maps(const ocl::Device& device, const BeamformPlan& plan, std::size_t stride);
  /// Where maps go: [map][frequency][stride]; powers of an average, else complex pressures.
  template <class Value>
  void write_to(const ocl::Buffer<Value>& maps) {
    finish_.set("map", maps);
  }
  /// Weighs the microphones of `windows` windows, and enqueues the transfer of their status to the host.
  void enqueue_microphones(const ComplexBuffer& spectra, const StatusBuffer& status, std::size_t windows);
  /// The maps of at most windows_at_once() windows of these, of which the first becomes map number `to`.
  void enqueue_maps(std::size_t first_window, std::size_t windows, std::size_t to);
  /// As a processor's: computes the norms of the new mask, and waits for the device.
  void use(const MicrophoneMask& mask);

  [[nodiscard]] const ocl::Program& program() const { return program_; }
  [[nodiscard]] const Input& input() const { return input_; }
  [[nodiscard]] const ocl::Buffer<float>& weights() const { return input_.weights; }  ///< [window][channel], g
  [[nodiscard]] const ocl::Buffer<float>& norms() const { return norms_; }  ///< as in kernels/processors/beamform.cl
  /// [channel], 0 of those that are masked.
  [[nodiscard]] const ocl::Buffer<float>& shading_on_device() const { return shading_; }
  /// The weights of the microphones that are not masked.
  [[nodiscard]] std::span<const float> shading() const { return shading_on_host_; }
  [[nodiscard]] std::span<const std::uint32_t> host_status() const { return status_on_host_.values(); }
  [[nodiscard]] std::string description() const;

 private:
  [[nodiscard]] ocl::Launch pixel_launch() const;
  ocl::Device device_;
  BeamformPlan plan_;
  Input input_;
  std::unique_ptr<Path> path_;
  ocl::Buffer<std::complex<float>> gains_;
  ocl::Buffer<float> offsets_;
  ocl::Program program_;
  ocl::Kernel microphones_;
  ocl::Kernel norm_;
  ocl::Kernel finish_;
  ocl::Arguments<2> spectra_argument_;
  ocl::Arguments<2> window_arguments_;
  std::vector<float> shading_on_host_;
  ocl::Buffer<float> shading_;
  ocl::Buffer<float> norms_;
  ocl::Buffer<std::uint32_t> taken_;
  ocl::HostBuffer<std::uint32_t> status_on_host_;
};

}  // namespace nearfield::das
