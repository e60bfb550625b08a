#include "imaging/sonah.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "imaging/imager_paths.hpp"
#include "imaging/sonah_reference.hpp"
#include "nearfield/error.hpp"
#include "support/fields.hpp"
#include "support/measures.hpp"

namespace nearfield {
namespace {

using test::Complex;
using test::DeviceImages;
using test::Path;
using ComplexF = std::complex<float>;

// float32 against double over noise 60 dB down, whose amplification is below 300: 1e-6 of a mode becomes 3e-4 at most.
constexpr double kTolerance = 3e-4;

constexpr Path kSonahPaths[] = {{"processor", "auto", false}, {"as_on_a_gpu", "auto", true}};

struct Case {
  int rows;
  int columns;
  int frequencies;
  std::vector<double> planes_m;
  int upsample;
  Quantity quantity;
};

PnahPlan make_plan(const Case& c) {
  PnahPlan plan;
  plan.geometry = {.rows = c.rows, .columns = c.columns, .pitch_x_m = 0.02, .pitch_y_m = 0.025};
  plan.holography.imager = ImagerKind::kSonah;
  plan.holography.planes_m = c.planes_m;
  plan.holography.upsample = c.upsample;
  plan.holography.quantity = c.quantity;
  for (int i = 0; i < c.frequencies; ++i) {
    plan.frequencies_hz.push_back(500.0 + 730.0 * i);
    plan.cutoff_rad_per_m.push_back(70.0);
  }
  return plan;
}

std::vector<ComplexF> measured_field(const PnahPlan& plan, unsigned seed, double snr_db) {
  std::mt19937 generator(seed);
  std::vector<Complex> spectra;
  for (int frame = 0; frame < plan.batch; ++frame) {
    for (std::size_t f = 0; f < plan.frequencies_hz.size(); ++f) {
      const test::Monopole source{.x_m = 0.03 + 0.01 * static_cast<double>(f), .y_m = -0.04 + 0.01 * frame, .z_m = -0.03};
      auto field = test::monopole_field(source, plan.wavenumber(f), plan.geometry, plan.holography.standoff_m);
      test::add_noise(field, snr_db, generator);
      spectra.insert(spectra.end(), field.begin(), field.end());
    }
  }
  return test::narrow(spectra);
}

class EveryShape : public testing::TestWithParam<Case> {};

TEST_P(EveryShape, ImagesAgreeWithReference) {
  const PnahPlan plan = make_plan(GetParam());
  const auto spectra = measured_field(plan, 5U, 60.0);
  const auto expected = reference::Sonah(plan).image(test::widen(spectra)).images;
  for (const Path& path : kSonahPaths) {
    const DeviceImages found = test::run_on_device(plan, spectra, path);
    EXPECT_LE(test::relative_l2(found.images, expected.images), kTolerance) << path.name;
    EXPECT_EQ(found.status[0], expected.flags) << path.name;
  }
}

INSTANTIATE_TEST_SUITE_P(
    Sonah, EveryShape,
    testing::Values(Case{32, 32, 1, {0.0}, 1, Quantity::kPressure}, Case{8, 8, 3, {0.0}, 1, Quantity::kPressure},
                    Case{12, 20, 2, {0.0, 0.01, -0.02}, 1, Quantity::kNormalVelocity},
                    Case{7, 9, 2, {0.0}, 1, Quantity::kPressure}, Case{7, 8, 1, {0.0, 0.01}, 3, Quantity::kNormalVelocity},
                    Case{1, 5, 1, {0.0}, 2, Quantity::kPressure}, Case{16, 33, 1, {0.0}, 1, Quantity::kPressure}));

}  // namespace
}  // namespace nearfield
