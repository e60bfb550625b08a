#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <numbers>
#include <numeric>
#include <random>

#include "files/files.hpp"
#include "simulate/fields.hpp"
#include "support/command.hpp"
#include "support/images.hpp"
#include "support/recordings.hpp"

/// What images show beside pressure and velocity, from a recording to the file, against closed forms.
namespace nearfield {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

constexpr double kStandoff_m = 0.03;

using Field = std::function<FieldValue(const Tonal& tonal, const Point& point)>;

/// The field over the default array at the given height, a spectrum each at 500, 1000 and 2000 Hz.
SpectraFile spectra_of(const Field& field) {
  SpectraFile file;
  file.measurement.standoff_m = kStandoff_m;
  file.frames = 1;
  file.frequencies_hz = {500.0, 1000.0, 2000.0};
  const ArrayGeometry& geometry = file.measurement.geometry;
  for (const double frequency_hz : file.frequencies_hz) {
    for (int row = 0; row < geometry.rows; ++row) {
      for (int column = 0; column < geometry.columns; ++column) {
        file.spectra.emplace_back(
            field({frequency_hz, {}}, {geometry.x_m(column), geometry.y_m(row), kStandoff_m}).pressure_pa);
      }
    }
  }
  return file;
}

/// A replay of the field's spectra; the images file is `folder`/images.h5.
ImagesReader replay_field(const Field& field, const std::string& options, const test::TemporaryFolder& folder) {
  write_spectra(folder / "spectra.h5", spectra_of(field));
  const auto result =
      test::run_nearfield("replay " + (folder / "spectra.h5") + " -o " + (folder / "images.h5") + " " + options);
  EXPECT_EQ(result.exit_code, 0) << result.output;
  return ImagesReader(folder / "images.h5");
}

/// A baffled piston's power, rho c |v|^2 S (1 - J1(2ka)/ka)/2 (Kinsler et al., Fundamentals of Acoustics, 7.5).
double piston_power_w(const Piston& piston, const Tonal& tonal) {
  const double ka = tonal.wavenumber_rad_per_m() * piston.radius_m;
  const double area_m2 = std::numbers::pi * piston.radius_m * piston.radius_m;
  return tonal.medium.density_kg_m3 * tonal.medium.sound_speed_m_s * std::norm(piston.velocity_m_s) * area_m2 / 2.0 *
         (1.0 - std::cyl_bessel_j(1.0, 2.0 * ka) / ka);
}

// All of a baffled piston's power goes through the plane that it lies in, inside the aperture.
TEST(Quantities, APistonRadiatesWhatTheBooksSay) {
  const Piston piston{.x_m = 0.05, .y_m = -0.03, .radius_m = 0.1, .velocity_m_s = {0.006, -0.008}};
  const test::TemporaryFolder folder;
  for (const char* engine : {"opencl", "reference"}) {
    const ImagesReader images =
        replay_field([&](const Tonal& tonal, const Point& point) { return piston_field(piston, tonal, point); },
                     fmt::format("--set holography.quantity=active_intensity --engine {}", engine), folder);
    EXPECT_EQ(images.header().unit, "W/m^2");
    const ImageFrame frame = images.read(0);
    ASSERT_EQ(frame.radiated_power_w.size(), 3U);
    for (std::size_t f = 0; f < 3; ++f) {
      const double expected_w = piston_power_w(piston, {images.header().frequencies_hz[f], {}});
      const auto found_w = static_cast<double>(frame.radiated_power_w[f]);
      std::printf("%s, piston at %.0f Hz: %.4g W of %.4g W\n", engine, images.header().frequencies_hz[f], found_w,
                  expected_w);
      EXPECT_NEAR(found_w, expected_w, 0.05 * expected_w);
    }
  }
  const auto inspected = test::run_nearfield("inspect " + (folder / "images.h5"));
  EXPECT_THAT(inspected.output, HasSubstr("quantity      active_intensity in W/m^2\n"));
  EXPECT_THAT(inspected.output, HasSubstr("\npower         "));
}

// The flux of a monopole behind the surface through the aperture, from the exact p and v there. Upsampled images end at
// the last microphones: no pixel beyond them counts.
TEST(Quantities, AMonopolesFluxThroughTheApertureIsFound) {
  const Monopole source{.position = {0.06, -0.04, -0.03}, .volume_velocity_m3_s = 1e-4};
  const auto field = [&](const Tonal& tonal, const Point& point) { return monopole_field(source, tonal, point); };
  const ArrayGeometry array;
  for (const int upsample : {1, 4}) {
    const test::TemporaryFolder folder;
    const ImagesReader images =
        replay_field(field,
                     fmt::format("--set holography.quantity=active_intensity --set holography.planes_m=[0,0.015] --set "
                                 "holography.upsample={}",
                                 upsample),
                     folder);
    const ImageFrame frame = images.read(0);
    const ImagesHeader& header = images.header();
    EXPECT_EQ(header.x_m.back(), array.x_m(array.columns - 1));
    const double side_m = 0.02 / upsample;  // of a pixel
    std::size_t index = 0;
    for (const double z_m : header.planes_m) {
      for (const double frequency_hz : header.frequencies_hz) {
        double expected_w = 0.0;
        for (const double y_m : header.y_m) {
          for (const double x_m : header.x_m) {
            const FieldValue value = field({frequency_hz, {}}, {x_m, y_m, z_m});
            expected_w += 0.5 * (value.pressure_pa * std::conj(value.velocity_m_s)).real() * side_m * side_m;
          }
        }
        const auto found_w = static_cast<double>(frame.radiated_power_w[index++]);
        std::printf("monopole at %.0f Hz, z = %g m, upsample %d: %.4g W of %.4g W\n", frequency_hz, z_m, upsample,
                    found_w, expected_w);
        EXPECT_NEAR(found_w, expected_w, 0.05 * expected_w);
      }
    }
    EXPECT_EQ(index, frame.radiated_power_w.size());
  }
}

// Between pixels a point is what a finer image shows there.
TEST(Quantities, PointsLieWhereFinerImagesHaveThem) {
  const Monopole source{.position = {0.06, -0.04, -0.05}, .volume_velocity_m3_s = 1e-4};
  const auto field = [&](const Tonal& tonal, const Point& point) { return monopole_field(source, tonal, point); };
  const test::TemporaryFolder folder;
  const ArrayGeometry geometry;
  // On a microphone, and a quarter and three quarters of a pitch from microphones, inside.
  const std::string points = fmt::format(
      "--set 'holography.points=[{{x_m: {}, y_m: {}}},{{x_m: {}, y_m: {}}}]' --set holography.planes_m=[0,0.01]",
      geometry.x_m(20), geometry.y_m(9), geometry.x_m(18.25), geometry.y_m(12.75));
  const ImagesReader coarse = replay_field(field, points, folder);
  const ImageFrame found = coarse.read(0);
  ASSERT_EQ(found.points.size(), 2U * 3U * 2U);
  EXPECT_EQ(coarse.header().points[1].x_m, geometry.x_m(18.25));
  const test::TemporaryFolder finer;
  const ImagesReader fine =
      replay_field(field, "--set holography.upsample=4 --set holography.planes_m=[0,0.01]", finer);
  const ImageFrame expected = fine.read(0);
  for (std::size_t image = 0; image < 6; ++image) {
    EXPECT_EQ(found.points[2 * image], found.images[image * 1024 + 9 * 32 + 20]);
    const std::complex<float> pixel = expected.images[image * 125 * 125 + 51 * 125 + 73];
    // What WavesBelowTheCutOffAreInterpolated holds of the inside, and as much for what lies between the filter's edge
    // and Nyquist.
    EXPECT_LE(std::abs(found.points[2 * image + 1] - pixel), 4e-3F * std::abs(pixel)) << image;
  }

  const std::string alone = folder / "alone.h5";
  const auto replayed =
      test::run_nearfield("replay " + (folder / "spectra.h5") + " --points-only -o " + alone + " " + points);
  ASSERT_EQ(replayed.exit_code, 0) << replayed.output;
  const ImageFrame small = ImagesReader(alone).read(0);
  EXPECT_EQ(small.points, found.points);
  EXPECT_TRUE(small.images.empty());
  EXPECT_LT(std::filesystem::file_size(alone), std::filesystem::file_size(folder / "images.h5") / 2);
  EXPECT_THAT(test::run_nearfield("inspect " + alone).output, HasSubstr("points        2, and no images\n"));
  const auto compared = test::run_nearfield("compare " + alone + " " + (folder / "images.h5"));
  EXPECT_EQ(compared.exit_code, 65);
  EXPECT_THAT(compared.output, HasSubstr("alone.h5: expected images, found points alone"));

  const std::string csv = folder / "points.csv";
  const test::CommandResult written = test::run_nearfield("export " + alone + " -o " + csv);
  ASSERT_EQ(written.exit_code, 0) << written.output;
  std::ifstream file(csv);
  std::string line;
  for (int comment = 0; comment < 4; ++comment) {
    std::getline(file, line);
  }
  EXPECT_THAT(line, StartsWith(fmt::format("0,0,0,0,500,{},{},0,{:.9g},{:.9g},", geometry.x_m(20), geometry.y_m(9),
                                           found.points[0].real(), found.points[0].imag())));
  EXPECT_EQ(std::count(std::istreambuf_iterator<char>(file), {}, '\n'), 11);
  const auto asked = test::run_nearfield("replay " + (folder / "spectra.h5") + " --points-only -o " + alone);
  EXPECT_EQ(asked.exit_code, 78);
  EXPECT_THAT(asked.output, HasSubstr("holography.points: expected at least one point"));
}

/// One value for all 8 x 8 microphones at 46875 Hz, imaged right where it was measured, without filter or
/// extrapolation: the image is the spectrum, and nothing but the bands' own arithmetic is left.
const std::string kAsMeasured = test::kSmallArrayOptions +
                                "--set holography.planes_m=[0.0299999] "
                                "--set holography.filter.kind=none --set holography.extrapolation.method=zero "
                                "--set holography.extrapolation.factor=1 --set front_end.frequencies_hz=[5000] ";

ImageFrame replay_samples(const std::vector<float>& samples, const std::string& options,
                          const test::TemporaryFolder& folder) {
  write_time_data(folder / "time.h5", 46875.0, 64, samples);
  const auto result =
      test::run_nearfield("replay " + (folder / "time.h5") + " -o " + (folder / "images.h5") + kAsMeasured + options);
  EXPECT_EQ(result.exit_code, 0) << result.output;
  return ImagesReader(folder / "images.h5").read(0);
}

// A tone of amplitude A inside a band gives A^2/2 whether it lies on a bin or between two, and next to nothing outside.
TEST(Quantities, ABandHoldsAToneInside) {
  const test::TemporaryFolder folder;
  constexpr double kAmplitude_pa = 0.3;
  for (const double bin : {40.0, 40.37}) {
    std::vector<float> samples;
    for (int n = 0; n < 1024; ++n) {
      const double value = kAmplitude_pa * std::sin(2.0 * std::numbers::pi * bin * n / 1024.0 + 0.8);
      samples.insert(samples.end(), 64, static_cast<float>(value));
    }
    for (const char* engine : {"opencl", "reference"}) {
      for (const char* kind : {"decimated_fft", "dot_product"}) {
        const ImageFrame frame = replay_samples(
            samples,
            fmt::format("--set front_end.bands_hz=[[1500,2200],[2500,3000]] --set front_end.kind={} --engine {}", kind,
                        engine),
            folder);
        ASSERT_EQ(frame.images.size(), 64U) << "the bands' bins are no images of their own";
        ASSERT_EQ(frame.bands.size(), 128U);
        // Parseval over all bins is exact; Hann leaks less than 1e-6 of the power past eight bins.
        EXPECT_NEAR(static_cast<double>(frame.bands[20]), kAmplitude_pa * kAmplitude_pa / 2.0,
                    1e-4 * kAmplitude_pa * kAmplitude_pa)
            << kind << ", bin " << bin;
        EXPECT_LT(frame.bands[84], 1e-6);
      }
    }
  }
  EXPECT_THAT(test::run_nearfield("inspect " + (folder / "images.h5")).output,
              HasSubstr("bands         1500 to 2200 Hz, in Pa^2\n              2500 to 3000 Hz, in Pa^2\n"));
}

// White noise of variance s^2 has the density 2 s^2/fs; a band gives that times its bins' width.
TEST(Quantities, ABandOfWhiteNoiseIsItsDensityTimesItsWidth) {
  const test::TemporaryFolder folder;
  constexpr double kDeviation_pa = 0.2;
  constexpr double kBin_hz = 46875.0 / 1024.0;
  std::mt19937 generator(5U);
  std::normal_distribution<float> normal(0.0F, static_cast<float>(kDeviation_pa));
  std::vector<float> samples(std::size_t{1024} * 64);
  std::generate(samples.begin(), samples.end(), [&] { return normal(generator); });
  for (const char* window : {"hann", "none"}) {
    const ImageFrame frame = replay_samples(samples,
                                            fmt::format("--set front_end.bands_hz=[[{},{}]] --set front_end.window={}",
                                                        100.0 * kBin_hz, 300.0 * kBin_hz, window),
                                            folder);
    ASSERT_EQ(frame.bands.size(), 64U);
    const double found = std::accumulate(frame.bands.begin(), frame.bands.end(), 0.0,
                                         [](double sum, float band) { return sum + static_cast<double>(band) / 64.0; });
    const double expected = 2.0 * kDeviation_pa * kDeviation_pa / 46875.0 * (200.0 * kBin_hz);
    std::printf("%s: mean square %.5g Pa^2 of %.5g\n", window, found, expected);
    // 200 bins of 64 microphones: 1/sqrt(12800) = 0.9 % without window, 1.4 times as much with hann; three of them.
    EXPECT_NEAR(found, expected, 0.04 * expected);
  }
}

TEST(Quantities, SpectraHaveNoBands) {
  const test::TemporaryFolder folder;
  write_spectra(folder / "spectra.h5", spectra_of([](const Tonal&, const Point&) {
                  return FieldValue{{1.0, 0.0}, {0.0, 0.0}};
                }));
  const auto result = test::run_nearfield("replay " + (folder / "spectra.h5") + " -o " + (folder / "images.h5") +
                                          " --set front_end.bands_hz=[[400,2100]]");
  EXPECT_EQ(result.exit_code, 78);
  EXPECT_THAT(result.output, HasSubstr("front_end.bands_hz: expected bits or time data, found spectra"));
}

}  // namespace
}  // namespace nearfield
