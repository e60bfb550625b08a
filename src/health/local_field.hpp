#pragma once
#include <array>
#include <complex>
#include <span>

#include "health/local_priors.hpp"

namespace nearfield::health {

/// Prediction of a microphone from its neighbours by one prior of unknown power: with n neighbours y_N and precision P,
/// the value is Student-t distributed around the prediction, with the scale y_N^H K_N^-1 y_N / n of the neighbours
/// themselves (Rasmussen and Williams 2006, sections 5.4.2 and 9.9).
struct LocalPrediction {
  std::complex<double> value;
  double variance = 0.0;
  double scale = 0.0;         ///< power of the field according to the neighbours
  double freedom = 0.0;       ///< n
  double log_evidence = 0.0;  ///< for the neighbours' values under this prior, up to a constant common to all priors
};

/// The values of one set of microphones under one prior. Members can be left out one by one; member 0, the microphone
/// in question, never is left out. `precision` must outlive this.
class LocalField {
 public:
  static constexpr std::size_t kSize = Neighbourhoods::kSize;
  using Values = std::array<std::complex<double>, kSize>;

  LocalField(const Precision& precision, const Values& values);
  void leave_out(std::size_t member);
  [[nodiscard]] LocalPrediction predict() const;
  /// The neighbour that the others predict worst.
  [[nodiscard]] std::size_t worst() const;
  [[nodiscard]] std::size_t neighbours() const { return count_ - 1; }
  /// Squared deviation of a member from the prediction of all others, over the variance for a field of power 1.
  [[nodiscard]] double misfit(std::size_t member) const {
    return std::norm(whitened_[member]) / matrix()[member * kSize + member];
  }
  /// Power of the field according to all members, including member 0.
  [[nodiscard]] double scale() const { return power_ / static_cast<double>(count_); }

 private:
  using Matrix = std::array<double, kSize * kSize>;
  [[nodiscard]] const Matrix& matrix() const { return has_own_ ? own_ : precision_->matrix; }
  const Precision* precision_;
  Matrix own_;  ///< set once a member is left out
  bool has_own_ = false;
  Values values_;
  Values whitened_{};  ///< P y
  std::array<bool, kSize> is_out_{};
  std::size_t count_ = kSize;
  double power_ = 0.0;  ///< y^H P y
  double log_determinant_;
};

}  // namespace nearfield::health
