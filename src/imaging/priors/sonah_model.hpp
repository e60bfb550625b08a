#pragma once
#include <Eigen/Dense>
#include <array>
#include <complex>
#include <vector>

#include "imaging/priors/class_factors.hpp"
#include "imaging/shared/image_plan.hpp"
#include "imaging/shared/noise_steps.hpp"

namespace nearfield {

/// Parity classes of a field over the array: even or odd along x (bit 0) and along y (bit 1).
inline constexpr int kParities = 4;

/// The prior model of statistically optimised near-field holography at one frequency.
///
/// Prior of the field: incoherent monopoles, spread evenly over a layer as far behind the surface as the microphones
/// are in front of it. Its covariance depends on distance alone, so it separates into four parity classes, each over
/// half the rows and columns. An odd class has zeros in place of the centre row or column that it lacks. Lengths are
/// the same in all classes; `samples` = ceil(rows / 2) ceil(columns / 2).
struct SonahModel {
  int samples = 0;
  int pixel_rows = 0;     ///< half an image: ceil(image rows / 2)
  int pixel_columns = 0;  ///< likewise
  /// Prior power of each mode, descending; a microphone's is 1. [class][mode], as many modes as samples
  std::array<Eigen::VectorXd, kParities> powers;
  /// For square arrays, the effect on a mode of swapping rows and columns: 1, none; -1, its sign changes; 0, for
  /// classes 1 and 2, it becomes the same mode of the other one. Empty for other arrays. [class][mode]
  std::array<std::vector<int>, kParities> transposed;
  /// Maps sums over mirrored microphones to modes: y = projection^T folded. [class](sample, mode)
  std::array<ClassFactors<float>, kParities> projections;
  /// Maps modes, divided by power + noise, to folded pixels, whose signed sums are the image. [plane][class](pixel,
  /// mode)
  std::vector<std::array<ClassFactors<std::complex<float>>, kParities>> images;
  /// Sum over an image's pixels of the squared factors of a mode. [plane][class][mode]
  std::vector<std::array<Eigen::VectorXd, kParities>> image_powers;
  /// Number of pixels of the image that a folded pixel represents. [pixel]
  Eigen::VectorXd shown;
  /// Sum over an image's pixels of the prior's variance. [plane]
  std::vector<double> prior_powers;
  /// Wavenumber at which prior and noise are equal in K-space, rad/m; 0 if noise is larger even at k. [kNoiseSteps]
  std::vector<double> cutoffs_rad_per_m;
};

/// True if swapping rows and columns leaves the prior unchanged.
bool is_square(const ArrayGeometry& geometry);

/// Sizes of a class of the model, known before it is made.
struct MirroredSizes {
  int samples = 0;
  int pixels = 0;  ///< rows of an image's factors: those of half an image, or all of a surface
};
MirroredSizes mirrored_sizes(const ImagePlan& plan);

/// Takes about a tenth of a second for 32 x 32 microphones.
SonahModel make_sonah_model(const ImagePlan& plan, std::size_t frequency);
/// Makes the models of every frequency, on all processors.
std::vector<SonahModel> make_sonah_models(const ImagePlan& plan);

/// Inverses of the microphones' covariance with this noise over the prior's power, as factors of sums over mirrored
/// microphones: p^H (C + n)^{-1} p = sum over classes of folded^H inverse folded. [class](sample, sample)
std::array<Eigen::MatrixXd, kParities> inverse_covariances(const ArrayPlan& plan, std::size_t frequency, double noise);

/// Factor from pressure on a plane to the plan's quantity there, for a wave with this kz.
std::complex<double> quantity_factor(const ImagePlan& plan, std::complex<double> kz, double k);

}  // namespace nearfield
