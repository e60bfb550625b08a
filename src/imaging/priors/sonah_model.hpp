#pragma once
#include <Eigen/Dense>
#include <algorithm>
#include <array>
#include <complex>
#include <memory>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

#include "imaging/shared/image_plan.hpp"
#include "imaging/shared/noise_steps.hpp"

namespace nearfield {

/// Factors between the places of half an array, or half an image, and the modes of a parity class: a matrix (place,
/// mode), in single precision as in kernels. If rows and columns are alike, half of a class follows from the other
/// half, and class 2 from class 1; only the independent part is kept, since searches hold the factors of several priors
/// for as long as a stream runs.
/// Scalar: float or std::complex<float>.
template <class Scalar>
class ClassFactors {
 public:
  using Matrix = Eigen::Matrix<Scalar, Eigen::Dynamic, Eigen::Dynamic>;

  ClassFactors() = default;
  explicit ClassFactors(Matrix values)
      : places_(values.rows()), values_(std::make_shared<const Matrix>(std::move(values))) {}
  /// Factors for `side` rows and columns; swapping these keeps each mode (1) or changes its sign (-1). signs: [mode]
  ClassFactors(const Matrix& values, Eigen::Index side, std::span<const int> signs)
      : places_(values.rows()), side_(side), signs_(values.cols()) {
    for (Eigen::Index mode = 0; mode < values.cols(); ++mode) {
      signs_(mode) = signs[static_cast<std::size_t>(mode)];
    }
    Matrix kept(side * (side + 1) / 2, values.cols());
    for (Eigen::Index place = 0; place < places_; ++place) {
      if (!is_below(place)) {
        kept.row(kept_of(place)) = values.row(place);
      }
    }
    values_ = std::make_shared<const Matrix>(std::move(kept));
  }
  /// The modes with rows and columns swapped, `side` of each; shares the kept factors.
  [[nodiscard]] ClassFactors transposed(Eigen::Index side) const {
    ClassFactors out = *this;
    out.side_ = side;
    out.is_transposed_ = !is_transposed_;
    return out;
  }

  /// Number of kept factors.
  [[nodiscard]] Eigen::Index kept() const { return values_ ? values_->size() : 0; }
  [[nodiscard]] Scalar at(Eigen::Index place, Eigen::Index mode) const {
    const Eigen::Index own = is_transposed_ ? partner(place) : place;
    const Scalar value = (*values_)(kept_of(own), mode);
    return is_below(own) ? static_cast<float>(signs_(mode)) * value : value;
  }
  /// Maps (mode, column) to (place, column).
  template <class Modes>
  [[nodiscard]] auto times(const Modes& modes) const {
    using Out = Eigen::Matrix<typename Modes::Scalar, Eigen::Dynamic, Eigen::Dynamic>;
    if (modes.cols() == 0) {  // No rows can be taken of a matrix without columns.
      return Out(places_, 0);
    }
    Out above(values_->rows(), modes.cols());
    Out below(signs_.size() > 0 ? values_->rows() : 0, modes.cols());
    const Out changed = signs_.size() > 0 ? Out(signs_.asDiagonal() * modes) : Out();
    for (Eigen::Index first = 0; first < values_->rows(); first += kRowsAtOnce) {
      const WideMatrix values = wide_rows(first);
      above.middleRows(first, values.rows()) = values * modes;
      if (signs_.size() > 0) {
        below.middleRows(first, values.rows()) = values * changed;
      }
    }
    Out out(places_, modes.cols());
    for (Eigen::Index place = 0; place < places_; ++place) {
      const Eigen::Index own = is_transposed_ ? partner(place) : place;
      out.row(place) = (is_below(own) ? below : above).row(kept_of(own));
    }
    return out;
  }
  /// Maps (place, column) to (mode, column), by the transposed matrix.
  template <class Places>
  [[nodiscard]] auto transposed_times(const Places& places) const {
    using Out = Eigen::Matrix<typename Places::Scalar, Eigen::Dynamic, Eigen::Dynamic>;
    if (places.cols() == 0) {
      return Out(values_->cols(), 0);
    }
    Out above = Out::Zero(values_->rows(), places.cols());
    Out below = Out::Zero(signs_.size() > 0 ? values_->rows() : 0, places.cols());
    for (Eigen::Index place = 0; place < places_; ++place) {
      const Eigen::Index own = is_transposed_ ? partner(place) : place;
      (is_below(own) ? below : above).row(kept_of(own)) = places.row(place);
    }
    Out out = Out::Zero(values_->cols(), places.cols());
    for (Eigen::Index first = 0; first < values_->rows(); first += kRowsAtOnce) {
      const WideMatrix values = wide_rows(first);
      out += values.transpose() * above.middleRows(first, values.rows());
      if (signs_.size() > 0) {
        out += signs_.asDiagonal() * (values.transpose() * below.middleRows(first, values.rows()));
      }
    }
    return out;
  }

 private:
  /// Matrix in double precision, in which products are computed.
  using WideMatrix = Eigen::Matrix<std::conditional_t<std::is_same_v<Scalar, float>, double, std::complex<double>>,
                                   Eigen::Dynamic, Eigen::Dynamic>;
  /// Number of kept rows that have a copy in double precision at a time.
  static constexpr Eigen::Index kRowsAtOnce = 256;
  [[nodiscard]] WideMatrix wide_rows(Eigen::Index first) const {
    const Eigen::Index count = std::min(kRowsAtOnce, values_->rows() - first);
    return values_->middleRows(first, count).template cast<typename WideMatrix::Scalar>();
  }
  [[nodiscard]] Eigen::Index partner(Eigen::Index place) const { return place % side_ * side_ + place / side_; }
  /// True if a place follows from its partner.
  [[nodiscard]] bool is_below(Eigen::Index place) const { return signs_.size() > 0 && place / side_ > place % side_; }
  /// Row of values_ for a place or its partner.
  [[nodiscard]] Eigen::Index kept_of(Eigen::Index place) const {
    if (signs_.size() == 0) {
      return place;
    }
    const auto [low, high] = std::minmax({place / side_, place % side_});
    return high * (high + 1) / 2 + low;
  }

  Eigen::Index places_ = 0;
  Eigen::Index side_ = 0;       ///< number of rows and columns if they may be swapped
  bool is_transposed_ = false;  ///< true: values_ are those of the partners
  Eigen::VectorXd signs_;       ///< [mode]; empty: every place is kept
  std::shared_ptr<const Matrix> values_;
};

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
  /// Wavenumber at which prior and noise are equal in K-space, rad/m; 0 if noise is larger wherever waves decay.
  /// [kNoiseSteps]
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
