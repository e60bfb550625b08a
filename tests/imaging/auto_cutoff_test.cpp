#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numbers>
#include <random>

#include "imaging/auto_cutoff_reference.hpp"
#include "imaging/imager_paths.hpp"
#include "imaging/pnah_reference.hpp"
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
};
const Array kArrays[] = {
    {"32x32", {.rows = 32, .columns = 32, .pitch_x_m = 0.02, .pitch_y_m = 0.02}},
    {"8x8", {.rows = 8, .columns = 8, .pitch_x_m = 0.05, .pitch_y_m = 0.05}},
    {"16x64", {.rows = 16, .columns = 64, .pitch_x_m = 0.00566, .pitch_y_m = 0.0143}},
    {"12x20", {.rows = 12, .columns = 20, .pitch_x_m = 0.02, .pitch_y_m = 0.025}},
    {"11x13", {.rows = 11, .columns = 13, .pitch_x_m = 0.03, .pitch_y_m = 0.02}},  // measured as 10 x 12
    {"4x5", {.rows = 4, .columns = 5, .pitch_x_m = 0.03, .pitch_y_m = 0.03}},
};

PnahPlan auto_plan(const ArrayGeometry& geometry, std::vector<double> frequencies_hz) {
  PnahPlan plan;
  plan.geometry = geometry;
  plan.holography.filter.cutoff_rule = CutoffRule::kAuto;
  plan.frequencies_hz = std::move(frequencies_hz);
  plan.cutoff_rad_per_m = resolve_cutoffs(plan.holography, plan.medium, plan.geometry, plan.frequencies_hz);
  return plan;
}

/// A frame of monopoles 3 cm below the surface, each frequency its own, `gain` times.
std::vector<Complex> monopoles(const PnahPlan& plan, double snr_db, double gain, std::mt19937& generator) {
  std::vector<Complex> spectra;
  for (std::size_t f = 0; f < plan.frequencies_hz.size(); ++f) {
    const double width_m = plan.geometry.pitch_x_m * plan.geometry.columns;
    const test::Monopole source{
        .x_m = 0.1 * width_m, .y_m = -0.07 * width_m * static_cast<double>(f + 1), .z_m = -0.03};
    auto field = test::monopole_field(source, plan.wavenumber(f), plan.geometry, plan.holography.standoff_m);
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
  FrameByFrame(PnahPlan plan, const test::Path& path)
      : plain_(path.as_gpu ? std::optional<test::PlainWorkGroups>(std::in_place) : std::nullopt),
        device_(test::device_of(path)),
        plan_(with_path(std::move(plan), path)),
        pnah_(device_, plan_),
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
    pnah_.enqueue(spectra_, status_, frames);
    pnah_.enqueue_fetch(frames);
    device_.wait();
    reports.assign(pnah_.host_reports().begin(), pnah_.host_reports().end());
    reports.resize(frames * plan_.frequencies_hz.size());
    images = test::widen({pnah_.host_images().begin(), pnah_.host_images().end()});
    images.resize(images.size() / static_cast<std::size_t>(plan_.batch) * frames);
  }
  std::vector<FilterReport> reports;
  std::vector<Complex> images;

 private:
  static PnahPlan with_path(PnahPlan plan, const test::Path& path) {
    plan.fft = path.fft;
    return plan;
  }
  std::optional<test::PlainWorkGroups> plain_;
  ocl::Device device_;
  PnahPlan plan_;
  Pnah pnah_;
  ComplexBuffer spectra_;
  StatusBuffer status_;
};

// Single precision of powers that span 120 dB, and of logarithms of their ratios.
constexpr double kReportTolerance = 2e-3;
constexpr double kImageTolerance = 1e-3;

void expect_near(const FilterReport& found, const FilterReport& expected) {
  const auto near = [](double a, double b) { EXPECT_NEAR(a, b, kReportTolerance * std::abs(b)); };
  near(found.cutoff_rad_per_m, expected.cutoff_rad_per_m);
  near(found.slope, expected.slope);
  near(found.noise_pa, expected.noise_pa);
  near(found.error_estimate, expected.error_estimate);
}

class EveryArray : public testing::TestWithParam<Array> {};

TEST_P(EveryArray, ReportsAndImagesAgreeWithReference) {
  PnahPlan plan = auto_plan(GetParam().geometry, {500.0, 1900.0, 3000.0});
  plan.holography.planes_m = {0.0, 0.01};
  plan.batch = 2;
  for (const test::Path& path : test::paths_for(plan)) {
    SCOPED_TRACE(path.name);
    std::mt19937 generator(7U);
    std::vector<reference::CutoffState> states;
    FrameByFrame run(plan, path);
    // Levels that stay, jump up and fall; a whole batch, then half of one.
    for (const std::vector<double>& gains : {std::vector{1.0, 1.2}, {1.1}, {9.0, 9.1}, {1e-3, 1.1e-3}}) {
      std::vector<Complex> batch;
      std::vector<Complex> expected;
      std::vector<FilterReport> reports;
      for (const double gain : gains) {
        const auto frame = test::widen(test::narrow(monopoles(plan, 30.0, gain, generator)));
        const auto result = reference::pnah(frame, plan, states);
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
