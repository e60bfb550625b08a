#pragma once
#include <cairo.h>

#include <filesystem>
#include <functional>
#include <memory>
#include <string>

#include "core/colours.hpp"

namespace nearfield {

enum class Align { kStart, kCentre, kEnd };

struct TextStyle {
  double size = 13.0;
  bool bold = false;
  Align align = Align::kStart;
  bool upwards = false;  ///< rotated by 90 degrees, read from below
  Rgb8 colour = {34, 34, 34};
};

/// A white raster to draw on, with cairo; coordinates are whole pixels from the top left.
class Canvas {
 public:
  /// Throws IoError if cairo cannot make a surface of that size.
  Canvas(int width, int height);

  /// Fills the rectangle pixel by pixel with colour(column, row), both relative to the rectangle's top left.
  void paint(int x, int y, int width, int height, const std::function<Rgb8(int, int)>& colour);
  /// Draws a frame one pixel wide just outside the rectangle.
  void frame(int x, int y, int width, int height);
  /// Draws a line one pixel wide, horizontal or vertical, both ends included.
  void line(int x0, int y0, int x1, int y1);
  /// Draws a circle whose line is `width` pixels wide, smoothed.
  void circle(double x, double y, double radius, double width, const Rgb8& colour);
  /// Draws text at a point: `style.align` along the text, its height centred on the point.
  void text(double x, double y, const std::string& text, const TextStyle& style);
  [[nodiscard]] double text_width(const std::string& text, const TextStyle& style) const;

  /// Writes a PNG to `path`.partial and renames it. Throws IoError with the path and the reason, and then leaves no
  /// file.
  void write_png(const std::filesystem::path& path) const;

 private:
  struct SurfaceDeleter {
    void operator()(cairo_surface_t* surface) const { cairo_surface_destroy(surface); }
  };
  struct ContextDeleter {
    void operator()(cairo_t* context) const { cairo_destroy(context); }
  };
  void select_font(const TextStyle& style) const;

  std::unique_ptr<cairo_surface_t, SurfaceDeleter> surface_;
  std::unique_ptr<cairo_t, ContextDeleter> context_;
};

}  // namespace nearfield
