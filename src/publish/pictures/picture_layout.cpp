#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "core/error.hpp"
#include "publish/pictures/axis.hpp"
#include "publish/pictures/picture.hpp"

namespace nearfield {
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

Size panel_size(const ImagesHeader& header, double pitch_x_m, double pitch_y_m, int room) {
  const double width_m = static_cast<double>(header.x_m.size()) * pitch_x_m;
  const double height_m = static_cast<double>(header.y_m.size()) * pitch_y_m;
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

bool shows_points_of_surface(const ImagesHeader& header) {
  return !header.surface_m.empty() && header.y_m.size() == 1 && !header.x_m.empty() && header.x_m.front() == 0.0;
}

PictureLayout picture_layout(const ImagesHeader& header, const PictureOptions& options) {
  const bool shows_points = shows_points_of_surface(header);
  double pitch_x_m = shows_points ? 0.0 : pitch_of(header.x_m, "x_m");
  double pitch_y_m = pitch_of(header.y_m, "y_m");
  // A single row or column uses the other pitch; a single pixel any.
  pitch_x_m = pitch_x_m > 0.0 ? pitch_x_m : (pitch_y_m > 0.0 ? pitch_y_m : 0.01);
  pitch_y_m = pitch_y_m > 0.0 ? pitch_y_m : pitch_x_m;
  const double aspect =
      static_cast<double>(header.x_m.size()) * pitch_x_m / (static_cast<double>(header.y_m.size()) * pitch_y_m);
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

std::string picture_name(const ImagesHeader& header, const PictureSubject& subject) {
  const int plane_decimals = decimals_for(header.planes_m, 3);
  const int frequency_decimals = decimals_for(header.frequencies_hz, 1);
  std::size_t width = 0;
  for (const double frequency_hz : header.frequencies_hz) {
    width = std::max(width, fmt::formatted_size("{:.{}f}", frequency_hz, frequency_decimals));
  }
  return fmt::format("frame{:05}_z{:+.{}f}m_{:0{}.{}f}Hz_{}.png", subject.frame_index,
                     header.planes_m.at(subject.plane) + 0.0, plane_decimals,
                     header.frequencies_hz.at(subject.frequency), width, frequency_decimals, header.quantity);
}

}  // namespace nearfield
