#pragma once
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cl/memory.hpp"
#include "imaging/operators/folded_places.hpp"
#include "imaging/operators/operator_tables.hpp"
#include "imaging/priors/microphones.hpp"
#include "imaging/shared/imager.hpp"
#include "imaging/sources/source_table.hpp"

namespace nearfield {

/// Reason why this imager cannot run this plan on this device, as a sentence; empty if it can.
std::string obstacle_to_operators(const ocl::DeviceInfo& device, const ImagePlan& plan);

/// The entry of operators in the table of imagers.
ImagerEntry operators_imager();

/// Images by a dense matrix per frequency (docs/how/operators.md): from any positions of microphones to any imaged
/// places. The noise is measured in every frame; reports hold it and the image's expected error.
class Operators : public Imager {
 public:
  /// Makes the model of every frequency, on all processors, or reads it from this user's cache.
  Operators(const ocl::Device& device, const ImagePlan& plan);
  /// Uses these models, [frequency][share of shares_behind()].
  Operators(const ocl::Device& device, const ImagePlan& plan, std::vector<OperatorTables> tables);
  void enqueue(const ComplexBuffer& spectra, const StatusBuffer& status, std::size_t frames = 1) override;
  void use(const MicrophoneMask& mask) override;
  void forget() override { device_.enqueue_fill(memories_, std::int32_t{0}, "imaging/operators"); }
  void adopt(const std::shared_ptr<const Findings>& findings) override;
  [[nodiscard]] std::unique_ptr<Search> make_search() const override;
  [[nodiscard]] std::string description() const override { return description_; }

 private:
  void allocate(const std::vector<OperatorTables>& tables);
  void build();
  void set_results() final;
  /// Groups of to_rests_ per hologram and share.
  [[nodiscard]] std::size_t rest_blocks() const;
  /// Groups of to_images_ per image.
  [[nodiscard]] std::size_t pixel_blocks() const;

  ImagePlan plan_;
  std::string description_;
  std::size_t frequencies_;
  std::size_t planes_;  ///< images of the surface, then those of what comes from behind
  std::size_t shares_;  ///< models of each frequency
  Folding folding_;     ///< folding of the models
  std::size_t pixels_;  ///< pixels of an image
  SourceTable source_table_;
  std::size_t class_modes_ = 0;  ///< modes of the frequency and class that has most, in whole blocks
  std::size_t group_;
  std::size_t pixel_lanes_;                  ///< folded pixels of a group of to_images_
  std::int32_t turn_ = 0;                    ///< index of the copy of the memories that is read next
  std::optional<std::uint64_t> last_first_;  ///< hop of the first frame of the last enqueue()
  ocl::Device device_;
  ocl::Arena arena_;
  ocl::Buffer<std::int32_t> memories_;  ///< in the arena
  Microphones microphones_;
  ocl::Buffer<float> waves_;                                          ///< tables of point sources, in the arena
  ComplexBuffer residuals_;                                           ///< spectra without the point sources
  std::shared_ptr<const std::vector<OperatorTables>> search_tables_;  ///< tables of the search; null if there is none
  std::shared_ptr<const Findings> findings_;                          ///< in effect; null: none
  bool has_sources_ = false;
  bool sources_are_new_ = false;  ///< true until to_sources_ has run
  bool always_conditions_;        ///< else only if a microphone is masked
  bool conditions_;
  ocl::Kernel to_sources_;    ///< used if there may be point sources
  ocl::Arguments<1> fitted_;  ///< arguments of to_sources_
  ocl::Kernel to_modes_;
  ocl::Kernel to_rests_;
  ocl::Arguments<1> measured_;   ///< arguments of to_modes_
  ocl::Arguments<1> explained_;  ///< arguments of to_rests_
  ocl::Kernel to_noise_;
  ocl::Kernel to_images_;
  ocl::Arguments<5> of_frames_;      ///< arguments of to_images_
  ocl::Arguments<3> image_results_;  ///< arguments of to_images_
  IncompleteFrames incomplete_;
};

}  // namespace nearfield
