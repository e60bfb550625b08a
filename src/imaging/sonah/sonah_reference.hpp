#pragma once
#include <Eigen/Dense>
#include <array>
#include <complex>
#include <cstdint>
#include <span>
#include <vector>

#include "imaging/shared/imager_reference.hpp"
#include "imaging/shared/search.hpp"
#include "imaging/sources/source_reference.hpp"

/// Statistically optimised near-field holography in plain double precision, from the formulas of docs/how/sonah.md.
/// Unlike the device, it does not split covariances by even and odd symmetry, and it integrates by Simpson's rule.
namespace nearfield::reference {

class Sonah {
 public:
  explicit Sonah(const ImagePlan& plan);
  /// One of two memories of a frequency's noise, restarted every kMemoryHops hops, half of that after each other;
  /// frames use the older one. A step is an index of noise_of(), the ratio of noise to prior power.
  struct NoiseMemory {
    std::int64_t begun_half = 0;  ///< hop / kMemoryHalf at its start
    int frames = 0;               ///< 0: nothing is remembered
    int held = -1;                ///< step; -1 while it settles
    std::vector<double> sums;     ///< [step], costs of the frames of its first half
  };
  /// Images one frame of spectra [frequency][row][column], Pa; masks the dead channels of `masked` instead of the
  /// plan's. Keeps the noise that was most probable in the memory's first half if it is still about as probable.
  Images image(std::span<const Complex> spectra, const ImagePlan& masked, const FrameHop& hop);
  /// Images the first frame of a stream.
  Images image(std::span<const Complex> spectra) { return image(spectra, plan_, FrameHop()); }
  /// Forgets the noise of all frames.
  void forget();
  /// Sets the priors, and the plane waves and point sources to fit, from the next frame on. Kernel tables and weights
  /// for the device are ignored.
  void use(const WaveFindings& findings);

 private:
  using Source = SourceProblem::Source;
  struct Frequency {
    Eigen::VectorXd powers;                    ///< [mode], relative to the field's variance at a microphone
    Eigen::MatrixXd modes;                     ///< (microphone, mode)
    std::vector<Eigen::MatrixXcd> images;      ///< [plane](pixel, mode)
    double prior = 0.0;                        ///< variance of the first plane's image, summed over pixels
    std::vector<double> cutoffs_rad_per_m;     ///< [noise step]
    std::array<NoiseMemory, 2> memories = {};  ///< the first begins in even halves, the second in odd ones
    FoundWaves found;
  };
  static Frequency make_frequency(std::size_t frequency, const ImagePlan& plan);
  /// Step of noise for a frame with these costs, from the older memory. Both memories are updated if the frame has all
  /// its bits.
  static int noise_of_frame(Frequency& frequency, const std::vector<double>& costs, const FrameHop& hop);
  /// Predictions of masked microphones from all others, for the mask used last: under the prior kLayer, or, where the
  /// search has supplied them, under its prior and noise.
  struct PriorFill {
    bool is_made = false;
    std::vector<int> masked;
    std::vector<Eigen::MatrixXd> of_frequency;  ///< (masked, microphone), 0 for masked ones
  };
  /// True if the search's own prediction was made for exactly the mask in use.
  [[nodiscard]] bool fills_residual(std::size_t frequency) const;
  void make_fill(const std::vector<int>& masked);
  void fill(Eigen::Ref<Eigen::VectorXcd> field, std::size_t frequency) const;
  /// Field of amplitude 1, with masked microphones filled. [microphone]
  [[nodiscard]] Eigen::VectorXcd at_microphones(std::size_t frequency, const Source& source) const;
  /// Field of the plan's quantity for amplitude 1. [pixel]
  [[nodiscard]] Eigen::VectorXcd on_plane(std::size_t frequency, const Source& source, std::size_t plane) const;
  [[nodiscard]] SourceShare fit_waves(std::size_t frequency, const Eigen::VectorXcd& field) const;
  ImagePlan plan_;
  std::vector<FieldPrior> priors_;  ///< prior in use at each frequency
  std::vector<Frequency> frequencies_;
  PriorFill fill_;
};

std::unique_ptr<Imager> make_sonah(const ImagePlan& plan);

}  // namespace nearfield::reference
