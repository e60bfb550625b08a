#pragma once
#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "nearfield/product.hpp"
#include "publish/pictures/canvas.hpp"
#include "publish/pictures/picture.hpp"

/// What is drawn over the colours of a map: circles on sources, contours of another map, guide lines.
namespace nearfield {

/// A circle with a line of text beside it, on the values of a map's axes.
struct Circle {
  double across = 0.0;
  double down = 0.0;
  std::string text;
  bool is_bold = false;  ///< a confirmed source
};

/// A piece of a contour, on the values of a map's axes.
struct ContourPiece {
  double across0 = 0.0;
  double down0 = 0.0;
  double across1 = 0.0;
  double down1 = 0.0;
};

struct MapMarks {
  std::vector<Circle> circles;
  std::vector<ContourPiece> contours;
  std::optional<double> guide_across;  ///< a line through this value from top to bottom
  std::optional<double> guide_down;
  std::string subtitle;            ///< instead of the frame's
  std::vector<std::string> notes;  ///< below the picture
};

inline constexpr int kCircleRadius = 9;  ///< pixels
inline constexpr Rgb8 kMarkColour = {255, 255, 255};
inline constexpr Rgb8 kGuideColour = {90, 220, 255};

/// The pixel at a value of an axis that is drawn along `length` pixels from `first` on, each entry as a cell; between
/// entries by linear interpolation. Nothing where the value lies more than half a cell outside.
std::optional<double> pixel_at(const Axis& axis, double value, int first, int length);

/// Draws what lies inside `area`, over whatever is there.
void draw_marks(Canvas& canvas, const Area& area, const Axis& across, const Axis& down, const MapMarks& marks);

/// Where a map's values pass `level`, by linear interpolation between neighbouring cells; `values` [row][column], and
/// cells beside a NaN have no contour.
std::vector<ContourPiece> contours_of(const std::vector<double>& values, const Axis& across, const Axis& down,
                                      double level);

}  // namespace nearfield
