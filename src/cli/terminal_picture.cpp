#include "cli/terminal_picture.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <string_view>

#include "core/colours.hpp"

namespace nearfield::cli {
namespace {

constexpr int kMostPixels = 96;  ///< per side; more slows terminals without a visible gain

/// Value at fractions 0 to 1 of the image's height and width, interpolated bilinearly between the pixels' centres.
std::complex<double> value_at(const PhasorImage& image, double down, double right) {
  const auto place = [](double share, int count) {
    const double at = std::clamp(share * count - 0.5, 0.0, static_cast<double>(count - 1));
    const int first = std::min(static_cast<int>(at), std::max(count - 2, 0));
    return std::pair(first, at - first);
  };
  const auto [row, down_share] = place(down, image.rows);
  const auto [column, right_share] = place(right, image.columns);
  const auto pixel = [&](int r, int c) {
    const auto index =
        static_cast<std::size_t>(std::min(r, image.rows - 1) * image.columns + std::min(c, image.columns - 1));
    return std::complex<double>(image.values[index]);
  };
  const std::complex<double> upper = pixel(row, column) * (1.0 - right_share) + pixel(row, column + 1) * right_share;
  const std::complex<double> lower =
      pixel(row + 1, column) * (1.0 - right_share) + pixel(row + 1, column + 1) * right_share;
  return upper * (1.0 - down_share) + lower * down_share;
}

/// Size in characters of a picture with the image's proportions; a character is about twice as high as wide.
TextSize picture_size(const PhasorImage& image, const TextSize& room) {
  const double ratio = static_cast<double>(image.rows) / image.columns;
  const double widest = std::min({static_cast<double>(room.columns), 2.0 * room.lines / ratio,
                                  static_cast<double>(kMostPixels), kMostPixels / ratio});
  const int columns = std::max(2, static_cast<int>(widest));
  return {.columns = columns, .lines = std::max(1, static_cast<int>(columns * ratio / 2.0))};
}

}  // namespace

std::string draw_moment(const PhasorImage& image, double phase_rad, double top, const TextSize& room) {
  const TextSize size = picture_size(image, room);
  const std::complex<double> turn = std::polar(1.0 / top, phase_rad);
  const auto colour = [&](int half_line, int column) {
    const double down = (half_line + 0.5) / (2.0 * size.lines);
    return signed_colour((value_at(image, down, (column + 0.5) / size.columns) * turn).real());
  };
  std::string text;
  for (int line = 0; line < size.lines; ++line) {
    for (int column = 0; column < size.columns; ++column) {
      const Rgb8 upper = colour(2 * line, column);
      const Rgb8 lower = colour(2 * line + 1, column);
      fmt::format_to(std::back_inserter(text), "\x1b[38;2;{};{};{}m\x1b[48;2;{};{};{}m\u2580", upper.red, upper.green,
                     upper.blue, lower.red, lower.green, lower.blue);
    }
    text += "\x1b[0m\n";
  }
  return text;
}

std::string draw_magnitudes(const PhasorImage& image, double top, const TextSize& room) {
  constexpr std::string_view kSteps = " .:-=+*#%@";
  const TextSize size = picture_size(image, room);
  std::string text;
  for (int line = 0; line < size.lines; ++line) {
    for (int column = 0; column < size.columns; ++column) {
      const double share = std::abs(value_at(image, (line + 0.5) / size.lines, (column + 0.5) / size.columns)) / top;
      const double step =
          std::isfinite(share) ? std::clamp(share, 0.0, 1.0) * static_cast<double>(kSteps.size() - 1) : 0.0;
      text += kSteps[static_cast<std::size_t>(std::lround(step))];
    }
    text += '\n';
  }
  return text;
}

}  // namespace nearfield::cli
