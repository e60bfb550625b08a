#pragma once
#include <Eigen/Dense>
#include <array>
#include <complex>
#include <cstdint>
#include <span>
#include <vector>

#include "imaging/shared/imager_reference.hpp"
#include "imaging/shared/reference_images.hpp"
#include "imaging/shared/search.hpp"
#include "imaging/sources/source_reference.hpp"

/// Statistically optimised near-field holography in plain double precision, from the formulas of docs/how/sonah.md:
/// whole covariance matrices, no parity, another quadrature.
namespace nearfield::reference {

class Sonah {
 public:
  explicit Sonah(const ImagePlan& plan);
  /// One of the two memories of a frequency's noise.
  struct NoiseMemory {
    std::int64_t begun_half = 0;  ///< number of the half of a memory in which it began
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
  /// Sets the priors, and the plane waves and point sources to fit, from the next frame on; only the sources'
  /// wavenumbers, positions, amplitudes and noise are used, and the noise of the residual at masked microphones.
  void use(const WaveFindings& findings);

 private:
  using Source = SourceProblem::Source;
  struct Frequency {
    Eigen::VectorXd powers;                    ///< [mode]
    Eigen::MatrixXd modes;                     ///< (microphone, mode)
    std::vector<Eigen::MatrixXcd> images;      ///< [plane](pixel, mode)
    double prior = 0.0;                        ///< variance of the first plane's image, summed over pixels
    std::vector<double> cutoffs_rad_per_m;     ///< [noise step]
    std::array<NoiseMemory, 2> memories = {};  ///< the first begins in even halves, the second in odd ones
    FoundWaves found;
  };
  static Frequency make_frequency(std::size_t frequency, const ImagePlan& plan);
  /// Step of noise for a frame with these costs, which are added to both memories.
  static int noise_of_frame(Frequency& frequency, const std::vector<double>& costs, const FrameHop& hop);
  /// Predictions of masked microphones from all others, for the mask used last: by the layer, or from the residual of
  /// sources.
  struct PriorFill {
    bool is_made = false;
    std::vector<int> masked;
    std::vector<Eigen::MatrixXd> of_frequency;  ///< (masked, microphone), 0 for masked ones
  };
  /// True if the search's own prediction belongs to the mask in use.
  [[nodiscard]] bool fills_residual(std::size_t frequency) const;
  void make_fill(const std::vector<int>& masked);
  void fill(Eigen::Ref<Eigen::VectorXcd> field, std::size_t frequency) const;
  /// Field of amplitude 1, with masked microphones filled. [microphone]
  [[nodiscard]] Eigen::VectorXcd at_microphones(std::size_t frequency, const Source& source) const;
  /// Field of the plan's quantity for amplitude 1. [pixel]
  [[nodiscard]] Eigen::VectorXcd on_plane(std::size_t frequency, const Source& source, std::size_t plane) const;
  [[nodiscard]] SourceShare fit_waves(std::size_t frequency, const Eigen::VectorXcd& field) const;
  ImagePlan plan_;
  std::vector<FieldPrior> priors_;  ///< in force, [frequency]
  std::vector<Frequency> frequencies_;
  PriorFill fill_;
};

std::unique_ptr<Imager> make_sonah(const ImagePlan& plan);

}  // namespace nearfield::reference
