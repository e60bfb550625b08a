#pragma once
#include <Eigen/Dense>
#include <array>
#include <cstddef>
#include <list>
#include <memory>
#include <mutex>

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

}  // namespace nearfield
