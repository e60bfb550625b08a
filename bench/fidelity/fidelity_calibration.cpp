#include "bench/fidelity/fidelity_calibration.hpp"

#include <algorithm>

#include "bench/fidelity/fidelity.hpp"
#include "imaging/shared/imager.hpp"
#include "nearfield/metrics.hpp"

namespace nearfield::bench {
namespace {

/// The slope of `cos` where a cut-off is given.
constexpr double kGivenSlope = 0.1;

/// A kind's scenes in one quantity.
class KindBench {
 public:
  KindBench(const ocl::Device& device, const SceneKind& kind, double snr_db, Quantity quantity)
      : device_(device), quantity_(quantity) {
    for (std::size_t scene = 0; scene < kind.scenes.size(); ++scene) {
      fields_.push_back(kind.field(scene, quantity));
      const Values noisy = noisy_draw(fields_.back(), snr_db, static_cast<int>(scene));
      frames_.insert(frames_.end(), noisy.begin(), noisy.end());
    }
  }
  [[nodiscard]] KindRow row_of(std::string_view filter, const Settings& settings) const {
    const Imaged imaged = image_frames(device_, fields_.front(), settings, frames_);
    KindRow row{.quantity = quantity_,
                .filter = std::string(filter),
                .knows_truth = false,
                .relative_l2 = {},
                .error_estimate = imaged.error_estimate};
    for (std::size_t i = 0; i < imaged.images.size(); ++i) {
      row.relative_l2.push_back(error_of(i / frequencies(), i % frequencies(), imaged.images[i]));
    }
    return row;
  }
  [[nodiscard]] KindRow best_fixed() const {
    const Settings settings = settings_of(extrapolations().front(), {});
    const CutoffScan scan =
        scan_cutoffs(device_, fields_.front(), settings, kGivenSlope, frames_,
                     [this](std::size_t scene, std::size_t f, auto image) { return error_of(scene, f, image); });
    std::vector<double> cutoffs;
    for (std::size_t f = 0; f < frequencies(); ++f) {
      cutoffs.push_back(scan.cutoff_rad_per_m[scan.best(f)]);
    }
    KindRow row = row_of(kBestCutoff, with_cutoffs(settings, kGivenSlope, cutoffs));
    row.knows_truth = true;
    return row;
  }

 private:
  [[nodiscard]] std::size_t frequencies() const { return fields_.front().frequencies_hz.size(); }
  [[nodiscard]] double error_of(std::size_t scene, std::size_t frequency,
                                std::span<const std::complex<float>> image) const {
    return compare_images(fields_[scene].truth_of(frequency), image).relative_l2;
  }

  const ocl::Device& device_;
  Quantity quantity_;
  std::vector<TrueField> fields_;  ///< [scene]
  Values frames_;                  ///< [scene][frequency][row][column]
};

}  // namespace

KindResult measure_kind(const ocl::Device& device, const SceneKind& kind, double snr_db) {
  KindResult result{.name = kind.name,
                    .is_fitted = kind.is_fitted,
                    .standoff_m = kind.standoff_m,
                    .snr_db = snr_db,
                    .frequencies_hz = kind.frequencies_hz,
                    .rows = {}};
  for (const Quantity quantity : {Quantity::kPressure, Quantity::kNormalVelocity, Quantity::kActiveIntensity}) {
    const KindBench bench(device, kind, snr_db, quantity);
    for (const NamedSettings& filter : filters()) {
      if (filter.name == kMeasuredFilter || filter.name == kSearchedFilter) {
        result.rows.push_back(bench.row_of(filter.name, settings_of(extrapolations().front(), filter)));
      }
    }
    if (quantity == Quantity::kActiveIntensity) {
      continue;  // neither sonah's nor a mark's
    }
    result.rows.push_back(bench.row_of(kSonahImager, settings_of(other_imagers().front(), {})));
    result.rows.push_back(bench.best_fixed());
    HolographySettings holography;
    holography.imager = ImagerKind::kAuto;
    holography.standoff_m = kind.standoff_m;
    holography.quantity = quantity;
    const TrueField first = kind.field(0, quantity);
    const bool is_sonah =
        resolve_imager(holography, {.geometry = first.geometry, .frequencies = first.frequencies_hz.size()}) ==
        ImagerKind::kSonah;
    KindRow automatic = *std::find_if(result.rows.rbegin(), result.rows.rend(), [&](const KindRow& row) {
      return row.quantity == quantity && row.filter == (is_sonah ? kSonahImager : kMeasuredFilter);
    });
    automatic.filter = kAutomaticImager;
    result.rows.push_back(std::move(automatic));
  }
  return result;
}

}  // namespace nearfield::bench
