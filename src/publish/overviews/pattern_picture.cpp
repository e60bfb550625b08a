#include "publish/overviews/pattern_picture.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "publish/pictures/canvas.hpp"
#include "publish/pictures/picture_parts.hpp"

namespace nearfield {
namespace {

constexpr int kPatternWidth = 960;
constexpr int kPatternHeight = 560;
constexpr int kPatternLeft = 100;
constexpr int kPatternRight = 40;
constexpr int kPatternTop = 80;
constexpr int kPatternBelow = 70;
constexpr double kPatternLine = 1.5;
constexpr Rgb8 kPatternColour = {20, 60, 140};

}  // namespace

void write_pattern_picture(const std::filesystem::path& directory, const ResultHeader& header, const Axis& axis,
                           const std::vector<float>& values, const PictureOptions& options) {
  const double low = options.decibels ? options.floor_db : 0.0;
  const double high = options.decibels ? 0.0 : 1.0;
  const Area area = {kPatternLeft, kPatternTop, kPatternWidth - kPatternLeft - kPatternRight,
                     kPatternHeight - kPatternTop - kPatternBelow};
  const double first = axis.values.front();
  const double last = axis.values.back();
  const auto across = [&](std::size_t i) {
    const double span = last - first;
    return area.x + (span != 0.0 ? (axis.values[i] - first) / span : 0.0) * (area.width - 1);
  };
  // Clips lower levels to the frame.
  const auto down = [&](std::size_t i) {
    const auto power = static_cast<double>(values[i]);
    const double shown = options.decibels ? 10.0 * std::log10(std::max(power, 1e-30)) : std::sqrt(power);
    return area.y + (1.0 - (std::clamp(shown, low, high) - low) / (high - low)) * (area.height - 1);
  };
  Canvas canvas(kPatternWidth, kPatternHeight);
  canvas.frame(area.x, area.y, area.width, area.height);
  for (std::size_t i = 1; i < values.size(); ++i) {
    if (!std::isnan(values[i - 1]) && !std::isnan(values[i])) {
      canvas.stroke(across(i - 1), down(i - 1), across(i), down(i), kPatternLine, kPatternColour);
    }
  }
  std::vector<Tick> ticks = ticks_between(low, high, area.height / kPixelsPerTick);
  for (Tick& tick : ticks) {  // values increase upwards
    tick.position = 1.0 - tick.position;
  }
  draw_axis_left(canvas, area, ticks, options.decibels ? "level re the maximum [dB]" : "amplitude re the maximum");
  draw_axis_below(canvas, area, ticks_between(first, last, 10), fmt::format("{} [{}]", axis.name, axis.unit));
  canvas.text(kMargin, 24, fmt::format("Beam pattern, {}", header.processor), kTitleStyle);
  canvas.text(kMargin, 47, fmt::format("{:.6g} Hz, {} values", header.axis("frequency")->values.front(), values.size()),
              kSubtitleStyle);
  canvas.write_png(directory / fmt::format("pattern_{}.png", header.processor));
}

}  // namespace nearfield
