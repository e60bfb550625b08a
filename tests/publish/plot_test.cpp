#include "publish/plot.hpp"

#include <cairo.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <memory>

#include "nearfield/error.hpp"
#include "support/command.hpp"

namespace nearfield {
namespace {

/// A PNG, read back.
class Picture {
 public:
  explicit Picture(const std::string& path) : surface_(cairo_image_surface_create_from_png(path.c_str())) {}
  Picture(const Picture&) = delete;
  Picture& operator=(const Picture&) = delete;
  ~Picture() { cairo_surface_destroy(surface_); }
  [[nodiscard]] int width() const { return cairo_image_surface_get_width(surface_); }
  [[nodiscard]] int height() const { return cairo_image_surface_get_height(surface_); }
  [[nodiscard]] Rgb8 at(int x, int y) const {
    const unsigned char* pixel =
        cairo_image_surface_get_data(surface_) + y * cairo_image_surface_get_stride(surface_) + 4 * x;
    return {pixel[2], pixel[1], pixel[0]};
  }

 private:
  cairo_surface_t* surface_;
};

/// Range 1 to 100 on x (logarithmic), 0 to 10 on y.
Plot two_points() {
  Plot plot{.title = "title",
            .x = {.label = "x", .logarithmic = true, .low = 1.0, .high = 100.0},
            .y = {.label = "y [m]", .low = 0.0, .high = 10.0}};
  plot.series = {{.name = "one", .x = {10.0, 50.0}, .y = {5.0, 5.0}}, {.name = "two", .x = {2.0}, .y = {8.0}}};
  return plot;
}

TEST(Plot, PutsPointsWhereTheyBelong) {
  const test::TemporaryFolder folder;
  const Plot plot = two_points();
  write_plot(folder / "a.png", plot);
  const Picture picture(folder / "a.png");
  ASSERT_EQ(picture.width(), plot.width);
  ASSERT_EQ(picture.height(), plot.height);
  const PlotFrame frame = plot_frame(plot);
  EXPECT_EQ(frame.x_low, 1.0);
  EXPECT_EQ(frame.y_high, 10.0);
  // 10 is the middle of 1 to 100 on a logarithmic axis.
  EXPECT_EQ(picture.at(frame.x + frame.width / 2, frame.y + frame.height / 2), series_colour(0, 2));
  // The line between 10 and 50, a third on.
  // It is 1.8 pixels wide and lies between two rows: a tenth of white is mixed in.
  const Rgb8 line = picture.at(frame.x + frame.width * 6 / 10, frame.y + frame.height / 2);
  EXPECT_NEAR(line.red, series_colour(0, 2).red, 26);
  EXPECT_NEAR(line.green, series_colour(0, 2).green, 26);
  EXPECT_NEAR(line.blue, series_colour(0, 2).blue, 30);
  const int two_x = frame.x + static_cast<int>(frame.width * std::log10(2.0) / 2.0);
  EXPECT_EQ(picture.at(two_x, frame.y + frame.height / 5), series_colour(1, 2));
  // Off the lines it is white or grid.
  EXPECT_EQ(picture.at(frame.x + frame.width * 6 / 10, frame.y + frame.height / 2 + 9), (Rgb8{255, 255, 255}));
}

TEST(Plot, LeavesOutWhatCannotBeShown) {
  const test::TemporaryFolder folder;
  Plot plot = two_points();
  plot.series[0].x = {10.0, std::numeric_limits<double>::quiet_NaN(), 50.0, -1.0};
  plot.series[0].y = {5.0, 5.0, 5.0, 5.0};
  write_plot(folder / "a.png", plot);
  const Picture picture(folder / "a.png");
  const PlotFrame frame = plot_frame(plot);
  // The line is broken at the NaN.
  EXPECT_GE(picture.at(frame.x + frame.width * 6 / 10, frame.y + frame.height / 2).blue, 220);
}

TEST(Plot, FindsItsRangesByItself) {
  Plot plot{.title = "", .x = {.label = "n"}, .y = {.label = "t", .logarithmic = true}};
  plot.series = {{.name = "s", .x = {1.0, 50.0}, .y = {0.0, 4.0}}, {.name = "r", .x = {3.0}, .y = {400.0}}};
  const PlotFrame frame = plot_frame(plot);
  EXPECT_EQ(frame.x_low, 0.0);  // the room left of 1 would pass 0
  EXPECT_GT(frame.x_high, 50.0);
  EXPECT_LT(frame.y_low, 4.0);  // 0 cannot be shown
  EXPECT_GT(frame.y_low, 1.0);
  EXPECT_GT(frame.y_high, 400.0);
}

TEST(Plot, DrawsWithoutAnyPoint) {
  const test::TemporaryFolder folder;
  Plot plot{.title = "empty", .x = {.label = "x"}, .y = {.label = "y", .logarithmic = true}};
  write_plot(folder / "a.png", plot);
  EXPECT_EQ(Picture(folder / "a.png").width(), plot.width);
}

TEST(Plot, RefusesNonsense) {
  const test::TemporaryFolder folder;
  Plot uneven = two_points();
  uneven.series[0].y.pop_back();
  EXPECT_THROW(write_plot(folder / "a.png", uneven), ConfigError);
  Plot tiny = two_points();
  tiny.width = 120;
  EXPECT_THROW(write_plot(folder / "a.png", tiny), ConfigError);
  Plot backwards = two_points();
  backwards.y.high = -1.0;
  EXPECT_THROW(write_plot(folder / "a.png", backwards), ConfigError);
  EXPECT_THROW(write_plot(folder / "none/a.png", two_points()), IoError);
  EXPECT_FALSE(std::filesystem::exists(folder / "a.png"));
}

TEST(LogarithmicTicks, AreDecadesOrFiner) {
  EXPECT_EQ(logarithmic_ticks(0.5, 2000.0), (std::vector<double>{1.0, 10.0, 100.0, 1000.0}));
  EXPECT_EQ(logarithmic_ticks(3.0, 60.0), (std::vector<double>{5.0, 10.0, 20.0, 50.0}));
  EXPECT_TRUE(logarithmic_ticks(0.0, 10.0).empty());
  EXPECT_TRUE(logarithmic_ticks(10.0, 1.0).empty());
}

}  // namespace
}  // namespace nearfield
