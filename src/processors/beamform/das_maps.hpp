#pragma once
#include "processors/beamform/das_path.hpp"

namespace nearfield::das {

/// Computes maps by delay and sum from the spectra of windows: weights the microphones, lets a Path make sums, and
/// converts these to maps.
class Maps {
 public:
  /// A map is written with `stride` values per frequency: the plan's pixels, or pixel_stride().
  Maps(const ocl::Device& device, const BeamformPlan& plan, std::size_t stride);
  /// Sets the output: [map][frequency][stride]; powers for an average, else complex pressures.
  template <class Value>
  void write_to(const ocl::Buffer<Value>& maps) {
    finish_.set("map", maps);
  }
  /// Weights the microphones of `windows` windows, and enqueues the transfer of their status to the host.
  void enqueue_microphones(const ComplexBuffer& spectra, const StatusBuffer& status, std::size_t windows);
  /// Enqueues the maps of up to windows_at_once() of these windows; the first becomes map number `to`.
  void enqueue_maps(std::size_t first_window, std::size_t windows, std::size_t to);
  /// See Processor::use(): computes the norms of the new mask, and waits for the device.
  void use(const MicrophoneMask& mask);

  [[nodiscard]] const ocl::Program& program() const { return program_; }
  [[nodiscard]] const Input& input() const { return input_; }
  [[nodiscard]] const ocl::Buffer<float>& weights() const { return input_.weights; }  ///< [window][channel], g
  [[nodiscard]] const ocl::Buffer<float>& norms() const { return norms_; }  ///< layout: kernels/processors/beamform.cl
  /// [channel]; 0 for masked microphones.
  [[nodiscard]] const ocl::Buffer<float>& shading_on_device() const { return shading_; }
  /// Weights of the microphones that are not masked.
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
