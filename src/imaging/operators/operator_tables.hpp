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

/// A parity class of an operator imager's model.
struct OperatorClass {
  OperatorModes at_microphones;  ///< modes of the microphones' samples
  /// Maps modes, divided by power + noise, to the images of the surface, then of what comes from behind, if it is told
  /// apart. [plane](folded pixel, mode)
  std::vector<Eigen::MatrixXcd> images;
};

/// An operator imager's model at one frequency, in double precision; the prior's mean power at a microphone is 1.
struct OperatorModel {
  std::vector<OperatorClass> classes;
  double image_power = 0.0;  ///< the prior's variance, summed over the first plane's image
};

/// The model of C and B (docs/how/operators.md), where sources behind the array have `share` of the others' power.
/// Modes leave at most `tolerance` of the trace.
OperatorModel make_operator_model(const PriorCovariances& prior, double tolerance, double share = 0.0);

/// Values per step of noise for the expected error of the first plane's image (docs/how/operators.md): the noise's part
/// of the squared error for t = 1; the unresolved part for a scale of 1; 1 over the sum of g w; then, of g over that
/// sum, the sums of g, (g w)^2, g^2 w and g^2; 0.
inline constexpr std::size_t kErrorTerms = 8;

/// Tables of a model at one frequency for the device, in float32. Modes are those of the first class, then of the
/// second one, and so on.
struct OperatorTables {
  std::size_t samples = 0;                   ///< microphones of a class
  std::size_t pixels = 0;                    ///< folded, per plane
  std::vector<std::uint64_t> ranks;          ///< [class], number of modes
  std::vector<std::complex<float>> modes;    ///< [mode][sample]
  std::vector<float> powers;                 ///< [mode], descending in each class
  std::vector<float> image_powers;           ///< [mode], summed over the first plane's image
  std::vector<float> log_sums;               ///< [kNoiseSteps]
  std::vector<float> errors;                 ///< [kNoiseSteps][kErrorTerms]
  std::vector<std::complex<float>> factors;  ///< [plane][mode][folded pixel], of each view of it

  [[nodiscard]] std::size_t rank() const { return powers.size(); }
  /// Number of modes of the classes before this one.
  [[nodiscard]] std::size_t first_of(std::size_t parity) const;
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
  /// Key of all that a model depends on: microphones, imaged places, the prior's sources of both sides, classes, wall,
  /// quantity, medium, tolerance, frequency and share behind.
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
