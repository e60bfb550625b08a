#include "publish/pictures/picture.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <algorithm>
#include <cmath>
#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <limits>
#include <numbers>
#include <set>
#include <vector>

#include "core/colours.hpp"
#include "core/error.hpp"
#include "publish/pictures/array_picture.hpp"
#include "publish/png.hpp"
#include "support/outputs.hpp"

namespace nearfield {
namespace {

namespace fs = std::filesystem;
using test::Png;
using ::testing::HasSubstr;
using ::testing::UnorderedElementsAre;

constexpr float kNanF = std::numeric_limits<float>::quiet_NaN();
constexpr Rgb8 kGrey = {222, 222, 222};

ImagesHeader header_of(int rows, int columns, double pitch_x_m, double pitch_y_m) {
  ImagesHeader header;
  header.quantity = "pressure";
  header.unit = "Pa";
  header.frequencies_hz = {1007.1};
  header.planes_m = {0.0};
  for (int column = 0; column < columns; ++column) {
    header.x_m.push_back((column - (columns - 1) / 2.0) * pitch_x_m);
  }
  for (int row = 0; row < rows; ++row) {
    header.y_m.push_back((row - (rows - 1) / 2.0) * pitch_y_m);
  }
  return header;
}

ImageFrame frame_of(std::vector<std::complex<float>> images) {
  ImageFrame frame;
  frame.images = std::move(images);
  return frame;
}

/// An image of a frame.
struct Image {
  std::size_t plane = 0;
  std::size_t frequency = 0;
};

Selection selected(const ImagesHeader& header, const Image& image) {
  return {.product = result_header(header).index("images").value(), .indices = {image.plane, image.frequency}};
}

void write_picture(const fs::path& path, const ImagesHeader& header, const ImageFrame& frame, const Image& image,
                   const PictureOptions& options) {
  const test::MadeFrame made(header, frame);
  nearfield::write_picture(path, header, made.frame, selected(header, image), options);
}

std::string picture_name(const ImagesHeader& header, const Image& image, std::uint64_t frame_index) {
  return nearfield::picture_name(header, selected(header, image), frame_index);
}

MATCHER_P(IsPlain, colour, "") {
  return !arg.empty() && std::all_of(arg.begin(), arg.end(), [&](const Rgb8& one) { return one == colour; });
}

class Picture : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string name = (fs::temp_directory_path() / "nearfield-picture-XXXXXX").string();
    ASSERT_NE(mkdtemp(name.data()), nullptr);
    folder_ = name;
  }
  void TearDown() override { fs::remove_all(folder_); }

  [[nodiscard]] std::set<std::string> files() const {
    std::set<std::string> names;
    for (const auto& entry : fs::directory_iterator(folder_)) {
      names.insert(entry.path().filename().string());
    }
    return names;
  }

  fs::path folder_;
};

// 2 x 3 cells of known magnitudes and phases: each is one plain colour, row 0 on top, column 0 at the left.
TEST_F(Picture, CellsHaveTheColoursOfTheirValues) {
  const ImagesHeader header = header_of(2, 3, 0.02, 0.03);
  const std::vector<std::complex<float>> values = {{4.0F, 0.0F},  {0.0F, 2.0F},  {-1.0F, 0.0F},
                                                   {0.0F, -3.0F}, {0.01F, 0.0F}, {0.0F, 0.0F}};
  const fs::path path = folder_ / "a.png";
  write_picture(path, header, frame_of(values), {}, {});
  const PictureLayout layout = picture_layout(header, {});
  const Png png(path);
  for (int i = 0; i < 6; ++i) {
    const auto value = std::complex<double>(values[static_cast<std::size_t>(i)]);
    EXPECT_THAT(png.cell(layout.magnitude, 2, 3, i / 3, i % 3), IsPlain(magnitude_colour(std::abs(value) / 4.0))) << i;
    const Rgb8 phase = std::abs(value) < 0.04 ? kGrey : phase_colour(std::arg(value));
    EXPECT_THAT(png.cell(layout.phase, 2, 3, i / 3, i % 3), IsPlain(phase)) << i;
  }
  EXPECT_EQ(png.width(), layout.width);
  EXPECT_EQ(png.height(), layout.height);
  EXPECT_THAT(files(), UnorderedElementsAre("a.png"));
}

