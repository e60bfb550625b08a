#pragma once
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cl/memory.hpp"
#include "imaging/priors/microphones.hpp"
#include "imaging/priors/prior_models.hpp"
#include "imaging/priors/sonah_model.hpp"
#include "imaging/shared/imager.hpp"
#include "imaging/sonah/sonah_arrays.hpp"
#include "imaging/sources/source_table.hpp"

namespace nearfield {

/// Reason why statistically optimised holography cannot run this plan on this device, as a sentence; empty if it can.
std::string obstacle_to_sonah(const ocl::DeviceInfo& device, const ImagePlan& plan);

/// The entry of sonah in the table of imagers.
ImagerEntry sonah_imager();

/// Statistically optimised near-field holography (docs/how/sonah.md): two launches per frame, one more each for several
/// frames and for plane waves; no padding, no cut-off. The noise is measured in every frame; reports hold it, the
/// wavenumber at which it equals the prior, and the image's expected error.
class Sonah : public Imager {
 public:
  /// Builds the model of every frequency, on all processors.
  Sonah(const ocl::Device& device, const ImagePlan& plan);
  void enqueue(const ComplexBuffer& spectra, const StatusBuffer& status, std::size_t frames = 1) override;
  void use(const MicrophoneMask& mask) override;
  void forget() override { device_.enqueue_fill(memories_, std::int32_t{0}, "imaging/sonah"); }
  void adopt(const std::shared_ptr<const Findings>& findings) override;
  [[nodiscard]] std::unique_ptr<Search> make_search() const override;
  [[nodiscard]] std::string description() const override { return description_; }

 private:
  void allocate(const ocl::Device& device, const ImagePlan& plan, const SonahArrays& arrays);
  void build(const ocl::Device& device, const ImagePlan& plan, const SonahArrays& arrays);
  void set_results() final;
  void use_prior(std::size_t frequency, const FoundWaves& found);
  void use_sources(std::size_t frequency, const FoundWaves& found);

  std::string description_;
  int modes_ = 0;  ///< per class, padded to whole blocks
  SonahCut cut_;
  std::size_t mode_parts_ = 0;
  std::size_t pixel_blocks_ = 0;
  std::size_t frequencies_;
  std::size_t planes_;
  std::int32_t turn_ = 0;                    ///< index of the copy of the memories that is read next
  std::optional<std::uint64_t> last_first_;  ///< hop of the first frame of the last enqueue()
  ocl::Device device_;
  ImagePlan plan_;
  ocl::Arena arena_;
  std::shared_ptr<const std::vector<PriorModels>>
      candidates_;                     ///< for searches and their choices; null if the plan sets none
  SonahRoom room_;                     ///< for all candidates
  std::vector<std::size_t> in_force_;  ///< candidate, [frequency]
  SourceTable table_;
  ocl::Buffer<float> waves_;                  ///< [frequency][table], in the arena
  ocl::Buffer<std::int32_t> memories_;        ///< likewise
  bool has_waves_ = false;                    ///< true if any frequency has waves
  bool waves_are_new_ = false;                ///< true until to_waves_ has run
  std::shared_ptr<const Findings> findings_;  ///< in use, which the device may still be reading
  Microphones microphones_;
  bool always_conditions_;  ///< else only if a microphone is masked
  bool conditions_;
  ocl::Kernel to_modes_;
  ocl::Arguments<1> measured_;  ///< arguments of to_modes_
  ocl::Kernel to_waves_;        ///< used if waves are searched for
  ocl::Kernel to_noise_;
  ocl::Kernel to_images_;
  ocl::Arguments<5> of_frames_;      ///< arguments of to_images_
  ocl::Arguments<3> image_results_;  ///< arguments of to_images_
  IncompleteFrames incomplete_;
  std::size_t group_;
};

}  // namespace nearfield
