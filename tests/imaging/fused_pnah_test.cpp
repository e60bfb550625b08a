#include "imaging/pnah/fused_pnah.hpp"

#include <CL/cl.h>
#include <dlfcn.h>
#include <gtest/gtest.h>

#include <limits>
#include <numbers>
#include <optional>
#include <random>

#include "core/error.hpp"
#include "core/numerics.hpp"
#include "imaging/imager_paths.hpp"
#include "imaging/plain_work_groups.hpp"
#include "imaging/pnah/pnah_reference.hpp"
#include "imaging/shared/short_dft.hpp"
#include "support/fields.hpp"
#include "support/measures.hpp"

/// The fused kernels stage by stage, cut in every way that devices use.
/// The next launches of kernels by this program fail, as on a device that is short of resources.
static int failing_launches = 0;

namespace nearfield {
namespace {

using ComplexF = std::complex<float>;
using test::Complex;
using test::device;

/// float32 transforms of float32 samples, as in pnah_test.cpp.
constexpr double kStageTolerance = 1e-4;

struct Cut {
  const char* name;
  FusedTuning tuning;
};

FusedTuning cut(int lanes, int group, int tile) {
  return {.lanes = lanes,
          .fit_group = group,
          .column_group = group,
          .column_tile = tile,
          .local_samples = tile > 3,
          .row_group = group,
          .row_tile = tile};
}

const Cut kCuts[] = {{"one_item_of_8_lanes", cut(8, 1, 1)},
                     {"one_item_of_4_lanes", cut(4, 1, 3)},
                     {"one_item_of_a_line", cut(1, 1, 2)},
                     {"64_items_of_a_line", cut(1, 64, 4)},
                     {"256_items_of_a_line", cut(1, 256, 16)}};

ImagePlan make_plan(int rows, int columns, int frequencies) {
  ImagePlan plan;
  plan.geometry = {.rows = rows, .columns = columns, .pitch_x_m = 0.02, .pitch_y_m = 0.025};
  plan.holography.planes_m = {0.0, 0.012};
  for (int i = 0; i < frequencies; ++i) {
    plan.frequencies_hz.push_back(600.0 + 530.0 * i);
    plan.cutoff_rad_per_m.push_back(70.0 + 3.0 * i);
  }
  return plan;
}

std::vector<ComplexF> measured_field(const ImagePlan& plan, unsigned seed) {
  std::mt19937 generator(seed);
  std::vector<Complex> spectra;
  for (std::size_t f = 0; f < plan.frequencies_hz.size(); ++f) {
    const test::Monopole source{.x_m = 0.03, .y_m = -0.02 - 0.01 * static_cast<double>(f), .z_m = -0.03};
    auto field = test::monopole_field(source, plan.wavenumber(f), plan.geometry, plan.standoff_m);
    test::add_noise(field, 60.0, generator);
    spectra.insert(spectra.end(), field.begin(), field.end());
  }
  return test::narrow(spectra);
}

reference::Field aperture_of(const ImagePlan& plan, const std::vector<ComplexF>& spectra, std::size_t frequency) {
  reference::Field aperture(plan.geometry.rows, plan.geometry.columns);
  for (std::size_t i = 0; i < aperture.values.size(); ++i) {
    aperture.values[i] = Complex(spectra[frequency * aperture.values.size() + i]);
  }
  return aperture;
}

Complex turn(int numerator, int denominator, double sign) {
  return std::polar(1.0, sign * 2.0 * std::numbers::pi * (numerator % denominator) / denominator);
}

double signed_wavenumber(int bin, const PaddedAxis& axis) {
  return 2.0 * std::numbers::pi / (axis.padded * axis.pitch_m) * (2 * bin < axis.padded ? bin : bin - axis.padded);
}

class EveryCut : public testing::TestWithParam<std::tuple<std::size_t, Extrapolation>> {
 protected:
  void SetUp() override {
    if (tuning().fit_group > 1) {
      if (!test::has_fused_groups()) {
        GTEST_SKIP() << test::kNoFusedGroups;
      }
      plain_.emplace();
    }
  }
  [[nodiscard]] static const FusedTuning& tuning() { return kCuts[std::get<0>(GetParam())].tuning; }
  [[nodiscard]] static ImagePlan plan() {
    ImagePlan made = make_plan(12, 20, 2);
    made.holography.extrapolation.method = std::get<1>(GetParam());
    return made;
  }

