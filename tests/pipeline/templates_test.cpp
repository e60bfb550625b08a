#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <numbers>
#include <random>

#include "core/error.hpp"
#include "files/files.hpp"
#include "pipeline/templates/make_templates.hpp"
#include "support/command.hpp"

/// Steering vectors from recordings.
namespace nearfield {
namespace {

using Complex = std::complex<double>;
using testing::HasSubstr;

Complex normal_pair(std::mt19937& generator) {
  std::normal_distribution<double> normal(0.0, std::numbers::sqrt2 / 2.0);
  const double real = normal(generator);
  return {real, normal(generator)};
}

/// Snapshots of one source of noise with the field `a`, and noise of `noise` rms at each microphone.
std::vector<std::vector<Complex>> snapshots_of(const std::vector<Complex>& a, std::size_t count, double noise,
                                               std::mt19937& generator) {
  std::vector<std::vector<Complex>> snapshots(count);
  for (std::vector<Complex>& snapshot : snapshots) {
    const Complex source = normal_pair(generator);
    for (const Complex& value : a) {
      snapshot.push_back(value * source + noise * normal_pair(generator));
    }
  }
  return snapshots;
}

std::vector<Complex> a_field(std::size_t channels) {
  std::vector<Complex> field;
  for (std::size_t m = 0; m < channels; ++m) {
    field.push_back(std::polar(1.0 + 0.02 * static_cast<double>(m), 0.7 * static_cast<double>(m)));
  }
  return field;
}

TEST(PrincipalField, IsTheFieldOfTheOnlySource) {
  std::mt19937 generator(1);
  const std::vector<Complex> a = a_field(20);
  const PrincipalField clean = principal_field(snapshots_of(a, 12, 0.0, generator));
  EXPECT_NEAR(clean.coherence, 1.0, 1e-12);
  for (std::size_t m = 0; m < a.size(); ++m) {
    EXPECT_NEAR(std::abs(clean.field[m] / clean.field[0] - a[m] / a[0]), 0.0, 1e-12);
    EXPECT_NEAR(clean.of_microphones[m], 1.0, 1e-12);
  }
  // 40 dB: the field to a hundredth over the root of the snapshots, and the noise's share of the power.
  const PrincipalField noisy = principal_field(snapshots_of(a, 400, 0.01, generator));
  double error = 0.0;
  for (std::size_t m = 0; m < a.size(); ++m) {
    error = std::max(error, std::abs(noisy.field[m] / noisy.field[0] - a[m] / a[0]));
  }
  EXPECT_LT(error, 5.0 * std::numbers::sqrt2 * 0.01 / std::sqrt(400.0)) << "both microphones' noise, 5 standard errors";
  EXPECT_LT(noisy.coherence, 1.0 - 0.3e-4);
  EXPECT_GT(noisy.coherence, 1.0 - 1.5e-4);
}

// Two equal sources that are not coherent: half of the power each, so that no template is made of them.
TEST(PrincipalField, OfTwoSourcesHasHalfTheCoherence) {
  std::mt19937 generator(2);
  std::vector<Complex> other(16);
  const std::vector<Complex> a = a_field(16);
  for (std::size_t m = 0; m < a.size(); ++m) {
    other[m] = a[m] * (m % 2 == 0 ? 1.0 : -1.0);
  }
  std::vector<std::vector<Complex>> snapshots = snapshots_of(a, 300, 0.0, generator);
  const std::vector<std::vector<Complex>> more = snapshots_of(other, 300, 0.0, generator);
  for (std::size_t t = 0; t < snapshots.size(); ++t) {
    for (std::size_t m = 0; m < a.size(); ++m) {
      snapshots[t][m] += more[t][m];
    }
  }
  const double coherence = principal_field(snapshots).coherence;
  EXPECT_GT(coherence, 0.5);
  EXPECT_LT(coherence, 0.6) << "300 snapshots";
  EXPECT_EQ(principal_field(std::vector<std::vector<Complex>>(3, std::vector<Complex>(4))).coherence, 0.0);
}

// Between two recordings of one place a microphone moves by 5 mm: at 8 kHz by 0.73 rad, so that its coherence with the
// others is the squared cosine of half of that, 0.87.
TEST(PrincipalField, NamesAMicrophoneThatMoved) {
  std::mt19937 generator(3);
  const double turn = 2.0 * std::numbers::pi * 8000.0 * 0.005 / 343.0;
  const std::vector<Complex> a = a_field(64);
  std::vector<Complex> moved = a;
  moved[37] *= std::polar(1.0, turn);
  std::vector<std::vector<Complex>> snapshots = snapshots_of(a, 200, 0.01, generator);
  const std::vector<std::vector<Complex>> after = snapshots_of(moved, 200, 0.01, generator);
  snapshots.insert(snapshots.end(), after.begin(), after.end());
  const PrincipalField found = principal_field(snapshots);
  EXPECT_NEAR(found.of_microphones[37], std::pow(std::cos(turn / 2.0), 2.0), 0.02);
  Templates templates;
  templates.measurement.geometry = {.rows = 8, .columns = 8, .pitch_x_m = 0.02, .pitch_y_m = 0.02};
  templates.frequencies_hz = {8000.0};
  templates.positions_m = {0.0, 0.0, -1.0};
  templates.coherence = {static_cast<float>(found.coherence)};
  templates.of_microphones.assign(found.of_microphones.begin(), found.of_microphones.end());
  const std::vector<std::string> doubts = doubts_about(templates);
  ASSERT_EQ(doubts.size(), 1U);
  EXPECT_THAT(doubts[0], HasSubstr("microphone 37 (row 4, column 5): coherence 0.8"));
  templates.coherence = {0.5F};
  ASSERT_EQ(doubts_about(templates).size(), 1U);
  EXPECT_THAT(doubts_about(templates)[0], HasSubstr("template 0 at (0, 0, -1) m: coherence 0.500 at 8000.0 Hz"));
}

TEST(ReferenceMicrophone, IsTheNearestGoodOneOfAllFields) {
  const ArrayGeometry geometry = {.rows = 3, .columns = 5, .pitch_x_m = 0.02, .pitch_y_m = 0.03};
  const PrincipalField good{.field = {}, .coherence = 1.0, .of_microphones = std::vector<double>(15, 1.0)};
  std::vector<PrincipalField> fields(3, good);
  EXPECT_EQ(reference_microphone(geometry, fields), 7);
  fields[1].of_microphones[7] = 0.5;
  EXPECT_EQ(reference_microphone(geometry, fields), 6);
  fields[2].of_microphones.assign(15, 0.0);
  EXPECT_EQ(reference_microphone(geometry, fields), 6);
  fields[1].coherence = 0.5;  // a field that is left out says nothing
  EXPECT_EQ(reference_microphone(geometry, fields), 7);
}

// 4 x 4 microphones, of which the four in the middle are equally near to the centre; at one place the first of these is
// below the least coherence. A reflection makes levels differ between them by 3 dB.
TEST(Templates, ReferToOneMicrophone) {
  const test::TemporaryFolder folder;
  std::mt19937 generator(5);
  std::vector<std::filesystem::path> inputs;
  for (int place = 0; place < 2; ++place) {
    std::vector<std::complex<float>> spectra;
    for (int frame = 0; frame < 60; ++frame) {
      const Complex source = normal_pair(generator);
      for (int m = 0; m < 16; ++m) {
        const double noise = place == 1 && m == 5 ? 1.0 : 0.001;
        const double gain = m == 5 ? std::numbers::sqrt2 : 1.0;
        spectra.emplace_back(std::complex<float>(gain * source + noise * normal_pair(generator)));
      }
    }
    inputs.emplace_back(folder / (std::to_string(place) + ".h5"));
    write_spectra(inputs.back(),
                  {.measurement = {.geometry = {.rows = 4, .columns = 4, .pitch_x_m = 0.02, .pitch_y_m = 0.02},
                                   .standoff_m = 0.05},
                   .frames = 60,
                   .frequencies_hz = {1000.0},
                   .spectra = spectra});
  }
  TemplateOptions options;
  options.inputs = inputs;
  options.positions_m = {{0.0, 0.0, -0.95}, {0.001, 0.0, -0.95}};
  const Templates templates = make_templates(options);
  ASSERT_EQ(templates.reference_channel, 6);
  for (std::size_t i = 0; i < 2; ++i) {
    EXPECT_NEAR(std::abs(Complex(templates.a[i * 16 + 6])), 1.0, 2e-4) << "both at the same microphone";
    EXPECT_NEAR(std::abs(Complex(templates.a[i * 16 + 10])), 1.0, 1e-2);
  }
  write_templates(folder / "t.h5", templates);
  EXPECT_EQ(read_templates(folder / "t.h5").reference_channel, 6);
}

TEST(TemplatesFile, KeepsWhatItIsGiven) {
  const test::TemporaryFolder folder;
  Templates templates;
  templates.measurement = {.geometry = {.rows = 1, .columns = 2, .pitch_x_m = 0.02, .pitch_y_m = 0.02},
                           .standoff_m = 0.04};
  templates.frequencies_hz = {500.0, 1000.0};
  templates.positions_m = {0.1, 0.2, -0.3, 0.4, 0.5, -0.6, 0.7, 0.8, -0.9};
  templates.coherence = {1.0F, 0.5F, 0.25F, 0.9F, 0.8F, 0.7F};
  for (int i = 0; i < 12; ++i) {
    templates.a.emplace_back(static_cast<float>(i), static_cast<float>(-i));
    templates.of_microphones.push_back(static_cast<float>(i) / 12.0F);
  }
  write_templates(folder / "t.h5", templates);
  const Templates read = read_templates(folder / "t.h5");
  EXPECT_EQ(read.reference_channel, std::nullopt) << "as files before it had none";
  EXPECT_EQ(read.frequencies_hz, templates.frequencies_hz);
  EXPECT_EQ(read.positions_m, templates.positions_m);
  EXPECT_EQ(read.a, templates.a);
  EXPECT_EQ(read.coherence, templates.coherence);
  EXPECT_EQ(read.of_microphones, templates.of_microphones);
  EXPECT_EQ(read.measurement.standoff_m, 0.04);
  EXPECT_EQ(read.measurement.geometry.columns, 2);
  EXPECT_THROW(read_templates(folder / "none.h5"), NoInputError);
  write_calibration(folder / "c.h5", {.geometry = templates.measurement.geometry,
                                      .frequencies_hz = {500.0},
                                      .gains = {1.0F, 1.0F},
                                      .relative_error = {},
                                      .coherence = {}});
  EXPECT_THROW(read_templates(folder / "c.h5"), DataError);
}

}  // namespace
}  // namespace nearfield
