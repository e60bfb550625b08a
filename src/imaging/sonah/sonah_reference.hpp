#pragma once
#include <Eigen/Dense>
#include <array>
#include <complex>
#include <cstdint>
#include <span>
#include <vector>

#include "imaging/pnah/pnah_reference.hpp"
#include "imaging/search.hpp"
#include "imaging/sources/source_reference.hpp"

/// Statistically optimised near-field holography in plain double precision, from the formulas of docs/sonah.md: whole
/// covariance matrices, no parity, another quadrature.
namespace nearfield::reference {

class Sonah {
 public:
  explicit Sonah(const PnahPlan& plan);
  /// One of the two memories of a frequency's noise.
  struct NoiseMemory {
    std::int64_t begun_half = 0;  ///< number of the half of a memory in which it began
    int frames = 0;               ///< 0: nothing is remembered
    int held = -1;                ///< step; -1 while it settles
    std::vector<double> sums;     ///< [step], costs of the frames of its first half
  };
  /// One frame of spectra [frequency][row][column], Pa; masked are the dead channels of `masked`, else the plan. Keeps
  /// the noise that was most probable in the memory's first half where that is about as probable.
  PnahImages image(std::span<const Complex> spectra, const PnahPlan& masked, const FrameHop& hop);
  /// The first frame of a stream.
  PnahImages image(std::span<const Complex> spectra) { return image(spectra, plan_, FrameHop()); }
  /// Forgets the noise of all frames.
  void forget();
  /// The priors, and the plane waves and point sources to fit, from the next frame on; of the latter their wavenumbers,
  /// places, amplitudes and noise alone are used, and the noise of what is left at masked microphones.
  void use(const WaveFindings& findings);

 private:
  using Source = SourceProblem::Source;
  struct Frequency {
    Eigen::VectorXd powers;                    ///< [mode]
    Eigen::MatrixXd modes;                     ///< (microphone, mode)
    std::vector<Eigen::MatrixXcd> images;      ///< [plane](pixel, mode)
    double prior = 0.0;                        ///< of the first plane's image, summed over pixels
    std::vector<double> cutoffs_rad_per_m;     ///< [noise step]
    std::array<NoiseMemory, 2> memories = {};  ///< the first one begins in even halves, the other one in odd ones
    FoundWaves found;
  };
  static Frequency make_frequency(std::size_t frequency, const PnahPlan& plan);
  /// The step of noise for a frame with these costs, which both memories take in.
  static int noise_of_frame(Frequency& frequency, const std::vector<double>& costs, const FrameHop& hop);
  /// Predictions of masked microphones from all others, of the mask that was used last: by the layer, or as sources
  /// leave it.
  struct PriorFill {
    bool is_made = false;
    std::vector<int> masked;
    std::vector<Eigen::MatrixXd> of_frequency;  ///< (masked, microphone), 0 for masked ones
  };
  /// Whether the search's own prediction is of the mask that is used.
  [[nodiscard]] bool fills_residual(std::size_t frequency) const;
  void make_fill(const std::vector<int>& masked);
  void fill(Eigen::Ref<Eigen::VectorXcd> field, std::size_t frequency) const;
  /// Of amplitude 1, with masked microphones filled. [microphone]
  [[nodiscard]] Eigen::VectorXcd at_microphones(std::size_t frequency, const Source& source) const;
  /// The plan's quantity of amplitude 1. [pixel]
  [[nodiscard]] Eigen::VectorXcd on_plane(std::size_t frequency, const Source& source, std::size_t plane) const;
  [[nodiscard]] SourceShare fit_waves(std::size_t frequency, const Eigen::VectorXcd& field) const;
  PnahPlan plan_;
  std::vector<FieldPrior> priors_;  ///< in force, [frequency]
  std::vector<Frequency> frequencies_;
  PriorFill fill_;
};

}  // namespace nearfield::reference