 private:
  std::optional<test::PlainWorkGroups> plain_;
};

/// The samples that a line's steps are made of: step s past the end is the sum of extension[s][tap] line[end - tap],
/// and before the start, conjugated, of line[tap].
reference::Field extend(const reference::Field& aperture, const std::vector<ComplexF>& along_x,
                        const std::vector<ComplexF>& along_y, std::size_t image, const ImagePlan& plan) {
  const PaddedAxis x = plan.columns();
  const PaddedAxis y = plan.rows();
  const auto steps = [&](const std::vector<ComplexF>& extension, const PaddedAxis& axis) {
    const bool fits = plan.holography.extrapolation.method == Extrapolation::kPlpbp;
    const auto count = static_cast<std::size_t>(std::max(axis.before, axis.padded - axis.measured - axis.before));
    const std::size_t taps = extension.size() / count / (fits ? plan.frequencies_hz.size() : 1);
    return [&extension, axis, taps, first = fits ? image * count * taps : 0](const auto& sample, int place) -> Complex {
      if (place >= 0 && place < axis.measured) {
        return sample(place);
      }
      const bool behind = place >= axis.measured;
      const auto step = static_cast<std::size_t>(behind ? place - axis.measured : -1 - place);
      Complex sum = 0.0;
      for (std::size_t tap = 0; tap < taps; ++tap) {
        const Complex factor(extension[first + step * taps + tap]);
        const int from = behind ? axis.measured - 1 - static_cast<int>(tap) : static_cast<int>(tap);
        sum += (behind ? factor : std::conj(factor)) * sample(from);
      }
      return sum;
    };
  };
  const auto step_x = steps(along_x, x);
  const auto step_y = steps(along_y, y);
  reference::Field padded(y.padded, x.padded);
  for (int row = 0; row < y.padded; ++row) {
    for (int column = 0; column < x.padded; ++column) {
      padded.at(row, column) = step_y(
          [&](int r) { return step_x([&](int c) { return aperture.at(r, c); }, column - x.before); }, row - y.before);
    }
  }
  return padded;
}

TEST_P(EveryCut, ExtensionsAgreeWithReference) {
  const ImagePlan plan = EveryCut::plan();
  const auto spectra = measured_field(plan, 3U);
  FusedPnah imager(device(), plan, tuning());
  const auto status = device().upload<std::uint32_t>(std::vector<std::uint32_t>(kStatusWords, 0), "test");
  imager.enqueue(device().upload<ComplexF>(spectra, "test"), status);
  const auto samples = device().download(imager.samples(), "test");
  const auto along_x = device().download(imager.extension_x(), "test");
  const auto along_y = device().download(imager.extension_y(), "test");
  ASSERT_EQ(samples.size(), spectra.size());
  bool fell_back = false;
  for (std::size_t f = 0; f < plan.frequencies_hz.size(); ++f) {
    const reference::Field aperture = aperture_of(plan, spectra, f);
    for (int row = 0; row < aperture.rows; ++row) {
      for (int column = 0; column < aperture.columns; ++column) {
        const auto at = static_cast<std::size_t>(column * aperture.rows + row);
        ASSERT_EQ(Complex(samples[f * aperture.values.size() + at]), aperture.at(row, column));
      }
    }
    const reference::Field expected = reference::taper(reference::extrapolate(aperture, plan, fell_back), plan);
    const reference::Field found = reference::taper(extend(aperture, along_x, along_y, f, plan), plan);
    EXPECT_LE(test::relative_l2(test::narrow(found.values), expected.values), kStageTolerance);
  }
}

TEST_P(EveryCut, SlicesAgreeWithReference) {
  const ImagePlan plan = EveryCut::plan();
  const auto spectra = measured_field(plan, 4U);
  FusedPnah imager(device(), plan, tuning());
  const auto status = device().upload<std::uint32_t>(std::vector<std::uint32_t>(kStatusWords, 0), "test");
  imager.enqueue(device().upload<ComplexF>(spectra, "test"), status);
  const auto found = device().download(imager.slices(), "test");
  const PaddedAxis y = plan.rows();
  const PaddedAxis x = plan.columns();
  std::vector<ComplexF> inside;
  std::vector<Complex> expected;
  std::size_t index = 0;
  bool fell_back = false;
  for (const double plane_m : plan.holography.planes_m) {
    for (std::size_t f = 0; f < plan.frequencies_hz.size(); ++f) {
      const reference::Field spectrum = reference::transform(
          reference::taper(reference::extrapolate(aperture_of(plan, spectra, f), plan, fell_back), plan), -1.0);
      for (int kx = 0; kx < imager.spectrum_stride(); ++kx) {
        for (int row = 0; row < imager.slice_stride(); ++row, ++index) {
          if (kx >= x.padded || row >= y.measured) {
            ASSERT_EQ(found[index], ComplexF()) << "past the slice " << kx << ", " << row;
            continue;
          }
          Complex sum = 0.0;
          for (int ky = 0; ky < y.padded; ++ky) {
            sum += spectrum.at(ky, kx) * turn(ky * (y.before + row), y.padded, 1.0) *
                   reference::transfer(signed_wavenumber(kx, x), signed_wavenumber(ky, y), plan.standoff_m - plane_m, f,
                                       plan);
          }
          expected.push_back(sum / static_cast<double>(y.padded * x.padded));
          inside.push_back(found[index]);
        }
      }
    }
  }
  EXPECT_EQ(index, found.size());
  EXPECT_LE(test::relative_l2(inside, expected), kStageTolerance);
}

TEST_P(EveryCut, ImagesAgreeWithReference) {
  ImagePlan plan = EveryCut::plan();
  plan.dead_channels = {0, 21, 22, 239};
  const auto spectra = measured_field(plan, 5U);
  FusedPnah imager(device(), plan, tuning());
  const auto status = device().upload<std::uint32_t>(std::vector<std::uint32_t>(kStatusWords, 0), "test");
  device().enqueue_fill(imager.images(), ComplexF(std::numeric_limits<float>::quiet_NaN(), 1.0F), "test");
  imager.enqueue(device().upload<ComplexF>(spectra, "test"), status);
  const auto expected = reference::pnah(test::widen(spectra), plan);
  EXPECT_LE(test::relative_l2(device().download(imager.images(), "test"), expected.images), kStageTolerance);
  EXPECT_EQ(device().download(imager.taken_status(), "test")[0], expected.flags);
}

// Two fields to a plane, several frequencies: every index of slices and transfers counts.
TEST_P(EveryCut, IntensitiesAgreeWithReference) {
  ImagePlan plan = EveryCut::plan();
  plan.holography.quantity = Quantity::kActiveIntensity;
  const auto spectra = measured_field(plan, 6U);
  FusedPnah imager(device(), plan, tuning());
  const auto status = device().upload<std::uint32_t>(std::vector<std::uint32_t>(kStatusWords, 0), "test");
  device().enqueue_fill(imager.images(), ComplexF(std::numeric_limits<float>::quiet_NaN(), 1.0F), "test");
  imager.enqueue(device().upload<ComplexF>(spectra, "test"), status);
  const auto found = device().download(imager.images(), "test");
  EXPECT_LE(test::relative_l2(found, reference::pnah(test::widen(spectra), plan).images), kStageTolerance);
}

const auto kCutAndExtrapolation = [](const auto& param) {
  return std::string(kCuts[std::get<0>(param.param)].name) + "_" + std::string(name_of(std::get<1>(param.param)));
};

INSTANTIATE_TEST_SUITE_P(FusedPnah, EveryCut,
                         testing::Combine(testing::Range(std::size_t{0}, std::size(kCuts)),
                                          testing::Values(Extrapolation::kPlpbp)),
                         kCutAndExtrapolation);

// The other extrapolations differ in their extensions alone: a cut for a processor and one for a GPU.
INSTANTIATE_TEST_SUITE_P(FusedPnahOfFixedExtensions, EveryCut,
                         testing::Combine(testing::Values(std::size_t{1}, std::size_t{4}),
                                          testing::Values(Extrapolation::kEdge, Extrapolation::kZero)),
                         kCutAndExtrapolation);

// Without padding nothing but the short transforms and the transfer remain: every radix, alone and in products.
TEST(FusedPnah, TransformsOfEveryRadixAgreeWithReference) {
  if (!test::has_fused_groups()) {
    GTEST_SKIP() << test::kNoFusedGroups;
  }
  const test::PlainWorkGroups plain;
  for (const auto& [rows, columns] : {std::pair{4, 5}, {7, 35}, {49, 9}, {25, 28}, {14, 42}}) {
    ImagePlan plan = make_plan(rows, columns, 1);
    plan.holography.planes_m = {0.0};
    plan.holography.extrapolation = {.method = Extrapolation::kZero, .order = 8, .factor = 1.0};
    const auto spectra = measured_field(plan, 6U);
    const auto expected = reference::pnah(test::widen(spectra), plan);
    for (const FusedTuning& tuning : {cut(8, 1, 1), cut(1, 64, 4)}) {
      FusedPnah imager(device(), plan, tuning);
      const auto status = device().upload<std::uint32_t>(std::vector<std::uint32_t>(kStatusWords, 0), "test");
      imager.enqueue(device().upload<ComplexF>(spectra, "test"), status);
      EXPECT_LE(test::relative_l2(device().download(imager.images(), "test"), expected.images), 1e-5)
          << rows << " x " << columns << ", " << imager.description();
    }
  }
}

// Predictors of every order, down to lines of four microphones; the field's phase steps along both axes.
TEST(FusedPnah, PredictorsOfEveryOrderAgreeWithReference) {
  if (!test::has_fused_groups()) {
    GTEST_SKIP() << test::kNoFusedGroups;
  }
  const test::PlainWorkGroups plain;
  for (const int order : {1, 5, 16}) {
    for (const auto& [rows, columns] : {std::pair{4, 9}, {18, 6}}) {
      ImagePlan plan = make_plan(rows, columns, 1);
      plan.holography.planes_m = {0.0};
      plan.holography.extrapolation.order = order;
      const auto spectra = measured_field(plan, 7U);
      FusedPnah imager(device(), plan, cut(1, 64, 4));
      const auto status = device().upload<std::uint32_t>(std::vector<std::uint32_t>(kStatusWords, 0), "test");
      imager.enqueue(device().upload<ComplexF>(spectra, "test"), status);
      EXPECT_LE(test::relative_l2(device().download(imager.images(), "test"),
                                  reference::pnah(test::widen(spectra), plan).images),
                kStageTolerance)
          << rows << " x " << columns << ", order " << order;
    }
  }
}

// A batch of two frames, twice, with microphones of their own to replace.
TEST(FusedPnah, BatchesAgreeWithReference) {
  if (!test::has_fused_groups()) {
    GTEST_SKIP() << test::kNoFusedGroups;
  }
  const test::PlainWorkGroups plain;
  for (const FusedTuning& tuning : {cut(8, 1, 1), cut(1, 64, 4)}) {
    ImagePlan plan = make_plan(13, 13, 3);
    plan.holography.planes_m = {0.0};
    plan.dead_channels = {5};
    plan.batch = 2;
    FusedPnah imager(device(), plan, tuning);
    const auto status = device().upload<std::uint32_t>(std::vector<std::uint32_t>(2 * kStatusWords, 0), "test");
    for (const unsigned seed : {8U, 9U}) {
      auto spectra = measured_field(plan, seed);
      const auto second = measured_field(plan, seed + 10U);
      const auto first_expected = reference::pnah(test::widen(spectra), plan);
      auto expected = first_expected.images;
      const auto second_expected = reference::pnah(test::widen(second), plan).images;
      expected.insert(expected.end(), second_expected.begin(), second_expected.end());
      spectra.insert(spectra.end(), second.begin(), second.end());
      device().enqueue_fill(imager.images(), ComplexF(std::numeric_limits<float>::quiet_NaN(), 1.0F), "test");
      imager.enqueue(device().upload<ComplexF>(spectra, "test"), status, 2);
      EXPECT_LE(test::relative_l2(device().download(imager.images(), "test"), expected), kStageTolerance);
      EXPECT_EQ(device().download(imager.taken_status(), "test")[kStatusWords], first_expected.flags);
    }
  }
}

struct FusedFrame {
  std::vector<ComplexF> images;
  std::vector<std::uint32_t> status;
  std::vector<FilterReport> reports;
};

/// Four frames one after another, the third of which is silent at its last frequency.
std::vector<FusedFrame> four_frames(const ImagePlan& plan, const FusedTuning& tuning) {
  FusedPnah imager(device(), plan, tuning);
  const auto status = device().upload<std::uint32_t>(std::vector<std::uint32_t>(kStatusWords, 0), "test");
  std::vector<FusedFrame> frames;
  for (const unsigned seed : {1U, 2U, 3U, 4U}) {
    auto spectra = measured_field(plan, seed);
    if (seed == 3U) {
      std::fill(spectra.end() - plan.geometry.channels(), spectra.end(), ComplexF());
    }
    device().enqueue_fill(imager.images(), ComplexF(std::numeric_limits<float>::quiet_NaN(), 1.0F), "test");
    imager.enqueue(device().upload<ComplexF>(spectra, "test"), status);
    frames.push_back({.images = device().download(imager.images(), "test"),
                      .status = device().download(imager.taken_status(), "test"),
                      .reports = device().download(imager.reports(), "test")});
  }
  return frames;
}

FusedTuning in_one_launch(FusedTuning tuning) {
  tuning.one_launch = true;
  return tuning;
}

struct OneLaunchCase {
  Extrapolation extrapolation;
  Quantity quantity;
  bool is_measured;
};

// Whatever its groups hand over to each other, a frame in one launch is the frame of three, to the last bit: with
// predictors and without, planes and an intensity's two fields, a masked microphone, given and measured cut-offs.
TEST(FusedPnah, OneLaunchMakesTheImagesOfThree) {
  if (!test::has_fused_groups()) {
    GTEST_SKIP() << test::kNoFusedGroups;
  }
  const test::PlainWorkGroups plain;
  for (const OneLaunchCase& one : {OneLaunchCase{Extrapolation::kPlpbp, Quantity::kPressure, true},
                                   OneLaunchCase{Extrapolation::kPlpbp, Quantity::kActiveIntensity, false},
                                   OneLaunchCase{Extrapolation::kEdge, Quantity::kPressure, true},
                                   OneLaunchCase{Extrapolation::kZero, Quantity::kActiveIntensity, false}}) {
    ImagePlan plan = make_plan(16, 16, 3);
    plan.holography.extrapolation.method = one.extrapolation;
    plan.holography.quantity = one.quantity;
    plan.dead_channels = {37};
    plan.holography.filter.cutoff_rule = one.is_measured ? CutoffRule::kAuto : CutoffRule::kDynamicRange;
    ASSERT_EQ(plan.measures_cutoff(), one.is_measured);
    const FusedTuning tuning = cut(1, 64, 8);
    ASSERT_TRUE(fits_one_launch(plan, tuning));
    const std::vector<FusedFrame> expected = four_frames(plan, tuning);
    const std::vector<FusedFrame> found = four_frames(plan, in_one_launch(tuning));
    for (std::size_t i = 0; i < found.size(); ++i) {
      EXPECT_EQ(found[i].images, expected[i].images) << "frame " << i << ", measured: " << one.is_measured;
      EXPECT_EQ(found[i].status, expected[i].status) << "frame " << i;
      for (std::size_t f = 0; one.is_measured && f < plan.frequencies_hz.size(); ++f) {
        EXPECT_EQ(found[i].reports[f].cutoff_rad_per_m, expected[i].reports[f].cutoff_rad_per_m);
        EXPECT_EQ(found[i].reports[f].error_estimate, expected[i].reports[f].error_estimate);
      }
    }
    if (one.extrapolation == Extrapolation::kPlpbp) {
      EXPECT_NE(found[2].status[0] & kFlagExtrapolationFellBack, 0U) << "of a frequency that is silent";
    }
  }
}

// Groups wait for each other by the number of launches: if one that failed counted, the next would never end.
TEST(FusedPnah, AFrameAfterALaunchThatFailedIsRight) {
  if (!test::has_fused_groups()) {
    GTEST_SKIP() << test::kNoFusedGroups;
  }
  const test::PlainWorkGroups plain;
  const ImagePlan plan = make_plan(16, 16, 2);
  const auto spectra = measured_field(plan, 5U);
  const auto expected = reference::pnah(test::widen(spectra), plan).images;
  FusedPnah imager(device(), plan, in_one_launch(cut(1, 64, 8)));
  const auto input = device().upload<ComplexF>(spectra, "test");
  const auto status = device().upload<std::uint32_t>(std::vector<std::uint32_t>(kStatusWords, 0), "test");
  for (int frame = 0; frame < 2; ++frame) {
    failing_launches = 1;
    EXPECT_THROW(imager.enqueue(input, status), DeviceError);
    ASSERT_EQ(failing_launches, 0) << "all launches go through this program's clEnqueueNDRangeKernel";
    device().enqueue_fill(imager.images(), ComplexF(std::numeric_limits<float>::quiet_NaN(), 1.0F), "test");
    imager.enqueue(input, status);
    EXPECT_LE(test::relative_l2(device().download(imager.images(), "test"), expected), kStageTolerance);
  }
}

// Only where the axes are cut alike, and of frames that come one by one.
TEST(FusedPnah, OneLaunchIsOfSquareArraysWithoutBatches) {
  EXPECT_FALSE(fits_one_launch(make_plan(16, 20, 1), cut(1, 64, 4)));
  EXPECT_FALSE(fits_one_launch(make_plan(16, 16, 1), cut(8, 1, 1)));
  ImagePlan plan = make_plan(16, 16, 1);
  EXPECT_TRUE(fits_one_launch(plan, cut(1, 64, 4)));
  plan.batch = 2;
  EXPECT_FALSE(fits_one_launch(plan, cut(1, 64, 4)));
  plan.batch = 1;
  ocl::DeviceInfo info = device().info();
  info.is_gpu = true;
  info.groups_hand_over = false;
  info.local_memory_bytes = std::size_t{48} << 10U;
  EXPECT_FALSE(default_tuning(info, plan).one_launch);
  info.groups_hand_over = true;
  EXPECT_TRUE(default_tuning(info, plan).one_launch);
  const ImagePlan large = make_plan(48, 48, 1);  // whose columns do not fit eight at a time, with two planes
  EXPECT_FALSE(default_tuning(info, large).one_launch);
  EXPECT_EQ(obstacle_to_fusing(info, large), "");
}

TEST(FusedPnah, PredictsOnGpusWithoutDoublePrecision) {
  ocl::DeviceInfo info = device().info();
  info.is_gpu = false;
  info.has_fp64 = false;
  info.local_memory_bytes = std::size_t{1} << 20U;
  EXPECT_EQ(obstacle_to_fusing(info, make_plan(32, 32, 1)), "plpbp on a processor without double precision");
  info.is_gpu = true;
  info.local_memory_bytes = std::size_t{48} << 10U;
  EXPECT_EQ(obstacle_to_fusing(info, make_plan(32, 32, 1)), "");
}

TEST(ShortDft, SplitsLengthsIntoNearFactors) {
  const auto shape = [](int length) {
    const auto split = split_dft(length);
    return split ? std::pair{split->outer(), split->inner()} : std::pair{0, 0};
  };
  EXPECT_EQ(shape(96), std::pair(12, 8));
  EXPECT_EQ(shape(192), std::pair(16, 12));
  EXPECT_EQ(shape(24), std::pair(6, 4));
  EXPECT_EQ(shape(7), std::pair(7, 1));
  EXPECT_EQ(shape(1), std::pair(1, 1));
  EXPECT_EQ(shape(11), std::pair(0, 0));
  EXPECT_EQ(shape(1024), std::pair(0, 0));
  // Every padded length of up to 64 microphones a side but 162 = 2 * 3^4.
  int without = 0;
  for (int length = 1; length <= 192; ++length) {
    const auto split = split_dft(length);
    without += is_fft_length(length) && !split ? 1 : 0;
    if (split) {
      EXPECT_EQ(split->length(), length);
      EXPECT_LE(split->outer(), kMostInAnItem);
    }
  }
  EXPECT_EQ(without, 1);
}

}  // namespace
}  // namespace nearfield

/// Stands before the loader's in this program.
cl_int clEnqueueNDRangeKernel(  // NOLINT(readability-identifier-naming)
    cl_command_queue queue, cl_kernel kernel, cl_uint dimensions, const size_t* offset, const size_t* global,
    const size_t* local, cl_uint events, const cl_event* waited, cl_event* event) {
  static const auto kOfLoader =
      reinterpret_cast<decltype(&clEnqueueNDRangeKernel)>(dlsym(RTLD_NEXT, "clEnqueueNDRangeKernel"));
  if (failing_launches > 0) {
    --failing_launches;
    return CL_OUT_OF_RESOURCES;
  }
  return kOfLoader(queue, kernel, dimensions, offset, global, local, events, waited, event);
}
