#pragma once
#include <limits>
#include <span>

#include "bench/fidelity/fidelity_fields.hpp"

/// How close an image is to the truth.
namespace nearfield::bench {

/// Microphones at each side that the inner figures leave out: 24 x 24 of 32 x 32.
inline constexpr int kBorder = 4;

struct Figures {
  double relative_l2 = std::numeric_limits<double>::quiet_NaN();  ///< complex, over all places with a truth
  double inner_l2 = std::numeric_limits<double>::quiet_NaN();     ///< without kBorder microphones at each side
  double nmse_db = std::numeric_limits<double>::quiet_NaN();      ///< as `compare`: each over its own maximum
  double ncc = std::numeric_limits<double>::quiet_NaN();          ///< complex
  /// From the image's highest point to the nearest of the truth's points that stand alone and reach 95 % of its
  /// highest; both from parabolas through three pixels.
  double peak_off_m = std::numeric_limits<double>::quiet_NaN();
};

/// Inner figures and peaks are NaN where the truth is not known everywhere; inner ones also on arrays that have no
/// inside.
Figures figures_of(const TrueField& field, std::size_t frequency, std::span<const std::complex<float>> image);

/// Means over draws; levels as powers. Keeps the worst relative L2, too.
struct MeanFigures {
  Figures mean;
  double worst_l2 = 0.0;
};
MeanFigures mean_of(const std::vector<Figures>& draws);

}  // namespace nearfield::bench