TEST_F(Picture, ColourBarsRunFromBottomToTop) {
  const ImagesHeader header = header_of(8, 8, 0.02, 0.02);
  write_picture(folder_ / "a.png", header, frame_of(std::vector<std::complex<float>>(64, {1.0F, 0.0F})), {}, {});
  const PictureLayout layout = picture_layout(header, {});
  const Png png(folder_ / "a.png");
  const Area& bar = layout.magnitude_bar;
  const double half = 0.5 / bar.height;
  EXPECT_EQ(png.at(bar.x + 3, bar.y), magnitude_colour(1.0 - half));
  EXPECT_EQ(png.at(bar.x + 3, bar.y + bar.height - 1), magnitude_colour(half));
  // 90 degrees lies at three quarters.
  const Area& phase = layout.phase_bar;
  const int row = phase.height / 4;
  const double turned = (1.0 - (row + 0.5) / phase.height - 0.5) * 2.0 * std::numbers::pi;
  EXPECT_NEAR(turned, std::numbers::pi / 2.0, 0.02);
  EXPECT_EQ(png.at(phase.x + 3, phase.y + row), phase_colour(turned));
}

TEST_F(Picture, DecibelsAndFixedMaximum) {
  const ImagesHeader header = header_of(1, 3, 0.02, 0.02);
  const ImageFrame frame = frame_of({{10.0F, 0.0F}, {0.0F, 1.0F}, {0.001F, 0.0F}});
  PictureOptions options;
  options.decibels = true;
  write_picture(folder_ / "db.png", header, frame, {}, options);
  const PictureLayout layout = picture_layout(header, options);
  const Png db(folder_ / "db.png");
  EXPECT_THAT(db.cell(layout.magnitude, 1, 3, 0, 0), IsPlain(magnitude_colour(1.0)));
  EXPECT_THAT(db.cell(layout.magnitude, 1, 3, 0, 1), IsPlain(magnitude_colour(0.5)));
  EXPECT_THAT(db.cell(layout.magnitude, 1, 3, 0, 2), IsPlain(magnitude_colour(0.0)));

  // Of a power, a hundredth is as far down as a tenth of an amplitude.
  ImagesHeader intensity = header;
  intensity.quantity = "active_intensity";
  write_picture(folder_ / "power.png", intensity, frame_of({{10.0F, 0.0F}, {-0.1F, 0.0F}, {0.001F, 0.0F}}), {},
                options);
  const Png power(folder_ / "power.png");
  EXPECT_THAT(power.cell(layout.phase, 1, 3, 0, 1), IsPlain(magnitude_colour(0.5)));
  // Beside it the values with their signs, on a scale that is the same to both sides.
  EXPECT_THAT(power.cell(layout.magnitude, 1, 3, 0, 0), IsPlain(signed_colour(1.0)));
  EXPECT_THAT(power.cell(layout.magnitude, 1, 3, 0, 1), IsPlain(signed_colour(-0.01)));

  options = {};
  options.fixed_maximum = 2.0;
  write_picture(folder_ / "fixed.png", header, frame, {}, options);
  const Png fixed(folder_ / "fixed.png");
  EXPECT_THAT(fixed.cell(layout.magnitude, 1, 3, 0, 0), IsPlain(magnitude_colour(1.0)));
  EXPECT_THAT(fixed.cell(layout.magnitude, 1, 3, 0, 1), IsPlain(magnitude_colour(0.5)));
  // A line below says that a pixel lies above the scale.
  EXPECT_GT(fixed.height(), layout.height);
}

TEST_F(Picture, PicksThePlaneAndFrequency) {
  ImagesHeader header = header_of(1, 1, 0.02, 0.02);
  header.planes_m = {0.0, 0.01};
  header.frequencies_hz = {500.0, 1000.0, 2000.0};
  PictureOptions options;
  options.fixed_maximum = 6.0;
  const ImageFrame frame =
      frame_of({{1.0F, 0.0F}, {2.0F, 0.0F}, {3.0F, 0.0F}, {4.0F, 0.0F}, {5.0F, 0.0F}, {6.0F, 0.0F}});
  write_picture(folder_ / "a.png", header, frame, {1, 0}, options);
  const Png png(folder_ / "a.png");
  EXPECT_THAT(png.cell(picture_layout(header, options).magnitude, 1, 1, 0, 0), IsPlain(magnitude_colour(4.0 / 6.0)));
  EXPECT_THROW(write_picture(folder_ / "b.png", header, frame, {2, 0}, options), DataError);
  EXPECT_THROW(write_picture(folder_ / "b.png", header, frame, {0, 3}, options), DataError);
}

