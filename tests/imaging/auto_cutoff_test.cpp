#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <numbers>
#include <random>

#include "imaging/eight_cases.hpp"
#include "imaging/imager_paths.hpp"
#include "imaging/imager_table.hpp"
#include "imaging/pnah/pnah_reference.hpp"
#include "support/fields.hpp"
#include "support/measures.hpp"

/// The measured cut-off: device against reference, and what it is good for.
namespace nearfield {
namespace {

using ComplexF = std::complex<float>;
using test::Complex;

struct Array {
  const char* name;
  ArrayGeometry geometry;
  std::vector<std::size_t> paths;  ///< of test::kPaths: building one takes PoCL seconds
};
ArrayGeometry array_of(int rows, int columns, double pitch_x_m, double pitch_y_m) {
  ArrayGeometry geometry;
  geometry.rows = rows;
  geometry.columns = columns;
  geometry.pitch_x_m = pitch_x_m;
  geometry.pitch_y_m = pitch_y_m;
  return geometry;
}
const Array kArrays[] = {
    {"32x32", array_of(32, 32, 0.02, 0.02), {0, 1, 2}}, {"8x8", array_of(8, 8, 0.05, 0.05), {1, 2}},
    {"16x64", array_of(16, 64, 0.00566, 0.0143), {1}},  {"12x20", array_of(12, 20, 0.02, 0.025), {0}},
    {"11x13", array_of(11, 13, 0.03, 0.02), {1}},  // measured as 10 x 12
};

ImagePlan auto_plan(const ArrayGeometry& geometry, std::vector<double> frequencies_hz) {
  ImagePlan plan;
  plan.geometry = geometry;
  plan.holography.filter.cutoff_rule = CutoffRule::kAuto;
  plan.frequencies_hz = std::move(frequencies_hz);
  plan.cutoff_rad_per_m = resolve_cutoffs(plan.holography, plan.medium, plan.geometry, plan.frequencies_hz);
  return plan;
}

/// A frame of monopoles 3 cm below the surface, each frequency its own, `gain` times.
std::vector<Complex> monopoles(const ImagePlan& plan, double snr_db, double gain, std::mt19937& generator) {
  std::vector<Complex> spectra;
  for (std::size_t f = 0; f < plan.frequencies_hz.size(); ++f) {
    const double width_m = plan.geometry.pitch_x_m * plan.geometry.columns;
    const test::Monopole source{
        .x_m = 0.1 * width_m, .y_m = -0.07 * width_m * static_cast<double>(f + 1), .z_m = -0.03};
    auto field = test::monopole_field(source, plan.wavenumber(f), plan.geometry, plan.standoff_m);
    test::add_noise(field, snr_db, generator);
    for (const Complex value : field) {
      spectra.push_back(gain * value);
    }
  }
  return spectra;
}

/// Pnah on the device, frame after frame.
class FrameByFrame {
 public:
  FrameByFrame(ImagePlan plan, const test::Path& path)
      : plain_(path.as_gpu ? std::optional<test::PlainWorkGroups>(std::in_place) : std::nullopt),
        device_(test::device_of(path)),
        plan_(with_path(std::move(plan), path)),
        pnah_(make_imager(device_, plan_)),
        spectra_(device_.allocate<ComplexF>(plan_.holograms() * static_cast<std::size_t>(plan_.geometry.channels()),
                                            "test")),
        status_(device_.allocate<std::uint32_t>(static_cast<std::size_t>(plan_.batch) * kStatusWords, "test")) {
    device_.enqueue_fill(status_, 0U, "test");
    device_.enqueue_fill(spectra_, ComplexF(), "test");
  }
  void image(const std::vector<Complex>& spectra) {
    const std::vector<ComplexF> narrow = test::narrow(spectra);
    const std::size_t frames = spectra.size() * static_cast<std::size_t>(plan_.batch) / spectra_.size();
    device_.enqueue_write(spectra_, 0, std::span(narrow), "test");
    pnah_->enqueue(spectra_, status_, frames);
    pnah_->enqueue_fetch(frames);
    device_.wait();
    reports.assign(pnah_->host_reports().begin(), pnah_->host_reports().end());
    reports.resize(frames * plan_.frequencies_hz.size());
    images = test::widen({pnah_->host_images().begin(), pnah_->host_images().end()});
    images.resize(images.size() / static_cast<std::size_t>(plan_.batch) * frames);
  }
  std::vector<FilterReport> reports;
  std::vector<Complex> images;

