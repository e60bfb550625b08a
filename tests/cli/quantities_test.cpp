#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <numbers>

#include "capture/files.hpp"
#include "simulate/fields.hpp"
#include "support/command.hpp"

/// What images show beside pressure and velocity, from a recording to the file, against closed forms.
namespace nearfield {
namespace {

using testing::HasSubstr;

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
      std::printf("%s, piston at %.0f Hz: %.4g W of %.4g W\n", engine, images.header().frequencies_hz[f],
                  frame.radiated_power_w[f], expected_w);
      EXPECT_NEAR(static_cast<double>(frame.radiated_power_w[f]), expected_w, 0.05 * expected_w);
    }
  }
  const auto inspected = test::run_nearfield("inspect " + (folder / "images.h5"));
  EXPECT_THAT(inspected.output, HasSubstr("quantity      active_intensity in W/m^2\n"));
  EXPECT_THAT(inspected.output, HasSubstr("\npower         "));
}

// The flux of a monopole behind the surface through the aperture, from the exact p and v there.
TEST(Quantities, AMonopolesFluxThroughTheApertureIsFound) {
  const Monopole source{.position = {0.06, -0.04, -0.03}, .volume_velocity_m3_s = 1e-4};
  const test::TemporaryFolder folder;
  const auto field = [&](const Tonal& tonal, const Point& point) { return monopole_field(source, tonal, point); };
  const ImagesReader images =
      replay_field(field, "--set holography.quantity=active_intensity --set holography.planes_m=[0,0.015]", folder);
  const ImageFrame frame = images.read(0);
  const ImagesHeader& header = images.header();
  std::size_t index = 0;
  for (const double z_m : header.planes_m) {
    for (const double frequency_hz : header.frequencies_hz) {
      double expected_w = 0.0;
      for (const double y_m : header.y_m) {
        for (const double x_m : header.x_m) {
          const FieldValue value = field({frequency_hz, {}}, {x_m, y_m, z_m});
          expected_w += 0.5 * (value.pressure_pa * std::conj(value.velocity_m_s)).real() * 0.02 * 0.02;
        }
      }
      const double found_w = frame.radiated_power_w[index++];
      std::printf("monopole at %.0f Hz, z = %g m: %.4g W of %.4g W\n", frequency_hz, z_m, found_w, expected_w);
      EXPECT_NEAR(found_w, expected_w, 0.05 * expected_w);
    }
  }
  EXPECT_EQ(index, frame.radiated_power_w.size());
}

}  // namespace
}  // namespace nearfield