TEST_F(Picture, ZeroEverywhereIsDarkAndWithoutPhase) {
  const ImagesHeader header = header_of(2, 2, 0.02, 0.02);
  for (const bool decibels : {false, true}) {
    PictureOptions options;
    options.decibels = decibels;
    write_picture(folder_ / "a.png", header, frame_of(std::vector<std::complex<float>>(4)), {}, options);
    const Png png(folder_ / "a.png");
    const PictureLayout layout = picture_layout(header, options);
    EXPECT_THAT(png.cell(layout.magnitude, 2, 2, 1, 1), IsPlain(magnitude_colour(0.0)));
    EXPECT_THAT(png.cell(layout.phase, 2, 2, 1, 1), IsPlain(kGrey));
  }
}

// Its title has the heights and its note the reason of the hatching; the panels are those of a plane.
TEST_F(Picture, OfASurfaceSaysItsHeights) {
  const ImagesHeader plane = header_of(2, 2, 0.02, 0.02);
  ImagesHeader surface = plane;
  surface.surface_m = {-0.01, -0.01, 0.0, 0.01, -0.01, 0.004, -0.01, 0.01, -0.002, 0.01, 0.01, 0.0};
  surface.normals = {0.0, 0.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.6, 0.8, 0.0, 0.0, 1.0};
  EXPECT_EQ(surface_heights_m(surface), (std::vector<double>{0.004, -0.002, 0.0}));
  const ImageFrame frame = frame_of({{kNanF, kNanF}, {1.0F, 0.0F}, {0.5F, 0.0F}, {0.0F, 0.2F}});
  write_picture(folder_ / "plane.png", plane, frame, {}, {});
  write_picture(folder_ / "surface.png", surface, frame, {}, {});
  const Png of_plane(folder_ / "plane.png");
  const Png of_surface(folder_ / "surface.png");
  ASSERT_EQ(of_plane.height(), of_surface.height());
  const auto differ = [&](int first_row, int end_row) {
    for (int row = first_row; row < end_row; ++row) {
      for (int column = 0; column < of_plane.width(); ++column) {
        if (of_plane.at(column, row) != of_surface.at(column, row)) {
          return true;
        }
      }
    }
    return false;
  };
  const PictureLayout layout = picture_layout(plane, {});
  constexpr int kTitleHeight = 40;
  EXPECT_TRUE(differ(0, kTitleHeight));
  EXPECT_FALSE(differ(kTitleHeight, layout.magnitude.y + layout.magnitude.height));
  EXPECT_TRUE(differ(layout.magnitude.y + layout.magnitude.height, of_plane.height()));
}

// Pixels beside the surface and those on it without a value are said apart, in a note that is longer by the latter.
TEST_F(Picture, OfASurfaceSaysWhyPixelsAreHatched) {
  ImagesHeader surface = header_of(2, 2, 0.02, 0.02);
  surface.surface_m = {-0.01, -0.01, 0.0, 0.01, -0.01, 0.004, -0.01, 0.01, -0.002, 0.01, 0.01, 0.0};
  surface.normals = {0.0, 0.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.6, 0.8, 0.0, 0.0, 1.0};
  write_picture(folder_ / "a.png", surface, frame_of({{kNanF, kNanF}, {1.0F, 0.0F}, {0.5F, 0.0F}, {0.0F, 0.2F}}), {},
                {});
  write_picture(folder_ / "b.png", surface, frame_of({{kNanF, kNanF}, {1.0F, 0.0F}, {kNanF, 0.0F}, {0.0F, 0.2F}}), {},
                {});
  const int first_row = picture_layout(surface, {}).height;
  const auto end_of_notes = [&](const fs::path& path) {
    const Png png(path);
    int end = 0;
    for (int row = first_row; row < png.height(); ++row) {
      for (int column = 0; column < png.width(); ++column) {
        end = png.at(column, row) != png.at(0, 0) ? std::max(end, column) : end;
      }
    }
    return end;
  };
  EXPECT_GT(end_of_notes(folder_ / "a.png"), 100);
  EXPECT_GT(2 * end_of_notes(folder_ / "b.png"), 3 * end_of_notes(folder_ / "a.png"));
}

