#pragma once
#include <string>
#include <vector>

#include "bench/fidelity/fidelity_imaging.hpp"
#include "bench/fidelity/fidelity_kinds.hpp"
#include "cl/device.hpp"

/// Random scenes through every imager that sets itself: how far images are from the truth, and how far they are said to
/// be.
namespace nearfield::bench {

/// One imager's images of a kind's scenes in one quantity. Both vectors are [scene * frequencies + frequency].
struct KindRow {
  Quantity quantity = Quantity::kPressure;
  std::string filter;  ///< as FidelityRow::filter
  bool knows_truth = false;
  std::vector<double> relative_l2;     ///< true
  std::vector<double> error_estimate;  ///< as published; NaN where none is
};

/// A kind of scene at one signal-to-noise ratio.
struct KindResult {
  std::string name;
  bool is_fitted = false;
  double standoff_m = 0.0;
  double snr_db = 0.0;
  std::vector<double> frequencies_hz;
  std::vector<KindRow> rows;
};

/// Images every scene of the kind with one draw of noise: with the measured and the searched cut-off and with sonah in
/// pressure, normal velocity and, but for sonah, active intensity; pressure and velocity also with the best fixed
/// cut-off of the kind at each frequency, that with the least mean error over its scenes.
KindResult measure_kind(const ocl::Device& device, const SceneKind& kind, double snr_db);

}  // namespace nearfield::bench
