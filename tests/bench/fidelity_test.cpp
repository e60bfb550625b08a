#include "bench/fidelity/fidelity.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "bench/common/files.hpp"
#include "nearfield/error.hpp"
#include "support/command.hpp"
#include "support/measures.hpp"

namespace nearfield::bench {
namespace {

std::string text_of(const std::filesystem::path& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

/// A bell over 16 x 16 microphones, its top between pixels.
TrueField bell(double x_m, double y_m) {
  TrueField field;
  field.name = "bell";
  field.geometry = {.rows = 16, .columns = 16, .pitch_x_m = 0.02, .pitch_y_m = 0.02};
  field.frequencies_hz = {1000.0};
  for (int row = 0; row < 16; ++row) {
    for (int column = 0; column < 16; ++column) {
      const double r_m = std::hypot(field.geometry.x_m(column) - x_m, field.geometry.y_m(row) - y_m);
      field.truth.emplace_back(std::exp(-r_m * r_m / (2.0 * 0.04 * 0.04)));
    }
  }
  field.aperture = field.truth;
  return field;
}

TEST(FidelityFigures, OfAScaledImage) {
  const TrueField field = bell(0.013, -0.021);
  Values image = field.truth;
  for (std::complex<float>& value : image) {
    value *= std::complex<float>(0.0F, 1.1F);
  }
  const Figures figures = figures_of(field, 0, image);
  // |1.1 j - 1| = sqrt(2.21); scale and phase do not matter to NCC, phase does to NMSE.
  EXPECT_NEAR(figures.relative_l2, std::sqrt(2.21), 1e-6);
  EXPECT_NEAR(figures.inner_l2, std::sqrt(2.21), 1e-6);
  EXPECT_NEAR(figures.ncc, 1.0, 1e-6);
  EXPECT_NEAR(figures.nmse_db, 10.0 * std::log10(2.0), 1e-5);
  EXPECT_NEAR(figures.peak_off_m, 0.0, 1e-7);
}

TEST(FidelityFigures, InnerOnesLeaveTheBorderOut) {
  const TrueField field = bell(0.0, 0.0);
  Values image = field.truth;
  image[16 * 3 + 8] += 1.0F;
  EXPECT_EQ(figures_of(field, 0, image).inner_l2, 0.0);
  EXPECT_GT(figures_of(field, 0, image).relative_l2, 0.1);
  image = field.truth;
  image[16 * 4 + 8] += 1.0F;
  EXPECT_GT(figures_of(field, 0, image).inner_l2, 0.1);
}

// Parabolas through three points of a bell twice as wide as the pitch miss its top by 2 % of the pitch at most.
TEST(FidelityFigures, PeaksAreFoundBetweenPixels) {
  const TrueField truth = bell(0.003, 0.008);
  const TrueField image = bell(0.036, -0.036);
  EXPECT_NEAR(figures_of(truth, 0, image.truth).peak_off_m, std::hypot(0.033, 0.044), 0.0008);
}

TEST(FidelityFigures, OfAMaskAreOfItsPixels) {
  TrueField field = bell(0.0, 0.0);
  field.valid.assign(256, 1);
  field.valid[0] = 0;
  Values image = field.truth;
  image[0] = 100.0F;
  EXPECT_EQ(figures_of(field, 0, image).relative_l2, 0.0);
  EXPECT_TRUE(std::isnan(figures_of(field, 0, image).peak_off_m));
  image[1] = 100.0F;
  EXPECT_GT(figures_of(field, 0, image).relative_l2, 1.0);
}

TEST(TrueFields, AtPointsAreBilinear) {
  TrueField field = bell(0.0, 0.0);
  Values plane;
  for (int row = 0; row < 16; ++row) {
    for (int column = 0; column < 16; ++column) {
      plane.emplace_back(field.geometry.x_m(column) + 2.0 * field.geometry.y_m(row), 0.5);
    }
  }
  field.points = {{0.013, -0.021}, {0.19, 0.17}};  // the second one beyond the outermost microphones
  const Values found = where_true(field, plane);
  ASSERT_EQ(found.size(), 2U);
  EXPECT_NEAR(found[0].real(), 0.013 - 0.042, 1e-6);
  EXPECT_NEAR(found[1].real(), 0.19 + 0.34, 1e-6);
}

TEST(TrueFields, AreEightCasesWhosePatternIsNeitherOddNorEven) {
  const std::vector<TrueField> fields = closed_form_fields(0.03);
  std::size_t cases = 0;
  for (const TrueField& field : fields) {
    cases += field.frequencies_hz.size();
    EXPECT_EQ(field.truth.size(), field.frequencies_hz.size() * 1024);
  }
  EXPECT_EQ(cases, 8U);
  const auto pattern = fields[2].truth_of(0);
  const Values forward(pattern.begin(), pattern.end());
  const Values turned(pattern.rbegin(), pattern.rend());
  Values negative = turned;
  std::transform(negative.begin(), negative.end(), negative.begin(), std::negate<>());
  EXPECT_GT(test::relative_l2(turned, forward), 0.5);
  EXPECT_GT(test::relative_l2(negative, forward), 0.5);
}

// 1024 x 20 complex samples: the ratio's own spread is 10 lg(1 + 1/sqrt(20480)) = 0.03 dB.
TEST(TrueFields, NoiseHasTheRatioAskedForAndIsTheSameEveryTime) {
  const TrueField field = closed_form_fields(0.03).front();
  const Values frames = noisy_draws(field, 30.0, 20);
  ASSERT_EQ(frames.size(), 20 * field.aperture.size());
  EXPECT_EQ(frames, noisy_draws(field, 30.0, 20));
  for (std::size_t f = 0; f < 3; ++f) {
    double noise = 0.0;
    for (std::size_t i = 0; i < frames.size(); ++i) {
      const std::size_t in_frame = i % field.aperture.size();
      if (in_frame / 1024 == f) {
        noise += std::norm(std::complex<double>(frames[i]) - std::complex<double>(field.aperture[in_frame]));
      }
    }
    EXPECT_NEAR(10.0 * std::log10(mean_power(field, f) * 20 * 1024 / noise), 30.0, 0.15);
  }
  EXPECT_NE(frames[0] - field.aperture[0], frames[field.aperture.size()] - field.aperture[0]) << "draws differ";
}

/// What is used when nothing is set has a row of its own, beside those of each imager.
TEST(FidelitySettings, HoldTheDefault) {
  FieldResult result;
  result.field = bell(0.0, 0.0);
  for (const NamedSettings& filter : filters()) {
    const Settings settings = settings_of(extrapolations().front(), filter);
    EXPECT_FALSE(is_default(settings)) << filter.name << " names its imager";
    result.rows.push_back({.extrapolation = main_extrapolation(), .filter = filter.name, .settings = settings});
  }
  for (const NamedSettings& imager : other_imagers()) {
    const Settings settings = settings_of(imager, {});
    EXPECT_FALSE(is_default(settings)) << imager.name;
    result.rows.push_back(
        {.extrapolation = std::string(kNoExtrapolation), .filter = imager.name, .settings = settings});
  }
  add_automatic(result);
  EXPECT_TRUE(result.rows.back().is_default);
  EXPECT_EQ(result.rows.back().filter, kAutomaticImager);
  EXPECT_EQ(std::count_if(result.rows.begin(), result.rows.end(), [](const auto& row) { return row.is_default; }), 1);
}

const nlohmann::json& row_of(const nlohmann::json& result, const std::string& extrapolation, std::string_view filter) {
  for (const nlohmann::json& row : result.at("rows")) {
    if (row.at("extrapolation") == extrapolation && row.at("filter") == filter) {
      return row;
    }
  }
  throw std::runtime_error("no row " + extrapolation + ", " + std::string(filter));
}

/// Of one frequency.
double figure(const nlohmann::json& row, std::size_t frequency, const char* name) {
  return row.at("frequencies").at(frequency).at(name).get<double>();
}

/// The pattern's mark of 2 % is reached by the best fixed cut-off (0.7 and 1.5 % over 20 draws); what `dynamic_range`
/// has (3.9 and 9.1 %) is held from growing by a sixth, which is more than draws differ.
void expect_what_holds_today(const nlohmann::json& cases) {
  ASSERT_EQ(cases.at("frequencies_hz"), nlohmann::json({500.0, 2000.0}));
  const nlohmann::json& ruled = row_of(cases, "plpbp", "cos, dynamic_range");
  EXPECT_LE(figure(ruled, 0, "relative_l2"), 0.045);
  EXPECT_LE(figure(ruled, 1, "relative_l2"), 0.105);
  for (const char* extrapolation : {"plpbp", "lpbp"}) {
    const nlohmann::json& best = row_of(cases, extrapolation, kBestCutoff);
    const nlohmann::json& zero = row_of(cases, "zero", kBestCutoff);
    for (std::size_t f = 0; f < 2; ++f) {
      EXPECT_LE(figure(best, f, "relative_l2"), 0.02) << extrapolation;
      EXPECT_LE(figure(best, f, "inner_l2"), figure(best, f, "relative_l2")) << "the border is the hard part";
      EXPECT_GE(figure(best, f, "ncc"), 0.999);
      EXPECT_LE(figure(best, f, "nmse_db"), -30.0);
      EXPECT_LE(figure(best, f, "peak_off_m"), 0.01) << "half a pitch";
      // The research notes' gate; found are factors of 20 and 14.
      EXPECT_LE(figure(best, f, "relative_l2"), 0.5 * figure(zero, f, "relative_l2"));
    }
  }
}

/// With one draw the best cut-off minimises this very draw, and scan and engine must agree on what a cut-off gives.
void expect_nothing_beats_the_best(const nlohmann::json& cases) {
  for (const nlohmann::json& row : cases.at("rows")) {
    const std::string filter = row.at("filter").get<std::string>();
    if (!filter.starts_with("cos")) {
      continue;
    }
    const nlohmann::json& best = row_of(cases, row.at("extrapolation").get<std::string>(), kBestCutoff);
    const bool has_slope_of_its_own = filter == kBestCutoffAndSlope || filter == kSearchedFilter;
    const double least = has_slope_of_its_own ? 0.5 : 0.98;  // 0.98: between two of the 40
    for (std::size_t f = 0; f < 2; ++f) {
      EXPECT_GE(figure(row, f, "relative_l2"), least * figure(best, f, "relative_l2")) << row;
    }
  }
}

constexpr double kFrontEndError = 1e-3;

/// The noise is as strong, and order 1's own error at these frequencies is below 0.1 % (docs/reference/front_ends.md),
/// which is what sonah's images of a pattern, 0.1 % off, can differ by.
void expect_bits_as_spectra(const nlohmann::json& cases, const nlohmann::json& bits) {
  EXPECT_EQ(bits.at("part"), kBitsPart);
  for (const nlohmann::json& row : bits.at("rows")) {
    const nlohmann::json& spectra =
        row_of(cases, row.at("extrapolation").get<std::string>(), row.at("filter").get<std::string>());
    for (std::size_t f = 0; f < 2; ++f) {
      const double from_bits = figure(row, f, "relative_l2");
      const double from_spectra = figure(spectra, f, "relative_l2");
      EXPECT_LE(from_bits, std::max(1.2 * from_spectra, from_spectra + kFrontEndError)) << row.at("filter");
      EXPECT_GE(from_bits, std::min(from_spectra / 1.2, from_spectra - kFrontEndError)) << row.at("filter");
    }
  }
}

void expect_page_and_pictures(const test::TemporaryFolder& folder) {
  const std::string page = text_of(folder / "results/fidelity.md");
  for (const char* part : {"# How close the images come", "## Marks", "## Eight cases", "## From bits",
                           "Portable Computing", "pattern, 2000 Hz"}) {
    EXPECT_NE(page.find(part), std::string::npos) << part;
  }
  std::size_t pictures = 0;
  for (std::size_t at = page.find("](../pictures/"); at != std::string::npos; at = page.find("](../pictures/", at + 1)) {
    const std::string name = page.substr(at + 5, page.find(')', at) - at - 5);
    EXPECT_TRUE(std::filesystem::exists(folder / name)) << name;
    ++pictures;
  }
  EXPECT_EQ(pictures, 3U);  // two cases and the plot
  EXPECT_EQ(page.find("nan"), std::string::npos);
}

// Two cases, one draw, from spectra and from bits: a small `./dev fidelity`.
TEST(Fidelity, OfTwoCasesThroughTheCommand) {
  const test::TemporaryFolder folder;
  const auto run = test::run_nearfield(
      "bench fidelity --draws 1 --bit-draws 1 --snr 40 --parts cases,bits --fields pattern --docs " + folder.path() +
      " --json " + folder / "f.json");
  ASSERT_EQ(run.exit_code, 0) << run.output;
  const nlohmann::json report = nlohmann::json::parse(text_of(folder / "f.json"));
  ASSERT_EQ(report.at("results").size(), 2U);
  expect_what_holds_today(report.at("results").at(0));
  expect_nothing_beats_the_best(report.at("results").at(0));
  expect_bits_as_spectra(report.at("results").at(0), report.at("results").at(1));
  expect_page_and_pictures(folder);
}

TEST(Fidelity, SaysThatDataAreMissing) {
  const test::TemporaryFolder folder;
  const auto run =
      test::run_nearfield("bench fidelity --parts data --data " + folder.path() + "/none --docs " + folder.path());
  ASSERT_EQ(run.exit_code, 0) << run.output;
  for (const std::string_view file : kDataFiles) {
    EXPECT_NE(run.output.find(file), std::string::npos) << run.output;
    EXPECT_NE(text_of(folder / "results/fidelity.md").find(file), std::string::npos);
  }
}

TEST(Fidelity, RefusesPartsAndFieldsThatAreNot) {
  FidelityOptions options;
  options.parts = {"case"};
  EXPECT_THROW(bench_fidelity(options), UsageError);
  options.parts = {"cases"};
  options.fields = {"tripole"};
  EXPECT_THROW(bench_fidelity(options), UsageError);
}

}  // namespace
}  // namespace nearfield::bench
