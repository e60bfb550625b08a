#include <gtest/gtest.h>

#include <algorithm>
#include <numbers>
#include <numeric>
#include <random>

#include "core/error.hpp"
#include "imaging/imager_paths.hpp"
#include "imaging/imager_table.hpp"
#include "imaging/priors/make_mask.hpp"
#include "imaging/shared/array_plan.hpp"
#include "imaging/shared/imager.hpp"
#include "support/draws.hpp"
#include "support/fields.hpp"
#include "support/measures.hpp"

namespace nearfield {
namespace {

using ComplexF = std::complex<float>;
using test::Complex;
using test::device;

ImagePlan plan_of(double frequency_hz, double cutoff_rad_per_m, const ArrayGeometry& geometry) {
  ImagePlan plan;
  plan.geometry = geometry;
  plan.standoff_m = 0.03;
  plan.frequencies_hz = {frequency_hz};
  plan.cutoff_rad_per_m = {cutoff_rad_per_m};
  return plan;
}

std::vector<ComplexF> narrow(const std::vector<Complex>& values) { return {values.begin(), values.end()}; }

std::vector<ComplexF> image(const std::unique_ptr<Imager>& imager, const std::vector<Complex>& field) {
  const auto status = device().upload<std::uint32_t>(std::vector<std::uint32_t>(kStatusWords, 0), "test");
  const auto spectra = device().upload<ComplexF>(narrow(field), "test");
  imager->enqueue(spectra, status);
  return device().download(imager->images(), "test");
}

// A mask that is put into a running imager does what a plan with these microphones does, and goes again.
TEST(MicrophoneMask, OfARunningImagerIsThePlansOwn) {
  const ArrayGeometry geometry{.rows = 12, .columns = 20, .pitch_x_m = 0.02, .pitch_y_m = 0.02};
  const auto field = test::monopole_field({.x_m = 0.02, .y_m = 0.01, .z_m = -0.03}, 20.0, geometry, 0.03);
  for (const char* path : {"clfft", "fused"}) {
    ImagePlan plan = plan_of(1000.0, 60.0, geometry);
    plan.fft = path;
    const std::unique_ptr<Imager> imager = make_imager(device(), plan);
    const auto healthy = image(imager, field);
    auto spoilt = field;
    for (const std::size_t channel : {0U, 21U, 22U, 150U}) {
      spoilt[channel] = {1e9, std::numeric_limits<double>::quiet_NaN()};
    }
    imager->use(make_mask(plan, {150, 22, 0, 21}));
    const auto masked = image(imager, spoilt);
    EXPECT_EQ(device().download(imager->taken_status(), "test")[0], kFlagMaskedMicrophones) << path;
    ImagePlan planned = plan;
    planned.dead_channels = {0, 21, 22, 150};
    const std::unique_ptr<Imager> other = make_imager(device(), planned);
    EXPECT_EQ(masked, image(other, spoilt)) << path;
    imager->use(make_mask(plan, {}));
    EXPECT_EQ(healthy, image(imager, field)) << path;
    std::vector<int> most(240);
    std::iota(most.begin(), most.end(), 0);
    EXPECT_THROW(imager->use(make_mask(plan, most)), Error) << path;
  }
}

struct Case {
  const char* name;
  double frequency_hz;
  int field;  ///< 0, 1: monopoles; 2: sines
  double cutoff_rad_per_m;
};

// The best fixed cut-offs in steps of 4 rad/m at 40 dB.
constexpr Case kCases[] = {{"monopole, centre, 500 Hz", 500.0, 0, 79.0},
                           {"monopole, centre, 2000 Hz", 2000.0, 0, 87.0},
                           {"monopole, centre, 4000 Hz", 4000.0, 0, 111.0},
                           {"monopole, edge, 500 Hz", 500.0, 1, 83.0},
                           {"monopole, edge, 2000 Hz", 2000.0, 1, 91.0},
                           {"monopole, edge, 4000 Hz", 4000.0, 1, 115.0},
                           {"sines, 500 Hz", 500.0, 2, 59.0},
                           {"sines, 2000 Hz", 2000.0, 2, 55.0}};

std::vector<Complex> field_of(const Case& one, double z_m) {
  const ArrayGeometry geometry;
  const double k = 2.0 * std::numbers::pi * one.frequency_hz / 343.0;
  if (one.field < 2) {
    const test::Monopole source =
        one.field == 0 ? test::Monopole{0.013, -0.021, -0.03} : test::Monopole{0.26, 0.19, -0.03};
    return test::monopole_field(source, k, geometry, z_m);
  }
  const double kx = 2.0 * std::numbers::pi / 0.27;
  const double ky = 2.0 * std::numbers::pi / 0.35;
  const Complex kz = k * k > kx * kx + ky * ky ? Complex(std::sqrt(k * k - kx * kx - ky * ky))
                                               : Complex(0.0, -std::sqrt(kx * kx + ky * ky - k * k));
  std::vector<Complex> field;
  for (int channel = 0; channel < geometry.channels(); ++channel) {
    const int row = channel / 32;
    field.push_back(std::sin(kx * geometry.x_m(channel % 32)) * std::sin(ky * geometry.y_m(row)) *
                    std::exp(Complex(0.0, -1.0) * kz * z_m));
  }
  return field;
}

// 51 of 1024 masked at random, 40 dB: the error may grow by 1.3 times on average, which the mean of the nearest did
// 1.9 times. NEARFIELD_DRAWS sets more than the suite's 6 draws a case.
TEST(MicrophoneMask, ErrorsGrowByLessThanAThird) {
  const int draws = test::draws(6);
  double growths = 0.0;
  for (const Case& one : kCases) {
    const ImagePlan plan = plan_of(one.frequency_hz, one.cutoff_rad_per_m, {});
    const std::unique_ptr<Imager> imager = make_imager(device(), plan);
    const auto truth = field_of(one, 0.0);
    std::mt19937 random(1U);
    double whole = 0.0;
    double masked = 0.0;
    double worst = 0.0;
    for (int draw = 0; draw < draws; ++draw) {
      auto field = field_of(one, 0.03);
      test::add_noise(field, 40.0, random);
      std::vector<int> channels(1024);
      std::iota(channels.begin(), channels.end(), 0);
      std::shuffle(channels.begin(), channels.end(), random);
      channels.resize(51);
      imager->use(make_mask(plan, {}));
      const double without = test::relative_l2(image(imager, field), truth);
      imager->use(make_mask(plan, channels));
      const double with = test::relative_l2(image(imager, field), truth);
      whole += without;
      masked += with;
      worst = std::max(worst, with / without);
    }
    std::printf("%-26s %6.2f %% of all, %6.2f %% with 51 masked, %.3f times, worst draw %.3f\n", one.name,
                100.0 * whole / draws, 100.0 * masked / draws, masked / whole, worst);
    growths += masked / whole;
    EXPECT_LT(masked, 1.3 * whole) << one.name;
  }
  std::printf("mean growth %.3f\n", growths / static_cast<double>(std::size(kCases)));
  EXPECT_LT(growths, 1.3 * static_cast<double>(std::size(kCases)));
}

}  // namespace
}  // namespace nearfield
