#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "core/error.hpp"
#include "imaging/plain_work_groups.hpp"
#include "imaging/priors/make_mask.hpp"
#include "processors/beamform/das_path.hpp"
#include "processors/beamform_support.hpp"

/// The ways to a map: each against the reference, and which one is chosen.
namespace nearfield {
namespace {

using far_field::Formulation;
using far_field::GridKind;
using test::Beamformer;
using test::busy_field;
using test::Complex;
using test::difference_of;

// 1e-4 of the maximum is what float32 is allowed; some 1e-5 is expected (beamform_test.cpp).
constexpr double kAllowed = 1e-4;

/// As a GPU of 16 compute units: groups of many items, one pixel each, and microphones in parts.
ocl::Device as_a_gpu() {
  ocl::DeviceInfo info = test::beamform_device().info();
  info.is_gpu = true;
  info.compute_units = 16;
  info.local_memory_bytes = 49152;
  return test::beamform_device().restricted(info);
}

struct PathCase {
  std::string name;
  PathChoice path;
  GridKind grid;
  Formulation formulation;
  double pitch_y_m;
  double step;  ///< m, or degrees of angles
  std::vector<double> distances_m;
  double reference_m;
  AverageKind average;
  bool removal;
  bool as_a_gpu;
};

constexpr double kInf = far_field::kInfinitelyFar;
const std::vector<PathCase> kPathCases = {
    {"ConvolveI",
     PathChoice::kConvolve,
     GridKind::kPlane,
     Formulation::kClassic,
     0.02,
     0.02,
     {0.3},
     0.0,
     AverageKind::kNone,
     false,
     false},
    {"ConvolveII",
     PathChoice::kConvolve,
     GridKind::kPlane,
     Formulation::kInverse,
     0.02,
     0.02,
     {0.3, 800.0},
     0.0,
     AverageKind::kLinear,
     true,
     false},
    {"ConvolveBetween",
     PathChoice::kConvolve,
     GridKind::kPlane,
     Formulation::kTrueLevel,
     0.02,
     0.02 / 3.0,
     {0.1},
     1.0,
     AverageKind::kNone,
     false,
     false},
    {"ConvolveWide",
     PathChoice::kConvolve,
     GridKind::kVolume,
     Formulation::kTrueLocation,
     0.01,
     0.04,
     {0.2, 0.24},
     0.0,
     AverageKind::kLinear,
     true,
     false},
    {"ConvolveAsAGpu",
     PathChoice::kConvolve,
     GridKind::kPlane,
     Formulation::kTrueLevel,
     0.04,
     0.02,
     {0.2, 0.3},
     0.0,
     AverageKind::kLinear,
     true,
     true},
    {"Separable",
     PathChoice::kSeparable,
     GridKind::kAngles,
     Formulation::kTrueLevel,
     0.03,
     7.0,
     {kInf},
     0.0,
     AverageKind::kNone,
     false,
     false},
    {"SeparableRemoval",
     PathChoice::kSeparable,
     GridKind::kAngles,
     Formulation::kClassic,
     0.02,
     7.0,
     {kInf},
     0.0,
     AverageKind::kLinear,
     true,
     false},
    {"SeparableAsAGpu",
     PathChoice::kSeparable,
     GridKind::kAngles,
     Formulation::kTrueLevel,
     0.02,
     5.0,
     {kInf},
     0.0,
     AverageKind::kLinear,
     true,
     true},
    {"DirectAsAGpu",
     PathChoice::kDirect,
     GridKind::kPlane,
     Formulation::kTrueLevel,
     0.02,
     0.05,
     {0.3},
     1.0,
     AverageKind::kNone,
     false,
     true},
    {"DirectRemovalAsAGpu",
     PathChoice::kDirect,
     GridKind::kPlane,
     Formulation::kInverse,
     0.02,
     0.05,
     {0.3},
     0.0,
     AverageKind::kLinear,
     true,
     true},
};

class BeamformPaths : public testing::TestWithParam<PathCase> {
 protected:
  static Beamformer beamformer_of(const PathCase& one) {
    // Parts of a direct sum have 64 microphones or more.
    Beamformer beamformer(one.path == PathChoice::kDirect ? 13 : 7, 11, {1700.0, 5300.0, 9900.0});
    beamformer.array.geometry.pitch_y_m = one.pitch_y_m;
    beamformer.array.gains.assign(3 * static_cast<std::size_t>(beamformer.array.geometry.channels()), {0.5F, -0.25F});
    beamformer.own.path_choice = one.path;
    beamformer.own.grid.kind = one.grid;
    beamformer.own.grid.distance_m = one.distances_m;
    beamformer.own.grid.x_m = {-0.171, 0.13};
    beamformer.own.grid.y_m = {-0.093, 0.2};
    beamformer.own.grid.step_m = one.step;
    beamformer.own.grid.step_deg = one.step;
    beamformer.own.grid.azimuth_deg = {-80.0, 75.0};
    beamformer.own.grid.elevation_deg = {-70.0, 80.0};
    beamformer.own.steering.formulation = one.formulation;
    beamformer.own.steering.reference_m = one.reference_m;
    beamformer.own.steering.shading = far_field::Shading::kHamming;
    beamformer.own.average.kind = one.average;
    beamformer.own.diagonal_removal = one.removal;
    // Each window is a snapshot, and a block.
    beamformer.settings.front_end.hop_samples = beamformer.settings.front_end.window_samples / 2;
    beamformer.own.average.seconds = 1e-6;
    return beamformer;
  }
  static double difference(test::Mapper& device, test::Mapper& reference, const std::vector<Complex>& field,
                           bool is_averaged) {
    return is_averaged ? difference_of(device.powers(field), reference.powers(field))
                       : difference_of(device.beams(field), reference.beams(field));
  }
};

// All microphones, some masked, and one more that is not finite: whose norms differ from the mask's.
TEST_P(BeamformPaths, AgreesWithTheReference) {
  const PathCase& one = GetParam();
  const std::optional<test::PlainWorkGroups> plain =
      one.as_a_gpu ? std::optional<test::PlainWorkGroups>(std::in_place) : std::nullopt;
  const Beamformer beamformer = beamformer_of(one);
  test::ReferenceMapper reference(beamformer);
  test::DeviceMapper device(beamformer, one.as_a_gpu ? as_a_gpu() : test::beamform_device());
  constexpr std::array kNames = {"", "das_direct in 2 parts", "das_convolve", "das_separable"};
  EXPECT_THAT(device.description(), testing::StartsWith(kNames.at(static_cast<std::size_t>(one.path))));
  const bool is_averaged = one.average != AverageKind::kNone;
  std::vector<Complex> field = test::widen(test::narrow(busy_field(beamformer, 5U)));
  for (const std::vector<int>& masked : {std::vector<int>(), std::vector<int>({3, 40, 41})}) {
    const MicrophoneMask mask = make_mask(beamformer.array, masked);
    reference.use(mask);
    device.use(mask);
    EXPECT_LE(difference(device, reference, field, is_averaged), kAllowed);
    EXPECT_EQ(device.flags(), reference.flags());
  }
  field[76] = std::numeric_limits<double>::quiet_NaN();
  EXPECT_LE(difference(device, reference, field, is_averaged), kAllowed);
  EXPECT_EQ(device.flags(), static_cast<std::uint32_t>(kFlagMaskedMicrophones | kFlagNonFiniteInput));
}

INSTANTIATE_TEST_SUITE_P(All, BeamformPaths, testing::ValuesIn(kPathCases),
                         [](const auto& instance) { return instance.param.name; });

// Two windows of a batch, each with its map.
TEST(BeamformPath, HasTheMapOfEachWindowOfABatch) {
  for (const PathChoice path : {PathChoice::kDirect, PathChoice::kConvolve, PathChoice::kSeparable}) {
    SCOPED_TRACE(name_of(path));
    Beamformer beamformer(5, 6, {2000.0, 3000.0});
    beamformer.own.path_choice = path;
    beamformer.own.grid.step_m = 0.04;
    beamformer.own.grid.step_deg = 11.0;
    if (path == PathChoice::kSeparable) {
      beamformer.own.grid.kind = GridKind::kAngles;
      beamformer.own.grid.distance_m = {kInf};
    }
    test::ReferenceMapper reference(beamformer);
    beamformer.batch = 2;
    const auto batched = processor_entry("beamform").make(test::beamform_device(), beamformer.plan());
    const auto first = test::widen(test::narrow(busy_field(beamformer, 1U)));
    const auto second = test::widen(test::narrow(busy_field(beamformer, 2U)));
    auto both = first;
    both.insert(both.end(), second.begin(), second.end());
    const auto input = test::beamform_device().upload<std::complex<float>>(test::narrow(both), "test");
    const auto status =
        test::beamform_device().upload<std::uint32_t>(std::vector<std::uint32_t>(2 * kStatusWords), "test");
    batched->enqueue({.spectra = input, .status = status, .windows = 2});
    test::beamform_device().wait();
    const auto map_of = [&](std::size_t window) {
      const auto values = values_of<std::complex<float>>(batched->products({.window = window}).products.back());
      return std::vector<std::complex<float>>(values.begin(), values.end());
    };
    EXPECT_LE(difference_of(map_of(0), reference.beams(first)), kAllowed);
    EXPECT_LE(difference_of(map_of(1), reference.beams(second)), kAllowed);
  }
}

PathChoice choice_of(const Beamformer& beamformer) {
  return das::chosen_path(test::beamform_device().info(), beamformer.places());
}

TEST(BeamformPath, IsTheCheapestThatIsPossible) {
  Beamformer beamformer(12, 16, {2000.0});
  beamformer.own.grid.step_m = 0.02;
  EXPECT_EQ(choice_of(beamformer), PathChoice::kConvolve);
  beamformer.own.grid.step_m = 0.021;
  EXPECT_EQ(choice_of(beamformer), PathChoice::kDirect);
  beamformer.own.grid.step_m = 0.02;
  beamformer.own.steering.model = far_field::Model::kPlaneWave;
  EXPECT_EQ(choice_of(beamformer), PathChoice::kDirect);
  beamformer.own.steering.model = far_field::Model::kMonopole;
  beamformer.own.grid.x_m = beamformer.own.grid.y_m = {0.1, 0.1};
  EXPECT_EQ(choice_of(beamformer), PathChoice::kDirect) << "one pixel";
  beamformer.own.grid.kind = GridKind::kAngles;
  beamformer.own.grid.distance_m = {kInf};
  EXPECT_EQ(choice_of(beamformer), PathChoice::kSeparable);
}

std::string refusal_of(const Beamformer& beamformer) {
  try {
    (void)choice_of(beamformer);
  } catch (const ConfigError& error) {
    return error.what();
  }
  return "";
}

TEST(BeamformPath, ThatIsImpossibleIsRefused) {
  Beamformer beamformer(12, 16, {2000.0});
  beamformer.own.grid.step_m = 0.021;
  beamformer.own.path_choice = PathChoice::kConvolve;
  EXPECT_EQ(
      refusal_of(beamformer),
      "processors.far.path: expected auto or direct, as grid.step_m is neither a pitch divided by a whole number "
      "nor a multiple of it, or array and plane together span more than 784 steps of the finer of the two along a "
      "side, found convolve");
  beamformer.own.path_choice = PathChoice::kSeparable;
  EXPECT_EQ(
      refusal_of(beamformer),
      "processors.far.path: expected auto or direct, as pixels are not angles at distance_m: inf, found separable");
}

// 10 nm are 2e-6 rad at 10 kHz.
TEST(BeamformLattice, HasPixelsAndMicrophonesToTenNanometres) {
  const ArrayGeometry geometry = {.rows = 32, .columns = 32, .pitch_x_m = 0.02, .pitch_y_m = 0.03};
  far_field::GridSettings grid;
  grid.step_m = 0.01;
  const auto lattice = das::lattice_of(grid, geometry);
  ASSERT_TRUE(lattice);
  EXPECT_EQ(lattice->x.microphone_step, 2);
  EXPECT_EQ(lattice->y.microphone_step, 3);
  EXPECT_EQ(lattice->x.pixels, 101);
  EXPECT_EQ(lattice->x.differences(), 2 * 31 + 100 + 1);
  EXPECT_EQ(lattice->x.transform()->length(), 168);  // the first with factors that have a transform in an item
  grid.step_m = 0.06;
  EXPECT_EQ(das::lattice_of(grid, geometry)->x.pixel_step, 3);
  grid.step_m = 0.02;
  EXPECT_FALSE(das::lattice_of(grid, geometry)) << "1.5 steps";
  grid.step_m = 0.01 + 1e-10;
  EXPECT_TRUE(das::lattice_of(grid, geometry));
  grid.step_m = 0.01 + 1e-9;
  EXPECT_FALSE(das::lattice_of(grid, geometry));
  grid.step_m = 0.01;
  grid.x_m = {-500.0, 500.0};
  EXPECT_FALSE(das::lattice_of(grid, geometry)) << "too many pixels on a side";
}

}  // namespace
}  // namespace nearfield
