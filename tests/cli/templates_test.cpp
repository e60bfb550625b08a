#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>

#include "files/files.hpp"
#include "files/results_file.hpp"
#include "support/command.hpp"

/// Templates as a user makes and uses them.
namespace nearfield {
namespace {

using testing::HasSubstr;

const std::string kFrequencies = " --set front_end.frequencies_hz=[1007.08,2014.16]";

/// A capture of 8 x 8 microphones before one monopole of two tones.
std::string capture_of(const test::TemporaryFolder& folder, const std::string& name, const std::string& place,
                       double noise_pa = 0.0005) {
  const std::string scene = folder / (name + ".yaml");
  std::ofstream(scene) << "version: 1\narray: {rows: 8, columns: 8, pitch_x_m: 0.04, pitch_y_m: 0.04}\n"
                          "standoff_m: 0.03\nduration_s: 0.16\nmicrophones: {noise_pa: "
                       << noise_pa << "}\nsources:\n"
                       << "  - {kind: monopole, frequency_hz: 1007.08, volume_velocity_m3_s: 2.0e-4, " << place << "}\n"
                       << "  - {kind: monopole, frequency_hz: 2014.16, volume_velocity_m3_s: 1.0e-4, " << place
                       << "}\n";
  const test::CommandResult result = test::run_nearfield("simulate " + scene + " -o " + (folder / (name + ".h5")));
  EXPECT_EQ(result.exit_code, 0) << result.output;
  return folder / (name + ".h5");
}

TEST(TemplatesCommand, MeasuresAndSteers) {
  const test::TemporaryFolder folder;
  const std::string left = capture_of(folder, "left", "x_m: -0.3, y_m: 0.1, z_m: -0.7");
  const std::string right = capture_of(folder, "right", "x_m: 0.25, y_m: 0.0, z_m: -0.7");
  test::CommandResult result = test::run_nearfield("templates " + left + " " + right + " -o " + (folder / "t.h5") +
                                                   " --at '-0.3,0.1,-0.7;0.25,0,-0.7'" + kFrequencies);
  ASSERT_EQ(result.exit_code, 0) << result.output;
  EXPECT_THAT(result.output, HasSubstr("2 templates of 64 microphones at 2 frequencies, 0 of 4 left out"));
  // In free field a template is the monopole's field, within the noise: at 60 dB and more a thousandth.
  const Templates templates = read_templates(folder / "t.h5");
  ASSERT_EQ(templates.count(), 2U);
  const ArrayGeometry& geometry = templates.measurement.geometry;
  const std::size_t centre = 3 * 8 + 3;
  for (std::size_t f = 0; f < 2; ++f) {
    const double k = 2.0 * M_PI * templates.frequencies_hz[f] / 343.0;
    for (std::size_t i = 0; i < 2; ++i) {
      const auto r = [&](std::size_t m) {
        return std::hypot(geometry.x_m(static_cast<int>(m % 8)) - templates.positions_m[3 * i],
                          geometry.y_m(static_cast<int>(m / 8)) - templates.positions_m[3 * i + 1], 0.73);
      };
      const double r_0 = std::hypot(templates.positions_m[3 * i], templates.positions_m[3 * i + 1], 0.73);
      for (std::size_t m = 0; m < 64; ++m) {
        const std::complex<double> expected = std::polar(r_0 / r(m), -k * (r(m) - r(centre)));
        const std::complex<double> found(templates.a[(f * 2 + i) * 64 + m]);
        EXPECT_LT(std::abs(found - expected), 0.01) << "the one-bit microphones' noise; " << f << " " << i << " " << m;
      }
    }
  }

  result = test::run_nearfield("replay " + right + " -o " + (folder / "map.h5") + kFrequencies +
                               " --set processors.far.kind=beamform --set processors.far.steering.model=measured"
                               " --set processors.far.steering.file=" +
                               (folder / "t.h5"));
  ASSERT_EQ(result.exit_code, 0) << result.output;
  const ResultsReader reader(folder / "map.h5");
  ASSERT_EQ(reader.processors(), 2U);
  ASSERT_NE(reader.header(1).axis("point"), nullptr);
  EXPECT_EQ(reader.header(1).axis("point")->size(), 2U);
  const ResultFrame frame = reader.read(1, reader.frames(1) - 1);
  const auto map = values_of<std::complex<float>>(frame.frame.products[0]);
  ASSERT_EQ(map.size(), 4U);
  // rho w Q / (4 pi r_0) of each tone at the second place, and less at the first.
  const double r_0 = std::hypot(0.25, 0.0, 0.73);
  for (std::size_t f = 0; f < 2; ++f) {
    const double expected = 1.2 * 1007.08 * (f == 0 ? 1.0 : 2.0) * (f == 0 ? 2.0e-4 : 1.0e-4) / (2.0 * r_0);
    EXPECT_NEAR(20.0 * std::log10(static_cast<double>(std::abs(map[f * 2 + 1])) / expected), 0.0, 0.2)
        << "densities of air differ";
    EXPECT_LT(std::abs(map[f * 2]), 0.9F * std::abs(map[f * 2 + 1]));
  }
}

TEST(TemplatesCommand, LeavesOutAndRefuses) {
  const test::TemporaryFolder folder;
  const std::string quiet = capture_of(folder, "quiet", "x_m: 0.0, y_m: 0.0, z_m: -0.7", 2.0);
  test::CommandResult result =
      test::run_nearfield("templates " + quiet + " -o " + (folder / "q.h5") + " --at 0,0,-0.7" + kFrequencies);
  ASSERT_EQ(result.exit_code, 0) << result.output;
  EXPECT_THAT(result.output, HasSubstr("template 0 at (0, 0, -0.7) m: coherence 0."));
  EXPECT_THAT(result.output, HasSubstr("2 of 2 left out"));
  const auto refusal_of = [&](const std::string& arguments, int code) {
    const test::CommandResult refused = test::run_nearfield(arguments);
    EXPECT_EQ(refused.exit_code, code) << refused.output;
    return refused.output;
  };
  const std::string make = "templates " + quiet + " -o " + (folder / "n.h5") + kFrequencies;
  EXPECT_THAT(refusal_of(make, 64), HasSubstr("expected either --at or --positions, found neither"));
  EXPECT_THAT(refusal_of(make + " --at 0,0", 64), HasSubstr("--at: expected x,y,z in m for each recording"));
  EXPECT_THAT(refusal_of(make + " --at '0,0,-1;1,0,-1'", 64), HasSubstr("a place for each of 1 recordings, found 2"));
  EXPECT_FALSE(std::filesystem::exists(folder / "n.h5"));
  const std::string replay = "replay " + quiet + " -o " + (folder / "n.h5") + kFrequencies +
                             " --set processors.far.kind=beamform --set processors.far.steering.model=measured";
  EXPECT_THAT(refusal_of(replay, 78), HasSubstr("processors.far.steering.file: expected a file of templates"));
  EXPECT_THAT(refusal_of(replay + " --set processors.far.steering.file=" + quiet, 65),
              HasSubstr("found capture, expected templates"));
  EXPECT_THAT(
      refusal_of(
          replay + " --set front_end.frequencies_hz=[500] --set processors.far.steering.file=" + (folder / "q.h5"), 78),
      HasSubstr("processors.far.steering.file: expected templates at"));
  EXPECT_THAT(
      refusal_of(replay + " --set processors.far.path=direct --set processors.far.steering.file=" + (folder / "q.h5"),
                 78),
      HasSubstr("processors.far.path: expected auto with model: measured"));
}

}  // namespace
}  // namespace nearfield
