#include "publish/pictures/map_marks.hpp"

#include <array>
#include <cmath>

namespace nearfield {
namespace {

constexpr Rgb8 kMarkShadow = {20, 20, 30};
constexpr TextStyle kMarkText = {.size = 12.0, .colour = kMarkColour};

/// Intersection of a contour with a side of a square of four cells, in cells from its first one.
struct Crossing {
  double column = 0.0;
  double row = 0.0;
};

/// Intersections with the four sides, in order round the square; `corners` are top left, top right, bottom right,
/// bottom left.
std::vector<Crossing> crossings_of(const std::array<double, 4>& corners, double level) {
  constexpr std::array<Crossing, 4> kPlaces = {{{0.0, 0.0}, {1.0, 0.0}, {1.0, 1.0}, {0.0, 1.0}}};
  std::vector<Crossing> crossings;
  for (std::size_t side = 0; side < 4; ++side) {
    const std::size_t next = (side + 1) % 4;
    const double from = corners.at(side);
    const double to = corners.at(next);
    if ((from >= level) == (to >= level)) {
      continue;
    }
    const double t = (level - from) / (to - from);
    const Crossing& a = kPlaces.at(side);
    const Crossing& b = kPlaces.at(next);
    crossings.push_back({a.column + t * (b.column - a.column), a.row + t * (b.row - a.row)});
  }
  return crossings;
}

/// Axis value at a fractional index.
double value_at(const Axis& axis, double place) {
  const auto entry = std::min(static_cast<std::size_t>(place), axis.size() - 1);
  const std::size_t next = std::min(entry + 1, axis.size() - 1);
  return axis.values[entry] + (place - static_cast<double>(entry)) * (axis.values[next] - axis.values[entry]);
}

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

void draw_contours(Canvas& canvas, const Area& area, const Axis& across, const Axis& down, const MapMarks& marks) {
  for (const ContourPiece& piece : marks.contours) {
    const auto x0 = pixel_at(across, piece.across0, area.x, area.width);
    const auto x1 = pixel_at(across, piece.across1, area.x, area.width);
    const auto y0 = pixel_at(down, piece.down0, area.y, area.height);
    const auto y1 = pixel_at(down, piece.down1, area.y, area.height);
    if (x0 && x1 && y0 && y1) {
      canvas.stroke(*x0, *y0, *x1, *y1, 2.0, kMarkColour);
    }
  }
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

void draw_marks(Canvas& canvas, const Area& area, const Axis& across, const Axis& down, const MapMarks& marks) {
  draw_contours(canvas, area, across, down, marks);
  if (marks.guide_across) {
    if (const auto x = pixel_at(across, *marks.guide_across, area.x, area.width)) {
      canvas.stroke(std::floor(*x) + 0.5, area.y, std::floor(*x) + 0.5, area.y + area.height, 1.0, kGuideColour);
    }
  }
  if (marks.guide_down) {
    if (const auto y = pixel_at(down, *marks.guide_down, area.y, area.height)) {
      canvas.stroke(area.x, std::floor(*y) + 0.5, area.x + area.width, std::floor(*y) + 0.5, 1.0, kGuideColour);
    }
  }
  for (const Circle& circle : marks.circles) {
    const auto x = pixel_at(across, circle.across, area.x, area.width);
    const auto y = pixel_at(down, circle.down, area.y, area.height);
    if (x && y) {
      canvas.circle(*x, *y, kCircleRadius, circle.is_bold ? 5.0 : 3.5, kMarkShadow);
      canvas.circle(*x, *y, kCircleRadius, circle.is_bold ? 3.0 : 1.5, kMarkColour);
      draw_text(canvas, area, *x, *y, circle.text);
    }
  }
}

std::vector<ContourPiece> contours_of(const std::vector<double>& values, const Axis& across, const Axis& down,
                                      double level) {
  std::vector<ContourPiece> pieces;
  const std::size_t columns = across.size();
  for (std::size_t row = 0; row + 1 < down.size(); ++row) {
    for (std::size_t column = 0; column + 1 < columns; ++column) {
      const std::size_t at = row * columns + column;
      const std::array<double, 4> corners = {values[at], values[at + 1], values[at + columns + 1],
                                             values[at + columns]};
      if (std::isnan(corners[0] + corners[1] + corners[2] + corners[3])) {
        continue;
      }
      // Two crossings, or four at a saddle, whose neighbours are joined.
      const std::vector<Crossing> crossings = crossings_of(corners, level);
      for (std::size_t i = 0; i + 1 < crossings.size(); i += 2) {
        const auto along = [&](const Axis& axis, std::size_t cell, double offset) {
          return value_at(axis, static_cast<double>(cell) + offset);
        };
        pieces.push_back({along(across, column, crossings[i].column), along(down, row, crossings[i].row),
                          along(across, column, crossings[i + 1].column), along(down, row, crossings[i + 1].row)});
      }
    }
  }
  return pieces;
}

}  // namespace nearfield
