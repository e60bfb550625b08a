#pragma once
#include <Eigen/Dense>
#include <bit>
#include <cstddef>
#include <optional>
#include <utility>
#include <vector>

#include "imaging/shared/image_plan.hpp"

namespace nearfield {

/// Sign of a field of a parity class at a mirrored place. Bit 0: the field is odd along x, or the place is mirrored
/// along x; bit 1: likewise along y.
inline double parity_sign(std::size_t parity, std::size_t view) {
  return std::popcount(parity & view) % 2 == 0 ? 1.0 : -1.0;
}

/// Places that the mirrors x = 0 and y = 0 map onto each other. A sample stands for up to four of them, its views, and
/// fields separate into four parity classes of samples. Without mirrors each place is a sample with one view, and there
/// is one class. A field's value at a sample of a class is the sum over its different places of sign times value, over
/// the root of their number, which keeps the energy.
class FoldedPlaces {
 public:
  FoldedPlaces() = default;
  /// Without mirrors.
  static FoldedPlaces of_each(std::vector<int> places) { return {1, std::move(places)}; }
  /// nullopt if the mirrors do not map the places onto themselves, by 1e-9 m.
  static std::optional<FoldedPlaces> mirrored(const std::vector<Eigen::Vector3d>& places_m);

  /// Number of parity classes, and of views of a sample: 1 or 4.
  [[nodiscard]] std::size_t classes() const { return classes_; }
  [[nodiscard]] std::size_t samples() const { return places_.size() / classes_; }
  /// Index of a place. View 0 is the sample's own, bits of the others are those of parity_sign().
  [[nodiscard]] int at(std::size_t sample, std::size_t view = 0) const { return places_[sample * classes_ + view]; }
  /// True if the place is that of an earlier view: it lies on a mirror.
  [[nodiscard]] bool is_repeated(std::size_t sample, std::size_t view) const;
  /// Number of different places of a sample.
  [[nodiscard]] double count(std::size_t sample) const;
  /// False where fields of this class are 0: they are odd, and the sample lies on the mirror.
  [[nodiscard]] bool has(std::size_t sample, std::size_t parity) const;
  /// Values of samples as those of each of their views, but for signs. (sample, column)
  [[nodiscard]] Eigen::MatrixXcd of_views(const Eigen::MatrixXcd& samples) const;
  /// Adds fields of a class, of_views(), to those of all places. (sample, column) to (place, column)
  void add_views(Eigen::MatrixXcd& to, const Eigen::MatrixXcd& of_views, std::size_t parity) const;

 private:
  FoldedPlaces(std::size_t classes, std::vector<int> places) : classes_(classes), places_(std::move(places)) {}

  std::size_t classes_ = 1;
  std::vector<int> places_;  ///< [sample][view]
};

/// Folding of a plan's microphones and pixels to as many classes each.
struct Folding {
  FoldedPlaces microphones;  ///< channels of the used ones
  FoldedPlaces pixels;       ///< pixels of each plane

  [[nodiscard]] std::size_t classes() const { return microphones.classes(); }
};
/// Four parity classes where microphones and flat images are the same in both mirrors, none is left out, and the plan's
/// own sheet is the prior, without a wall; else one class.
Folding folding_of(const ImagePlan& plan);
/// One class, of any places.
Folding unfolded(const ImagePlan& plan);

}  // namespace nearfield
