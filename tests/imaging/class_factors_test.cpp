#include <gtest/gtest.h>

#include <complex>
#include <utility>
#include <vector>

#include "imaging/priors/sonah_model.hpp"

/// What is kept of a class's factors gives the products that all of them give.
namespace nearfield {
namespace {

using Eigen::Index;
using Eigen::MatrixXcd;
using Eigen::MatrixXd;

constexpr Index kSide = 5;
constexpr Index kModes = 7;
constexpr Index kColumns = 3;

Index partner(Index place) { return place % kSide * kSide + place / kSide; }

/// With rows and columns, `kSide` of each, in each other's place.
template <class Matrix>
Matrix partners(const Matrix& values) {
  Matrix out(values.rows(), values.cols());
  for (Index place = 0; place < values.rows(); ++place) {
    out.row(place) = values.row(partner(place));
  }
  return out;
}

/// Modes of both signs.
std::vector<int> signs() { return {1, -1, -1, 1, 1, -1, 1}; }

template <class Matrix>
Matrix symmetric(const Matrix& values) {
  const Matrix changed = partners(values);
  Matrix out(values.rows(), values.cols());
  for (Index mode = 0; mode < values.cols(); ++mode) {
    out.col(mode) = values.col(mode) + static_cast<float>(signs()[static_cast<std::size_t>(mode)]) * changed.col(mode);
  }
  return out;
}

/// Products in double of factors in single precision: nothing but their sums is rounded.
constexpr double kRounding = 1e-14;

template <class Scalar>
void expect_same(const ClassFactors<Scalar>& factors, const typename ClassFactors<Scalar>::Matrix& all) {
  for (Index place = 0; place < all.rows(); ++place) {
    for (Index mode = 0; mode < all.cols(); ++mode) {
      ASSERT_EQ(factors.at(place, mode), all(place, mode)) << place << ", " << mode;
    }
  }
  const MatrixXcd modes = MatrixXcd::Random(all.cols(), kColumns);
  const MatrixXcd placed = all.template cast<std::complex<double>>() * modes;
  EXPECT_LE((factors.times(modes) - placed).norm(), kRounding * placed.norm());
  const MatrixXcd places = MatrixXcd::Random(all.rows(), kColumns);
  const MatrixXcd in_modes = all.transpose().template cast<std::complex<double>>() * places;
  EXPECT_LE((factors.transposed_times(places) - in_modes).norm(), kRounding * in_modes.norm());
}

template <class Scalar>
void expect_every_kind() {
  using Matrix = typename ClassFactors<Scalar>::Matrix;
  const Matrix any = Matrix::Random(kSide * kSide, kModes);
  expect_same(ClassFactors<Scalar>(any), any);
  expect_same(ClassFactors<Scalar>(any).transposed(kSide), partners(any));
  expect_same(ClassFactors<Scalar>(any).transposed(kSide).transposed(kSide), any);
  const Matrix mirrored = symmetric(any);
  expect_same(ClassFactors<Scalar>(mirrored, kSide, signs()), mirrored);
  expect_same(ClassFactors<Scalar>(mirrored, kSide, signs()).transposed(kSide), partners(mirrored));
  const Matrix tall = Matrix::Random(600, kModes);  // more rows than are computed at once
  expect_same(ClassFactors<Scalar>(tall), tall);
}

TEST(ClassFactors, GiveTheProductsOfAll) {
  expect_every_kind<float>();
  expect_every_kind<std::complex<float>>();
}

TEST(ClassFactors, RealFactorsKeepRealPlacesReal) {
  const Eigen::MatrixXf all = Eigen::MatrixXf::Random(4, 6);
  const MatrixXd places = MatrixXd::Random(4, 2);
  const MatrixXd expected = all.cast<double>().transpose() * places;
  EXPECT_LE((ClassFactors<float>(all).transposed_times(places) - expected).norm(), kRounding * expected.norm());
}

TEST(ClassFactors, NoColumnsGiveNone) {
  const ClassFactors<float> factors(Eigen::MatrixXf(Eigen::MatrixXf::Random(4, 6)));
  const MatrixXd placed = factors.times(MatrixXd(6, 0));
  EXPECT_EQ(std::pair(placed.rows(), placed.cols()), (std::pair<Index, Index>(4, 0)));
  const MatrixXcd in_modes = factors.transposed_times(MatrixXcd(4, 0));
  EXPECT_EQ(std::pair(in_modes.rows(), in_modes.cols()), (std::pair<Index, Index>(6, 0)));
}

TEST(ClassFactors, KeepWhatDoesNotFollow) {
  const Eigen::MatrixXf mirrored = symmetric(Eigen::MatrixXf(Eigen::MatrixXf::Random(kSide * kSide, kModes)));
  EXPECT_EQ(ClassFactors<float>(mirrored, kSide, signs()).kept(), kSide * (kSide + 1) / 2 * kModes);
  EXPECT_EQ(ClassFactors<float>(mirrored).kept(), kSide * kSide * kModes);
}

}  // namespace
}  // namespace nearfield
