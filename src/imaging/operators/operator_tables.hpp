#pragma once
#include <Eigen/Dense>
#include <atomic>
#include <complex>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <vector>

#include "cl/cache_files.hpp"
#include "imaging/operators/prior.hpp"
#include "imaging/shared/image_plan.hpp"

namespace nearfield {

/// Modes of the microphones' pressures: the covariance is modes diag(powers) modes^H, except for a share of its trace.
struct OperatorModes {
  Eigen::MatrixXcd modes;  ///< (microphone, mode), orthonormal columns
  Eigen::VectorXd powers;  ///< [mode], descending
};

/// An operator imager's model at one frequency, in double precision; the prior's mean power at a microphone is 1.
struct OperatorModel {
  OperatorModes at_microphones;  ///< modes of the used microphones
  /// Maps modes, divided by power + noise, to the images of the surface, then of what comes from behind, if it is told
  /// apart. [plane](pixel, mode)
  std::vector<Eigen::MatrixXcd> images;
  double prior_power = 0.0;  ///< the prior's variance, summed over the first plane's image
};

/// The model of sources of equal power, independent of each other, where C = G G^H and B = H G^H
/// (docs/how/operators.md); those behind the array have `share` of that power.
OperatorModel make_operator_model(const PriorTransfer& transfer, double tolerance, double share = 0.0);
/// The model of given covariances: of the microphones, and of images with them, in the scale of the first. prior_power:
/// of the first image.
OperatorModel make_operator_model(const Eigen::MatrixXcd& microphones, const std::vector<Eigen::MatrixXcd>& images,
                                  double prior_power, double tolerance);

/// Values per step of noise for the expected error of the first plane's image (docs/how/operators.md): the noise's part
/// of the squared error for t = 1; the unresolved part for a scale of 1; 1 over the sum of g w; then, of g over that
/// sum, the sums of g, (g w)^2, g^2 w and g^2; 0.
inline constexpr std::size_t kErrorTerms = 8;

/// Tables of a model at one frequency for the device, in float32.
struct OperatorTables {
  std::size_t microphones = 0;               ///< all of the array, including those left out
  std::size_t pixels = 0;                    ///< per plane
  std::vector<std::complex<float>> modes;    ///< [mode][microphone], 0 for those left out
  std::vector<float> powers;                 ///< [mode]
  std::vector<float> image_powers;           ///< [mode], summed over the first plane's image
  std::vector<float> log_sums;               ///< [kNoiseSteps]
  std::vector<float> errors;                 ///< [kNoiseSteps][kErrorTerms]
  std::vector<std::complex<float>> factors;  ///< [plane][mode][pixel], planes of OperatorModel::images

  [[nodiscard]] std::size_t rank() const { return powers.size(); }
  friend bool operator==(const OperatorTables&, const OperatorTables&) = default;
};

OperatorTables make_operator_tables(const ImagePlan& plan, const OperatorModel& model);

/// Tables on disk, one file per frequency, so that a start computes only what no earlier start has computed.
class OperatorCache {
 public:
  static constexpr std::uint64_t kMostBytes = std::uint64_t{2} << 30U;

  /// Holds at most `most_bytes`; an empty folder: off. An entry that an object has read or stored is never evicted for
  /// one that it stores next: a plan whose models need more has those of its first frequencies on disk, and makes the
  /// others at each start.
  explicit OperatorCache(const std::filesystem::path& folder, std::uint64_t most_bytes = kMostBytes);
  /// This user's cache, in the folder `operators` of ocl::cache_folder().
  static OperatorCache of_user();
  /// Reads the stored tables, [share of shares_behind()], else computes and stores them. `was_stored` says whether all
  /// were stored.
  [[nodiscard]] std::vector<OperatorTables> tables(const ImagePlan& plan, const std::vector<Eigen::Vector3d>& sources,
                                                   std::size_t frequency, bool& was_stored) const;
  /// Key of microphones, imaged places, sources, wall, quantity, medium, tolerance, frequency and share behind.
  [[nodiscard]] static ocl::CacheKey key_of(const ImagePlan& plan, const std::vector<Eigen::Vector3d>& sources,
                                            std::size_t frequency, double share = 0.0);

 private:
  /// True if a model of so many bytes on disk is to be stored beside those that this object has read and stored.
  bool takes(std::uint64_t bytes) const;

  ocl::CacheFiles files_;
  std::uint64_t most_bytes_;
  mutable std::atomic<std::uint64_t> used_bytes_ = 0;  ///< on disk, of entries read and stored
  mutable std::atomic<bool> has_said_full_ = false;
};

/// Makes the tables of every frequency and share of what comes from behind, [frequency][share], on as many processors
/// as memory allows (models_together). Logs how many frequencies were on disk and how long the others took.
std::vector<OperatorTables> make_operator_tables(const ImagePlan& plan, const OperatorCache& cache);

}  // namespace nearfield
