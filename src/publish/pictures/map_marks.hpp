#pragma once
#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "core/product.hpp"
#include "publish/pictures/canvas.hpp"
#include "publish/pictures/picture.hpp"

/// Circles on sources, drawn over the colours of a map.
namespace nearfield {

/// A circle with a line of text next to it, in values of a map's axes.
struct Circle {
  double across = 0.0;
  double down = 0.0;
  std::string text;
  bool is_bold = false;  ///< a confirmed source
};

inline constexpr int kCircleRadius = 9;  ///< pixels
inline constexpr Rgb8 kMarkColour = {255, 255, 255};

/// Pixel at a value of an axis that is drawn along `length` pixels from `first` on, with each entry as a cell; linear
/// interpolation between entries. Nullopt if the value is more than half a cell outside.
std::optional<double> pixel_at(const Axis& axis, double value, int first, int length);

/// Draws the circles inside `area`, over existing content.
void draw_circles(Canvas& canvas, const Area& area, const Axis& across, const Axis& down,
                  const std::vector<Circle>& circles);

}  // namespace nearfield
