#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <numbers>

#include "config/config.hpp"
#include "core/error.hpp"
#include "core/text.hpp"
#include "files/files.hpp"
#include "files/hdf5/h5_output.hpp"
#include "processors/beamform/snapshots.hpp"
#include "processors/far_field/array.hpp"
#include "processors/far_field/grid.hpp"
#include "support/command.hpp"

/// Where a map's pixels are, what may not be asked for, how microphones are weighed, and what an average counts.
namespace nearfield {
namespace {

using far_field::Grid;
using far_field::GridKind;
using far_field::GridSettings;
using far_field::make_grid;
using far_field::Position;
using far_field::Shading;

void expect_at(const Position& found, const Position& expected) {
  EXPECT_NEAR(found.x, expected.x, 1e-12);
  EXPECT_NEAR(found.y, expected.y, 1e-12);
  EXPECT_NEAR(found.z, expected.z, 1e-12);
}

std::vector<std::string> names_of(const Grid& grid) {
  std::vector<std::string> names;
  for (const Axis& axis : grid.axes) {
    names.push_back(axis.name);
  }
  return names;
}

TEST(FarGrid, OfAPlane) {
  const Grid grid =
      make_grid({.distance_m = {0.5, 2.0}, .x_m = {-0.3, 0.3}, .y_m = {0.0, 0.25}, .step_m = 0.1}, 0.03, "");
  EXPECT_EQ(names_of(grid), std::vector<std::string>({"distance", "y", "x"}));
  ASSERT_EQ(grid.axes[2].size(), 7U);  // rounding of 0.6 / 0.1 loses none
  ASSERT_EQ(grid.axes[1].size(), 3U);
  ASSERT_EQ(grid.pixels.size(), 42U);
  expect_at(grid.pixels[0], {-0.3, 0.0, -0.5});
  expect_at(grid.pixels[21 + 7 + 6], {0.3, 0.1, -2.0});
}

TEST(FarGrid, OfAVolume) {
  const Grid grid = make_grid(
      {.kind = GridKind::kVolume, .distance_m = {0.5, 0.7}, .x_m = {0.0, 0.1}, .y_m = {0.0, 0.0}, .step_m = 0.1}, 0.03,
      "");
  ASSERT_EQ(grid.pixels.size(), 6U);
  EXPECT_NEAR(grid.axes[0].values[2], 0.7, 1e-12);
  expect_at(grid.pixels[5], {0.1, 0.0, -0.7});
}

// As `calibrate --direction`: u_x = sin(azimuth), u_y = sin(elevation). Beyond the unit circle there is no direction.
TEST(FarGrid, OfAngles) {
  GridSettings settings = {
      .kind = GridKind::kAngles, .azimuth_deg = {-90.0, 60.0}, .elevation_deg = {0.0, 60.0}, .step_deg = 30.0};
  settings.distance_m = {far_field::kInfinitelyFar};
  const Grid far = make_grid(settings, 0.03, "");
  EXPECT_TRUE(far.is_far);
  EXPECT_EQ(names_of(far), std::vector<std::string>({"elevation", "azimuth"}));
  ASSERT_EQ(far.pixels.size(), 18U);
  expect_at(far.pixels[0], {-1.0, 0.0, 0.0});
  expect_at(far.pixels[6 + 4], {0.5, 0.5, -std::sqrt(0.5)});
  EXPECT_TRUE(std::isnan(far.pixels[17].x));
  settings.distance_m = {2.0, 4.0};
  const Grid near = make_grid(settings, 0.03, "");
  EXPECT_EQ(names_of(near), std::vector<std::string>({"distance", "elevation", "azimuth"}));
  expect_at(near.pixels[18 + 6 + 4], {2.0, 2.0, -4.0 * std::sqrt(0.5)});
}

TEST(FarGrid, OfALine) {
  GridSettings settings = {.kind = GridKind::kLine, .angles_deg = {0.0, 180.0}, .count = 3};
  settings.distance_m = {far_field::kInfinitelyFar};
  expect_at(make_grid(settings, 0.03, "").pixels[2], {-1.0, 0.0, 0.0});
  expect_at(make_grid(settings, 0.03, "").pixels[1], {0.0, 0.0, -1.0});
  settings.axis = far_field::LineAxis::kY;
  settings.distance_m = {3.0};
  expect_at(make_grid(settings, 0.03, "").pixels[0], {0.0, 3.0, 0.0});
}

// A full circle has each direction once.
TEST(FarGrid, OfASphere) {
  const Grid grid = make_grid({.kind = GridKind::kSphere,
                               .azimuth_deg = {0.0, 360.0},
                               .elevation_deg = {0.0, 90.0},
                               .step_deg = 45.0,
                               .radius_m = {1.0, 2.0}},
                              0.03, "");
  EXPECT_EQ(names_of(grid), std::vector<std::string>({"radius", "elevation", "azimuth"}));
  ASSERT_EQ(grid.pixels.size(), 2U * 3U * 8U);
  expect_at(grid.pixels[2], {0.0, 1.0, 0.0});
  expect_at(grid.pixels[24 + 8], {std::sqrt(2.0), 0.0, -std::sqrt(2.0)});
  expect_at(grid.pixels[24 + 16], {0.0, 0.0, -2.0});
}

// Points lie on the axes of images: z counts from the surface to the array, which stands at the standoff.
TEST(FarGrid, OfPoints) {
  const test::TemporaryFolder folder;
  std::ofstream(folder / "p.csv") << "# places\nx_m,y_m,z_m\n0.1, -0.2, 0.0\n\n1e-1,2,-0.97 # far\n";
  const Grid grid = make_grid({.kind = GridKind::kPoints, .points_path = folder / "p.csv"}, 0.03, "");
  ASSERT_EQ(grid.pixels.size(), 2U);
  expect_at(grid.pixels[0], {0.1, -0.2, -0.03});
  expect_at(grid.pixels[1], {0.1, 2.0, -1.0});
  EXPECT_EQ(grid.axes[0].components, 3U);
  EXPECT_EQ(grid.axes[0].values, std::vector<double>({0.1, -0.2, 0.0, 0.1, 2.0, -0.97}));
  h5::OutputFile file(folder / "p.h5");
  file.write("/points", {2, 3}, std::vector<double>({0.1, -0.2, 0.0, 0.1, 2.0, -0.97}));
  file.finish();
  const Grid same =
      make_grid({.kind = GridKind::kPoints, .points_path = folder / "p.h5"}, 0.03, "", array_files_on_disk().get());
  EXPECT_EQ(same.axes, grid.axes);
}

TEST(FarGrid, FilesOfPointsThatAreWrongAreNamed) {
  const test::TemporaryFolder folder;
  const auto message_of = [&](const std::string& text, std::size_t most = 100) -> std::string {
    std::ofstream(folder / "p.csv") << text;
    try {
      (void)far_field::read_points(folder / "p.csv", most, "grid.points", nullptr);
    } catch (const DataError& error) {
      return "data: " + message_for_owner(error);
    } catch (const ConfigError& error) {
      return std::string("configuration: ") + error.what();
    }
    return "";
  };
  EXPECT_NE(message_of("0,0,0\n1,2\n").find("p.csv:2: expected x_m,y_m,z_m"), std::string::npos);
  EXPECT_NE(message_of("0,0,nan\n").find("found \"0,0,nan\""), std::string::npos);
  EXPECT_NE(message_of("0,0,1,2\n").find("data: "), std::string::npos);
  EXPECT_NE(message_of("").find("configuration: grid.points: expected a file of 1 to 100 points, found none"),
            std::string::npos);
  EXPECT_NE(message_of("0,0,0\n0,0,1\n0,0,2\n", 2).find("found 3 or more"), std::string::npos);
  EXPECT_THROW((void)far_field::read_points(folder / "none.csv", 2, "grid.points", nullptr), NoInputError);
}

TEST(FarGrid, WhatCannotBeIsRefusedBeforeAnythingIsAllocated) {
  const auto message_of = [](const std::vector<std::string>& lines) -> std::string {
    std::vector<std::string> overrides = {"processors.far.kind=beamform"};
    for (const std::string& line : lines) {
      overrides.push_back("processors.far." + line);
    }
    try {
      (void)load_settings("", overrides);
    } catch (const ConfigError& error) {
      EXPECT_EQ(error.exit_code(), ExitCode::kBadConfig);
      return error.what();
    }
    return "";
  };
  const auto expect_refusal = [&](const std::vector<std::string>& lines, const std::string& text) {
    const std::string message = message_of(lines);
    EXPECT_NE(message.find(text), std::string::npos) << message;
    EXPECT_EQ(message.find('\n'), std::string::npos) << message;
  };
  EXPECT_EQ(message_of({}), "");
  expect_refusal({"grid.step_m=0.00003"},
                 "processors.far.grid: expected at most 4194304 pixels in all planes together, "
                 "found 1 planes of 33334 x 33334 = 1111155556 pixels");
  expect_refusal({"grid.kind=line", "grid.count=1000000000"}, "processors.far.grid.count: expected");
  expect_refusal({"grid.kind=line", "grid.count=4000000", "grid.distance_m=[1, 2]"}, "found 2 planes of 1 x 4000000");
  expect_refusal({"grid.kind=angles", "grid.step_deg=0.001"}, "processors.far.grid: expected at most 4194304 pixels");
  expect_refusal({"grid.distance_m=[.nan]"},
                 "processors.far.grid.distance_m[0]: expected a distance from 0.01 to 1000 m");
  expect_refusal({"grid.distance_m=[]"}, "processors.far.grid.distance_m: expected 1 to 64 distances");
  expect_refusal({"grid.distance_m=inf"}, "processors.far.grid.distance_m: expected distances in m with kind: plane");
  expect_refusal({"grid.distance_m=0"}, "processors.far.grid.distance_m: expected a distance from 0.01");
  expect_refusal({"grid.kind=volume", "grid.distance_m=[2, 1]"}, "expected [nearest, farthest] with kind: volume");
  expect_refusal({"grid.x_m=[1, 0]"}, "processors.far.grid.x_m: expected [first, last]");
  expect_refusal({"grid.x_m=[1]"}, "processors.far.grid.x_m: expected [first, last]");
  expect_refusal({"grid.step_m=0"}, "processors.far.grid.step_m: expected a step > 0 m");
  expect_refusal({"grid.kind=angles", "grid.azimuth_deg=[-100, 0]"}, "expected angles from -90 to 90 deg");
  expect_refusal({"grid.kind=sphere", "grid.azimuth_deg=[-100, 300]"}, "expected at most a full circle");
  expect_refusal({"grid.kind=points"}, "processors.far.grid.points: expected a CSV or HDF5 file");
  expect_refusal({"grid.kind=angles", "grid.distance_m=inf", "steering.reference=1"},
                 "processors.far.steering.reference: expected array_centre with plane waves");
  expect_refusal({"steering.model=plane_wave", "steering.reference=1"}, "expected array_centre with plane waves");
  expect_refusal({"diagonal_removal=true"}, "processors.far.diagonal_removal: expected false with average.kind: none");
  expect_refusal({"path=separable"}, "processors.far.path: expected auto or direct, as pixels are not angles");
  expect_refusal({"path=convolve", "grid.kind=line"},
                 "processors.far.path: expected auto or direct, as pixels are not");
  expect_refusal({"path=convolve", "steering.model=plane_wave"}, "as pixels are not planes of monopoles");
  EXPECT_EQ(message_of({"path=convolve"}), "");
  expect_refusal({"steering.model=measured"},
                 "processors.far.steering.file: expected a file of templates with model: measured");
  expect_refusal({"method=least"}, "processors.far.method: expected");
  expect_refusal({"grid.x_m=[0.5,-0.25]"}, "the first not above the last: [-0.25, 0.5], the same two the other way");
  EXPECT_EQ(message_of({"method=capon"}), "");
  expect_refusal({"method=capon", "average.kind=linear"},
                 "processors.far.average.kind: expected none with method: capon, whose maps are of the last "
                 "average.snapshots, found linear");
  expect_refusal({"method=capon", "diagonal_removal=true"},
                 "processors.far.diagonal_removal: expected false with method: capon");
  expect_refusal({"method=functional", "diagonal_removal=true"},
                 "processors.far.diagonal_removal: expected false with method: functional");
  EXPECT_EQ(message_of({"method=clean_sc", "diagonal_removal=true"}), "");
  expect_refusal({"method=music", "sources=7", "average.snapshots=8"},
                 "processors.far.average.snapshots: expected at least 9, two more than sources, with method: music, "
                 "found 8");
  EXPECT_EQ(message_of({"method=music", "sources=6", "average.snapshots=8"}), "");
  expect_refusal({"method=functional", "steering.formulation=classic"},
                 "processors.far.steering.formulation: expected true_level or true_location with method: functional");
  expect_refusal({"gird.kind=plane"}, "did you mean processors.far.grid");
  expect_refusal({"grid.distnace_m=1"}, "did you mean processors.far.grid.distance_m");
  EXPECT_EQ(message_of({"grid.kind=angles", "grid.distance_m=inf"}), "");
  EXPECT_EQ(message_of({"grid.kind=angles", "grid.distance_m=[inf]"}), "");
  EXPECT_EQ(message_of({"grid.kind=angles", "grid.distance_m=.inf"}), "");
  EXPECT_EQ(message_of({"grid.kind=angles", "grid.distance_m=[.inf]"}), "");
  try {
    (void)load_settings("", {"processors.far.kind=beamform", "processors.far.every_hops=4", "device.batch=8",
                             "processors.far.average.kind=linear"});
    FAIL() << "expected a refusal";
  } catch (const ConfigError& error) {
    EXPECT_NE(std::string(error.what())
                  .find("processors.far.average.kind: expected none, or every_hops: 1, with "
                        "device.batch 8"),
              std::string::npos)
        << error.what();
  }
}

TEST(FarGrid, AMethodOfSnapshotsInABatchWantsEveryHop) {
  try {
    (void)load_settings("", {"processors.far.kind=beamform", "processors.far.every_hops=4", "device.batch=8",
                             "processors.far.method=music"});
    FAIL() << "expected a refusal";
  } catch (const ConfigError& error) {
    EXPECT_NE(
        std::string(error.what()).find("processors.far.method: expected das, or every_hops: 1, with device.batch 8"),
        std::string::npos)
        << error.what();
  }
}

TEST(FarGrid, SettingsAreWrittenAsTheyAreRead) {
  const Settings settings = load_settings(
      "", {"processors.far.kind=beamform", "processors.far.grid.kind=angles", "processors.far.grid.distance_m=inf",
           "processors.far.steering.formulation=true_location", "processors.far.average.kind=exponential"});
  const std::string yaml = to_yaml(settings);
  EXPECT_NE(yaml.find("distance_m: inf"), std::string::npos) << yaml;
  EXPECT_NE(yaml.find("formulation: true_location"), std::string::npos) << yaml;
  EXPECT_NE(yaml.find("reference: array_centre"), std::string::npos) << yaml;
}

struct Figures {
  Shading shading;
  double side_lobe_db;
  double width;  ///< at half power, of lambda / (N d)
  double gain_db;
};

// The beam pattern of 64 microphones, against figures computed apart with the windows' definitions.
TEST(FarShading, HasTheSideLobesWidthAndGainOfItsWindow) {
  constexpr int kCount = 64;
  for (const Figures& known :
       {Figures{Shading::kUniform, -13.25, 0.886, 18.06}, Figures{Shading::kHann, -31.47, 1.419, 16.37},
        Figures{Shading::kHamming, -42.45, 1.316, 16.67}, Figures{Shading::kDolphChebyshev, -30.00, 1.073, 17.48},
        Figures{Shading::kTaylor, -30.29, 1.125, 17.37}}) {
    SCOPED_TRACE(name_of(known.shading));
    const std::vector<double> weights = far_field::line_shading(known.shading, kCount, 30.0);
    double sum = 0.0;
    double squares = 0.0;
    for (const double weight : weights) {
      EXPECT_GT(weight, 0.0);
      sum += weight;
      squares += weight * weight;
    }
    const auto power_at = [&](double u) {  // u of lambda / (N d)
      std::complex<double> beam;
      for (int n = 0; n < kCount; ++n) {
        beam += weights[static_cast<std::size_t>(n)] * std::polar(1.0, 2.0 * std::numbers::pi * n * u / kCount);
      }
      return std::norm(beam) / (sum * sum);
    };
    double half = 0.0;
    while (power_at(half) > 0.5) {
      half += 1e-4;
    }
    EXPECT_NEAR(2.0 * half, known.width, 0.005 * known.width);
    EXPECT_NEAR(10.0 * std::log10(sum * sum / squares), known.gain_db, 0.05);
    double null = half;
    while (power_at(null + 0.01) < power_at(null)) {
      null += 0.01;
    }
    double highest = 0.0;
    for (double u = null; u < kCount / 2.0; u += 0.01) {
      highest = std::max(highest, power_at(u));
    }
    EXPECT_NEAR(10.0 * std::log10(highest), known.side_lobe_db, 0.05);
  }
}

TEST(FarShading, OfAnyLineIsPositive) {
  for (const Shading shading : {Shading::kHann, Shading::kHamming, Shading::kDolphChebyshev, Shading::kTaylor}) {
    for (const int count : {1, 2, 3, 8, 63}) {
      for (const double level_db : {20.0, 50.0, 80.0}) {
        for (const double weight : far_field::line_shading(shading, count, level_db)) {
          EXPECT_TRUE(weight > 0.0 && weight <= 1.0) << name_of(shading) << ' ' << count << ' ' << level_db;
        }
      }
    }
  }
}

// Windows half a window apart: Hann's overlap by a sixth, so that neighbours share a 36th.
TEST(BeamformSnapshots, AreHalfAWindowApart) {
  EXPECT_NEAR(correlation_of_windows(WindowKind::kHann, 1024, 512), 1.0 / 6.0, 1e-12);
  EXPECT_NEAR(correlation_of_windows(WindowKind::kNone, 1024, 512), 0.5, 1e-12);
  Snapshots linear({.kind = AverageKind::kLinear, .seconds = 10 * 512 / 46875.0}, WindowKind::kHann, 1024, 32.0,
                   46875.0);
  EXPECT_EQ(linear.windows_apart(), 16);
  EXPECT_EQ(linear.snapshots_of_block(), 10);
  for (int window = 0; window < 160; ++window) {
    EXPECT_EQ(linear.next().is_snapshot, window % 16 == 0);
  }
  EXPECT_NEAR(linear.effective(), 100.0 / (10.0 + 2.0 * 9.0 / 36.0), 1e-9);
  // Windows farther apart than half a window are all taken, and independent where they do not overlap.
  Snapshots sparse({.kind = AverageKind::kLinear, .seconds = 1.0}, WindowKind::kNone, 1024, 1024.0, 10240.0);
  EXPECT_EQ(sparse.windows_apart(), 1);
  for (int window = 0; window < 10; ++window) {
    EXPECT_TRUE(sparse.next().is_snapshot);
  }
  EXPECT_NEAR(sparse.effective(), 10.0, 1e-9);
}

// Of weights a^i: (1 + a) / (1 - a) independent ones in the end.
TEST(BeamformSnapshots, OfAnExponentialAverageReachTheirLimit) {
  Snapshots average({.kind = AverageKind::kExponential, .seconds = 0.5}, WindowKind::kNone, 1024, 1024.0, 10240.0);
  const double a = std::exp(-0.2);
  average.next();
  EXPECT_NEAR(average.effective(), 1.0, 1e-12);
  average.next();
  EXPECT_NEAR(average.effective(), (1.0 + a) * (1.0 + a) / (1.0 + a * a), 1e-12);
  for (int window = 0; window < 200; ++window) {
    average.next();
  }
  EXPECT_NEAR(average.effective(), (1.0 + a) / (1.0 - a), 1e-9);
}

}  // namespace
}  // namespace nearfield