 private:
  static ImagePlan with_path(ImagePlan plan, const test::Path& path) {
    plan.fft = path.fft;
    return plan;
  }
  std::optional<test::PlainWorkGroups> plain_;
  ocl::Device device_;
  ImagePlan plan_;
  std::unique_ptr<Imager> pnah_;
  ComplexBuffer spectra_;
  StatusBuffer status_;
};

// Single precision of powers that span 120 dB, and of logarithms of their ratios.
constexpr double kReportTolerance = 2e-3;
constexpr double kImageTolerance = 1e-3;

void expect_near(const FilterReport& found, const FilterReport& expected) {
  const auto near = [](float a, float b) {
    const double expected_value = static_cast<double>(b);
    EXPECT_NEAR(static_cast<double>(a), expected_value, kReportTolerance * std::abs(expected_value));
  };
  near(found.cutoff_rad_per_m, expected.cutoff_rad_per_m);
  near(found.slope, expected.slope);
  near(found.noise_pa, expected.noise_pa);
  near(found.error_estimate, expected.error_estimate);
}

constexpr int kCaseDraws = 5;

struct CaseErrors {
  std::vector<double> measured;  ///< [case], mean over draws
  std::vector<double> best;      ///< of the best fixed cut-off
  std::vector<double> estimate;  ///< as published
};

CaseErrors image_cases(double snr_db) {
  const ArrayGeometry geometry = kArrays[0].geometry;
  const ImagePlan plan = auto_plan(geometry, test::kCaseFrequencies);
  ImagePlan fixed = plan;
  fixed.holography.filter.cutoff_rule = CutoffRule::kGiven;
  fixed.frequencies_hz.clear();
  fixed.cutoff_rad_per_m.clear();
  for (const double cutoff : test::kFixedCutoffs) {
    fixed.frequencies_hz.insert(fixed.frequencies_hz.end(), test::kCaseFrequencies.begin(),
                                test::kCaseFrequencies.end());
    fixed.cutoff_rad_per_m.insert(fixed.cutoff_rad_per_m.end(), test::kCases, cutoff);
  }
  FrameByFrame measuring(plan, test::kPaths[1]);
  FrameByFrame fixing(fixed, test::kPaths[1]);
  CaseErrors out{std::vector<double>(test::kCases), std::vector<double>(test::kCases, 1e9),
                 std::vector<double>(test::kCases)};
  std::vector<double> sums(test::kFixedCutoffs.size() * test::kCases);
  std::mt19937 generator(11U);
  for (int draw = 0; draw < kCaseDraws; ++draw) {
    const std::vector<Complex> spectra = test::noisy_cases(snr_db, plan, generator);
    measuring.image(spectra);
    const std::vector<double> errors = test::case_errors(measuring.images, 1, plan);
    std::vector<Complex> repeated;
    for (std::size_t i = 0; i < test::kFixedCutoffs.size(); ++i) {
      repeated.insert(repeated.end(), spectra.begin(), spectra.end());
    }
    fixing.image(repeated);
    const std::vector<double> of_fixed = test::case_errors(fixing.images, test::kFixedCutoffs.size(), plan);
    std::transform(sums.begin(), sums.end(), of_fixed.begin(), sums.begin(), std::plus<>());
    for (std::size_t i = 0; i < test::kCases; ++i) {
      out.measured[i] += errors[i] / kCaseDraws;
      out.estimate[i] += static_cast<double>(measuring.reports[i].error_estimate) / kCaseDraws;
    }
  }
  for (std::size_t i = 0; i < sums.size(); ++i) {
    out.best[i % test::kCases] = std::min(out.best[i % test::kCases], sums[i] / kCaseDraws);
  }
  return out;
}

class EightCases : public testing::TestWithParam<double> {};

// The marks: at most 1.2 times the error of the best fixed cut-off on average, 1.5 times in any case.
TEST_P(EightCases, AreNearTheBestFixedCutoff) {
  const CaseErrors errors = image_cases(GetParam());
  double sum = 0.0;
  double best = 0.0;
  for (std::size_t i = 0; i < test::kCases; ++i) {
    std::printf("%2.0f dB, case %zu: error %.2f %%, best fixed %.2f %%, ratio %.2f, estimate %.2f %%\n", GetParam(), i,
                100.0 * errors.measured[i], 100.0 * errors.best[i], errors.measured[i] / errors.best[i],
                100.0 * errors.estimate[i]);
    EXPECT_LE(errors.measured[i], 1.5 * errors.best[i]) << "case " << i;
    sum += errors.measured[i];
    best += errors.best[i];
  }
  std::printf("%2.0f dB: mean %.2f %%, best fixed %.2f %%, ratio %.3f\n", GetParam(), 100.0 * sum / test::kCases,
              100.0 * best / test::kCases, sum / best);
  EXPECT_LE(sum, 1.2 * best);
  if (GetParam() >= 40.0) {
    EXPECT_LE(errors.measured[0], 0.06);
    EXPECT_LE(errors.measured[1], 0.08);
    EXPECT_LE(errors.measured[6], 0.02);
    EXPECT_LE(errors.measured[7], 0.02);
  }
}

INSTANTIATE_TEST_SUITE_P(AutoCutoff, EightCases, testing::Values(40.0, 30.0),
                         [](const auto& param) { return std::to_string(static_cast<int>(param.param)) + "_dB"; });

// A stationary field whose noise is new in every frame: once settled the cut-off stays; a louder source is followed at
// once.
TEST(AutoCutoff, DoesNotFlickerAndFollowsASource) {
  const ImagePlan plan = auto_plan(kArrays[0].geometry, {500.0, 1900.0, 3000.0});
  std::mt19937 generator(3U);
  std::vector<reference::CutoffState> states;
  std::vector<double> cutoffs;
  const int settling = 5;
  std::uint64_t hop = 0;
  for (int frame = 0; frame < 60; ++frame) {
    (void)reference::pnah(monopoles(plan, 40.0, 1.0, generator), plan, states, {.hop = hop++});
    if (frame >= settling) {
      cutoffs.push_back(states[0].cutoff_rad_per_m);
    }
  }
  int changes = 0;
  for (std::size_t i = 1; i < cutoffs.size(); ++i) {
    changes += cutoffs[i] != cutoffs[i - 1] ? 1 : 0;
  }
  EXPECT_LE(changes, 2) << "a change is one that the band of 5 % lets through";
  // The source goes and noise as loud as it was stays: no jump of the level, so it takes a few frames.
  std::vector<Complex> noise(states.size() * 1024);
  double settled = 0.0;
  for (int frame = 0; frame < 10; ++frame) {
    std::normal_distribution<double> normal(0.0, std::sqrt(states[0].level_pa2 / 2.0));
    std::generate(noise.begin(), noise.end(), [&] { return Complex(normal(generator), normal(generator)); });
    (void)reference::pnah(noise, plan, states, {.hop = hop++});
    settled = states[0].cutoff_rad_per_m;
  }
  EXPECT_NEAR(settled, plan.wavenumber(0), 0.06 * plan.wavenumber(0)) << "nothing lies above the noise but its band";
}

TEST(AutoCutoff, SilenceAndExtremesGiveNumbers) {
  const ImagePlan plan = auto_plan(kArrays[0].geometry, {500.0, 1900.0, 3000.0});
  std::mt19937 generator(5U);
  const std::vector<Complex> silence(3 * 1024);
  FrameByFrame run(plan, test::kPaths[1]);
  for (const std::vector<Complex>& frame :
       {silence, silence, monopoles(plan, 80.0, 1.0, generator), monopoles(plan, 10.0, 1e-6, generator), silence}) {
    run.image(frame);
    for (std::size_t f = 0; f < 3; ++f) {
      EXPECT_GE(run.reports[f].cutoff_rad_per_m, 0.999 * plan.wavenumber(f));
      EXPECT_LE(run.reports[f].cutoff_rad_per_m, std::numbers::pi / 0.02);
      EXPECT_GE(run.reports[f].noise_pa, 0.0F);
      EXPECT_GE(run.reports[f].error_estimate, 0.0F);
    }
    EXPECT_TRUE(
        std::all_of(run.images.begin(), run.images.end(), [](Complex v) { return std::isfinite(std::norm(v)); }));
  }
}

class EveryArray : public testing::TestWithParam<Array> {};

TEST_P(EveryArray, ReportsAndImagesAgreeWithReference) {
  ImagePlan plan = auto_plan(GetParam().geometry, {500.0, 1900.0, 3000.0});
  plan.holography.planes_m = {0.0, 0.01};
  plan.batch = 2;
  for (const std::size_t index : GetParam().paths) {
    const test::Path& path = test::kPaths[index];
    if (path.as_gpu && !test::has_fused_groups()) {
      GTEST_SKIP() << test::kNoFusedGroups;
    }
    SCOPED_TRACE(path.name);
    std::mt19937 generator(7U);
    std::vector<reference::CutoffState> states;
    FrameByFrame run(plan, path);
    std::uint64_t hop = 0;
    // Levels that stay, jump up and fall; a whole batch, then half of one.
    for (const std::vector<double>& gains : {std::vector{1.0, 1.2}, {1.1}, {9.0, 9.1}, {1e-3, 1.1e-3}}) {
      std::vector<Complex> batch;
      std::vector<Complex> expected;
      std::vector<FilterReport> reports;
      for (const double gain : gains) {
        const auto frame = test::widen(test::narrow(monopoles(plan, 30.0, gain, generator)));
        const auto result = reference::pnah(frame, plan, states, {.hop = hop++});
        batch.insert(batch.end(), frame.begin(), frame.end());
        expected.insert(expected.end(), result.images.begin(), result.images.end());
        reports.insert(reports.end(), result.reports.begin(), result.reports.end());
      }
      run.image(batch);
      ASSERT_EQ(run.reports.size(), reports.size());
      for (std::size_t i = 0; i < reports.size(); ++i) {
        expect_near(run.reports[i], reports[i]);
      }
      EXPECT_LE(test::relative_l2(run.images, expected), kImageTolerance);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(AutoCutoff, EveryArray, testing::ValuesIn(kArrays),
                         [](const auto& param) { return std::string(param.param.name); });

}  // namespace
}  // namespace nearfield
