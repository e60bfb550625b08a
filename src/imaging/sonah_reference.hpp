#pragma once
#include <Eigen/Dense>
#include <complex>
#include <span>
#include <vector>

#include "imaging/pnah_reference.hpp"

/// Statistically optimised near-field holography in plain double precision, from the formulas of docs/sonah.md: whole
/// covariance matrices, no parity, another quadrature.
namespace nearfield::reference {

class Sonah {
 public:
  explicit Sonah(const PnahPlan& plan);
  /// One frame of spectra [frequency][row][column], Pa; masked are the dead channels of `masked`, else the plan. Keeps
  /// the noise of the frame before where that is as probable.
  PnahImages image(std::span<const Complex> spectra, const PnahPlan& masked);
  PnahImages image(std::span<const Complex> spectra) { return image(spectra, plan_); }

 private:
  struct Frequency {
    Eigen::VectorXd powers;                 ///< [mode]
    Eigen::MatrixXd modes;                  ///< (microphone, mode)
    std::vector<Eigen::MatrixXcd> images;   ///< [plane](pixel, mode)
    double prior = 0.0;                     ///< of the first plane's image, summed over pixels
    std::vector<double> cutoffs_rad_per_m;  ///< [noise step]
    int held = -1;
  };
  [[nodiscard]] Frequency make_frequency(std::size_t frequency) const;
  PnahPlan plan_;
  std::vector<Frequency> frequencies_;
};

}  // namespace nearfield::reference
