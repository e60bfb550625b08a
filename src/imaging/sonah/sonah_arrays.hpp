#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "imaging/sonah/sonah_model.hpp"

namespace nearfield {

/// How the groups of sonah's kernels are cut, by device and plan.
struct SonahCut {
  int part_blocks = 1;       ///< blocks of 32 modes of a group that folds a field, at most
  int pair_part_blocks = 1;  ///< the same where a factor serves two classes
  int pixel_lanes = 32;      ///< folded pixels of a group that makes images
  bool operator==(const SonahCut&) const = default;
};

/// Room that lists of modes need, where a frequency may have one of several priors that of each.
struct SonahRoom {
  int kept = 0;           ///< modes of all classes that contribute to images, at most
  std::vector<int> rows;  ///< the same of each frequency
};

/// Values of an array that belong to one frequency, in one piece.
struct SonahSlice {
  std::size_t from = 0;  ///< in the array
  std::size_t to = 0;    ///< where the device has those of all frequencies
  std::size_t count = 0;
};

/// Models as kernels/imaging/sonah.cl reads them, whose header has the meaning of each array: of all frequencies, or of
/// one, to take another's place on the device. Of square arrays a factor is there once for all places that it serves.
class SonahArrays {
 public:
  /// Of these models, whose first one is that of `first_frequency`; room: of all frequencies of the plan.
  SonahArrays(const PnahPlan& plan, std::span<const SonahModel> models, const SonahCut& cut, SonahRoom room,
              std::size_t first_frequency = 0);
  /// Grows `room` to what these models need.
  static void reserve(const PnahPlan& plan, std::span<const SonahModel> models, SonahRoom& room);
  /// Of an array that has `values` in all, each frequency the same count.
  [[nodiscard]] SonahSlice slice_of(std::size_t frequency, std::size_t values) const;
  /// Of the factors on a plane.
  [[nodiscard]] SonahSlice factors_of(std::size_t frequency, std::size_t plane) const;
  [[nodiscard]] const SonahCut& cut() const { return cut_; }
  bool square = false;
  int modes = 0;         ///< of a class, with those that fill the last block
  int kept = 0;          ///< modes that contribute to images, of all classes, in the frequency that has most
  int mode_parts = 0;    ///< groups of sonah_modes a hologram
  int pixel_blocks = 0;  ///< groups of sonah_images an image
  int rows = 0;          ///< that the factors of a plane have room for, over all frequencies of the plan
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
  explicit SonahArrays(const PnahPlan& plan);
  /// Modes of a class in one of the folds of the kernels.
  struct Fold {
    int parity = 0;
    std::vector<int> members;  ///< modes, their powers descending
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
  std::size_t frequencies_ = 0;          ///< that it has
  std::vector<std::size_t> first_rows_;  ///< of the factors of each frequency of the plan, and all of them
};

}  // namespace nearfield
