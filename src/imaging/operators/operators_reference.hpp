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

/// Images by dense operators in plain double precision, from the formulas of docs/how/operators.md: whole covariance
/// matrices, also where the imager has parity classes, whose parts outside the pivoted Cholesky factors are noise.
namespace nearfield::reference {

class Operators {
 public:
  explicit Operators(const ImagePlan& plan);
  /// Images one frame of spectra [frequency][row][column], Pa; masks the dead channels of `masked` instead of the
  /// plan's. Keeps the noise that was most probable in the memory's first half if it is still about as probable.
  Images image(std::span<const Complex> spectra, const ImagePlan& masked, const FrameHop& hop);
  /// Images the first frame of a stream.
  Images image(std::span<const Complex> spectra) { return image(spectra, plan_, FrameHop()); }
  /// Forgets the noise of all frames.
  void forget();
  /// Sets the point sources to fit from the next frame on; only their positions, amplitudes and noise are used.
  void use(const WaveFindings& findings);

 private:
  /// One of the two memories of a frequency's noise.
  struct Memory {
    std::int64_t begun_half = -1;  ///< number of the half of a memory in which it began; -1: no frames
    int held = -1;                 ///< step; -1 while it settles
    int settled = 0;               ///< frames of its first half
    std::vector<double> sums;      ///< [step], summed costs of these frames
  };
  /// The model of one share of what comes from behind.
  struct Model {
    Eigen::MatrixXcd covariance;           ///< (used microphone, used microphone), without the part outside the factor
    std::vector<Eigen::MatrixXcd> images;  ///< [plane](pixel, used microphone), the surface's planes first
    Eigen::VectorXd powers;                ///< [mode], 0 for modes of noise alone
    Eigen::MatrixXcd modes;                ///< (used microphone, mode)
  };
  struct Frequency {
    std::vector<Model> models;            ///< [share]
    double prior = 0.0;                   ///< variance of the first plane's image, summed over pixels
    FoundWaves found;                     ///< sources beside the prior
    std::array<Memory, 2> memories = {};  ///< the first begins in even halves, the second in odd ones
  };
  [[nodiscard]] Frequency make_frequency(std::size_t frequency) const;
  /// Transfer from the sources behind the array, whose power at the microphones is 1 in the mean, to microphones and to
  /// images.
  void make_behind(std::size_t frequency, Eigen::MatrixXcd& g, std::vector<Eigen::MatrixXcd>& h) const;
  /// e^{-jkr} / r of a point source, and of its image in the wall. [used microphone]
  [[nodiscard]] Eigen::VectorXcd at_microphones(std::size_t frequency, const PointSource& point) const;
  /// Field of the plan's quantity. [pixel]
  [[nodiscard]] Eigen::VectorXcd on_plane(std::size_t frequency, const PointSource& point, std::size_t plane) const;
  [[nodiscard]] SourceShare share_of_sources(std::size_t frequency, const Eigen::VectorXcd& field) const;
  static int noise_of_frame(Frequency& frequency, const std::vector<double>& costs, const FrameHop& hop);
  ImagePlan plan_;
  ImagePlan masked_plan_;  ///< with the mask of the last frame
  std::vector<int> used_;
  std::vector<Frequency> frequencies_;
};

std::unique_ptr<Imager> make_operators(const ImagePlan& plan);

}  // namespace nearfield::reference
