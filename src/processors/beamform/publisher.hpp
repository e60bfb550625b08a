#pragma once
#include "cl/device.hpp"
#include "processors/beamform/plan.hpp"

namespace nearfield::das {

/// Takes maps of powers from the device to the products of windows: of each window of a batch the map that was
/// published last, with those of bands.
class Publisher {
 public:
  /// `maps` [frequency][pixel], Pa^2, must outlive it; of a plan that has_powers().
  Publisher(const ocl::Device& device, const BeamformPlan& plan, const ocl::Buffer<float>& maps);
  /// Enqueues the transfer of what the maps are then; they are worth so many independent snapshots.
  void publish(double effective_snapshots);
  /// The window has what was published last.
  void give_to(std::size_t window);
  /// After Device::wait().
  Products products(std::size_t window);

 private:
  [[nodiscard]] std::size_t values() const { return published_.size() * plan_.pixels(); }
  ocl::Device device_;
  BeamformPlan plan_;
  PublishedMaps published_;
  const ocl::Buffer<float>* maps_;
  // With bands:
  ocl::Buffer<std::int32_t> ends_;
  ocl::Buffer<std::int32_t> bins_;
  ocl::Buffer<float> weights_;
  ocl::Buffer<float> sums_;
  ocl::Kernel kernel_;
  ocl::HostBuffer<float> on_host_;  ///< [slot][published map][pixel], of each window of a batch and of the last before
  std::size_t slot_ = 0;
  std::vector<std::size_t> slot_of_window_;
  double effective_ = 0.0;
  std::vector<float> figures_;  ///< [window][frequency]
  std::vector<std::span<const std::byte>> of_window_;
};

}  // namespace nearfield::das
