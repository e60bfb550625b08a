#include "publish/pictures/map_marks.hpp"

#include <cmath>
#include <utility>

namespace nearfield {
namespace {

constexpr Rgb8 kMarkShadow = {20, 20, 30};
constexpr TextStyle kMarkText = {.size = 12.0, .colour = kMarkColour};

void draw_text(Canvas& canvas, const Area& area, double x, double y, const std::string& text) {
  constexpr double kGap = kCircleRadius + 5.0;
  const double width = canvas.text_width(text, kMarkText);
  const bool is_right = x + kGap + width < area.x + area.width;
  TextStyle style = kMarkText;
  style.align = is_right ? Align::kStart : Align::kEnd;
  const double start = is_right ? x + kGap : x - kGap;
  TextStyle shadow = style;
  shadow.colour = kMarkShadow;
  for (const auto& [dx, dy] : {std::pair{-1, 0}, {1, 0}, {0, -1}, {0, 1}, {1, 1}}) {
    canvas.text(start + dx, y + dy, text, shadow);
  }
  canvas.text(start, y, text, style);
}

}  // namespace

std::optional<double> pixel_at(const Axis& axis, double value, int first, int length) {
  constexpr double kHalf = 0.5 + 1e-9;
  const std::size_t count = axis.size();
  if (axis.components != 1 || count == 0 || !std::isfinite(value)) {
    return std::nullopt;
  }
  double place = 0.0;
  if (count > 1) {
    const double direction = axis.values.back() >= axis.values.front() ? 1.0 : -1.0;
    std::size_t entry = 0;
    while (entry + 2 < count && direction * (value - axis.values[entry + 1]) > 0.0) {
      ++entry;
    }
    const double step = axis.values[entry + 1] - axis.values[entry];
    place = static_cast<double>(entry) + (value - axis.values[entry]) / step;
  }
  if (!(place >= -kHalf && place <= static_cast<double>(count) - 1.0 + kHalf)) {
    return std::nullopt;
  }
  return first + (place + 0.5) * length / static_cast<double>(count);
}

void draw_circles(Canvas& canvas, const Area& area, const Axis& across, const Axis& down,
                  const std::vector<Circle>& circles) {
  for (const Circle& circle : circles) {
    const auto x = pixel_at(across, circle.across, area.x, area.width);
    const auto y = pixel_at(down, circle.down, area.y, area.height);
    if (x && y) {
      canvas.circle(*x, *y, kCircleRadius, circle.is_bold ? 5.0 : 3.5, kMarkShadow);
      canvas.circle(*x, *y, kCircleRadius, circle.is_bold ? 3.0 : 1.5, kMarkColour);
      draw_text(canvas, area, *x, *y, circle.text);
    }
  }
}

}  // namespace nearfield
