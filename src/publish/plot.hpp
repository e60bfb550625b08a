#pragma once
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "publish/colours.hpp"

/// Line plots.
namespace nearfield {

struct PlotAxis {
  std::string label;  ///< with its unit, such as "time [µs]"
  bool logarithmic = false;
  std::optional<double> low = {};   ///< else the smallest value shown
  std::optional<double> high = {};  ///< else the largest value shown
};

struct PlotSeries {
  std::string name;
  std::vector<double> x;
  std::vector<double> y;
  bool lines = true;
  bool markers = true;
};

struct Plot {
  std::string title;
  PlotAxis x;
  PlotAxis y;
  std::vector<PlotSeries> series = {};
  std::vector<std::string> notes = {};  ///< lines below the plot
  int width = 1000;
  int height = 600;
};

/// Where the axes lie in a plot's picture, in pixels from its top left; the notes come below `height`.
struct PlotFrame {
  int x = 0;
  int y = 0;
  int width = 0;
  int height = 0;
  double x_low = 0.0;
  double x_high = 1.0;
  double y_low = 0.0;
  double y_high = 1.0;
};
PlotFrame plot_frame(const Plot& plot);

/// Ticks of a logarithmic axis: powers of ten, with 2 and 5 times these where the range holds fewer than two decades.
std::vector<double> logarithmic_ticks(double low, double high);

/// The colour of one series of several.
Rgb8 series_colour(std::size_t index, std::size_t count);

/// Draws the plot as PNG. Points that are not finite, or not above zero on a logarithmic axis, are left out and break
/// the line. Throws ConfigError when a series has other counts of x and y or the picture is too small, IoError.
void write_plot(const std::filesystem::path& path, const Plot& plot);

}  // namespace nearfield
