#include <gtest/gtest.h>

#include <limits>
#include <random>

#include "core/error.hpp"
#include "core/frame.hpp"
#include "imaging/imager_paths.hpp"
#include "imaging/imager_table.hpp"
#include "imaging/pnah/pnah_reference.hpp"
#include "imaging/pnah/staged_pnah.hpp"
#include "support/fields.hpp"
#include "support/measures.hpp"

namespace nearfield {
namespace {

using test::device;
using test::DeviceImages;
using test::Path;
using test::paths;
using test::paths_for;
using test::run_on_device;

using ComplexF = std::complex<float>;
using test::Complex;

// float32 against double: 1e-4 is the limit a stage, 1e-3 its limit from bits to image. What is found is about
// 1e-6, and up to 1e-5 after the extrapolation of smooth fields, which amplifies rounding.
constexpr double kStageTolerance = 1e-4;

struct Size {
  int rows;
  int columns;
};
constexpr Size kSizes[] = {{32, 32}, {8, 8}, {16, 64}, {12, 20}};

ImagePlan make_plan(Size size, int frequencies) {
  ImagePlan plan;
  plan.geometry = {.rows = size.rows, .columns = size.columns, .pitch_x_m = 0.02, .pitch_y_m = 0.025};
  for (int i = 0; i < frequencies; ++i) {
    plan.frequencies_hz.push_back(400.0 + 530.0 * i);
    plan.cutoff_rad_per_m.push_back(70.0 + 3.0 * i);
  }
  return plan;
}

/// A monopole off the axis with microphone noise, another place for every frequency: smooth, propagating and complex.
std::vector<ComplexF> measured_field(const ImagePlan& plan, unsigned seed) {
  std::mt19937 generator(seed);
  std::vector<Complex> spectra;
  for (std::size_t f = 0; f < plan.frequencies_hz.size(); ++f) {
    const test::Monopole source{.x_m = 0.03 + 0.01 * static_cast<double>(f), .y_m = -0.04, .z_m = -0.03};
    auto field = test::monopole_field(source, plan.wavenumber(f), plan.geometry, plan.standoff_m);
    test::add_noise(field, 60.0, generator);
    spectra.insert(spectra.end(), field.begin(), field.end());
  }
  return test::narrow(spectra);
}

/// The largest error of all paths that can do the plan.
double image_error(const ImagePlan& plan, const std::vector<ComplexF>& spectra) {
  const auto expected = reference::pnah(test::widen(spectra), plan);
  double largest = 0.0;
  for (const Path& path : paths_for(plan)) {
    const DeviceImages found = run_on_device(plan, spectra, path);
    EXPECT_EQ(found.status[0] | plan.constant_flags(), expected.flags) << path.name;
    const double error = test::relative_l2(found.images, expected.images);
    EXPECT_LE(error, kStageTolerance) << path.name;
    largest = std::max(largest, error);
  }
  return largest;
}

class EverySizeAndCount : public testing::TestWithParam<std::tuple<Size, int>> {};

TEST_P(EverySizeAndCount, ImagesAgreeWithReference) {
  const auto [size, frequencies] = GetParam();
  const ImagePlan plan = make_plan(size, frequencies);
  EXPECT_LE(image_error(plan, measured_field(plan, 11U)), kStageTolerance);
}

std::string name_of_size_and_count(const testing::TestParamInfo<std::tuple<Size, int>>& param) {
  const Size size = std::get<0>(param.param);
  return std::to_string(size.rows) + "x" + std::to_string(size.columns) + "_n" +
         std::to_string(std::get<1>(param.param));
}

// PoCL compiles for some 10 s for each of them: other counts at one size alone.
INSTANTIATE_TEST_SUITE_P(Pnah, EverySizeAndCount, testing::Combine(testing::ValuesIn(kSizes), testing::Values(1, 5)),
                         name_of_size_and_count);
INSTANTIATE_TEST_SUITE_P(PnahOfOtherCounts, EverySizeAndCount,
                         testing::Combine(testing::Values(Size{12, 20}), testing::Values(2, 7)),
                         name_of_size_and_count);

class EveryExtrapolation : public testing::TestWithParam<std::tuple<Extrapolation, Size>> {};

TEST_P(EveryExtrapolation, PaddedApertureAgreesWithReference) {
  const auto [method, size] = GetParam();
  ImagePlan plan = make_plan(size, 2);
  plan.holography.extrapolation.method = method;
  const std::vector<ComplexF> spectra = measured_field(plan, 5U);
  const auto extrapolator = make_extrapolator(device(), plan);
  const auto status = device().upload<std::uint32_t>(std::vector<std::uint32_t>(kStatusWords, 0), "test");
  device().enqueue_fill(extrapolator->padded(), ComplexF(std::numeric_limits<float>::quiet_NaN(), 0.0F), "test");
  extrapolator->enqueue(device().upload<ComplexF>(spectra, "test"), status);

  std::vector<Complex> expected;
  bool fell_back = false;
  for (std::size_t f = 0; f < plan.frequencies_hz.size(); ++f) {
    reference::Field aperture(size.rows, size.columns);
    for (std::size_t i = 0; i < aperture.values.size(); ++i) {
      aperture.values[i] = Complex(spectra[f * aperture.values.size() + i]);
    }
    const auto padded = reference::taper(reference::extrapolate(aperture, plan, fell_back), plan);
    expected.insert(expected.end(), padded.values.begin(), padded.values.end());
  }
  EXPECT_LE(test::relative_l2(device().download(extrapolator->padded(), "test"), expected), kStageTolerance);
  EXPECT_FALSE(fell_back);
  EXPECT_EQ(device().download(status, "test")[0], 0U);
}

INSTANTIATE_TEST_SUITE_P(Pnah, EveryExtrapolation,
                         testing::Combine(testing::Values(Extrapolation::kPlpbp, Extrapolation::kLpbp,
                                                          Extrapolation::kEdge, Extrapolation::kZero),
                                          testing::ValuesIn({Size{32, 32}, Size{12, 20}, Size{5, 7}, Size{64, 64}})),
                         [](const auto& param) {
                           const Size size = std::get<1>(param.param);
                           return std::string(name_of(std::get<0>(param.param))) + "_" + std::to_string(size.rows) +
                                  "x" + std::to_string(size.columns);
                         });

class EveryFilter : public testing::TestWithParam<std::tuple<FilterKind, Quantity>> {};

TEST_P(EveryFilter, TransferAgreesWithReference) {
  const auto [filter, quantity] = GetParam();
  ImagePlan plan = make_plan({12, 20}, 3);
  plan.holography.filter.cutoff_rule = CutoffRule::kDynamicRange;  // else H is not in it
  plan.holography.filter.kind = filter;
  plan.holography.quantity = quantity;
  plan.holography.planes_m = {0.0, 0.012, -0.01};
  Propagator propagator(device(), plan);
  const auto found = device().download(propagator.transfer(), "test");
  const PaddedAxis rows = plan.rows();
  const PaddedAxis columns = plan.columns();
  std::vector<std::pair<double, Quantity>> fields;
  for (const double plane_m : plan.holography.planes_m) {
    if (quantity == Quantity::kActiveIntensity) {
      fields.insert(fields.end(), {{plane_m, Quantity::kPressure}, {plane_m, Quantity::kNormalVelocity}});
    } else {
      fields.emplace_back(plane_m, quantity);
    }
  }
  std::size_t index = 0;
  for (const auto& [plane_m, field] : fields) {
    plan.holography.quantity = field;
    for (std::size_t f = 0; f < plan.frequencies_hz.size(); ++f) {
      for (int row = 0; row < rows.padded; ++row) {
        for (int column = 0; column < columns.padded; ++column, ++index) {
          const double kx = 2.0 * std::numbers::pi / (columns.padded * columns.pitch_m) *
                            (column <= columns.padded / 2 ? column : column - columns.padded);
          const double ky = 2.0 * std::numbers::pi / (rows.padded * rows.pitch_m) *
                            (row <= rows.padded / 2 ? row : row - rows.padded);
          const Complex expected = reference::transfer(kx, ky, plan.standoff_m - plane_m, f, plan);
          // float32 exponentials of arguments up to about 10: a few 1e-6 each.
          ASSERT_LE(std::abs(Complex(found[index]) - expected), 2e-5 * std::abs(expected) + 1e-16)
              << row << ", " << column;
        }
      }
    }
  }
  EXPECT_EQ(index, found.size());
}

TEST_P(EveryFilter, ImagesAgreeWithReference) {
  const auto [filter, quantity] = GetParam();
  ImagePlan plan = make_plan({12, 20}, 2);
  plan.holography.filter.kind = filter;
  plan.holography.quantity = quantity;
  plan.holography.planes_m = {0.0, 0.02};
  EXPECT_LE(image_error(plan, measured_field(plan, 3U)), kStageTolerance);
}

INSTANTIATE_TEST_SUITE_P(Pnah, EveryFilter,
                         testing::Combine(testing::Values(FilterKind::kCos, FilterKind::kTikhonov, FilterKind::kNone),
                                          testing::ValuesIn(kQuantities)),
                         [](const auto& param) {
                           return std::string(name_of(std::get<0>(param.param))) + "_" +
                                  std::string(name_of(std::get<1>(param.param)));
                         });

TEST(Pnah, UpsampledImagesAgreeWithReference) {
  for (const int upsample : {2, 3}) {
    for (const Size size : {Size{8, 8}, Size{5, 7}}) {
      ImagePlan plan = make_plan(size, 2);
      plan.holography.upsample = upsample;
      plan.holography.quantity = (upsample == 2) == (size.rows == 8) ? Quantity::kPressure : Quantity::kActiveIntensity;
      EXPECT_LE(image_error(plan, measured_field(plan, 9U)), kStageTolerance) << upsample << " " << size.rows;
    }
  }
}

// Zero padding in K-space interpolates: the pixels that lie on microphones keep their values.
TEST(Pnah, UpsamplingKeepsThePixelsOnMicrophones) {
  ImagePlan plan = make_plan({12, 20}, 1);
  const auto spectra = measured_field(plan, 2U);
  const auto coarse = run_on_device(plan, spectra).images;
  plan.holography.upsample = 4;
  const auto fine = run_on_device(plan, spectra).images;
  std::vector<ComplexF> on_microphones;
  for (int row = 0; row < 12; ++row) {
    for (int column = 0; column < 20; ++column) {
      on_microphones.push_back(fine[static_cast<std::size_t>(4 * row * 77 + 4 * column)]);
    }
  }
  EXPECT_LE(test::relative_l2(on_microphones, test::widen(coarse)), 1e-5);
}

// A monopole's image is as right at the last pixels of each row as at the first ones. Pixels beyond the last
// microphone, where the transform's period wraps round, were wrong by more than the field itself.
TEST(Pnah, UpsampledImagesAreAsRightAtTheirEndAsAtTheirStart) {
  ImagePlan plan = make_plan({12, 12}, 1);
  plan.holography.upsample = 4;
  const test::Monopole source{.x_m = 0.0, .y_m = -0.01, .z_m = -0.05};
  const double k = plan.wavenumber(0);
  const auto spectra = test::monopole_field(source, k, plan.geometry, plan.standoff_m);
  const auto image = run_on_device(plan, test::narrow(spectra)).images;
  const ImageGrid grid = plan.grid();
  ASSERT_EQ(grid.columns(), 45);
  ASSERT_EQ(image.size(), grid.pixels());
  const auto error_of_column = [&](int column) {
    std::vector<ComplexF> found;
    std::vector<Complex> expected;
    for (int row = 8; row + 8 < grid.rows(); ++row) {
      found.push_back(image[static_cast<std::size_t>(row * grid.columns() + column)]);
      expected.push_back(test::monopole_pressure(source, k, grid.x_m(column), grid.y_m(row), 0.0));
    }
    return test::relative_l2(found, expected);
  };
  for (int column = 0; column < 4; ++column) {  // the source is in the middle: both ends are the same but for rounding
    EXPECT_NEAR(error_of_column(44 - column), error_of_column(column), 0.01) << column;
  }
}

// Without noise a smooth field is predictable to its last digit; the predictors' floor must keep both engines together.
TEST(Pnah, NoiseFreeFieldsAgreeWithReference) {
  for (const Extrapolation method : {Extrapolation::kPlpbp, Extrapolation::kLpbp}) {
    ImagePlan plan = make_plan({32, 32}, 2);
    plan.holography.extrapolation.method = method;
    std::vector<Complex> spectra;
    for (std::size_t f = 0; f < 2; ++f) {
      const auto field = test::monopole_field({.x_m = 0.1, .y_m = -0.05}, plan.wavenumber(f), plan.geometry, 0.03);
      spectra.insert(spectra.end(), field.begin(), field.end());
    }
    const double error = image_error(plan, test::narrow(spectra));
    RecordProperty(std::string(name_of(method)), std::to_string(error));
    EXPECT_LE(error, kStageTolerance) << name_of(method);
  }
}

TEST(Pnah, SilenceFallsBackToZeroPadding) {
  for (const Extrapolation method : {Extrapolation::kPlpbp, Extrapolation::kLpbp}) {
    ImagePlan plan = make_plan({8, 8}, 1);
    plan.holography.extrapolation.method = method;
    for (const Path& path : paths_for(plan)) {
      const DeviceImages found = run_on_device(plan, std::vector<ComplexF>(64), path);
      EXPECT_EQ(found.status[0], kFlagExtrapolationFellBack) << path.name;
      for (const ComplexF pixel : found.images) {
        ASSERT_EQ(pixel, ComplexF(0.0F, 0.0F)) << path.name;
      }
    }
  }
}

TEST(Pnah, OneSilentFrequencyLeavesTheOthersAlone) {
  const ImagePlan plan = make_plan({8, 8}, 2);
  auto spectra = measured_field(plan, 4U);
  std::fill(spectra.begin(), spectra.begin() + 64, ComplexF());
  EXPECT_LE(image_error(plan, spectra), kStageTolerance);
}

TEST(Pnah, UnusableMicrophonesAreInterpolatedFlaggedAndCounted) {
  ImagePlan plan = make_plan({12, 20}, 2);
  plan.dead_channels = {0, 21, 22, 239};
  auto spectra = measured_field(plan, 6U);
  spectra[0] = {1e9F, 0.0F};
  spectra[100] = {std::numeric_limits<float>::quiet_NaN(), 0.0F};
  spectra[240 + 130] = {0.0F, std::numeric_limits<float>::infinity()};
  const auto expected = reference::pnah(test::widen(spectra), plan);
  EXPECT_EQ(expected.flags, kFlagMaskedMicrophones | kFlagNonFiniteInput);
  EXPECT_EQ(expected.non_finite_channels, 2);
  for (const Path& path : paths()) {
    const DeviceImages found = run_on_device(plan, spectra, path);
    EXPECT_EQ(found.status[0], kFlagMaskedMicrophones | kFlagNonFiniteInput) << path.name;
    EXPECT_EQ(found.status[1], 2U) << path.name;
    EXPECT_LE(test::relative_l2(found.images, expected.images), kStageTolerance) << path.name;
  }
}

TEST(Pnah, CalibrationMultipliesTheSpectra) {
  ImagePlan plan = make_plan({8, 8}, 2);
  const auto spectra = measured_field(plan, 8U);
  const auto plain = run_on_device(plan, spectra).images;
  std::mt19937 generator(21U);
  std::uniform_real_distribution<float> uniform(0.5F, 2.0F);
  std::vector<ComplexF> distorted;
  for (const ComplexF value : spectra) {
    const ComplexF gain = std::polar(uniform(generator), uniform(generator));
    plan.gains.push_back(gain);
    distorted.push_back(value / gain);
  }
  for (const Path& path : paths()) {
    EXPECT_LE(test::relative_l2(run_on_device(plan, distorted, path).images, test::widen(plain)), kStageTolerance)
        << path.name;
  }
}

TEST(Pnah, RefusesGainsBeyondFloat32) {
  for (const FilterKind kind : {FilterKind::kCos, FilterKind::kNone}) {
    ImagePlan plan = make_plan({8, 8}, 1);
    plan.standoff_m = 0.6;
    plan.holography.filter.kind = kind;
    plan.holography.filter.cutoff_rule = CutoffRule::kDynamicRange;  // auto stays where the gain is small
    plan.holography.filter.slope = 0.5;
    EXPECT_THROW(validate(plan), ConfigError) << name_of(kind);
  }
  ImagePlan plan = make_plan({8, 8}, 1);
  plan.standoff_m = 0.6;
  plan.holography.filter.kind = FilterKind::kTikhonov;
  EXPECT_NO_THROW(validate(plan));
}

TEST(Pnah, RefusesStacksBeyondItsIndices) {
  ImagePlan plan = make_plan({64, 64}, 100);
  plan.holography.upsample = 8;
  plan.holography.planes_m.assign(16, 0.0);
  EXPECT_THROW(validate(plan), ConfigError);
}

// The paths that this machine's own device does not take: prediction errors in global memory, as on GPUs with 48 KiB of
// local memory, and predictors in float, as on devices without fp64.
double lesser_device_error(const ImagePlan& plan, const std::vector<ComplexF>& spectra, bool has_fp64) {
  ocl::DeviceInfo info = device().info();
  info.local_memory_bytes = 0;
  info.has_fp64 = has_fp64;
  const ocl::Device lesser = device().restricted(info);
  const std::unique_ptr<Imager> pnah = make_imager(lesser, plan);
  const auto status = lesser.upload<std::uint32_t>(std::vector<std::uint32_t>(kStatusWords, 0), "test");
  pnah->enqueue(lesser.upload<ComplexF>(spectra, "test"), status);
  return test::relative_l2(lesser.download(pnah->images(), "test"), reference::pnah(test::widen(spectra), plan).images);
}

TEST(Pnah, LesserDevicesAgreeWithReference) {
  const ImagePlan plan = make_plan({16, 64}, 2);
  for (const bool has_fp64 : {true, false}) {
    const double error = lesser_device_error(plan, measured_field(plan, 12U), has_fp64);
    std::printf("global scratch, %s predictors: engines differ by %.2e\n", has_fp64 ? "double" : "float", error);
    EXPECT_LE(error, kStageTolerance);
  }
  // Without noise a predictor has nothing but rounding to fit in its last stages; in float that rounding is its own.
  const auto noise_free =
      test::narrow(test::monopole_field({.x_m = 0.1, .y_m = -0.05}, plan.wavenumber(0), plan.geometry, 0.03));
  ImagePlan one = plan;
  one.frequencies_hz.resize(1);
  one.cutoff_rad_per_m.resize(1);
  const double error = lesser_device_error(one, noise_free, false);
  std::printf("float predictors of a noise-free field: engines differ by %.2e\n", error);
  EXPECT_LE(error, 1e-3);
}

TEST(Pnah, ValuesThatWouldOverflowCountAsNotFinite) {
  const ImagePlan plan = make_plan({8, 8}, 1);
  auto spectra = measured_field(plan, 6U);
  spectra[9] = {1e30F, 0.0F};
  for (const Path& path : paths()) {
    const DeviceImages found = run_on_device(plan, spectra, path);
    EXPECT_EQ(found.status[1], 1U) << path.name;
    EXPECT_LE(test::relative_l2(found.images, reference::pnah(test::widen(spectra), plan).images), kStageTolerance)
        << path.name;
  }
}

// Each frame of a batch has its own unusable microphones and its own status.
TEST(Pnah, BatchesGiveWhatTheirFramesGive) {
  ImagePlan plan = make_plan({12, 20}, 2);
  plan.holography.planes_m = {0.0, 0.01};
  plan.dead_channels = {7};
  std::vector<std::vector<ComplexF>> frames = {measured_field(plan, 31U), std::vector<ComplexF>(480),
                                               measured_field(plan, 32U)};
  frames[2][50] = {std::numeric_limits<float>::quiet_NaN(), 0.0F};
  for (const Path& path : paths()) {
    std::vector<ComplexF> together;
    std::vector<ComplexF> expected;
    std::vector<std::uint32_t> status;
    plan.batch = 1;
    for (const std::vector<ComplexF>& frame : frames) {
      const DeviceImages found = run_on_device(plan, frame, path);
      together.insert(together.end(), frame.begin(), frame.end());
      expected.insert(expected.end(), found.images.begin(), found.images.end());
      status.insert(status.end(), found.status.begin(), found.status.end());
    }
    plan.batch = 3;
    const DeviceImages found = run_on_device(plan, together, path);
    EXPECT_EQ(found.status, status) << path.name;
    // The silent frame is exactly 0; clFFT may take other kernels for other batches.
    EXPECT_LE(test::relative_l2(found.images, test::widen(expected)), 1e-6) << path.name;
  }
}

// More frequencies than the fused path looks through in every group.
TEST(Pnah, ManyFrequenciesFindTheirUnusableMicrophones) {
  ImagePlan plan = make_plan({8, 8}, 20);
  for (double& frequency_hz : plan.frequencies_hz) {
    frequency_hz = 0.4 * frequency_hz;
  }
  auto spectra = measured_field(plan, 33U);
  spectra[19 * 64 + 10] = {std::numeric_limits<float>::infinity(), 0.0F};
  EXPECT_LE(image_error(plan, spectra), kStageTolerance);
}

TEST(Pnah, TakesTheFusedPathWhereItCan) {
  ImagePlan plan = make_plan({8, 8}, 1);
  const auto path_of = [](const ocl::Device& on, const ImagePlan& wanted) {
    return make_imager(on, wanted)->description().substr(0, 5);
  };
  EXPECT_EQ(path_of(device(), plan), "fused");
  plan.fft = "clfft";
  EXPECT_EQ(path_of(device(), plan), "stage");
  plan.fft = "auto";
  ocl::DeviceInfo info = device().info();
  info.is_gpu = false;
  info.local_memory_bytes = std::size_t{1} << 20U;
  info.has_fp64 = false;
  const ocl::Device without_fp64 = device().restricted(info);
  EXPECT_EQ(path_of(without_fp64, plan), "stage");
  plan.fft = "fused";
  EXPECT_THROW((void)make_imager(without_fp64, plan), ConfigError);
  plan.holography.extrapolation.method = Extrapolation::kEdge;
  EXPECT_EQ(path_of(without_fp64, plan), "fused");
  info.local_memory_bytes = 64;
  EXPECT_THROW((void)make_imager(device().restricted(info), plan), ConfigError);
  plan.holography.upsample = 2;
  EXPECT_THROW((void)make_imager(device(), plan), ConfigError);
  plan.holography.upsample = 1;
  plan.holography.extrapolation.method = Extrapolation::kLpbp;
  EXPECT_THROW((void)make_imager(device(), plan), ConfigError);
}

TEST(Pnah, FlagsWavenumbersAboveTheArrays) {
  ImagePlan plan = make_plan({8, 8}, 1);
  plan.frequencies_hz = {9000.0};
  EXPECT_EQ(plan.constant_flags(), kFlagWavenumberAboveNyquist);
}

}  // namespace
}  // namespace nearfield