// Three points at uneven distances, of which two share a place: stripes of the same width side by side.
TEST_F(Picture, PointsOfASurfaceAreStripesOfTheirNumbers) {
  ImagesHeader header = header_of(1, 3, 0.02, 0.02);
  header.x_m = {0.0, 0.0, 0.07};
  header.surface_m = {0.01, 0.0, 0.0, 0.01, 0.0, 0.0, 0.08, 0.0, 0.0};
  header.normals = {0.0, 0.0, 1.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0};
  write_picture(folder_ / "a.png", header, frame_of({{4.0F, 0.0F}, {2.0F, 0.0F}, {1.0F, 0.0F}}), {}, {});
  const PictureLayout layout = picture_layout(header, {});
  const Png png(folder_ / "a.png");
  for (int i = 0; i < 3; ++i) {
    EXPECT_THAT(png.cell(layout.magnitude, 1, 3, 0, i), IsPlain(magnitude_colour(1.0 / (1 << i)))) << i;
  }
  header.x_m.assign(65536, 0.0);
  header.surface_m.assign(3 * 65536, 0.0);
  header.normals.assign(3 * 65536, 1.0);
  EXPECT_GE(picture_layout(header, {}).magnitude.height, 100) << "however many there are";
  header.surface_m.clear();
  EXPECT_THROW((void)picture_layout(header, {}), DataError) << "pixels of a plane are even";
}

// NaN must not spoil the scale of the others, nor look like a value: the hatching holds no colour of either map.
TEST_F(Picture, PixelsThatAreNotFiniteAreHatched) {
  const ImagesHeader header = header_of(2, 2, 0.02, 0.02);
  const float infinity = std::numeric_limits<float>::infinity();
  write_picture(folder_ / "a.png", header, frame_of({{kNanF, 0.0F}, {1.0F, 0.0F}, {0.5F, 0.0F}, {0.0F, infinity}}), {},
                {});
  const Png png(folder_ / "a.png");
  const PictureLayout layout = picture_layout(header, {});
  EXPECT_THAT(png.cell(layout.magnitude, 2, 2, 0, 1), IsPlain(magnitude_colour(1.0)));
  EXPECT_THAT(png.cell(layout.magnitude, 2, 2, 1, 0), IsPlain(magnitude_colour(0.5)));
  for (const Area& area : {layout.magnitude, layout.phase}) {
    for (const int lost : {0, 1}) {
      int dark = 0;
      int light = 0;
      for (const Rgb8& colour : png.cell(area, 2, 2, lost, lost)) {
        EXPECT_TRUE(colour.red == colour.green && colour.green == colour.blue);
        dark += colour.red < 200 ? 1 : 0;
        light += colour.red > 240 ? 1 : 0;
      }
      EXPECT_GT(dark, 100);
      EXPECT_GT(light, 100);
    }
  }
  EXPECT_GT(png.height(), layout.height);
}

TEST_F(Picture, OnlyNotANumberStillDraws) {
  const ImagesHeader header = header_of(2, 2, 0.02, 0.02);
  EXPECT_NO_THROW(
      write_picture(folder_ / "a.png", header, frame_of(std::vector<std::complex<float>>(4, {kNanF, kNanF})), {}, {}));
}

void expect_inside(const PictureLayout& layout) {
  for (const Area& area : {layout.magnitude, layout.phase, layout.magnitude_bar, layout.phase_bar}) {
    EXPECT_GE(area.x, 1);
    EXPECT_GE(area.y, 1);
    EXPECT_GE(area.width, 1);
    EXPECT_GE(area.height, 1);
    EXPECT_LT(area.x + area.width, layout.width);
    EXPECT_LT(area.y + area.height, layout.height);
  }
}

