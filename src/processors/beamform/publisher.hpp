#pragma once
#include <optional>

#include "cl/device.hpp"
#include "processors/beamform/das_path.hpp"
#include "processors/beamform/plan.hpp"

namespace nearfield::das {

/// Computes mean squares of the plan's sectors from maps on the device: beamform/sectors.cl. Value is float for powers,
/// or std::complex<float>.
template <class Value>
class SectorPowers {
 public:
  /// `das`, which makes the maps or their beams, and `maps` [image][pixel] must outlive it; there are at most `images`.
  /// Image i has frequency i modulo their number.
  SectorPowers(const ocl::Device& device, const BeamformPlan& plan, const Maps& das, const ocl::Buffer<Value>& maps,
               std::size_t images);
  /// Call it after the norms of `das` have changed: recomputes the array's responses to sources in the sectors' centres
  /// with its unmasked microphones. Waits.
  void use_norms();
  void enqueue(std::size_t images);
  [[nodiscard]] const ocl::Buffer<float>& powers() const { return powers_; }  ///< [image][plane][sector], Pa^2

 private:
  ocl::Device device_;
  BeamformPlan plan_;
  ocl::Buffer<float> answers_;  ///< [frequency][plane][sector]
  ocl::Buffer<float> powers_;
  ocl::Buffer<cl_int4> sectors_;
  ocl::Buffer<std::int32_t> centres_;
  ocl::Program program_;
  ocl::Kernel sums_;
  ocl::Kernel answer_;
};

/// Reduces maps of several planes on the device to the largest value at each pixel, and its distance:
/// beamform/focus.cl. Value is float for powers, or std::complex<float>.
template <class Value>
class LargestPlane {
 public:
  /// `maps` [image][plane][pixel of a plane] must outlive it; at most `images` of them. Image i has the frequency
  /// `lowest_hz[i % size]`.
  LargestPlane(const ocl::Device& device, const BeamformPlan& plan, const ocl::Buffer<Value>& maps, std::size_t images,
               std::vector<double> lowest_hz);
  /// Sets the depth resolution by the aperture of this mask.
  void use(const MicrophoneMask& mask);
  void enqueue(std::size_t images);
  [[nodiscard]] const ocl::Buffer<Value>& maps() const { return largest_; }     ///< [image][pixel of a plane]
  [[nodiscard]] const ocl::Buffer<float>& focus_m() const { return focus_m_; }  ///< likewise

 private:
  ocl::Device device_;
  BeamformPlan plan_;
  std::vector<double> lowest_hz_;
  std::vector<float> limits_on_host_;
  ocl::Buffer<float> distances_m_;
  ocl::Buffer<float> limits_m_;
  ocl::Buffer<Value> largest_;
  ocl::Buffer<float> focus_m_;
  ocl::Kernel kernel_;
};

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
