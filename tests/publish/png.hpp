#pragma once
#include <cairo.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <filesystem>
#include <memory>
#include <vector>

#include "core/colours.hpp"
#include "publish/pictures/picture.hpp"

namespace nearfield::test {

/// A PNG read back.
class Png {
 public:
  explicit Png(const std::filesystem::path& path) : surface_(cairo_image_surface_create_from_png(path.c_str())) {
    EXPECT_EQ(cairo_surface_status(surface_.get()), CAIRO_STATUS_SUCCESS) << path;
  }
  [[nodiscard]] int width() const { return cairo_image_surface_get_width(surface_.get()); }
  [[nodiscard]] int height() const { return cairo_image_surface_get_height(surface_.get()); }
  [[nodiscard]] Rgb8 at(int x, int y) const {
    const auto* row = cairo_image_surface_get_data(surface_.get()) +
                      static_cast<std::ptrdiff_t>(y) * cairo_image_surface_get_stride(surface_.get());
    const std::uint32_t pixel = reinterpret_cast<const std::uint32_t*>(row)[x];
    return {static_cast<std::uint8_t>(pixel >> 16U), static_cast<std::uint8_t>(pixel >> 8U),
            static_cast<std::uint8_t>(pixel)};
  }
  /// All colours of a cell of an image of rows x columns drawn into `area`.
  [[nodiscard]] std::vector<Rgb8> cell(const Area& area, int rows, int columns, int row, int column) const {
    std::vector<Rgb8> colours;
    for (int y = 0; y < area.height; ++y) {
      for (int x = 0; x < area.width; ++x) {
        if (y * rows / area.height == row && x * columns / area.width == column) {
          colours.push_back(at(area.x + x, area.y + y));
        }
      }
    }
    return colours;
  }

 private:
  struct Deleter {
    void operator()(cairo_surface_t* surface) const { cairo_surface_destroy(surface); }
  };
  std::unique_ptr<cairo_surface_t, Deleter> surface_;
};

}  // namespace nearfield::test
