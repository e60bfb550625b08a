#include "publish/pictures/canvas.hpp"

#include <fmt/format.h>

#include <cmath>
#include <cstdint>
#include <numbers>
#include <string>

#include "core/error.hpp"
#include "core/system/files.hpp"

namespace nearfield {
namespace {

constexpr Rgb8 kInk = {34, 34, 34};

void set_colour(cairo_t* context, const Rgb8& colour) {
  cairo_set_source_rgb(context, colour.red / 255.0, colour.green / 255.0, colour.blue / 255.0);
}

std::uint32_t packed(const Rgb8& colour) {
  return (static_cast<std::uint32_t>(colour.red) << 16U) | (static_cast<std::uint32_t>(colour.green) << 8U) |
         static_cast<std::uint32_t>(colour.blue);
}

double offset_of(Align align, double width) {
  switch (align) {
    case Align::kStart:
      return 0.0;
    case Align::kCentre:
      return -width / 2.0;
    case Align::kEnd:
      return -width;
  }
  return 0.0;
}

cairo_status_t append_bytes(void* closure, const unsigned char* data, unsigned int length) {
  static_cast<std::string*>(closure)->append(reinterpret_cast<const char*>(data), length);
  return CAIRO_STATUS_SUCCESS;
}

}  // namespace

Canvas::Canvas(int width, int height) : surface_(cairo_image_surface_create(CAIRO_FORMAT_RGB24, width, height)) {
  const cairo_status_t status = cairo_surface_status(surface_.get());
  if (status != CAIRO_STATUS_SUCCESS) {
    throw IoError(
        fmt::format("picture of {} x {} pixels: cannot be made: {}", width, height, cairo_status_to_string(status)));
  }
  context_.reset(cairo_create(surface_.get()));
  cairo_set_source_rgb(context_.get(), 1.0, 1.0, 1.0);
  cairo_paint(context_.get());
  cairo_set_line_width(context_.get(), 1.0);
}

void Canvas::paint(int x, int y, int width, int height, const std::function<Rgb8(int, int)>& colour) {
  cairo_surface_flush(surface_.get());
  unsigned char* data = cairo_image_surface_get_data(surface_.get());
  const int stride = cairo_image_surface_get_stride(surface_.get());
  for (int row = 0; row < height; ++row) {
    auto* line = reinterpret_cast<std::uint32_t*>(data + static_cast<std::ptrdiff_t>(y + row) * stride) + x;
    for (int column = 0; column < width; ++column) {
      line[column] = packed(colour(column, row));
    }
  }
  cairo_surface_mark_dirty(surface_.get());
}

// Lines one pixel wide are sharp if they pass through pixel centres.
void Canvas::frame(int x, int y, int width, int height) {
  set_colour(context_.get(), kInk);
  cairo_rectangle(context_.get(), x - 0.5, y - 0.5, width + 1.0, height + 1.0);
  cairo_stroke(context_.get());
}

void Canvas::line(int x0, int y0, int x1, int y1) {
  set_colour(context_.get(), kInk);
  cairo_rectangle(context_.get(), x0, y0, x1 - x0 + 1.0, y1 - y0 + 1.0);
  cairo_fill(context_.get());
}

void Canvas::circle(double x, double y, double radius, double width, const Rgb8& colour) {
  set_colour(context_.get(), colour);
  cairo_save(context_.get());
  cairo_set_line_width(context_.get(), width);
  cairo_new_sub_path(context_.get());
  cairo_arc(context_.get(), x, y, radius, 0.0, 2.0 * std::numbers::pi);
  cairo_stroke(context_.get());
  cairo_restore(context_.get());
}

void Canvas::select_font(const TextStyle& style) const {
  cairo_select_font_face(context_.get(), "DejaVu Sans", CAIRO_FONT_SLANT_NORMAL,
                         style.bold ? CAIRO_FONT_WEIGHT_BOLD : CAIRO_FONT_WEIGHT_NORMAL);
  cairo_set_font_size(context_.get(), style.size);
}

double Canvas::text_width(const std::string& text, const TextStyle& style) const {
  select_font(style);
  cairo_text_extents_t extents;
  cairo_text_extents(context_.get(), text.c_str(), &extents);
  return extents.x_advance;
}

void Canvas::text(double x, double y, const std::string& text, const TextStyle& style) {
  select_font(style);
  set_colour(context_.get(), style.colour);
  cairo_save(context_.get());
  cairo_translate(context_.get(), x, y);
  if (style.upwards) {
    cairo_rotate(context_.get(), -std::numbers::pi / 2.0);
  }
  // Digits are about 0.73 of the size high: half of that below the point centres them.
  constexpr double kHalfFigureHeight = 0.365;
  cairo_move_to(context_.get(), std::round(offset_of(style.align, text_width(text, style))),
                std::round(kHalfFigureHeight * style.size));
  cairo_show_text(context_.get(), text.c_str());
  cairo_restore(context_.get());
}

void Canvas::write_png(const std::filesystem::path& path) const {
  cairo_surface_flush(surface_.get());
  cairo_status_t status = cairo_status(context_.get());
  std::string bytes;
  if (status == CAIRO_STATUS_SUCCESS) {
    status = cairo_surface_write_to_png_stream(surface_.get(), append_bytes, &bytes);
  }
  if (status != CAIRO_STATUS_SUCCESS) {
    throw IoError(fmt::format("{}: cannot draw the picture: {}", path.string(), cairo_status_to_string(status)));
  }
  write_whole_file(path, bytes);
}

}  // namespace nearfield
