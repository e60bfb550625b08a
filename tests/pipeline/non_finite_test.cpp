#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <numbers>
#include <random>

#include "files/files.hpp"
#include "pipeline/calibration/calibrate.hpp"
#include "pipeline/cross_spectra/cross_spectra.hpp"
#include "pipeline/templates/make_templates.hpp"
#include "support/command.hpp"

// A value that is not finite is none: its window is left out for its microphone, and nothing else changes.
namespace nearfield {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

constexpr double kRate_hz = 51200.0;
constexpr double kFrequency_hz = 1000.0;
constexpr int kChannels = 64;
constexpr std::size_t kSamples = 16384;  ///< 16 windows that do not overlap
constexpr std::size_t kBad = 27;

ArrayGeometry array() { return {.rows = 8, .columns = 8, .pitch_x_m = 0.06, .pitch_y_m = 0.06}; }

Settings some_settings() {
  Settings settings;
  settings.array.geometry = array();
  settings.holography.standoff_m = 0.05;
  settings.holography.imager = ImagerKind::kNone;
  settings.front_end.kind = "dot_product";
  settings.front_end.frequencies_hz = {kFrequency_hz};
  settings.explicit_keys = {
      "array.rows",     "array.columns",           "array.pitch_x_m", "array.pitch_y_m", "holography.standoff_m",
      "front_end.kind", "front_end.frequencies_hz"};
  return settings;
}

/// A monopole a metre before the array's centre, as every microphone records it; 0.1 % of noise.
std::vector<float> monopole() {
  std::mt19937 generator(1);
  std::normal_distribution<double> noise(0.0, 1e-3);
  std::vector<float> samples(kSamples * kChannels);
  for (std::size_t i = 0; i < samples.size(); ++i) {
    const MicrophonePosition at = array().position_m(static_cast<int>(i % kChannels));
    const double r_m = std::hypot(at.x_m, at.y_m, 1.0);
    const std::size_t sample = i / kChannels;
    const double t_s = static_cast<double>(sample) / kRate_hz - r_m / 343.0;
    samples[i] = static_cast<float>(std::cos(2.0 * std::numbers::pi * kFrequency_hz * t_s) / r_m + noise(generator));
  }
  return samples;
}

/// The recording with a value at one sample of each of some windows of the microphone.
std::filesystem::path recording(const test::TemporaryFolder& folder, float value, const std::vector<int>& windows) {
  std::vector<float> samples = monopole();
  for (const int window : windows) {
    samples[(static_cast<std::size_t>(window) * 1024 + 400) * kChannels + kBad] = value;
  }
  write_time_data(folder / "r.h5", kRate_hz, kChannels, samples);
  return folder / "r.h5";
}

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr float kInfinity = std::numeric_limits<float>::infinity();

CalibrationResult calibrated(const std::filesystem::path& path) {
  CalibrateOptions options{.inputs = {path},
                           .settings = some_settings(),
                           .field = {.source = KnownField::Point{.x_m = 0.0, .y_m = 0.0, .z_m = -0.95}},
                           .calibrator = {},
                           .engine = EngineKind::kReference};
  return calibrate(options);
}

// With two of 16 windows the gain was 12 % high, or missing.
TEST(NonFinite, GainsAreExact) {
  const test::TemporaryFolder folder;
  for (const float value : {kNan, kInfinity}) {
    for (const auto& windows : {std::vector<int>{4}, {4, 9}, {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11}}) {
      const CalibrationResult found = calibrated(recording(folder, value, windows));
      EXPECT_NEAR(std::abs(found.calibration.gains[kBad]), 1.0, 1e-3);  // of the noise: 1e-3 / sqrt(512 * 4)
      EXPECT_THAT(found.failed, testing::IsEmpty());
      EXPECT_THAT(found.remarks,
                  ElementsAre(HasSubstr("microphone 27: " + std::to_string(windows.size()) + " of 16 windows")));
    }
  }
}

TEST(NonFinite, FewerThanFourWindowsGiveNoGain) {
  const test::TemporaryFolder folder;
  const CalibrationResult found = calibrated(recording(folder, kNan, {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}));
  EXPECT_THAT(found.failed, ElementsAre(static_cast<int>(kBad)));
  EXPECT_TRUE(std::isnan(found.calibration.gains[kBad].real()));
}

TEST(NonFinite, TemplatesAreThoseOfWholeWindows) {
  const test::TemporaryFolder folder;
  const auto made = [&](const std::vector<int>& windows, std::vector<std::string>* said) {
    TemplateOptions options{.inputs = {recording(folder, kNan, windows)},
                            .positions_m = {{0.0, 0.0, -0.95}},
                            .settings = some_settings(),
                            .engine = EngineKind::kReference,
                            .warn = [said](const std::string& message) { said->push_back(message); }};
    return make_templates(options);
  };
  std::vector<std::string> said;
  const Templates whole = made({}, &said);
  EXPECT_THAT(said, testing::IsEmpty());
  const Templates found = made({3, 8, 12}, &said);
  EXPECT_THAT(said, ElementsAre(HasSubstr("microphone 27: 3 of 16 windows")));
  for (std::size_t i = 0; i < whole.a.size(); ++i) {
    EXPECT_LT(std::abs(found.a[i] - whole.a[i]), 2e-4F) << i;  // of the noise in three windows of 16
  }
  EXPECT_GT(found.of_microphones[kBad], 0.999F);
}

TEST(NonFinite, CrossSpectraKeepTheirLevel) {
  const test::TemporaryFolder folder;
  CrossSpectraOptions options;
  options.input = recording(folder, kNan, {3, 8, 12});
  options.settings = some_settings();
  options.engine = EngineKind::kReference;
  const CrossSpectraResult result = write_cross_spectra_of(options, folder / "c.h5");
  EXPECT_THAT(result.incomplete, ElementsAre(static_cast<int>(kBad)));
  const CrossSpectraFile file = read_cross_spectra(folder / "c.h5");
  // 36 is the microphone on the other side of the centre, as far from the source.
  EXPECT_NEAR(file.matrices[kBad * kChannels + kBad].real(), file.matrices[36 * kChannels + 36].real(), 1e-3);
  EXPECT_NEAR(std::abs(file.matrices[kBad * kChannels + 36]), std::abs(file.matrices[36 * kChannels + 36]), 1e-3);
}

}  // namespace
}  // namespace nearfield
