#pragma once
#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "nearfield/product.hpp"
#include "publish/pictures/canvas.hpp"
#include "publish/pictures/picture.hpp"

/// Marks drawn over the colours of a map: circles on sources, contours of another map, guide lines.
namespace nearfield {

/// A circle with a line of text next to it, in values of a map's axes.
struct Circle {
  double across = 0.0;
  double down = 0.0;
  std::string text;
  bool is_bold = false;  ///< a confirmed source
};

/// A segment of a contour, in values of a map's axes.
struct ContourPiece {
  double across0 = 0.0;
  double down0 = 0.0;
  double across1 = 0.0;
  double down1 = 0.0;
};

struct MapMarks {
  std::vector<Circle> circles;
  std::vector<ContourPiece> contours;
  std::optional<double> guide_across;  ///< vertical line through this value
  std::optional<double> guide_down;
  std::string subtitle;            ///< replaces the frame's
  std::vector<std::string> notes;  ///< at the bottom of the picture
};

inline constexpr int kCircleRadius = 9;  ///< pixels
inline constexpr Rgb8 kMarkColour = {255, 255, 255};
inline constexpr Rgb8 kGuideColour = {90, 220, 255};

/// Pixel at a value of an axis that is drawn along `length` pixels from `first` on, with each entry as a cell; linear
/// interpolation between entries. Nullopt if the value is more than half a cell outside.
std::optional<double> pixel_at(const Axis& axis, double value, int first, int length);

/// Draws the marks inside `area`, over existing content.
void draw_marks(Canvas& canvas, const Area& area, const Axis& across, const Axis& down, const MapMarks& marks);

/// Contours of a map at `level`, by linear interpolation between neighbouring cells; `values` [row][column]; no contour
/// passes next to a NaN.
std::vector<ContourPiece> contours_of(const std::vector<double>& values, const Axis& across, const Axis& down,
                                      double level);

}  // namespace nearfield
