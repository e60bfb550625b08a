#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <complex>
#include <cstdio>
#include <numbers>
#include <random>
#include <string>
#include <vector>

#include "core/geometry.hpp"
#include "core/settings.hpp"
#include "files/files.hpp"
#include "support/command.hpp"
#include "support/fields.hpp"
#include "support/images.hpp"
#include "support/measures.hpp"

// The imager that is used when nothing is set, by the error of its images.
namespace nearfield {
namespace {

using test::Complex;

/// The example of docs/use/your_array.md: microphones 6 cm apart, 5 cm before the surface, and a source 3 cm behind it.
const ArrayGeometry kArray{.rows = 8, .columns = 8, .pitch_x_m = 0.06, .pitch_y_m = 0.06};
constexpr double kStandoff_m = 0.05;
constexpr double kFrequency_hz = 1000.0;
constexpr test::Monopole kSource{.x_m = 0.1, .y_m = -0.06, .z_m = -0.03};

double wavenumber() { return 2.0 * std::numbers::pi * kFrequency_hz / MediumSettings().sound_speed_m_s; }

/// Spectra of the source, 40 dB above their noise.
void write_example(const std::string& path) {
  SpectraFile file;
  file.measurement.geometry = kArray;
  file.measurement.standoff_m = kStandoff_m;
  file.frames = 1;
  file.frequencies_hz = {kFrequency_hz};
  std::mt19937 generator(31U);
  std::vector<Complex> field = test::monopole_field(kSource, wavenumber(), kArray, kStandoff_m);
  test::add_noise(field, 40.0, generator);
  for (const Complex& value : field) {
    file.spectra.emplace_back(value);
  }
  write_spectra(path, file);
}

// sonah finds the source beside its prior, so that noise 40 dB down is all of its error, below 1 %. That of pnah is 14
// %, with a peak 2.1 dB too low.
TEST(ImagerChoice, TheExampleOfTheTenStepsComesOutRight) {
  const test::TemporaryFolder folder;
  write_example(folder / "spectra.h5");
  const auto result = test::run_nearfield("replay " + (folder / "spectra.h5") + " -o " + (folder / "images.h5") +
                                          " --set holography.upsample=4");
  ASSERT_EQ(result.exit_code, 0) << result.output;
  const ImagesReader images(folder / "images.h5");
  EXPECT_EQ(images.header().kind, "sonah");
  std::vector<Complex> truth;
  for (const double y_m : images.header().y_m) {
    for (const double x_m : images.header().x_m) {
      truth.push_back(test::monopole_pressure(kSource, wavenumber(), x_m, y_m, 0.0));
    }
  }
  const std::vector<std::complex<float>> found = images.read(0).images;
  const auto peak = [](const auto& values) {
    double largest = 0.0;
    for (const auto& value : values) {
      largest = std::max(largest, static_cast<double>(std::abs(value)));
    }
    return largest;
  };
  const double error = test::relative_l2(found, truth);
  const double off_db = 20.0 * std::log10(peak(found) / peak(truth));
  std::printf("8 x 8 microphones at 1.2 standoffs: error %.2f %%, peak %+.2f dB\n", 100.0 * error, off_db);
  EXPECT_LT(error, 0.05);
  EXPECT_NEAR(off_db, 0.0, 0.1);
}

}  // namespace
}  // namespace nearfield