TEST(PictureLayout, KeepsTheAspectRatioAndWholeCells) {
  struct Case {
    int rows;
    int columns;
    double pitch_x_m;
    double pitch_y_m;
  };
  for (const Case& one : {Case{32, 32, 0.02, 0.02}, Case{16, 64, 0.0063, 0.0091}, Case{12, 20, 0.03, 0.025},
                          Case{64, 16, 0.02, 0.02}, Case{1, 32, 0.02, 0.02}, Case{8, 8, 0.035, 0.045},
                          Case{256, 256, 0.0025, 0.0025}, Case{512, 2048, 1e-4, 1e-4}, Case{2, 2, 1e-3, 1.0}}) {
    const ImagesHeader header = header_of(one.rows, one.columns, one.pitch_x_m, one.pitch_y_m);
    const PictureLayout layout = picture_layout(header, {});
    const double pitch_y_m = one.rows > 1 ? one.pitch_y_m : one.pitch_x_m;
    const double aspect = one.columns * one.pitch_x_m / (one.rows * pitch_y_m);
    // Half a pixel of rounding on each side, unless a side vanishes.
    if (layout.magnitude.width > 1) {
      EXPECT_NEAR(layout.magnitude.width / aspect, layout.magnitude.height, 0.5 + 0.5 / aspect);
      const bool x_is_finer = one.pitch_x_m <= pitch_y_m;
      EXPECT_EQ(x_is_finer ? layout.magnitude.width % one.columns : layout.magnitude.height % one.rows, 0);
    }
    EXPECT_EQ(layout.magnitude.width, layout.phase.width);
    EXPECT_EQ(layout.magnitude.height, layout.phase.height);
    expect_inside(layout);
  }
}

TEST(PictureLayout, SideBySideUnlessWide) {
  const PictureLayout square = picture_layout(header_of(32, 32, 0.02, 0.02), {});
  EXPECT_EQ(square.magnitude.y, square.phase.y);
  EXPECT_GT(square.phase.x, square.magnitude_bar.x + square.magnitude_bar.width);
  EXPECT_LE(square.width, PictureOptions{}.width);
  const PictureLayout wide = picture_layout(header_of(16, 64, 0.01, 0.01), {});
  EXPECT_EQ(wide.magnitude.x, wide.phase.x);
  EXPECT_GT(wide.phase.y, wide.magnitude.y + wide.magnitude.height);
}

TEST(PictureLayout, RefusesUnevenPositions) {
  ImagesHeader header = header_of(4, 4, 0.02, 0.02);
  header.x_m[1] += 0.005;
  EXPECT_THROW((void)picture_layout(header, {}), DataError);
  header = header_of(4, 4, 0.02, -0.02);
  EXPECT_THROW((void)picture_layout(header, {}), DataError);
  header = header_of(4, 4, 0.02, std::nan(""));
  EXPECT_THROW((void)picture_layout(header, {}), DataError);
  header = header_of(0, 4, 0.02, 0.02);
  EXPECT_THROW((void)picture_layout(header, {}), DataError);
}

TEST(PictureName, SortsAndTellsEverything) {
  ImagesHeader header = header_of(1, 1, 0.02, 0.02);
  EXPECT_EQ(picture_name(header, {0, 0}, 12), "frame00012_z+0.000m_1007.1Hz_pressure.png");
  header.frequencies_hz = {500.0, 1007.08};
  header.planes_m = {-0.005, -0.0};
  header.quantity = "normal_velocity";
  EXPECT_EQ(picture_name(header, {0, 0}, 0), "frame00000_z-0.005m_0500.0Hz_normal_velocity.png");
  EXPECT_EQ(picture_name(header, {1, 1}, 0), "frame00000_z+0.000m_1007.1Hz_normal_velocity.png");
  EXPECT_LT(picture_name(header, {0, 1}, 9), picture_name(header, {0, 0}, 10));
  EXPECT_LT(picture_name(header, {0, 0}, 9), picture_name(header, {0, 1}, 9));
}

TEST(PictureName, AddsDecimalsUntilNamesDiffer) {
  ImagesHeader header = header_of(1, 1, 0.02, 0.02);
  header.frequencies_hz = {1000.01, 1000.02};
  header.planes_m = {0.0, 0.0001};
  EXPECT_EQ(picture_name(header, {1, 1}, 1), "frame00001_z+0.0001m_1000.02Hz_pressure.png");
  EXPECT_EQ(picture_name(header, {0, 0}, 1), "frame00001_z+0.0000m_1000.01Hz_pressure.png");
}

