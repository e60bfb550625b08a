#pragma once
#include <optional>

#include "cl/device.hpp"
#include "processors/beamform/das_maps.hpp"
#include "processors/beamform/largest_plane.hpp"
#include "processors/beamform/plan.hpp"
#include "processors/beamform/sector_powers.hpp"

namespace nearfield::das {

/// Takes maps of powers from the device to the products of windows: for each window of a batch the map published last,
/// with those of bands, the maximum over its planes and its sectors.
class Publisher {
 public:
  /// For a plan that has_powers(). `maps` [frequency][pixel], Pa^2, and `das`, which makes their beams, must outlive
  /// it.
  Publisher(const ocl::Device& device, const BeamformPlan& plan, const Maps& das, const ocl::Buffer<float>& maps);
  /// See Processor::use(); call it after `das` uses this mask. Waits.
  void use(const MicrophoneMask& mask);
  /// Enqueues the transfer of the current maps, with their effective number of independent snapshots.
  void publish(double effective_snapshots);
  /// Assigns the last published maps to the window.
  void give_to(std::size_t window);
  /// Call it after Device::wait().
  Products products(std::size_t window);

 private:
  /// Sums of bins, and single bins: beamform/publish.cl.
  class BandSums {
   public:
    /// Input: `bins` [frequency][value].
    BandSums(const ocl::Device& device, const PublishedMaps& published, const ocl::Buffer<float>& bins,
             std::size_t values);
    void enqueue();
    [[nodiscard]] const ocl::Buffer<float>& sums() const { return sums_; }  ///< [published map][value]

   private:
    std::size_t maps_;
    std::size_t values_;
    ocl::Buffer<std::int32_t> ends_;
    ocl::Buffer<std::int32_t> bins_;
    ocl::Buffer<float> weights_;
    ocl::Buffer<float> sums_;
    ocl::Kernel kernel_;
  };
  [[nodiscard]] std::size_t map_values() const { return published_.size() * plan_.map_pixels(); }
  [[nodiscard]] std::size_t focus_values() const { return plan_.has_focus() ? map_values() : 0; }
  [[nodiscard]] std::size_t sector_values() const { return published_.size() * plan_.sector_values(); }
  [[nodiscard]] std::size_t slot_values() const { return map_values() + focus_values() + sector_values(); }
  [[nodiscard]] std::span<float> slot(std::size_t index) const {
    return on_host_.values().subspan(index * slot_values(), slot_values());
  }
  ocl::Device device_;
  BeamformPlan plan_;
  PublishedMaps published_;
  const ocl::Buffer<float>* maps_;  ///< [published map][pixel]
  std::optional<BandSums> bands_;
  std::optional<SectorPowers<float>> sectors_;
  std::optional<BandSums> bands_of_sectors_;
  std::optional<LargestPlane<float>> largest_;
  ocl::HostBuffer<float> on_host_;  ///< [slot][maps, focus, sectors]: a slot per window of a batch, and the last
  std::size_t slot_ = 0;
  std::vector<std::size_t> slot_of_window_;
  double effective_ = 0.0;
  std::vector<float> figures_;  ///< [window][frequency]
  std::vector<std::span<const std::byte>> of_window_;
};

}  // namespace nearfield::das
