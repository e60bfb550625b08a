#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cmath>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <limits>
#include <numbers>

#include "core/settings.hpp"
#include "files/files.hpp"
#include "files/hdf5/h5_output.hpp"
#include "files/results_file.hpp"
#include "support/command.hpp"
#include "support/fields.hpp"
#include "support/h5_values.hpp"
#include "support/images.hpp"
#include "support/measures.hpp"

/// Images of sonah on a surface that is no plane, from files of spectra and heights to files of images.
namespace nearfield {
namespace {

using testing::HasSubstr;

const ArrayGeometry kArray{.rows = 8, .columns = 10, .pitch_x_m = 0.02, .pitch_y_m = 0.02};
constexpr double kStandoff_m = 0.03;
constexpr std::size_t kHole = 12;

class SurfaceFiles : public testing::Test {
 protected:
  void SetUp() override {
    SpectraFile file;
    file.measurement = {.geometry = kArray, .standoff_m = kStandoff_m};
    file.frames = 1;
    file.frequencies_hz = {1000.0};
    const double k = 2.0 * std::numbers::pi * 1000.0 / MediumSettings().sound_speed_m_s;
    const test::Monopole source{.x_m = 0.01, .y_m = -0.02, .z_m = -0.03};
    file.spectra = test::narrow(test::monopole_field(source, k, kArray, kStandoff_m));
    write_spectra(spectra_, file);
    write_heights(heights_, 8, 10, 0.01);
  }

  /// A slope along x, with one hole.
  void write_heights(const std::string& path, std::size_t rows, std::size_t columns, double largest_m) const {
    std::vector<double> z_m;
    for (std::size_t i = 0; i < rows * columns; ++i) {
      z_m.push_back(largest_m * static_cast<double>(i % columns) / static_cast<double>(columns - 1));
    }
    z_m[kHole] = std::numeric_limits<double>::quiet_NaN();
    h5::OutputFile file(path);
    file.write("/z_m", {rows, columns}, z_m);
    file.finish();
  }

  void write_text(const std::string& path, const std::string& text) const { std::ofstream(path) << text; }

  [[nodiscard]] test::CommandResult replay(const std::string& surface, const std::string& options = "") const {
    return test::run_nearfield("replay " + spectra_ + " -o " + images_ + " --set holography.imager=sonah " +
                               "--set holography.surface=" + surface + " " + options);
  }

