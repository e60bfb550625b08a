#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <memory>
#include <optional>
#include <random>
#include <span>
#include <string>
#include <vector>

#include "imaging/imager_paths.hpp"
#include "imaging/operators/folded_places.hpp"
#include "imaging/operators/operator_space.hpp"
#include "imaging/operators/operators.hpp"
#include "imaging/operators/operators_reference.hpp"
#include "imaging/operators/prior.hpp"
#include "support/fields.hpp"
#include "support/measures.hpp"

/// Operators whose models are folded to parity classes, as of regular arrays in one plane or in several.
namespace nearfield {
namespace {

using test::Complex;
using test::DeviceImages;
using ComplexF = std::complex<float>;

constexpr test::Path kParityPaths[] = {{"processor", "auto", false}, {"as_on_a_gpu", "auto", true}};

/// Planes of microphones 3 cm apart.
ImagePlan plan_of_layers(int rows, int columns, int layers, std::vector<double> frequencies_hz) {
  ImagePlan plan;
  std::vector<MicrophonePosition> positions_m;
  for (int layer = 0; layer < layers; ++layer) {
    for (int row = 0; row < rows; ++row) {
      for (int column = 0; column < columns; ++column) {
        positions_m.push_back({.x_m = 0.04 * column, .y_m = 0.04 * row, .z_m = 0.03 * layer});
      }
    }
  }
  plan.geometry = geometry_of(positions_m);
  plan.standoff_m = 0.03;
  plan.holography.imager = ImagerKind::kOperators;
  plan.cutoff_rad_per_m.assign(frequencies_hz.size(), 70.0);
  plan.frequencies_hz = std::move(frequencies_hz);
  return plan;
}

/// Of monopoles below the surface and, in layers, behind the array, none of them on a mirror.
/// [frame][frequency][channel]
std::vector<Complex> spectra_of(const ImagePlan& plan) {
  std::mt19937 generator(5U);
  std::vector<Complex> spectra;
  for (int frame = 0; frame < plan.batch; ++frame) {
    for (std::size_t f = 0; f < plan.frequencies_hz.size(); ++f) {
      const double k = plan.wavenumber(f);
      auto field =
          test::monopole_field({.x_m = 0.031, .y_m = -0.043, .z_m = -0.029}, k, plan.geometry, plan.standoff_m);
      test::add_noise(field, 40.0, generator);
      if (plan.separates()) {
        const auto behind =
            test::monopole_field({.x_m = -0.15, .y_m = 0.07, .z_m = 0.3}, k, plan.geometry, plan.standoff_m);
        for (std::size_t i = 0; i < field.size(); ++i) {
          field[i] += static_cast<double>(frame) * 3.0 * behind[i];
        }
      }
      spectra.insert(spectra.end(), field.begin(), field.end());
    }
  }
  return spectra;
}

/// float32 against double over noise 40 dB down, as of arrays in one class.
void expect_parities_as_reference(const ImagePlan& plan) {
  ASSERT_EQ(folding_of(plan).classes(), 4U);
  const std::vector<Complex> spectra = spectra_of(plan);
  reference::Operators twin(plan);
  const std::size_t values = spectra.size() / static_cast<std::size_t>(plan.batch);
  std::vector<Complex> expected;
  std::vector<FilterReport> reports;
  for (std::size_t frame = 0; frame < static_cast<std::size_t>(plan.batch); ++frame) {
    const reference::Images images =
        twin.image(std::span(spectra).subspan(frame * values, values), plan, {.hop = frame});
    expected.insert(expected.end(), images.images.begin(), images.images.end());
    reports.insert(reports.end(), images.reports.begin(), images.reports.end());
  }
  for (const test::Path& path : kParityPaths) {
    const DeviceImages found = test::run_on_device(plan, test::narrow(spectra), path);
    ASSERT_EQ(found.images.size(), expected.size());
    const double difference = test::relative_l2(found.images, expected);
    std::printf("four classes, %s: device against dense reference %.2g\n", path.name, difference);
    EXPECT_LE(difference, 3e-4) << path.name;
    for (std::size_t i = 0; i < reports.size(); ++i) {
      EXPECT_NEAR(found.reports[i].noise_pa, reports[i].noise_pa, 1e-2F * reports[i].noise_pa) << i;
      EXPECT_NEAR(found.reports[i].error_estimate, reports[i].error_estimate, 1e-2F * reports[i].error_estimate) << i;
    }
  }
}

TEST(OperatorsParities, OfEvenLayersAgreeWithTheDenseReference) {
  ImagePlan plan = plan_of_layers(8, 8, 2, {500.0, 2000.0});
  plan.holography.planes_m = {0.0, 0.01};
  plan.batch = 3;
  ASSERT_TRUE(plan.separates());
  expect_parities_as_reference(plan);
}

TEST(OperatorsParities, OfOddLayersAgreeWithTheDenseReference) {
  for (const Quantity quantity : {Quantity::kPressure, Quantity::kNormalVelocity}) {
    ImagePlan plan = plan_of_layers(7, 9, 2, {700.0, 1900.0});
    plan.holography.quantity = quantity;
    plan.batch = 2;
    plan.holography.upsample = quantity == Quantity::kPressure ? 2 : 1;
    expect_parities_as_reference(plan);
  }
}

// As few as Oclgrind interprets in some seconds.
TEST(OperatorsParities, OfFewMicrophonesAgreeWithTheDenseReference) {
  expect_parities_as_reference(plan_of_layers(3, 4, 2, {900.0}));
}

TEST(OperatorsParities, OfOnePlaneAgreeWithTheDenseReference) {
  for (const std::array<int, 2>& sides : {std::array{9, 8}, std::array{1, 5}, std::array{6, 1}}) {
    ImagePlan plan = plan_of_layers(2, 2, 1, {900.0});
    plan.geometry = {.rows = sides[0], .columns = sides[1], .pitch_x_m = 0.03, .pitch_y_m = 0.04};
    plan.holography.operators.behind = Behind::kIgnore;
    expect_parities_as_reference(plan);
  }
  ImagePlan layers = plan_of_layers(6, 5, 2, {900.0});
  layers.holography.operators.behind = Behind::kIgnore;
  expect_parities_as_reference(layers);
}

/// What a Cholesky factor leaves here. With kModesTolerance both forms leave other parts of the weakest modes.
constexpr double kNearlyAll = 1e-13;

/// Tables of all frequencies, [frequency][share].
std::vector<OperatorTables> tables_in(const ImagePlan& plan, const Folding& folding) {
  std::vector<OperatorTables> tables;
  for (std::size_t f = 0; f < plan.frequencies_hz.size(); ++f) {
    const PriorCovariances prior = make_covariances(plan, prior_sources(plan), f, folding);
    for (const double share : shares_behind(plan)) {
      tables.push_back(make_operator_tables(plan, make_operator_model(prior, kNearlyAll, share)));
    }
  }
  return tables;
}

// Four classes are the dense form of the same prior, but for the rounding of float32.
TEST(OperatorsParities, AreTheDenseForm) {
  ImagePlan plan = plan_of_layers(7, 8, 2, {600.0, 1700.0});
  plan.batch = 2;
  const std::vector<ComplexF> spectra = test::narrow(spectra_of(plan));
  for (const test::Path& path : kParityPaths) {
    const std::optional<test::PlainWorkGroups> plain =
        path.as_gpu ? std::optional<test::PlainWorkGroups>(std::in_place) : std::nullopt;
    const ocl::Device on = test::device_of(path);
    const auto images_of = [&](const Folding& folding) {
      Operators imager(on, plan, tables_in(plan, folding));
      const auto status = on.upload<std::uint32_t>(
          std::vector<std::uint32_t>(static_cast<std::size_t>(plan.batch) * kStatusWords, 0U), "test");
      imager.enqueue(on.upload<ComplexF>(spectra, "test"), status, static_cast<std::size_t>(plan.batch));
      EXPECT_EQ(imager.description().find("parity") != std::string::npos, folding.classes() > 1);
      return on.download(imager.images(), "test");
    };
    const std::vector<ComplexF> dense = images_of(unfolded(plan));
    const double difference = test::relative_l2(images_of(folding_of(plan)), test::widen(dense));
    std::printf("four classes, %s: against one class %.2g\n", path.name, difference);
    EXPECT_LE(difference, 3e-5) << path.name;
  }
}

// What a search works with: modes over all microphones, and their images.
TEST(OperatorsParities, ModesOfTheSearchAreThoseOfTheDenseForm) {
  const ImagePlan plan = plan_of_layers(7, 8, 2, {1100.0});
  const std::vector<OperatorTables> in_classes = tables_in(plan, folding_of(plan));
  const std::vector<OperatorTables> dense = tables_in(plan, unfolded(plan));
  for (std::size_t share = 0; share < dense.size(); ++share) {
    const OperatorSpace of_classes(plan, 0, in_classes[share]);
    const OperatorSpace of_dense(plan, 0, dense[share]);
    const auto count = static_cast<Eigen::Index>(plan.geometry.channels());
    const Eigen::MatrixXcd all = Eigen::MatrixXcd::Identity(count, count);
    const Eigen::MatrixXcd basis = of_classes.at_microphones(all);
    EXPECT_LE((basis.adjoint() * basis - all).norm(), 1e-5);
    const auto covariance_of = [&](const OperatorSpace& space) -> Eigen::MatrixXcd {
      const Eigen::MatrixXcd modes = space.at_microphones(all);
      return modes * space.powers().matrix().cast<Complex>().asDiagonal() * modes.adjoint();
    };
    const Eigen::MatrixXcd covariance = covariance_of(of_dense);
    EXPECT_LE((covariance_of(of_classes) - covariance).norm(), 1e-6 * covariance.norm());
    const auto images_of = [&](const OperatorSpace& space) -> Eigen::MatrixXcd {
      return space.image_of_modes(space.at_microphones(all).adjoint());
    };
    const Eigen::MatrixXcd images = images_of(of_dense);
    EXPECT_LE((images_of(of_classes) - images).norm(), 1e-4 * images.norm());
  }
}

TEST(OperatorsParities, AreThoseOfMirroredPlansAlone) {
  const ImagePlan plan = plan_of_layers(7, 8, 2, {600.0});
  const Folding folding = folding_of(plan);
  ASSERT_EQ(folding.classes(), 4U);
  EXPECT_EQ(folding.microphones.samples(), 2U * 4U * 4U);
  EXPECT_EQ(folding.pixels.samples(), 4U * 4U);
  double count = 0.0;
  int of_odd = 0;
  for (std::size_t sample = 0; sample < folding.microphones.samples(); ++sample) {
    count += folding.microphones.count(sample);
    of_odd += folding.microphones.has(sample, 2) ? 1 : 0;
  }
  EXPECT_EQ(count, plan.geometry.channels());
  EXPECT_EQ(of_odd, 2 * 3 * 4) << "fields odd along y are 0 in the middle row";

  const auto classes_of = [&](const auto& change) {
    ImagePlan other = plan;
    change(other);
    return folding_of(other).classes();
  };
  EXPECT_EQ(classes_of([](ImagePlan& p) { p.dead_channels = {3}; }), 1U);
  EXPECT_EQ(classes_of([](ImagePlan& p) { p.holography.operators.wall.y_m = 1.0; }), 1U);
  EXPECT_EQ(classes_of([](ImagePlan& p) {
              p.sources = std::make_shared<const OperatorSources>(OperatorSources{.places_m = {{0.0, 0.0, -0.03}}});
            }),
            1U);
  std::vector<MicrophonePosition> positions_m;
  for (int channel = 0; channel < plan.geometry.channels(); ++channel) {
    positions_m.push_back(plan.geometry.position_m(channel));
  }
  EXPECT_EQ(classes_of([&](ImagePlan& p) { p.geometry = irregular_geometry_of(positions_m); }), 4U);
  positions_m[5].z_m += 1e-6;
  EXPECT_EQ(classes_of([&](ImagePlan& p) { p.geometry = irregular_geometry_of(positions_m); }), 1U);
  EXPECT_FALSE(FoldedPlaces::mirrored({{0.1, 0.2, 0.0}, {-0.1, 0.2, 0.0}}));
  EXPECT_FALSE(FoldedPlaces::mirrored({{0.0, 0.0, 0.0}, {0.0, 0.0, 0.0}})) << "twice the same place";
}

// The waves of the prior behind fill the half space evenly, and the mirrors do not change them.
TEST(OperatorsParities, DirectionsAreEvenAndMirrored) {
  const ImagePlan plan = plan_of_layers(8, 8, 2, {1500.0});
  const std::vector<Eigen::Vector3d> directions = sources_behind(plan, 0).directions;
  const std::optional<FoldedPlaces> folded = FoldedPlaces::mirrored(directions);
  ASSERT_TRUE(folded);
  EXPECT_EQ(folded->samples() * 4U, directions.size());
  const auto count = static_cast<double>(directions.size());
  Eigen::Matrix3d moments = Eigen::Matrix3d::Zero();
  double farthest = 0.0;
  for (const Eigen::Vector3d& direction : directions) {
    EXPECT_NEAR(direction.norm(), 1.0, 1e-12);
    EXPECT_GT(direction.z(), 0.0);
    moments += direction * direction.transpose() / count;
    double nearest = 2.0;
    for (const Eigen::Vector3d& other : directions) {
      nearest = &other == &direction ? nearest : std::min(nearest, (other - direction).norm());
    }
    farthest = std::max(farthest, nearest);
  }
  EXPECT_LE((moments - Eigen::Matrix3d::Identity() / 3.0).norm(), 0.01);
  EXPECT_LE(farthest, 2.0 * std::sqrt(2.0 * 3.14159 / count)) << "no gaps";
}

}  // namespace
}  // namespace nearfield
