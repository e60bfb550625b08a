#include "publish/plot.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <numbers>

#include "nearfield/error.hpp"
#include "publish/axis.hpp"
#include "publish/canvas.hpp"

namespace nearfield {
namespace {

constexpr int kLeft = 90;
constexpr int kTop = 44;
constexpr int kBottom = 64;
constexpr int kMargin = 16;
constexpr int kLegendSample = 28;
constexpr int kLegendLine = 20;
constexpr int kNoteLine = 20;
constexpr int kTickLength = 5;
constexpr int kMinimumSide = 80;
constexpr double kRoom = 0.05;  ///< of a linear axis, beyond the values
constexpr double kMarkerRadius = 3.0;
constexpr Rgb8 kGrid = {225, 225, 225};
const TextStyle kLabel{.size = 13.0};
const TextStyle kSmall{.size = 12.0};

bool shown(const PlotAxis& axis, double value) { return std::isfinite(value) && (!axis.logarithmic || value > 0.0); }

struct Range {
  double low = 0.0;
  double high = 1.0;
};

/// Of all values that can be shown, with some room on linear axes and to the next 1, 2, 5 on logarithmic ones.
Range range_of(const PlotAxis& axis, const Plot& plot, std::vector<double> PlotSeries::*values) {
  double low = std::numeric_limits<double>::infinity();
  double high = -low;
  for (const PlotSeries& series : plot.series) {
    for (const double value : series.*values) {
      if (shown(axis, value)) {
        low = std::min(low, value);
        high = std::max(high, value);
      }
    }
  }
  if (!(low <= high)) {
    low = high = 1.0;
  }
  if (axis.logarithmic) {
    low /= 1.25;
    high *= 1.25;
  } else {
    const double room = high > low ? kRoom * (high - low) : std::max(std::abs(high), 1.0) * kRoom;
    low = low >= 0.0 && low - room < 0.0 ? 0.0 : low - room;
    high += room;
  }
  Range range{axis.low.value_or(low), axis.high.value_or(high)};
  if (!(range.low < range.high) || (axis.logarithmic && !(range.low > 0.0))) {
    throw ConfigError(fmt::format("plot \"{}\": axis \"{}\": expected a range, found {} to {}", plot.title, axis.label,
                                  range.low, range.high));
  }
  return range;
}

double share(const PlotAxis& axis, double low, double high, double value) {
  return axis.logarithmic ? std::log(value / low) / std::log(high / low) : (value - low) / (high - low);
}

double pixel_x(const Plot& plot, const PlotFrame& frame, double value) {
  return frame.x + frame.width * share(plot.x, frame.x_low, frame.x_high, value);
}

double pixel_y(const Plot& plot, const PlotFrame& frame, double value) {
  return frame.y + frame.height * (1.0 - share(plot.y, frame.y_low, frame.y_high, value));
}

std::vector<double> ticks_of(const PlotAxis& axis, double low, double high, int most) {
  return axis.logarithmic ? logarithmic_ticks(low, high) : nice_ticks(low, high, most);
}

std::vector<std::string> labels_of(const PlotAxis& axis, const std::vector<double>& ticks) {
  if (!axis.logarithmic) {
    return tick_labels(ticks);
  }
  std::vector<std::string> labels;
  for (const double tick : ticks) {
    labels.push_back(with_minus_signs(fmt::format("{:.6g}", tick)));
  }
  return labels;
}

void draw_x_axis(Canvas& canvas, const Plot& plot, const PlotFrame& frame) {
  const std::vector<double> ticks = ticks_of(plot.x, frame.x_low, frame.x_high, 10);
  const std::vector<std::string> labels = labels_of(plot.x, ticks);
  const int bottom = frame.y + frame.height;
  for (std::size_t i = 0; i < ticks.size(); ++i) {
    const double x = std::round(pixel_x(plot, frame, ticks[i])) + 0.5;
    const CanvasPoint grid[] = {{x, static_cast<double>(frame.y)}, {x, static_cast<double>(bottom)}};
    canvas.polyline(grid, {.colour = kGrid});
    canvas.line(static_cast<int>(x), bottom, static_cast<int>(x), bottom + kTickLength);
    canvas.text(x, bottom + 16.0, labels[i], {.size = 12.0, .align = Align::kCentre});
  }
  canvas.text(frame.x + frame.width / 2.0, bottom + 40.0, plot.x.label, {.size = 13.0, .align = Align::kCentre});
}

void draw_y_axis(Canvas& canvas, const Plot& plot, const PlotFrame& frame) {
  const std::vector<double> ticks = ticks_of(plot.y, frame.y_low, frame.y_high, 10);
  const std::vector<std::string> labels = labels_of(plot.y, ticks);
  for (std::size_t i = 0; i < ticks.size(); ++i) {
    const double y = std::round(pixel_y(plot, frame, ticks[i])) + 0.5;
    const CanvasPoint grid[] = {{static_cast<double>(frame.x), y}, {static_cast<double>(frame.x + frame.width), y}};
    canvas.polyline(grid, {.colour = kGrid});
    canvas.line(frame.x - kTickLength, static_cast<int>(y), frame.x, static_cast<int>(y));
    canvas.text(frame.x - 9.0, y, labels[i], {.size = 12.0, .align = Align::kEnd});
  }
  canvas.text(22.0, frame.y + frame.height / 2.0, plot.y.label,
              {.size = 13.0, .align = Align::kCentre, .upwards = true});
}

/// Pieces of a series between points that can't be shown.
void draw_series(Canvas& canvas, const Plot& plot, const PlotFrame& frame, std::size_t index) {
  const PlotSeries& series = plot.series[index];
  const LineStyle style{series_colour(index, plot.series.size()), 1.8, index % 2 == 1};
  std::vector<CanvasPoint> piece;
  const auto finish_piece = [&] {
    if (series.lines && piece.size() > 1) {
      canvas.polyline(piece, style);
    }
    piece.clear();
  };
  for (std::size_t i = 0; i < series.x.size(); ++i) {
    const bool inside = shown(plot.x, series.x[i]) && shown(plot.y, series.y[i]) && series.x[i] >= frame.x_low &&
                        series.x[i] <= frame.x_high && series.y[i] >= frame.y_low && series.y[i] <= frame.y_high;
    if (!inside) {
      finish_piece();
      continue;
    }
    piece.push_back({pixel_x(plot, frame, series.x[i]), pixel_y(plot, frame, series.y[i])});
    if (series.markers) {
      canvas.disc(piece.back(), kMarkerRadius, style.colour);
    }
  }
  finish_piece();
}

void draw_legend(Canvas& canvas, const Plot& plot, const PlotFrame& frame) {
  const double x = frame.x + frame.width + kMargin;
  for (std::size_t i = 0; i < plot.series.size(); ++i) {
    const double y = frame.y + kLegendLine * (static_cast<double>(i) + 0.5);
    const Rgb8 colour = series_colour(i, plot.series.size());
    const CanvasPoint sample[] = {{x, y}, {x + kLegendSample, y}};
    if (plot.series[i].lines) {
      canvas.polyline(sample, {colour, 1.8, i % 2 == 1});
    }
    if (plot.series[i].markers) {
      canvas.disc({x + kLegendSample / 2.0, y}, kMarkerRadius, colour);
    }
    canvas.text(x + kLegendSample + 8.0, y, plot.series[i].name, kSmall);
  }
}

}  // namespace

std::vector<double> logarithmic_ticks(double low, double high) {
  if (!(low > 0.0) || !(high > low) || !std::isfinite(high)) {
    return {};
  }
  const bool few = std::log10(high / low) < 2.0;
  std::vector<double> ticks;
  for (int exponent = static_cast<int>(std::floor(std::log10(low))); std::pow(10.0, exponent) <= high; ++exponent) {
    for (const double digit : {1.0, 2.0, 5.0}) {
      const double tick = digit * std::pow(10.0, exponent);
      if ((few || digit == 1.0) && tick >= low && tick <= high) {
        ticks.push_back(tick);
      }
    }
  }
  return ticks;
}

Rgb8 series_colour(std::size_t index, std::size_t count) {
  const double turn = static_cast<double>(index) / static_cast<double>(std::max<std::size_t>(count, 1));
  // Two lightnesses by turns keep neighbouring hues apart.
  return to_srgb(to_linear_rgb(Lch{index % 2 == 0 ? 0.50 : 0.66, 0.13, 0.5 + 2.0 * std::numbers::pi * turn}));
}

PlotFrame plot_frame(const Plot& plot) {
  Canvas ruler(1, 1);
  double legend = 0.0;
  for (const PlotSeries& series : plot.series) {
    legend = std::max(legend, ruler.text_width(series.name, kSmall));
  }
  const Range x = range_of(plot.x, plot, &PlotSeries::x);
  const Range y = range_of(plot.y, plot, &PlotSeries::y);
  const int right = 2 * kMargin + kLegendSample + 8 + static_cast<int>(std::ceil(legend));
  const PlotFrame frame{kLeft, kTop,  plot.width - kLeft - right, plot.height - kTop - kBottom, x.low, x.high,
                        y.low, y.high};
  if (frame.width < kMinimumSide || frame.height < kMinimumSide) {
    throw ConfigError(
        fmt::format("plot \"{}\": {} x {} pixels leave no room for the axes", plot.title, plot.width, plot.height));
  }
  return frame;
}

void write_plot(const std::filesystem::path& path, const Plot& plot) {
  for (const PlotSeries& series : plot.series) {
    if (series.x.size() != series.y.size()) {
      throw ConfigError(fmt::format("plot \"{}\": series \"{}\": expected as many y as x, found {} and {}", plot.title,
                                    series.name, series.y.size(), series.x.size()));
    }
  }
  const PlotFrame frame = plot_frame(plot);
  Canvas canvas(plot.width, plot.height + kNoteLine * static_cast<int>(plot.notes.size()));
  canvas.text(kLeft, kTop / 2.0, plot.title, {.size = 15.0, .bold = true});
  draw_x_axis(canvas, plot, frame);
  draw_y_axis(canvas, plot, frame);
  for (std::size_t i = 0; i < plot.series.size(); ++i) {
    draw_series(canvas, plot, frame, i);
  }
  canvas.frame(frame.x, frame.y, frame.width, frame.height);
  draw_legend(canvas, plot, frame);
  for (std::size_t i = 0; i < plot.notes.size(); ++i) {
    canvas.text(kLeft, plot.height + kNoteLine * static_cast<double>(i), plot.notes[i], kLabel);
  }
  canvas.write_png(path);
}

}  // namespace nearfield
