#pragma once
#include <array>
#include <complex>
#include <cstddef>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "core/field_prediction.hpp"
#include "core/geometry.hpp"

namespace nearfield::health {

/// Each microphone of a grid with its nearest neighbours. Sets of the same shape share all matrices.
class Neighbourhoods {
 public:
  /// Number of microphones in a set, including the one in question.
  static constexpr std::size_t kSize = 21;
  /// A member's place relative to the microphone in question.
  struct Offset {
    int rows = 0;
    int columns = 0;
    friend bool operator==(const Offset&, const Offset&) = default;
    friend bool operator<(const Offset& a, const Offset& b) {
      return std::pair(a.rows, a.columns) < std::pair(b.rows, b.columns);
    }
  };
  using Shape = std::array<Offset, kSize>;

  /// Requires a grid of at least kSize microphones.
  explicit Neighbourhoods(const ArrayGeometry& geometry);

  /// The channels of a set: the microphone in question first, the others by distance.
  [[nodiscard]] std::span<const int, kSize> members(std::size_t channel) const {
    return std::span<const int, kSize>(members_.data() + channel * kSize, kSize);
  }
  /// Index of the set's shape in shapes().
  [[nodiscard]] std::size_t shape_of(std::size_t channel) const { return shape_of_[channel]; }
  [[nodiscard]] const std::vector<Shape>& shapes() const { return shapes_; }
  /// The microphones whose sets contain a channel, including itself.
  [[nodiscard]] const std::vector<int>& users(std::size_t channel) const { return users_[channel]; }

 private:
  std::vector<int> members_;           ///< [channel][member]
  std::vector<std::size_t> shape_of_;  ///< [channel]
  std::vector<Shape> shapes_;
  std::vector<std::vector<int>> users_;  ///< [channel]
};

/// Inverse covariance of a set of microphones, for a field of power 1.
struct Precision {
  std::array<double, Neighbourhoods::kSize * Neighbourhoods::kSize> matrix{};  ///< [member][member]
  double log_determinant = 0.0;
  bool is_identity = false;
};

/// The priors of the field at one frequency from which the data choose (docs/how/health.md):
///   - sources of any shape at 0.5, 1 and 2 times the standoff (field_prediction.hpp),
///     each with noise of 1e-5 and of 1e-3 of the field's power,
///   - rings of wavenumbers, 8 % wide and 20 % apart, from waves of 18 pitches to waves of 2.4 pitches: a mode or a
///     wave of a plate, with noise of 1e-4,
///   - sources at the standoff in a room: half of the power theirs, half that of a diffuse field, with the same noise,
///   - noise alone, without a field.
class LocalPriors {
 public:
  static constexpr std::array kDistanceFactors = {0.5, 1.0, 2.0};
  static constexpr std::array kNoises = {1e-5, 1e-3};
  static constexpr std::size_t kLayers = kDistanceFactors.size() * kNoises.size();
  static constexpr std::size_t kRings = 12;
  static constexpr double kNoiseOfRings = 1e-4;
  static constexpr std::size_t kCount = kLayers + kRings + 2;
  /// Index of the prior of sources at the standoff, with the larger noise.
  static constexpr std::size_t kStandoff = 3;
  /// Index of the prior of half such a field and half a diffuse one.
  static constexpr std::size_t kRoom = kLayers + kRings;
  /// Index of the prior without a field.
  static constexpr std::size_t kNoiseAlone = kCount - 1;

  /// `neighbourhoods` must outlive this.
  LocalPriors(const Neighbourhoods& neighbourhoods, const ArrayGeometry& geometry, double wavenumber_rad_per_m,
              double standoff_m);
  /// Computed on first use: one thread at a time.
  const Precision& precision(std::size_t prior, std::size_t shape);

 private:
  [[nodiscard]] double covariance(std::size_t prior, int rows, int columns);
  [[nodiscard]] std::unique_ptr<Precision> compute(std::size_t prior, std::size_t shape);

  const Neighbourhoods* neighbourhoods_;
  ArrayGeometry geometry_;
  double wavenumber_rad_per_m_;
  std::vector<FieldCovariance> layers_;                 ///< [distance factor]
  std::vector<std::unique_ptr<Precision>> precisions_;  ///< [prior][shape]; null: not computed yet
};

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