TEST(FlagsInWords, NamesEachAndUnknownOnes) {
  EXPECT_EQ(flags_in_words(0), "");
  EXPECT_EQ(flags_in_words(kFlagClipped), "clipped microphones");
  EXPECT_THAT(flags_in_words(kFlagMissingBits | kFlagOverload), HasSubstr("missing bits, overload"));
  EXPECT_THAT(flags_in_words(kFlagOverload | 0x80000000U), HasSubstr("flags 0x80000000"));
}

TEST_F(Picture, WritesEveryPlaneAndFrequency) {
  ImagesHeader header = header_of(2, 2, 0.02, 0.02);
  header.planes_m = {0.0, 0.01};
  header.frequencies_hz = {500.0, 1000.0};
  ImageFrame frame = frame_of(std::vector<std::complex<float>>(16, {1.0F, 1.0F}));
  frame.flags = 127;
  frame.timestamp_ns = 1'763'716'857'123'456'789;
  test::MadeFrame made(header, frame);
  made.frame.sequence = 3;
  PictureScale scale({});
  EXPECT_EQ(write_result_pictures(folder_, header, made.frame, scale), 4U);
  EXPECT_THAT(files(), UnorderedElementsAre(
                           "frame00003_z+0.000m_0500.0Hz_pressure.png", "frame00003_z+0.000m_1000.0Hz_pressure.png",
                           "frame00003_z+0.010m_0500.0Hz_pressure.png", "frame00003_z+0.010m_1000.0Hz_pressure.png"));
}

TEST_F(Picture, RefusesWrongOptionsAndShortFrames) {
  const ImagesHeader header = header_of(2, 2, 0.02, 0.02);
  const ImageFrame frame = frame_of(std::vector<std::complex<float>>(4));
  PictureOptions options;
  options.floor_db = 0.0;
  EXPECT_THROW(write_picture(folder_ / "a.png", header, frame, {}, options), ConfigError);
  options = {};
  options.fixed_maximum = 0.0;
  EXPECT_THROW(write_picture(folder_ / "a.png", header, frame, {}, options), ConfigError);
  EXPECT_THROW(write_picture(folder_ / "a.png", header, frame_of({{1.0F, 0.0F}}), {}, {}), DataError);
  EXPECT_TRUE(files().empty());
}

/// What write_picture says when it must fail.
std::string io_message(const fs::path& path) {
  try {
    write_picture(path, header_of(8, 8, 0.02, 0.02), frame_of(std::vector<std::complex<float>>(64, {1.0F, 0.0F})), {},
                  {});
  } catch (const IoError& error) {
    return error.what();
  }
  ADD_FAILURE() << "written: " << path;
  return {};
}

TEST_F(Picture, AFolderThatIsMissingOrAFileIsAnIoError) {
  EXPECT_THAT(io_message(folder_ / "missing" / "a.png"), HasSubstr("missing/a.png"));
  std::ofstream(folder_ / "file") << "x";
  EXPECT_THAT(io_message(folder_ / "file" / "a.png"), HasSubstr("Not a directory"));
}

TEST_F(Picture, ANameThatIsTakenByAFolderLeavesNothing) {
  fs::create_directory(folder_ / "a.png");
  EXPECT_THAT(io_message(folder_ / "a.png"), HasSubstr("a.png"));
  EXPECT_THAT(files(), UnorderedElementsAre("a.png"));
}

// A limit on the size of files stands for the full disk: writing fails midway in the same way.
TEST_F(Picture, AFullDiskLeavesTheOldPictureAndNothingElse) {
  std::ofstream(folder_ / "a.png") << "old";
  rlimit before{};
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &before), 0);
  rlimit small = before;
  small.rlim_cur = 512;
  const auto handler = std::signal(SIGXFSZ, SIG_IGN);
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &small), 0);
  const std::string message = io_message(folder_ / "a.png");
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &before), 0);
  std::signal(SIGXFSZ, handler);
  EXPECT_THAT(message, HasSubstr("File too large"));
  EXPECT_THAT(files(), UnorderedElementsAre("a.png"));
  std::ifstream old(folder_ / "a.png");
  EXPECT_EQ(std::string(std::istreambuf_iterator<char>(old), {}), "old");
}

}  // namespace
}  // namespace nearfield
