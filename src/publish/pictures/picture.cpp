#include "publish/pictures/picture.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <complex>
#include <limits>
#include <numbers>
#include <span>
#include <tuple>
#include <utility>
#include <vector>

#include "core/colours.hpp"
#include "core/error.hpp"
#include "core/images.hpp"
#include "core/numerics.hpp"
#include "core/settings.hpp"
#include "publish/pictures/axis.hpp"
#include "publish/pictures/canvas.hpp"
#include "publish/pictures/picture_parts.hpp"
#include "publish/pictures/value_scale.hpp"

namespace nearfield {
namespace {

constexpr double kPhaseFloor = 0.01;  ///< fraction of the maximum: below it, the phase is mostly noise
constexpr Rgb8 kFaintPhase = {222, 222, 222};

/// One image with its colour scale.
struct View {
  std::span<const std::complex<float>> pixels;  ///< [row][column]
  std::size_t rows = 0;
  std::size_t columns = 0;
  double maximum = 0.0;  ///< largest finite magnitude
  double top = 0.0;      ///< top of the magnitude's scale
  bool decibels = false;
  double floor_db = 0.0;
  double db_per_decade = 20.0;  ///< 10 for powers
};

double magnitude_of(std::complex<float> value) { return std::abs(std::complex<double>(value)); }

void check(const ResultHeader& header, const Frame& frame, const Selection& image, const PictureOptions& options) {
  require_in_range(options);
  const Product* const images = images_of(header);
  if (images == nullptr || image.product >= header.products.size() || images != &header.products[image.product] ||
      image.indices.size() != 2) {
    throw DataError(
        fmt::format("picture: frame {}: expected a plane and a frequency of images, found others", frame.sequence));
  }
  const std::size_t expected = header.values(*images);
  const std::size_t found =
      image.product < frame.products.size() ? frame.products[image.product].size() / sizeof(std::complex<float>) : 0;
  if (frame.products.size() != header.products.size() || found != expected) {
    throw DataError(
        fmt::format("picture: frame {}: expected {} values of images, found {}", frame.sequence, expected, found));
  }
  const std::size_t planes = header.coordinates("z").size();
  const std::size_t frequencies = header.coordinates("frequency").size();
  if (image.indices[0] >= planes || image.indices[1] >= frequencies) {
    throw DataError(fmt::format("picture: expected one of {} planes and {} frequencies, found plane {}, frequency {}",
                                planes, frequencies, image.indices[0], image.indices[1]));
  }
}

const std::string& quantity_of(const ResultHeader& header) { return images_of(header)->quantity; }

bool is_intensity(const ResultHeader& header) { return quantity_of(header) == name_of(Quantity::kActiveIntensity); }

View view_of(const ResultHeader& header, const Frame& frame, const Selection& image, const PictureOptions& options) {
  View view;
  const std::size_t number = image.indices[0] * header.coordinates("frequency").size() + image.indices[1];
  const std::size_t pixels = image_pixels(header);
  view.pixels = values_of<std::complex<float>>(frame.products[image.product]).subspan(number * pixels, pixels);
  view.rows = header.coordinates("y").size();
  view.columns = header.coordinates("x").size();
  for (const std::complex<float> pixel : view.pixels) {
    view.maximum = is_finite(pixel) ? std::max(view.maximum, magnitude_of(pixel)) : view.maximum;
  }
  view.top = options.fixed_maximum.value_or(view.maximum);
  view.decibels = options.decibels;
  view.floor_db = options.floor_db;
  view.db_per_decade = is_intensity(header) ? 10.0 : 20.0;
  return view;
}

/// Position of a magnitude on its scale, 0 at the bottom, 1 at the top, larger above it.
double scale_position(const View& view, double magnitude) {
  if (!(view.top > 0.0)) {
    return 0.0;
  }
  const double ratio = magnitude / view.top;
  return view.decibels ? 1.0 - view.db_per_decade * std::log10(ratio) / view.floor_db : ratio;
}

/// Paints `view` into `area`, each pixel of the image as a cell of uniform colour.
template <typename Colour>
void paint_cells(Canvas& canvas, const Area& area, const View& view, Colour colour) {
  canvas.paint(area.x, area.y, area.width, area.height, [&](int column, int row) {
    const std::size_t cell_column =
        static_cast<std::size_t>(column) * view.columns / static_cast<std::size_t>(area.width);
    const std::size_t cell_row = static_cast<std::size_t>(row) * view.rows / static_cast<std::size_t>(area.height);
    const std::complex<float> pixel = view.pixels[cell_row * view.columns + cell_column];
    return is_finite(pixel) ? colour(pixel) : hatch(column, row);
  });
  canvas.frame(area.x, area.y, area.width, area.height);
}

/// Outer edges of the pixels along an axis; half a pitch beyond the outer centres.
struct Range {
  double low = 0.0;
  double high = 0.0;
};

Range edges_of(const std::vector<double>& positions_m, double metres_per_pixel, int pixels) {
  const double centre = (positions_m.front() + positions_m.back()) / 2.0;
  return {centre - metres_per_pixel * pixels / 2.0, centre + metres_per_pixel * pixels / 2.0};
}

/// Metres per pixel of the picture, equal in both directions.
double metres_per_pixel(const ResultHeader& header, const Area& area) {
  const auto span_m = [](const std::vector<double>& positions_m, int pixels) {
    const auto count = static_cast<double>(positions_m.size());
    return (positions_m.back() - positions_m.front()) * count / (count - 1.0) / pixels;
  };
  const std::vector<double>& x_m = header.coordinates("x");
  const std::vector<double>& y_m = header.coordinates("y");
  if (x_m.size() > 1) {
    return span_m(x_m, area.width);
  }
  return y_m.size() > 1 ? span_m(y_m, area.height) : 0.01 / area.width;
}

/// Most ticks whose adjacent labels have room, up to `most`.
std::vector<Tick> ticks_for_width(const Canvas& canvas, const Range& range, int width,
                                  std::size_t most = std::size_t{1} << 20U) {
  constexpr double kGap = 16.0;
  constexpr int kNarrowestLabel = 10;
  const int most_here =
      static_cast<int>(std::min(most, static_cast<std::size_t>(std::max(1, width / kNarrowestLabel))));
  for (int max_count = most_here; max_count > 1; --max_count) {
    std::vector<Tick> ticks = ticks_between(range.low, range.high, max_count);
    if (ticks.size() < 2 || (ticks[1].position - ticks[0].position) * width >= widest_label(canvas, ticks) + kGap) {
      return ticks;
    }
  }
  return ticks_between(range.low, range.high, 1);
}

void draw_axes(Canvas& canvas, const Area& area, const ResultHeader& header) {
  if (shows_points_of_surface(header)) {
    const std::size_t points = header.coordinates("x").size();
    draw_axis_below(canvas, area,
                    ticks_for_width(canvas, {-0.5, static_cast<double>(points) - 0.5}, area.width, points), "point");
    return;
  }
  const double scale = metres_per_pixel(header, area);
  const Range x_m = edges_of(header.coordinates("x"), scale, area.width);
  const Range y_m = edges_of(header.coordinates("y"), scale, area.height);
  draw_axis_below(canvas, area, ticks_for_width(canvas, x_m, area.width), "x [m]");
  draw_axis_left(canvas, area, ticks_between(y_m.low, y_m.high, std::max(1, area.height / kPixelsPerTick)),
                 axis_title("y", "m"));
}

/// Symbol and name of a quantity.
struct QuantityName {
  std::string symbol;
  std::string words;
};

QuantityName name_of_quantity(const ResultHeader& header) {
  for (const auto& [quantity, symbol, words] : {std::tuple{Quantity::kPressure, "p", "Sound pressure"},
                                                {Quantity::kNormalVelocity, "v", "Normal velocity"},
                                                {Quantity::kDisplacement, "u", "Displacement"},
                                                {Quantity::kActiveIntensity, "I", "Active intensity"}}) {
    if (quantity_of(header) == name_of(quantity)) {
      return {symbol, words};
    }
  }
  return {quantity_of(header), quantity_of(header)};
}

void draw_level_bar(Canvas& canvas, const Area& bar, const ResultHeader& header, const View& view) {
  const std::string symbol = name_of_quantity(header).symbol;
  const int max_ticks = std::max(2, bar.height / kPixelsPerTick);
  const LevelRule rule = level_rule(*images_of(header));
  const double top_db = view.top > 0.0 ? rule.level(view.top) : 0.0;
  const std::string unit = view.top > 0.0 ? rule.unit : "dB re maximum";
  draw_bar(canvas, bar, ticks_between(top_db + view.floor_db, top_db, max_ticks),
           fmt::format("|{}| [{}]", symbol, unit), magnitude_colour);
}

void draw_magnitude(Canvas& canvas, const PictureLayout& layout, const ResultHeader& header, const View& view) {
  paint_cells(canvas, layout.magnitude, view,
              [&](std::complex<float> pixel) { return magnitude_colour(scale_position(view, magnitude_of(pixel))); });
  draw_axes(canvas, layout.magnitude, header);
  canvas.text(layout.magnitude.x, layout.magnitude.y - 14,
              fmt::format("Magnitude (peak), maximum {}", with_si_prefix(view.maximum, images_of(header)->unit)),
              kPanelTitleStyle);
  if (view.decibels) {
    draw_level_bar(canvas, layout.magnitude_bar, header, view);
    return;
  }
  const int max_ticks = std::max(2, layout.magnitude_bar.height / kPixelsPerTick);
  const SiPrefix prefix = si_prefix(view.top);
  const std::vector<Tick> ticks =
      view.top > 0.0 ? ticks_between(0.0, view.top / prefix.factor, max_ticks) : std::vector<Tick>{{0.0, "0"}};
  draw_bar(
      canvas, layout.magnitude_bar, ticks,
      fmt::format("|{}| [{}{}]", name_of_quantity(header).symbol, prefix.prefix, written_unit(images_of(header)->unit)),
      magnitude_colour);
}

/// Draws a real quantity: its signed values on the left, on a scale symmetric about 0.
void draw_signed(Canvas& canvas, const PictureLayout& layout, const ResultHeader& header, const View& view) {
  paint_cells(canvas, layout.magnitude, view, [&](std::complex<float> pixel) {
    return signed_colour(view.top > 0.0 ? static_cast<double>(pixel.real()) / view.top : 0.0);
  });
  draw_axes(canvas, layout.magnitude, header);
  double least = 0.0;
  double most = 0.0;
  for (const std::complex<float> pixel : view.pixels) {
    least = is_finite(pixel) ? std::min(least, static_cast<double>(pixel.real())) : least;
    most = is_finite(pixel) ? std::max(most, static_cast<double>(pixel.real())) : most;
  }
  canvas.text(layout.magnitude.x, layout.magnitude.y - 14,
              fmt::format("From {} to {}, positive along +z", with_si_prefix(least, images_of(header)->unit),
                          with_si_prefix(most, images_of(header)->unit)),
              kPanelTitleStyle);
  const int max_ticks = std::max(3, layout.magnitude_bar.height / kPixelsPerTick);
  const SiPrefix prefix = si_prefix(view.top);
  const double top = view.top / prefix.factor;
  const std::vector<Tick> ticks = top > 0.0 ? ticks_between(-top, top, max_ticks) : std::vector<Tick>{{0.5, "0"}};
  draw_bar(
      canvas, layout.magnitude_bar, ticks,
      fmt::format("{} [{}{}]", name_of_quantity(header).symbol, prefix.prefix, written_unit(images_of(header)->unit)),
      [](double value) { return signed_colour(2.0 * value - 1.0); });
}

/// Draws the level next to it, without the sign, which shows weak values.
void draw_level(Canvas& canvas, const PictureLayout& layout, const ResultHeader& header, View view) {
  view.decibels = true;
  paint_cells(canvas, layout.phase, view,
              [&](std::complex<float> pixel) { return magnitude_colour(scale_position(view, magnitude_of(pixel))); });
  draw_axes(canvas, layout.phase, header);
  canvas.text(layout.phase.x, layout.phase.y - 14, "Level of the magnitude", kPanelTitleStyle);
  draw_level_bar(canvas, layout.phase_bar, header, view);
}

void draw_phase(Canvas& canvas, const PictureLayout& layout, const ResultHeader& header, const View& view) {
  paint_cells(canvas, layout.phase, view, [&](std::complex<float> pixel) {
    const bool faint = !(magnitude_of(pixel) >= kPhaseFloor * view.maximum) || !(view.maximum > 0.0);
    return faint ? kFaintPhase : phase_colour(std::arg(std::complex<double>(pixel)));
  });
  draw_axes(canvas, layout.phase, header);
  canvas.text(layout.phase.x, layout.phase.y - 14, "Phase (grey: below 1 % of maximum)", kPanelTitleStyle);
  const std::vector<Tick> ticks = {{0.0, "\u2212180"}, {0.25, "\u221290"}, {0.5, "0"}, {0.75, "90"}, {1.0, "180"}};
  draw_bar(canvas, layout.phase_bar, ticks, fmt::format("arg {} [\u00b0]", name_of_quantity(header).symbol),
           [](double value) { return phase_colour((value - 0.5) * 2.0 * std::numbers::pi); });
}

/// "z = 0.01 m", or the range of a surface that is no plane.
std::string height_in_words(const ResultHeader& header, const Selection& image) {
  const std::vector<double> heights_m = surface_heights_m(header);
  if (heights_m.empty()) {
    return fmt::format("z = {:.4g} m", header.coordinates("z")[image.indices[0]] + 0.0);
  }
  const auto [least, most] = std::minmax_element(heights_m.begin(), heights_m.end());
  return fmt::format("on a surface, z = {:.4g} to {:.4g} m", *least, *most);
}

void draw_titles(Canvas& canvas, const ResultHeader& header, const Frame& frame, const Selection& image) {
  const std::string title =
      fmt::format("{}, {:.1f} Hz, {}", name_of_quantity(header).words,
                  header.coordinates("frequency")[image.indices[1]], height_in_words(header, image));
  canvas.text(kMargin, 24, with_minus_signs(title), kTitleStyle);
  std::string subtitle = fmt::format("frame {}   first sample {}   {}", frame.sequence, frame.first_bit_time,
                                     time_in_words(frame.timestamp_ns));
  const auto cutoff_rad_per_m = values_in<float>(header, frame.products, "cutoff_rad_per_m");
  if (image.indices[1] < cutoff_rad_per_m.size() && std::isfinite(cutoff_rad_per_m[image.indices[1]])) {
    subtitle += fmt::format("   cut-off {:.4g} rad/m", cutoff_rad_per_m[image.indices[1]]);
  }
  canvas.text(kMargin, 47, subtitle, kSubtitleStyle);
}

/// True if a pixel of a surface that is no plane has a normal of 0.
bool lies_beside_surface(const ResultHeader& header, std::size_t pixel) {
  constexpr std::size_t kComponents = 3;
  const std::vector<double>& normals = header.coordinates("normal");
  const std::size_t first = kComponents * pixel;
  return first + kComponents <= normals.size() && normals[first] == 0.0 && normals[first + 1] == 0.0 &&
         normals[first + 2] == 0.0;
}

std::vector<std::string> notes_of(const ResultHeader& header, const View& view, const Frame& frame) {
  std::size_t lost = 0;
  std::size_t beside = 0;
  std::size_t above = 0;
  for (std::size_t i = 0; i < view.pixels.size(); ++i) {
    if (!is_finite(view.pixels[i])) {
      ++(lies_beside_surface(header, i) ? beside : lost);
      continue;
    }
    above += magnitude_of(view.pixels[i]) > view.top ? 1U : 0U;
  }
  std::vector<std::string> notes;
  if (frame.flags != 0) {
    notes.push_back(fmt::format("Frame: {}.", flags_in_words(frame.flags)));
  }
  for (const auto& [count, reason] : {std::pair{beside, "do not lie on the surface"}, {lost, "are not finite"}}) {
    if (count > 0) {
      notes.push_back(fmt::format("Hatched: {} of {} pixels {}.", count, view.pixels.size(), reason));
    }
  }
  if (above > 0) {
    notes.push_back(fmt::format("{} of {} pixels lie above the scale.", above, view.pixels.size()));
  }
  if (!(view.maximum > 0.0) && lost + beside < view.pixels.size()) {
    notes.emplace_back("The image is zero everywhere.");
  }
  return notes;
}

}  // namespace

void write_picture(const std::filesystem::path& path, const ResultHeader& header, const Frame& frame,
                   const Selection& image, const PictureOptions& options) {
  check(header, frame, image, options);
  const PictureLayout layout = picture_layout(header, options);
  const View view = view_of(header, frame, image, options);
  const std::vector<std::string> notes = wrap(Canvas(1, 1), notes_of(header, view, frame), layout.width - 2 * kMargin);

  Canvas canvas(layout.width, layout.height + kNoteHeight * static_cast<int>(notes.size()));
  draw_titles(canvas, header, frame, image);
  if (is_intensity(header)) {
    draw_signed(canvas, layout, header, view);
    draw_level(canvas, layout, header, view);
  } else {
    draw_magnitude(canvas, layout, header, view);
    draw_phase(canvas, layout, header, view);
  }
  double y = layout.height;
  for (const std::string& note : notes) {
    canvas.text(kMargin, y, note, kNoteStyle);
    y += kNoteHeight;
  }
  canvas.write_png(path);
}

}  // namespace nearfield
