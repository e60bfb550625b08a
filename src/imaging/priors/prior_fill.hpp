#pragma once
#include <Eigen/Dense>
#include <array>
#include <cstddef>
#include <cstdint>
#include <list>
#include <memory>
#include <mutex>
#include <vector>

#include "imaging/priors/make_mask.hpp"
#include "imaging/priors/sonah_model.hpp"
#include "imaging/shared/array_plan.hpp"

namespace nearfield {

/// Cache of inverses of the microphones' covariance (inverse_covariances()), which no mask changes, until forget(). Any
/// number of threads may call it; two that need the same missing entry may both make it, with identical bits.
class PriorInverses {
 public:
  using Classes = std::array<Eigen::MatrixXd, kParities>;

  /// Drops the least recently used entries above `most_bytes`.
  PriorInverses(double noise, std::size_t most_bytes) : noise_(noise), most_bytes_(most_bytes) {}
  /// Inverses for a grid of microphones.
  std::shared_ptr<const Classes> of(const ArrayPlan& plan, std::size_t frequency);
  /// Drops the entries of this array at all frequencies.
  void forget(const ArrayPlan& plan);
  /// Number of inverses that were made, not found.
  [[nodiscard]] std::size_t made() const;
  [[nodiscard]] std::size_t bytes() const;

 private:
  /// All parameters of the prior's covariance.
  struct Key {
    int rows = 0;
    int columns = 0;
    double pitch_x_m = 0.0;
    double pitch_y_m = 0.0;
    double standoff_m = 0.0;
    double wavenumber = 0.0;  ///< rad/m
    friend bool operator==(const Key& a, const Key& b) = default;
  };
  static Key key_of(const ArrayPlan& plan, double wavenumber);
  struct Kept {
    Key key;
    std::shared_ptr<const Classes> inverses;
  };

  std::shared_ptr<const Classes> find(const Key& key);
  void keep(const Key& key, const std::shared_ptr<const Classes>& inverses);

  double noise_;
  std::size_t most_bytes_;
  mutable std::mutex mutex_;  // guards all members below
  std::list<Kept> kept_;      ///< most recently used first
  std::size_t bytes_ = 0;
  std::size_t made_ = 0;
};

/// Microphone noise over the prior's power for the prediction of masked microphones: 40 dB.
inline constexpr double kFillNoise = 1e-4;
/// Size limit of the cache between masks, for the arrays masked last: 60 frequencies of 32 x 32 microphones.
inline constexpr std::size_t kKeptInverseBytes = std::size_t{128} << 20U;

/// A microphone among those of half the rows and columns, with its signed multiplicity in the sums of a parity class.
struct FoldedPlace {
  Eigen::Index sample = 0;
  double weight = 0.0;
};
FoldedPlace folded_place(const ArrayGeometry& geometry, Eigen::Index channel, std::size_t parity);

/// Prediction of masked microphones from all others by sonah's prior, C_mu (C_uu + n)^{-1}: it makes the image of the
/// whole array that of the unmasked microphones, where n is the noise of the image (docs/how/sonah.md). For a grid of
/// microphones; uses all processors. [frequency][masked][row][column], 0 for masked ones
std::vector<float> prior_fill(const ArrayPlan& plan, const std::vector<std::int32_t>& masked);

/// Frees what prior_fill() has cached for this array. make_mask() does so if none is masked.
void forget_prior_fills(const ArrayPlan& plan);

/// Prediction at one frequency. (masked, microphone)
Eigen::MatrixXd prior_fill_matrix(const ArrayPlan& plan, std::size_t frequency,
                                  const std::vector<std::int32_t>& masked);

}  // namespace nearfield
