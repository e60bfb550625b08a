#include "imaging/operators/folded_places.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "imaging/operators/prior.hpp"

namespace nearfield {
namespace {

using Eigen::Index;
using Eigen::Vector3d;

constexpr std::size_t kMirrored = 4;  ///< views of a sample, and parity classes
constexpr double kSamePlace_m = 1e-9;

/// Finds places by their coordinates.
class PlaceIndex {
 public:
  explicit PlaceIndex(const std::vector<Vector3d>& places_m) : places_m_(&places_m), by_x_(places_m.size()) {
    std::iota(by_x_.begin(), by_x_.end(), 0);
    std::sort(by_x_.begin(), by_x_.end(), [&](int a, int b) { return place(a).x() < place(b).x(); });
  }
  /// -1 if there is none.
  [[nodiscard]] int find(const Vector3d& at_m) const {
    auto next = std::lower_bound(by_x_.begin(), by_x_.end(), at_m.x() - kSamePlace_m,
                                 [&](int index, double x_m) { return place(index).x() < x_m; });
    for (; next != by_x_.end() && place(*next).x() <= at_m.x() + kSamePlace_m; ++next) {
      if ((place(*next) - at_m).cwiseAbs().maxCoeff() <= kSamePlace_m) {
        return *next;
      }
    }
    return -1;
  }

 private:
  [[nodiscard]] const Vector3d& place(int index) const { return (*places_m_)[static_cast<std::size_t>(index)]; }

  const std::vector<Vector3d>* places_m_;
  std::vector<int> by_x_;  ///< indices of the places, ascending along x
};

}  // namespace

std::optional<FoldedPlaces> FoldedPlaces::mirrored(const std::vector<Vector3d>& places_m) {
  const PlaceIndex index(places_m);
  std::vector<bool> is_known(places_m.size());
  std::vector<int> places;
  for (std::size_t own = 0; own < places_m.size(); ++own) {
    if (is_known[own]) {
      continue;
    }
    for (std::size_t view = 0; view < kMirrored; ++view) {
      const Vector3d sides(parity_sign(1, view), parity_sign(2, view), 1.0);
      const int found = view == 0 ? static_cast<int>(own) : index.find(places_m[own].cwiseProduct(sides));
      if (found < 0) {
        return std::nullopt;
      }
      is_known[static_cast<std::size_t>(found)] = true;
      places.push_back(found);
    }
  }
  double count = 0.0;
  FoldedPlaces folded(kMirrored, std::move(places));
  for (std::size_t sample = 0; sample < folded.samples(); ++sample) {
    count += folded.count(sample);
  }
  const bool are_apart = count == static_cast<double>(places_m.size());
  return are_apart ? std::optional(std::move(folded)) : std::nullopt;
}

bool FoldedPlaces::is_repeated(std::size_t sample, std::size_t view) const {
  const int* const first = places_.data() + sample * classes_;
  return std::find(first, first + view, first[view]) != first + view;
}

double FoldedPlaces::count(std::size_t sample) const {
  double count = 0.0;
  for (std::size_t view = 0; view < classes_; ++view) {
    count += is_repeated(sample, view) ? 0.0 : 1.0;
  }
  return count;
}

bool FoldedPlaces::has(std::size_t sample, std::size_t parity) const {
  for (std::size_t view = 1; view < classes_; ++view) {
    if (at(sample, view) == at(sample) && parity_sign(parity, view) < 0.0) {
      return false;
    }
  }
  return true;
}

Eigen::MatrixXcd FoldedPlaces::of_views(const Eigen::MatrixXcd& samples) const {
  Eigen::MatrixXcd values = samples;
  for (Index sample = 0; sample < values.rows(); ++sample) {
    values.row(sample) /= std::sqrt(count(static_cast<std::size_t>(sample)));
  }
  return values;
}

void FoldedPlaces::add_views(Eigen::MatrixXcd& to, const Eigen::MatrixXcd& of_views, std::size_t parity) const {
  for (std::size_t sample = 0; sample < samples(); ++sample) {
    for (std::size_t view = 0; view < classes_; ++view) {
      if (!is_repeated(sample, view)) {
        to.row(at(sample, view)) += parity_sign(parity, view) * of_views.row(static_cast<Index>(sample));
      }
    }
  }
}

Folding unfolded(const ImagePlan& plan) {
  std::vector<int> pixels(image_places(plan).pixels);
  std::iota(pixels.begin(), pixels.end(), 0);
  return {.microphones = FoldedPlaces::of_each(used_microphones(plan)),
          .pixels = FoldedPlaces::of_each(std::move(pixels))};
}

Folding folding_of(const ImagePlan& plan) {
  const bool may_be_mirrored =
      !plan.surface && !plan.sources && !plan.holography.operators.wall.y_m && plan.dead_channels.empty();
  if (!may_be_mirrored) {
    return unfolded(plan);
  }
  const ImagePlaces images = image_places(plan);
  const auto first = images.places_m.begin();
  std::optional<FoldedPlaces> microphones = FoldedPlaces::mirrored(microphone_places(plan));
  std::optional<FoldedPlaces> pixels =
      FoldedPlaces::mirrored({first, first + static_cast<std::ptrdiff_t>(images.pixels)});
  if (!microphones || !pixels) {
    return unfolded(plan);
  }
  return {.microphones = std::move(*microphones), .pixels = std::move(*pixels)};
}

}  // namespace nearfield
