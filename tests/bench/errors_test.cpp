#include "bench/errors/errors.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "bench/common/files.hpp"
#include "bench/common/report_program.hpp"
#include "frontend/walsh_fourier/settings.hpp"
#include "nearfield/error.hpp"
#include "support/command.hpp"

namespace nearfield::bench {
namespace {

/// 8 x 8 microphones over a piston, at D1's frequency: a small stand-in under D1's name.
void write_small_scene(const std::string& folder) {
  write_text(std::filesystem::path(folder) / "bench_d1_piston.yaml",
             "version: 1\n"
             "array: {rows: 8, columns: 8, pitch_x_m: 0.04, pitch_y_m: 0.04}\n"
             "duration_s: 0.0245\n"
             "sources:\n"
             "  - {kind: piston, frequency_hz: 1007.080078125, x_m: 0.02, y_m: 0.03, radius_m: 0.03, velocity_m_s: "
             "0.01}\n");
}

TEST(Scenes, AreTheFourOfTheThesisWithTheTonesThatAreImaged) {
  for (const ThesisScene& thesis : kThesisScenes) {
    const Scene scene = bench_scene(thesis.file, "");
    EXPECT_EQ(scene.measurement.geometry.channels(), 1024) << thesis.file;
    const bool has_tone = std::any_of(scene.tones.begin(), scene.tones.end(), [&](const ToneSource& tone) {
      return std::abs(tone.frequency_hz - thesis.frequency_hz) < 1e-3;
    });
    EXPECT_TRUE(has_tone) << thesis.file;
    EXPECT_GE(scene.duration_s * kBitRateHz, (64 + 1024) * 32) << thesis.file;
    EXPECT_NEAR(thesis.frequency_hz, thesis.thesis_frequency_hz, kBin_hz / 2) << thesis.file;
  }
}

TEST(Scenes, GetTheLevelAskedFor) {
  const test::TemporaryFolder folder;
  write_small_scene(folder.path());
  Scene scene = bench_scene("bench_d1_piston.yaml", folder.path());
  scene.noise_pa = 0.01;
  const double noise_before = scene.noise_pa / full_scale_pa(scene.measurement.sensitivity_dbfs);
  set_level(scene, -32.0);
  double sum = 0.0;
  for (const std::complex<float>& value : truth_of(scene).aperture_pressure) {
    sum += std::norm(std::complex<double>(value));
  }
  // A full-scale sine has peak phasor 1 and is 0 dBFS: rms over rms of that sine.
  const double rms_of_full_scale = std::sqrt(sum / 64.0) / full_scale_pa(scene.measurement.sensitivity_dbfs);
  EXPECT_NEAR(20.0 * std::log10(rms_of_full_scale), -32.0, 1e-6);
  EXPECT_NEAR(scene.noise_pa / full_scale_pa(scene.measurement.sensitivity_dbfs), noise_before, 1e-12);
  scene.tones.clear();
  EXPECT_THROW(set_level(scene, -32.0), ConfigError);
}

TEST(ErrorBench, NominalChainAgreesWithItselfAndWithTheTrueField) {
  const test::TemporaryFolder folder;
  write_small_scene(folder.path());
  ErrorBenchOptions options;
  options.scenes = folder.path();
  options.only = {"D1"};
  options.with_curve = false;
  const ErrorReport report = bench_errors(options);
  ASSERT_EQ(report.scenes.size(), 2U);
  for (const SceneErrors& scene : report.scenes) {
    const ErrorRow& nominal = scene.rows.front();
    ASSERT_EQ(nominal.problem, "");
    EXPECT_EQ(nominal.variant.kind, "decimated_fft");
    EXPECT_EQ(nominal.to_nominal.rmsre, 0.0);
    // The modulators' noise at -32 dBFS is near 0.01 % of the tone; a wrong phase or scale would be 100 %.
    EXPECT_LT(nominal.spectral_error, 2e-3) << scene.order;
    EXPECT_GT(nominal.spectral_error, 0.0);
    EXPECT_LT(nominal.to_truth.rmsre, 0.02) << scene.order;
    EXPECT_GT(nominal.to_truth.rmsre, 0.0) << scene.order;
    // Normalised metrics do not see scales and signs; this one does.
    EXPECT_LT(nominal.to_truth.relative_l2, 0.01);
    EXPECT_GT(scene.peak_full_scale, 0.01);
    EXPECT_LT(scene.peak_full_scale, 0.5);
  }
  EXPECT_NE(report.scenes[0].rows[0].spectral_error, report.scenes[1].rows[0].spectral_error);
  const nlohmann::json json = nlohmann::json::parse(to_json_text(report));
  EXPECT_EQ(json.at("scenes").size(), 2U);
  EXPECT_EQ(json.at("scenes").at(1).at("modulator_order"), 4);
  EXPECT_EQ(json.at("scenes").at(0).at("front_ends").at(0).at("to_nominal").at("rmsre"), 0.0);
  run_report_program(to_json_text(report), {"--png", folder / "pictures"});
  EXPECT_EQ(test::files_in(folder / "pictures"),
            (std::vector<std::string>{"bench_d1_piston_order2_-32dbfs.png", "bench_d1_piston_order4_-32dbfs.png"}));
}

TEST(ErrorBench, RunsAsACommand) {
  const test::TemporaryFolder folder;
  write_small_scene(folder.path());
  const auto run =
      test::run_nearfield("bench errors --only D1 --order 2 --no-curve --scenes " + folder.path() + " --json " +
                          folder / "e.json" + " --csv " + folder / "e.csv" + " --png " + folder / "p");
  ASSERT_EQ(run.exit_code, 0) << run.output;
  std::ifstream file(folder / "e.json");
  EXPECT_EQ(nlohmann::json::parse(file).at("scenes").size(), 1U);
  EXPECT_NE(run.output.find("D1 piston"), std::string::npos);
  std::ifstream csv(folder / "e.csv");
  const std::string text{std::istreambuf_iterator<char>(csv), {}};
  EXPECT_NE(text.find("D1 piston,2,-32,1007.080078,\"popcount 1\",rmsre_to_truth,"), std::string::npos) << text;
}

TEST(ErrorBench, RefusesASceneThatIsTooShort) {
  const test::TemporaryFolder folder;
  write_text(std::filesystem::path(folder.path()) / "bench_d1_piston.yaml",
             "version: 1\narray: {rows: 4, columns: 4}\nduration_s: 0.01\nsources:\n"
             "  - {kind: piston, frequency_hz: 1007.080078125, x_m: 0, y_m: 0, radius_m: 0.03, velocity_m_s: 0.01}\n");
  ErrorBenchOptions options;
  options.scenes = folder.path();
  options.only = {"D1"};
  EXPECT_THROW(bench_errors(options), ConfigError);
}

/// The error of the variant at that bin; NaN when there is none.
double error_of(const std::vector<SpectralError>& errors, std::string_view variant, int bin, double level_dbfs) {
  for (const SpectralError& error : errors) {
    if (error.variant.name == variant && std::abs(error.frequency_hz - bin * kBin_hz) < 1e-6 &&
        error.level_dbfs == level_dbfs) {
      EXPECT_EQ(error.problem, "");
      return error.error;
    }
  }
  return std::nan("");
}

// Limits of the issue at -32 dBFS: 0.05 % at 1 and 2 kHz, 1.5 % at 10 kHz for order 2, and 0.1 % at 2 kHz for the
// setting of walsh_fourier whose time is reported, which is the default.
TEST(SpectralErrors, KeepTheLimits) {
  ErrorBenchOptions options;
  options.only = {"spectra"};
  options.orders = {2};
  options.spectra_array = {.rows = 8, .columns = 8};
  const ErrorReport report = bench_errors(options);
  EXPECT_TRUE(report.scenes.empty());
  EXPECT_TRUE(report.offset.empty());
  EXPECT_EQ(report.spectra.size(), error_variants(false).size() * 6U);
  for (const int bin : {22, 44}) {
    for (const char* variant : {"decimated_fft", "dot_product", "popcount 1", "popcount 2", "walsh fast all"}) {
      EXPECT_LT(error_of(report.spectra, variant, bin, -32.0), 5e-4) << variant << ", bin " << bin;
    }
    // What the expansions let through is far above what the modulators leave.
    EXPECT_GT(error_of(report.spectra, "popcount 0", bin, -32.0), 5e-3);
    EXPECT_GT(error_of(report.spectra, "walsh fast 40", bin, -32.0), 5e-3);
  }
  EXPECT_LT(error_of(report.spectra, "popcount 2", 218, -32.0), 0.015);
  EXPECT_LT(error_of(report.spectra, "walsh fast 6144", 44, -32.0), 1e-3);
  EXPECT_EQ(FrontEndSettings{}.own.get<WalshFourierSettings>().coefficients, 6144);
  EXPECT_EQ(FrontEndSettings{}.own.get<WalshFourierSettings>().variant, WalshVariant::kFast);
  // 14 dB less signal over the same noise, by and large.
  EXPECT_GT(error_of(report.spectra, "decimated_fft", 44, -46.0),
            2.0 * error_of(report.spectra, "decimated_fft", 44, -32.0));
  const nlohmann::json json = nlohmann::json::parse(to_json_text(report));
  EXPECT_EQ(json.at("spectra").size(), report.spectra.size());
  const std::string csv = to_csv(report);
  EXPECT_EQ(static_cast<std::size_t>(std::count(csv.begin(), csv.end(), '\n')), report.spectra.size() + 1);
  EXPECT_NE(to_table(report).find("popcount 1 fft"), std::string::npos);
}

TEST(OffsetLeakages, AreThoseOfAHannWindowAndGoWithRemoval) {
  ErrorBenchOptions options;
  options.only = {"offset"};
  const ErrorReport report = bench_errors(options);
  ASSERT_FALSE(report.offset.empty());
  for (const OffsetLeakage& leakage : report.offset) {
    SCOPED_TRACE(std::string(leakage.variant.name) + (leakage.remove_dc ? ", removed" : ""));
    ASSERT_EQ(leakage.problem, "");
    EXPECT_NEAR(leakage.frequencies_hz.front(), kBin_hz, 1e-6);
    // A hann window's side bin is half of its middle one, and a phasor is twice its bin.
    EXPECT_NEAR(leakage.leakage.front(), leakage.remove_dc ? 0.0 : 1.0, 2e-3);
    EXPECT_LT(leakage.tone_error, leakage.remove_dc ? 2e-3 : 1.0);
    EXPECT_GT(leakage.tone_error, leakage.remove_dc ? 0.0 : 0.3);
  }
  const test::TemporaryFolder folder;
  run_report_program(to_json_text(report), {"--png", folder.path()});
  EXPECT_EQ(test::files_in(folder.path()), std::vector<std::string>{"offset_leakage.png"});
  EXPECT_EQ(nlohmann::json::parse(to_json_text(report)).at("offset").size(), report.offset.size());
}

TEST(ErrorBench, RefusesPartsThatAreNot) {
  ErrorBenchOptions options;
  options.only = {"D9"};
  EXPECT_THROW(bench_errors(options), UsageError);
}

TEST(ThesisErrors, AreThoseOfTheCaptions) {
  for (const Variant& variant : variants()) {
    const ThesisErrors errors = thesis_errors(variant, kThesisScenes[3]);
    if (variant.thesis == "basic averaging") {
      EXPECT_EQ(errors.rmsre, 19.2);
      EXPECT_EQ(errors.nsad, 7.1);
    } else if (variant.thesis == "exact Walsh-Fourier") {
      EXPECT_EQ(errors.rmsre, 8.4);
    } else if (variant.thesis == "nominal") {
      EXPECT_TRUE(std::isnan(errors.rmsre));
    }
  }
}

}  // namespace
}  // namespace nearfield::bench
