#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "imaging/priors/sonah_model.hpp"

namespace nearfield {

/// Work distribution of sonah's kernels, by device and plan.
struct SonahCut {
  int part_blocks = 1;       ///< largest number of blocks of 32 modes in one work-group that folds a field
  int pair_part_blocks = 1;  ///< part_blocks where two parity classes share a factor
  int pixel_lanes = 32;      ///< folded pixels per group that makes images
  bool operator==(const SonahCut&) const = default;
};

/// Sizes of the lists of modes; if a frequency may have one of several priors, the largest of these.
struct SonahRoom {
  int kept = 0;           ///< most modes, over all classes, that contribute to images
  std::vector<int> rows;  ///< rows of factors per frequency
};

/// Contiguous values of an array that belong to one frequency.
struct SonahSlice {
  std::size_t from = 0;  ///< offset in the array
  std::size_t to = 0;    ///< offset on the device, in the array of all frequencies
  std::size_t count = 0;
};

/// Models in the layout of kernels/imaging/sonah.cl, whose header explains each array: of all frequencies, or of one,
/// to replace another on the device. For square arrays each factor is stored once for all positions that it serves.
class SonahArrays {
 public:
  /// Packs these models, the first of which is that of `first_frequency`; room: for all frequencies of the plan.
  SonahArrays(const ImagePlan& plan, std::span<const SonahModel> models, const SonahCut& cut, SonahRoom room,
              std::size_t first_frequency = 0);
  /// Enlarges `room` to the needs of these models.
  static void reserve(const ImagePlan& plan, std::span<const SonahModel> models, SonahRoom& room);
  /// Slice of an array with `values` in all, the same count per frequency.
  [[nodiscard]] SonahSlice slice_of(std::size_t frequency, std::size_t values) const;
  /// Slice of the factors on a plane.
  [[nodiscard]] SonahSlice factors_of(std::size_t frequency, std::size_t plane) const;
  [[nodiscard]] const SonahCut& cut() const { return cut_; }
  bool square = false;
  int modes = 0;         ///< per class, padded to whole blocks
  int kept = 0;          ///< modes that contribute to images, over all classes, at the frequency that has most
  int mode_parts = 0;    ///< groups of sonah_modes per hologram
  int pixel_blocks = 0;  ///< groups of sonah_images per image
  int rows = 0;          ///< capacity of the factors of a plane, over all frequencies of the plan
  std::vector<float> projections;
  std::vector<std::int32_t> slot_modes;
  std::vector<float> slot_powers;
  std::vector<std::int32_t> starts;
  std::vector<std::int32_t> list_modes;
  std::vector<float> list_powers;
  std::vector<float> image_powers;
  std::vector<float> noises;
  std::vector<float> log_sums;
  std::vector<float> errors;
  std::vector<float> cutoffs;
  std::vector<float> factors;

 private:
  explicit SonahArrays(const ImagePlan& plan);
  /// Modes of a class in one of the folds of the kernels.
  struct Fold {
    int parity = 0;
    std::vector<int> members;  ///< modes, by descending power
  };
  [[nodiscard]] std::vector<Fold> folds_of(const SonahModel& model) const;
  void add_slots(const SonahModel& model, const std::vector<Fold>& folds);
  /// Modes of a frequency that contribute to images, by the parts of its list.
  [[nodiscard]] std::vector<Fold> list_of(const SonahModel& model, const std::vector<Fold>& folds) const;
  void add_list(const SonahModel& model, std::size_t frequency, const std::vector<Fold>& list);
  void add_factors(const SonahModel& model, std::size_t plane, const std::vector<Fold>& list);
  bool on_surface_ = false;
  SonahCut cut_;
  SonahRoom room_;
  std::size_t first_frequency_ = 0;
  std::size_t frequencies_ = 0;          ///< number of frequencies it holds
  std::vector<std::size_t> first_rows_;  ///< first row of the factors of each frequency of the plan, then the total
};

}  // namespace nearfield
