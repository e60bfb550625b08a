#pragma once
#include <Eigen/Dense>
#include <complex>
#include <span>
#include <vector>

#include "imaging/pnah/pnah_reference.hpp"
#include "imaging/search.hpp"

/// Statistically optimised near-field holography in plain double precision, from the formulas of docs/sonah.md: whole
/// covariance matrices, no parity, another quadrature.
namespace nearfield::reference {

class Sonah {
 public:
  explicit Sonah(const PnahPlan& plan);
  /// One frame of spectra [frequency][row][column], Pa; masked are the dead channels of `masked`, else the plan. Keeps
  /// the noise of the frame before where that is about as probable.
  PnahImages image(std::span<const Complex> spectra, const PnahPlan& masked);
  PnahImages image(std::span<const Complex> spectra) { return image(spectra, plan_); }
  /// Plane waves to fit from the next frame on; of the findings their wavenumbers and noise alone are used.
  void use(const WaveFindings& findings);

 private:
  struct Frequency {
    Eigen::VectorXd powers;                 ///< [mode]
    Eigen::MatrixXd modes;                  ///< (microphone, mode)
    std::vector<Eigen::MatrixXcd> images;   ///< [plane](pixel, mode)
    double prior = 0.0;                     ///< of the first plane's image, summed over pixels
    std::vector<double> cutoffs_rad_per_m;  ///< [noise step]
    int held = -1;
    FoundWaves found;
  };
  /// The part of a frame that plane waves explain.
  struct WaveFit {
    Eigen::VectorXcd residual;             ///< [microphone]
    std::vector<Eigen::VectorXcd> images;  ///< [plane]
    double error = 0.0;                    ///< expected, squared, of the first image, for prior power 1
  };
  [[nodiscard]] Frequency make_frequency(std::size_t frequency) const;
  [[nodiscard]] WaveFit fit_waves(std::size_t frequency, const Eigen::VectorXcd& field) const;
  PnahPlan plan_;
  std::vector<Frequency> frequencies_;
};

}  // namespace nearfield::reference