  test::TemporaryFolder folder_;
  std::string spectra_ = folder_ / "spectra.h5";
  std::string heights_ = folder_ / "heights.h5";
  std::string images_ = folder_ / "images.h5";
};

std::string text_of_file(const std::string& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

// Places and normals are axes of the header, which both engines and all readers have.
TEST_F(SurfaceFiles, ImagesSayWhereTheyLie) {
  for (const char* engine : {"opencl", "reference"}) {
    const auto result = replay(heights_, fmt::format("--engine {}", engine));
    ASSERT_EQ(result.exit_code, 0) << result.output;
    const ResultsReader reader(images_);
    const Axis* const surface = reader.header(0).axis("surface");
    const Axis* const normal = reader.header(0).axis("normal");
    ASSERT_NE(surface, nullptr);
    ASSERT_NE(normal, nullptr);
    ASSERT_EQ(surface->size(), 80U);
    EXPECT_EQ(surface->components, 3U);
    EXPECT_NEAR(surface->values[3 * 19], kArray.x_m(9), 1e-12);
    EXPECT_NEAR(surface->values[3 * 19 + 1], kArray.y_m(1), 1e-12);
    EXPECT_NEAR(surface->values[3 * 19 + 2], 0.01, 1e-12);
    const double slope = 0.01 / (9 * kArray.pitch_x_m);
    EXPECT_NEAR(normal->values[3 * 45], -slope / std::hypot(1.0, slope), 1e-12);
    EXPECT_EQ(std::vector<double>(normal->values.begin() + 3 * kHole, normal->values.begin() + 3 * kHole + 3),
              std::vector<double>(3, 0.0));
    const ImagesReader images(images_);
    EXPECT_EQ(images.header().surface_m, surface->values);
    const ImageFrame frame = images.read(0);
    for (std::size_t i = 0; i < frame.images.size(); ++i) {
      EXPECT_EQ(std::isnan(frame.images[i].real()), i == kHole) << i;
    }
    EXPECT_THAT(test::run_nearfield("inspect " + images_).output, HasSubstr("79 pixels on a surface"));
  }
}

// A processor beside the first one has a surface of its own, and its images are those of a first one.
TEST_F(SurfaceFiles, AFurtherProcessorHasOne) {
  ASSERT_EQ(replay(heights_, "--set holography.search_every_frames=0").exit_code, 0);
  const ImageFrame alone = ImagesReader(images_).read(0);
  write_text(folder_ / "two.yaml",
             "holography: {imager: pnah}\nprocessors:\n  bent: {kind: sonah, surface: heights.h5}\n");
  const auto result = test::run_nearfield("replay " + spectra_ + " -o " + images_ + " -c " + (folder_ / "two.yaml"));
  ASSERT_EQ(result.exit_code, 0) << result.output;
  const ResultsReader reader(images_);
  ASSERT_EQ(reader.processors(), 2U);
  EXPECT_EQ(reader.header(0).axis("surface"), nullptr);
  ASSERT_NE(reader.header(1).axis("surface"), nullptr);
  const Product* const images = reader.header(1).product("images");
  const auto index = static_cast<std::size_t>(images - reader.header(1).products.data());
  const std::vector<std::byte> bytes = reader.read_array(1, index, 0, 1);
  const auto values = values_of<std::complex<float>>(bytes);
  for (std::size_t i = 0; i < values.size(); ++i) {
    EXPECT_TRUE(i == kHole || values[i] == alone.images[i]) << i;
  }
}

TEST_F(SurfaceFiles, PointsOfACsvFileAreImaged) {
  write_text(folder_ / "points.csv",
             "x_m,y_m,z_m,nx,ny,nz\n0.01,0.02,0.004,0,0,1 # above the "
             "source\n-0.03,0.01,0,0.6,0,0.8\n0.05,-0.02,0.01,0,-3,4\n");
  const auto result = replay(folder_ / "points.csv", "--set holography.quantity=normal_velocity");
  ASSERT_EQ(result.exit_code, 0) << result.output;
  const ImagesReader images(images_);
  EXPECT_EQ(images.header().y_m, std::vector<double>{0.0});
  ASSERT_EQ(images.header().x_m.size(), 3U);
  EXPECT_NEAR(images.header().x_m[1], std::hypot(0.04, 0.01, 0.004), 1e-12) << "the way along the points";
  EXPECT_EQ(images.header().surface_m[3], -0.03);
  EXPECT_NEAR(images.header().normals[8], 0.8, 1e-12);
  EXPECT_EQ(images.read(0).images.size(), 3U);
  write_text(folder_ / "points.csv", "0.01,0.02,0.004\n0.01,0.02\n");
  const auto bad = replay(folder_ / "points.csv");
  EXPECT_EQ(bad.exit_code, 65);
  EXPECT_THAT(bad.output, HasSubstr("points.csv:2: expected x_m,y_m,z_m or x_m,y_m,z_m,nx,ny,nz"));
}

// As spreadsheets write it, and what only resembles it.
TEST_F(SurfaceFiles, BlanksStandAroundCommasAlone) {
  write_text(folder_ / "points.csv", "\xEF\xBB\xBFx_m, y_m, z_m\r\n0.01 ,\t0.02, 0.004\r\n\r\n -0.03, 0.01, 0\r\n");
  const auto result = replay(folder_ / "points.csv");
  ASSERT_EQ(result.exit_code, 0) << result.output;
  EXPECT_EQ(ImagesReader(images_).header().surface_m, (std::vector<double>{0.01, 0.02, 0.004, -0.03, 0.01, 0.0}));
  for (const char* line : {"0.0 1,0.02,0", "0.01,0.02,0,", "0.01,,0.02,0", "0.01 0.02 0", "0.01,0.02,nan", ","}) {
    write_text(folder_ / "points.csv", fmt::format("0,0,0\n{}\n", line));
    const auto bad = replay(folder_ / "points.csv");
    EXPECT_EQ(bad.exit_code, 65) << line;
    EXPECT_THAT(bad.output, HasSubstr("points.csv:2: expected x_m,y_m,z_m")) << line;
  }
}

// Each with one message, before anything is read of it for long.
TEST_F(SurfaceFiles, RefusesWhatIsNoTextOfPoints) {
  const auto expect = [](const test::CommandResult& result, int exit_code, const std::string& message) {
    EXPECT_EQ(result.exit_code, exit_code) << result.output;
    EXPECT_THAT(result.output, HasSubstr(message));
  };
  expect(replay(folder_ / ""), 66, "expected a CSV file of points or an HDF5 file of heights, found a folder");
  const std::string pipe = folder_ / "pipe";
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  expect(replay(pipe), 66,
         "holography.surface: " + pipe + ": expected a CSV file of points or an HDF5 file of heights");
  write_text(folder_ / "long.csv", "0,0,0\n" + std::string(5000, ' ') + "0,0,0\n");
  expect(replay(folder_ / "long.csv"), 65, "long.csv:2: expected lines of at most 4096 bytes, found one of 5005");
  write_text(folder_ / "large.csv", "0,0,0\n");
  std::filesystem::resize_file(folder_ / "large.csv", (std::uintmax_t{64} << 20U) + 1);
  expect(replay(folder_ / "large.csv"), 65, "large.csv: expected at most 67108864 bytes of text, found more");
  h5::OutputFile file(folder_ / "wide.h5");
  file.write("/z_m", {1, 513}, std::vector<double>(513));
  file.finish();
  expect(replay(folder_ / "wide.h5"), 78,
         "holography.surface: expected z_m of at most 512 rows and columns, found 1 x");
}

// Points at uneven distances have pictures too, over their numbers.
TEST_F(SurfaceFiles, PointsOfACsvFileHavePictures) {
  write_text(folder_ / "points.csv", "0.01,0.02,0.004\n0.01,0.02,0.004\n-0.03,0.01,0\n0.05,-0.02,0.01\n");
  const auto result = replay(folder_ / "points.csv", "--png " + (folder_ / "pictures"));
  ASSERT_EQ(result.exit_code, 0) << result.output;
  EXPECT_TRUE(std::filesystem::exists(folder_ / "pictures/frame00000_z+0.000m_1000.0Hz_pressure.png"));
}

// Exit 78, the key, what was expected and what was found.
TEST_F(SurfaceFiles, RefusesWithOneMessage) {
  const auto expect_refusal = [](const test::CommandResult& result, const std::string& message) {
    EXPECT_EQ(result.exit_code, 78) << result.output;
    EXPECT_THAT(result.output, HasSubstr(message));
  };
  write_heights(folder_ / "high.h5", 8, 10, 0.03);
  expect_refusal(
      replay(folder_ / "high.h5"),
      "holography.surface: expected a surface from z = -0.03 m (as far behind z = 0 as the microphones stand "
      "in front of it) to below the microphones at 0.03 m, found z = 0.03 m at pixel 9");
  write_heights(folder_ / "other.h5", 10, 8, 0.01);
  expect_refusal(replay(folder_ / "other.h5"), "holography.surface: expected z_m of 8 x 10 pixels");
  expect_refusal(replay(heights_, "--set holography.upsample=2"), "expected z_m of 15 x 19 pixels");
  expect_refusal(replay(heights_, "--set holography.imager=pnah"),
                 "holography.surface: expected null with pnah, which makes images on planes alone, found ");
  expect_refusal(
      replay(heights_, "--set 'holography.planes_m=[0.0,0.01]'"),
      "holography.planes_m: expected [0] with holography.surface, which has heights of its own, found [0, 0.01]");
  expect_refusal(replay(heights_, "--set holography.quantity=active_intensity"),
                 "holography.quantity: expected pressure, normal_velocity or displacement with holography.surface");
  expect_refusal(replay(spectra_), "holography.surface: expected a dataset z_m [row][column] in m, found none in ");
  const auto missing = replay(folder_ / "nothing.h5");
  EXPECT_EQ(missing.exit_code, 66) << missing.output;
}

TEST_F(SurfaceFiles, WarnsNearTheMicrophones) {
  write_heights(folder_ / "near.h5", 8, 10, 0.022);
  EXPECT_THAT(replay(folder_ / "near.h5").output,
              HasSubstr("holography.surface: its highest place, z = 0.022 m, is nearer to the microphones"));
  EXPECT_THAT(replay(heights_).output, testing::Not(HasSubstr("its highest place")));
}

TEST_F(SurfaceFiles, ExportsHaveItsPlaces) {
  ASSERT_EQ(replay(heights_).exit_code, 0);
  ASSERT_EQ(test::run_nearfield("export " + images_ + " -o " + (folder_ / "out.csv")).exit_code, 0);
  EXPECT_THAT(text_of_file(folder_ / "out.csv"), HasSubstr(fmt::format(",{},{},0.01,", kArray.x_m(9), kArray.y_m(0))));
  ASSERT_EQ(test::run_nearfield("export " + images_ + " -o " + (folder_ / "out.h5")).exit_code, 0);
  const auto places = test::read_values<double>(folder_ / "out.h5", "/surface_m");
  ASSERT_EQ(places.size(), 240U);
  EXPECT_EQ(places[3], places[0]) << "rows are the fastest";
  EXPECT_NEAR(places[3 * 79 + 2], 0.01, 1e-12);
}

}  // namespace
}  // namespace nearfield
