#include <gtest/gtest.h>

#include <cmath>
#include <cstdio>
#include <limits>
#include <random>

#include "imaging/imager_paths.hpp"
#include "imaging/imager_table.hpp"
#include "imaging/operators/operators_reference.hpp"
#include "imaging/priors/make_mask.hpp"
#include "support/fields.hpp"
#include "support/measures.hpp"
#include "support/positions.hpp"

/// Images on planes of microphones on no regular grid, whose pixels are those of a grid of their own.
namespace nearfield {
namespace {

using test::Complex;
using test::DeviceImages;
using ComplexF = std::complex<float>;

constexpr test::Path kIrregularPaths[] = {{"processor", "auto", false}, {"as_on_a_gpu", "auto", true}};
const test::Monopole kSource{.x_m = 0.03, .y_m = -0.02, .z_m = -0.04};

ImagePlan irregular_plan(Quantity quantity) {
  ImagePlan plan;
  plan.geometry = irregular_geometry_of(test::sunflower(61, 0.12));
  plan.holography.imager = ImagerKind::kOperators;
  plan.holography.quantity = quantity;
  plan.frequencies_hz = {500.0, 1500.0};
  plan.cutoff_rad_per_m.assign(2, 70.0);
  return plan;
}

/// [frame][frequency][microphone], 40 dB over the noise.
std::vector<ComplexF> spectra_of(const ImagePlan& plan) {
  std::mt19937 generator(3U);
  std::vector<Complex> spectra;
  for (int frame = 0; frame < plan.batch; ++frame) {
    for (std::size_t f = 0; f < plan.frequencies_hz.size(); ++f) {
      std::vector<Complex> field = test::monopole_field(kSource, plan.wavenumber(f), plan.geometry, plan.standoff_m);
      test::add_noise(field, 40.0, generator);
      spectra.insert(spectra.end(), field.begin(), field.end());
    }
  }
  return test::narrow(spectra);
}

/// On a device with this mask, which a running engine sets.
DeviceImages masked_on_device(const ImagePlan& plan, const std::vector<ComplexF>& spectra, const MicrophoneMask& mask) {
  const ocl::Device& on = test::device();
  const std::unique_ptr<Imager> imager = make_imager(on, plan);
  imager->use(mask);
  const auto status = on.upload<std::uint32_t>(std::vector<std::uint32_t>(kStatusWords, 0U), "test");
  imager->enqueue(on.upload<ComplexF>(spectra, "test"), status);
  return {on.download(imager->images(), "test"), on.download(imager->taken_status(), "test"),
          on.download(imager->reports(), "test")};
}

// float32 against double over noise 40 dB down, whose amplification is below 100: 1e-6 of a mode becomes 1e-4 at most.
constexpr double kFloatError = 1e-4;

TEST(OperatorsOfIrregularArrays, ImagesOfTheDeviceAreTheReferences) {
  for (const Quantity quantity : {Quantity::kPressure, Quantity::kNormalVelocity}) {
    ImagePlan plan = irregular_plan(quantity);
    plan.holography.planes_m = {0.0, 0.01};
    plan.holography.upsample = 2;
    plan.dead_channels = {5, 40};
    const std::vector<ComplexF> spectra = spectra_of(plan);
    reference::Operators reference(plan);
    const auto expected = reference.image(test::widen(spectra));
    ASSERT_EQ(expected.images.size(), 2 * 2 * plan.grid().pixels());
    for (const test::Path& path : kIrregularPaths) {
      const DeviceImages found = test::run_on_device(plan, spectra, path);
      EXPECT_LE(test::relative_l2(found.images, expected.images), kFloatError) << path.name;
      EXPECT_EQ(found.status[0], kFlagMaskedMicrophones);
    }
  }
}

TEST(OperatorsOfIrregularArrays, PlanesLieBelowTheLowestMicrophone) {
  ImagePlan plan = irregular_plan(Quantity::kPressure);
  plan.holography.planes_m = {0.015};
  EXPECT_NO_THROW(validate(plan));
  auto places = test::sunflower(61, 0.12);
  places[3].z_m = -0.02;
  plan.geometry = irregular_geometry_of(places);
  EXPECT_THROW(validate(plan), ConfigError);
}

// Microphones that are masked in the settings are left out: what they hold changes nothing.
TEST(OperatorsOfIrregularArrays, DeadMicrophonesAreLeftOut) {
  ImagePlan plan = irregular_plan(Quantity::kPressure);
  plan.dead_channels = {0, 17, 60};
  std::vector<ComplexF> spectra = spectra_of(plan);
  const DeviceImages before = test::run_on_device(plan, spectra);
  for (const int channel : plan.dead_channels) {
    spectra[static_cast<std::size_t>(channel)] = {1e3F, -1e3F};
    spectra[61 + static_cast<std::size_t>(channel)] = std::numeric_limits<float>::quiet_NaN();
  }
  EXPECT_EQ(test::run_on_device(plan, spectra).images, before.images);
}

// One that is not finite is interpolated from those nearest to it, one that is masked later is predicted from its
// neighbours; both by the reference's formulas, each of which finds its neighbours by itself.
TEST(OperatorsOfIrregularArrays, MicrophonesThatFailLaterAreReplacedFromTheirNeighbours) {
  const ImagePlan plan = irregular_plan(Quantity::kPressure);
  const std::vector<ComplexF> whole = spectra_of(plan);
  std::vector<ComplexF> spectra = whole;
  spectra[12] = {std::numeric_limits<float>::infinity(), 0.0F};
  const std::vector<int> masked = {3, 33, 34};
  ImagePlan masked_plan = plan;
  masked_plan.dead_channels = masked;
  reference::Operators reference(plan);
  const auto expected = reference.image(test::widen(spectra), masked_plan, {});
  const DeviceImages found = masked_on_device(plan, spectra, make_mask(plan, masked));
  EXPECT_LE(test::relative_l2(found.images, expected.images), kFloatError);
  EXPECT_EQ(found.status[0], kFlagMaskedMicrophones | kFlagNonFiniteInput);
  EXPECT_EQ(found.status[1], 1U);
  // Four of 61 microphones of a field that is smooth over their distances: far nearer to the whole image than to one
  // of zeros in their places.
  const std::vector<Complex> undisturbed = test::widen(test::run_on_device(plan, whole).images);
  for (std::size_t i = 0; i < spectra.size(); ++i) {
    const std::size_t channel = i % 61;
    spectra[i] = channel == 12 || channel == 3 || channel == 33 || channel == 34 ? ComplexF() : spectra[i];
  }
  const double by_zeros = test::relative_l2(test::run_on_device(plan, spectra).images, undisturbed);
  const double by_neighbours = test::relative_l2(found.images, undisturbed);
  std::printf("four of 61 microphones replaced: %.2f %% by neighbours, %.2f %% by zeros\n", 100.0 * by_neighbours,
              100.0 * by_zeros);
  EXPECT_LT(by_neighbours, 0.5 * by_zeros);
}

}  // namespace
}  // namespace nearfield
