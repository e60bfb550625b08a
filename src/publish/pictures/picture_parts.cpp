#include "publish/pictures/picture_parts.hpp"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <ctime>
#include <string>
#include <vector>

#include "core/error.hpp"
#include "core/images.hpp"
#include "core/system/clocks.hpp"
#include "publish/pictures/axis.hpp"
#include "publish/pictures/picture.hpp"

namespace nearfield {
namespace {

constexpr Rgb8 kHatchLight = {255, 255, 255};
constexpr Rgb8 kHatchDark = {150, 150, 150};
constexpr int kHatchPeriod = 6;
constexpr int kTickLength = 5;

}  // namespace

std::vector<Tick> ticks_between(double low, double high, int max_count) {
  const std::vector<double> values = nice_ticks(low, high, max_count);
  const std::vector<std::string> labels = tick_labels(values);
  std::vector<Tick> ticks;
  for (std::size_t i = 0; i < values.size(); ++i) {
    ticks.push_back({(values[i] - low) / (high - low), labels[i]});
  }
  return ticks;
}

double widest_label(const Canvas& canvas, const std::vector<Tick>& ticks) {
  double widest = 0.0;
  for (const Tick& tick : ticks) {
    widest = std::max(widest, canvas.text_width(tick.label, {}));
  }
  return widest;
}

void draw_axis_below(Canvas& canvas, const Area& area, const std::vector<Tick>& ticks, const std::string& title) {
  const int bottom = area.y + area.height;
  for (const Tick& tick : ticks) {
    const int x = area.x + static_cast<int>(std::lround(tick.position * area.width));
    canvas.line(x, bottom + 1, x, bottom + kTickLength);
    canvas.text(x, bottom + kTickLength + 10, tick.label, {.align = Align::kCentre});
  }
  canvas.text(area.x + area.width / 2.0, bottom + 35, title, {.align = Align::kCentre});
}

void draw_axis_left(Canvas& canvas, const Area& area, const std::vector<Tick>& ticks, const std::string& title) {
  for (const Tick& tick : ticks) {
    const int y = area.y + static_cast<int>(std::lround(tick.position * area.height));
    canvas.line(area.x - kTickLength - 1, y, area.x - 2, y);
    canvas.text(area.x - kTickLength - 5, y, tick.label, {.align = Align::kEnd});
  }
  canvas.text(area.x - kTickLength - widest_label(canvas, ticks) - 18, area.y + area.height / 2.0, title,
              {.align = Align::kCentre, .upwards = true});
}

void draw_bar(Canvas& canvas, const Area& bar, const std::vector<Tick>& ticks, const std::string& label,
              const std::function<Rgb8(double)>& colour) {
  canvas.paint(bar.x, bar.y, bar.width, bar.height,
               [&](int, int row) { return colour(1.0 - (row + 0.5) / bar.height); });
  canvas.frame(bar.x, bar.y, bar.width, bar.height);
  const int right = bar.x + bar.width;
  for (const Tick& tick : ticks) {
    const int y = bar.y + static_cast<int>(std::lround((1.0 - tick.position) * bar.height));
    canvas.line(right + 1, y, right + kTickLength, y);
    canvas.text(right + kTickLength + 4, y, tick.label, {});
  }
  canvas.text(right + kTickLength + widest_label(canvas, ticks) + 18, bar.y + bar.height / 2.0, label,
              {.align = Align::kCentre, .upwards = true});
}

Rgb8 hatch(int column, int row) { return (column + row) % kHatchPeriod < 2 ? kHatchDark : kHatchLight; }

std::string time_in_words(std::int64_t timestamp_ns) {
  constexpr std::int64_t kTenYearsNs = 315'360'000 * kNsPerSecond;
  if (timestamp_ns < kTenYearsNs) {
    return with_minus_signs(fmt::format("t = {:.6f} s", static_cast<double>(timestamp_ns) / 1e9));
  }
  const auto seconds = static_cast<std::time_t>(timestamp_ns / kNsPerSecond);
  return fmt::format("{:%F %T}.{:06} TAI", fmt::gmtime(seconds), timestamp_ns % kNsPerSecond / 1000);
}

std::vector<std::string> wrap(const Canvas& canvas, const std::vector<std::string>& notes, int width) {
  std::vector<std::string> lines(1);
  for (const std::string& note : notes) {
    for (std::size_t start = 0; start < note.size();) {
      const std::size_t end = std::min(note.find(' ', start), note.size());
      const std::string word = note.substr(start, end - start);
      const std::string longer = lines.back().empty() ? word : lines.back() + (start == 0 ? "   " : " ") + word;
      if (canvas.text_width(longer, kNoteStyle) > width && !lines.back().empty()) {
        lines.push_back(word);
      } else {
        lines.back() = longer;
      }
      start = end + 1;
    }
  }
  return lines.back().empty() ? std::vector<std::string>() : lines;
}

void require_in_range(const PictureOptions& options) {
  if (!(options.floor_db < 0.0) || !std::isfinite(options.floor_db)) {
    throw ConfigError(fmt::format("picture: floor: expected a level < 0 dB, found {} dB", options.floor_db));
  }
  if (options.fixed_maximum && !(*options.fixed_maximum > 0.0 && std::isfinite(*options.fixed_maximum))) {
    throw ConfigError(fmt::format("picture: maximum: expected a value > 0, found {}", *options.fixed_maximum));
  }
}

namespace {

// Margins around a panel in pixels: titles above, tick labels and axis titles at the left and below, the colour bar at
// the right.
constexpr int kTop = 66;
constexpr int kPanelTitle = 26;
constexpr int kLeft = 80;
constexpr int kBarGap = 14;
constexpr int kBarWidth = 16;
constexpr int kRight = 78;
constexpr int kBelow = 50;
constexpr int kBottom = 10;
constexpr int kAround = kLeft + kBarGap + kBarWidth + kRight;

constexpr int kLeastSlot = 370;  ///< room for a panel's title
constexpr int kLeastWidth = 2 * kLeastSlot;
constexpr int kLeastBarHeight = 120;  ///< room for a few ticks beside a single row of pixels
constexpr int kLargestPanel = 4096;
constexpr double kHighestPanel = 1.8;  ///< multiple of the available width
constexpr double kWide = 2.0;
/// Relative tolerance of the pitch. Positions in files are decimal fractions of metres: a thousandth of the pitch is
/// far above their rounding.
constexpr double kPitchTolerance = 1e-3;

/// Distance of neighbouring pixels; 0 if there is only one.
double pitch_of(const std::vector<double>& positions_m, const char* name) {
  if (positions_m.empty()) {
    throw DataError(fmt::format("picture: {}: expected the positions of pixels, found none", name));
  }
  if (positions_m.size() == 1) {
    return 0.0;
  }
  const double pitch_m = (positions_m.back() - positions_m.front()) / static_cast<double>(positions_m.size() - 1);
  for (std::size_t i = 1; i < positions_m.size(); ++i) {
    const double step_m = positions_m[i] - positions_m[i - 1];
    if (!(pitch_m > 0.0) || !(std::abs(step_m - pitch_m) <= kPitchTolerance * pitch_m)) {
      throw DataError(
          fmt::format("picture: {}: expected evenly spaced, rising positions, found a step of {} m from "
                      "{} to {}, {} m on average",
                      name, step_m, i - 1, i, pitch_m));
    }
  }
  return pitch_m;
}

struct Size {
  int width = 0;
  int height = 0;
};

int pixels_of(double length) { return std::max(1, static_cast<int>(std::lround(length))); }

Size panel_size(const ResultHeader& header, double pitch_x_m, double pitch_y_m, int room) {
  const double width_m = static_cast<double>(header.coordinates("x").size()) * pitch_x_m;
  const double height_m = static_cast<double>(header.coordinates("y").size()) * pitch_y_m;
  const double smaller_pitch_m = std::min(pitch_x_m, pitch_y_m);
  double pixels_per_m = std::min(room / width_m, kHighestPanel * room / height_m);
  const double whole = std::max(1.0, std::floor(pixels_per_m * smaller_pitch_m + 1e-9)) / smaller_pitch_m;
  if (std::max(width_m, height_m) * whole <= kLargestPanel) {
    pixels_per_m = whole;
  }
  return {pixels_of(width_m * pixels_per_m), pixels_of(height_m * pixels_per_m)};
}

/// Places a panel and its bar into the slot that starts at (x, y).
void place(int x, int y, const Size& panel, Area& image, Area& bar) {
  const int slot_height = std::max(panel.height, kLeastBarHeight);
  image = {x + kLeft, y + kPanelTitle + (slot_height - panel.height) / 2, panel.width, panel.height};
  const int bar_height = std::max(panel.height, kLeastBarHeight);
  bar = {image.x + image.width + kBarGap, y + kPanelTitle + (slot_height - bar_height) / 2, kBarWidth, bar_height};
}

}  // namespace

bool shows_points_of_surface(const ResultHeader& header) {
  const std::vector<double>& x_m = header.coordinates("x");
  return header.axis("surface") != nullptr && header.coordinates("y").size() == 1 && !x_m.empty() && x_m.front() == 0.0;
}

PictureLayout picture_layout(const ResultHeader& header, const PictureOptions& options) {
  const bool shows_points = shows_points_of_surface(header);
  const std::vector<double>& x_m = header.coordinates("x");
  const std::vector<double>& y_m = header.coordinates("y");
  double pitch_x_m = shows_points ? 0.0 : pitch_of(x_m, "x_m");
  double pitch_y_m = pitch_of(y_m, "y_m");
  // A single row or column uses the other pitch; a single pixel any.
  pitch_x_m = pitch_x_m > 0.0 ? pitch_x_m : (pitch_y_m > 0.0 ? pitch_y_m : 0.01);
  pitch_y_m = pitch_y_m > 0.0 ? pitch_y_m : pitch_x_m;
  const double aspect = static_cast<double>(x_m.size()) * pitch_x_m / (static_cast<double>(y_m.size()) * pitch_y_m);
  const bool stacked = aspect >= kWide;
  const int across = stacked ? 1 : 2;
  const int room = std::max(1, std::max(options.width, kLeastWidth) / across - kAround);
  Size panel = panel_size(header, pitch_x_m, pitch_y_m, room);
  panel.height = shows_points ? std::max(panel.height, kLeastBarHeight) : panel.height;
  const int slot_width = std::max(kLeastSlot, panel.width + kAround);
  const int slot_height = std::max(panel.height, kLeastBarHeight) + kPanelTitle + kBelow;

  PictureLayout layout;
  layout.width = std::max(kLeastWidth, across * slot_width);
  layout.height = kTop + (stacked ? 2 : 1) * slot_height + kBottom;
  const int x = (layout.width - across * slot_width) / 2;
  place(x, kTop, panel, layout.magnitude, layout.magnitude_bar);
  place(stacked ? x : x + slot_width, stacked ? kTop + slot_height : kTop, panel, layout.phase, layout.phase_bar);
  return layout;
}

std::string picture_name(const ResultHeader& header, const Selection& image, std::uint64_t frame_index) {
  const std::vector<double>& planes_m = header.coordinates("z");
  const std::vector<double>& frequencies_hz = header.coordinates("frequency");
  const int plane_decimals = decimals_for(planes_m, 3);
  const int frequency_decimals = decimals_for(frequencies_hz, 1);
  std::size_t width = 0;
  for (const double frequency_hz : frequencies_hz) {
    width = std::max(width, fmt::formatted_size("{:.{}f}", frequency_hz, frequency_decimals));
  }
  return fmt::format("frame{:05}_z{:+.{}f}m_{:0{}.{}f}Hz_{}.png", frame_index, planes_m.at(image.indices.at(0)) + 0.0,
                     plane_decimals, frequencies_hz.at(image.indices.at(1)), width, frequency_decimals,
                     header.products.at(image.product).quantity);
}

}  // namespace nearfield
