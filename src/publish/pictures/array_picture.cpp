#include "publish/pictures/array_picture.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <complex>
#include <optional>
#include <span>

#include "core/error.hpp"
#include "core/images.hpp"
#include "core/product.hpp"
#include "publish/pictures/axis.hpp"
#include "publish/pictures/canvas.hpp"
#include "publish/pictures/picture_parts.hpp"
#include "publish/pictures/sources_table.hpp"

namespace nearfield {
namespace {

// Margins around the panel in pixels: titles above, tick labels and axis titles at the left and below, the colour bar
// at the right.
constexpr int kArrayTop = 92;
constexpr int kArrayLeft = 130;
constexpr int kArrayBarGap = 14;
constexpr int kArrayBarWidth = 16;
constexpr int kArrayRight = 90;
constexpr int kArrayBelow = 60;
constexpr int kArrayLeastWidth = 740;
constexpr int kArrayLeastBarHeight = 120;
constexpr int kMostDown = 600;  ///< unless there are more rows
constexpr int kLargestCell = 64;
constexpr int kArrayLargestPanel = 4096;

/// The drawn axes; a product with one axis has no vertical one.
struct Drawn {
  const Axis* across = nullptr;
  const Axis* down = nullptr;

  [[nodiscard]] std::size_t columns() const { return across->size(); }
  [[nodiscard]] std::size_t rows() const { return down == nullptr ? 1 : down->size(); }
};

Drawn drawn_axes(const ResultHeader& header, const Product& product) {
  const std::size_t count = product.axes.size();
  return {.across = header.axis(product.axes.at(count - 1)),
          .down = count > 1 ? header.axis(product.axes[count - 2]) : nullptr};
}

bool is_complex(const Product& product) { return product.type == ElementType::kComplex64; }

/// Names of the axes that are not drawn.
std::vector<std::string> chosen_axes(const Product& product) {
  const std::size_t drawn = std::min<std::size_t>(2, product.axes.size());
  return {product.axes.begin(), product.axes.end() - static_cast<std::ptrdiff_t>(drawn)};
}

/// Values of the coloured cells.
ScaledValues cells_of(const ResultHeader& header, const Frame& frame, const Selection& subject,
                      const PictureOptions& options) {
  const Product& product = header.products[subject.product];
  return scaled_values(product, map_values(header, frame, subject), options);
}

/// "1000", or for two numbers "400 to 600".
std::string text_of_entry(const Axis& axis, std::size_t index) {
  const auto first = axis.values.begin() + static_cast<std::ptrdiff_t>(index * axis.components);
  std::vector<std::string> numbers;
  for (auto value = first; value != first + static_cast<std::ptrdiff_t>(axis.components); ++value) {
    numbers.push_back(fmt::format("{:.6g}", *value + 0.0));
  }
  return with_minus_signs(fmt::format("{}", fmt::join(numbers, axis.name == "band" ? " to " : ", ")));
}

bool has_unit(const std::string& unit) { return !unit.empty() && unit != "1"; }

/// False for units such as "Pa^2", as the prefix would be squared, too.
bool takes_prefix(const std::string& unit) {
  const std::size_t end = std::min(unit.find_first_of("^/*"), unit.size());
  return has_unit(unit) && (end == unit.size() || unit[end] != '^');
}

std::string text_of_value(double value, const std::string& unit) {
  if (takes_prefix(unit)) {
    return with_si_prefix(value, unit);
  }
  return with_minus_signs(
      fmt::format("{:.3g}{}{}", value, has_unit(unit) ? " " : "", has_unit(unit) ? written_unit(unit) : ""));
}

/// Value as text, for a level "63.2 dB re 20 µPa".
std::string text_of(const ScaledValues& cells, double value, const std::string& unit) {
  return cells.are_levels ? with_minus_signs(fmt::format("{:.1f} {}", cells.rule.level(value), cells.rule.unit))
                          : text_of_value(value, unit);
}

std::string title_of(const Axis& axis) { return axis_title(axis.name, axis.unit); }

/// Labels in the middle of each cell, or of every second, third, ... cell, so that `pixels` of them have room.
std::vector<Tick> ticks_of(const Axis& axis, int length, double pixels) {
  const std::size_t count = axis.size();
  const double of_cell = static_cast<double>(length) / static_cast<double>(count);
  const auto step = std::max<std::size_t>(1, static_cast<std::size_t>(std::ceil(pixels / of_cell)));
  std::vector<Tick> ticks;
  for (std::size_t i = 0; i < count; i += step) {
    ticks.push_back({(static_cast<double>(i) + 0.5) / static_cast<double>(count), text_of_entry(axis, i)});
  }
  return ticks;
}

void draw_axes(Canvas& canvas, const Area& area, const Drawn& drawn) {
  constexpr double kGap = 16.0;
  constexpr double kLine = 22.0;
  const double widest = widest_label(canvas, ticks_of(*drawn.across, area.width, 0.0));
  draw_axis_below(canvas, area, ticks_of(*drawn.across, area.width, widest + kGap), title_of(*drawn.across));
  if (drawn.down != nullptr) {
    draw_axis_left(canvas, area, ticks_of(*drawn.down, area.height, kLine), title_of(*drawn.down));
  }
}

void draw_cells(Canvas& canvas, const Area& area, const Drawn& drawn, const ScaledValues& cells) {
  canvas.paint(area.x, area.y, area.width, area.height, [&](int column, int row) {
    const std::size_t cell_column =
        static_cast<std::size_t>(column) * drawn.columns() / static_cast<std::size_t>(area.width);
    const std::size_t cell_row = static_cast<std::size_t>(row) * drawn.rows() / static_cast<std::size_t>(area.height);
    const double value = cells.values[cell_row * drawn.columns() + cell_column];
    return std::isfinite(value) ? magnitude_colour(cells.position(value)) : hatch(column, row);
  });
  canvas.frame(area.x, area.y, area.width, area.height);
}

void draw_scale(Canvas& canvas, const Area& bar, const Product& product, const ScaledValues& cells) {
  const bool has_prefix = takes_prefix(product.unit) && !cells.are_levels;
  const SiPrefix prefix = has_prefix ? si_prefix(std::max(-cells.low, cells.high)) : SiPrefix{};
  const std::vector<Tick> ticks = cells.high > cells.low
                                      ? ticks_between(cells.low / prefix.factor, cells.high / prefix.factor,
                                                      std::max(2, bar.height / kPixelsPerTick))
                                      : std::vector<Tick>{{0.0, "0"}};
  const std::string name = is_complex(product) ? fmt::format("|{}|", product.name) : product.name;
  const std::string unit = cells.are_levels ? cells.rule.unit : prefix.prefix + written_unit(product.unit);
  draw_bar(canvas, bar, ticks, has_unit(unit) ? fmt::format("{} [{}]", name, unit) : name, magnitude_colour);
}

/// "63.2 dB re 20 µPa at y = 0.1 m, x = -0.2 m" for the largest value, or the range of values.
std::string range_in_words(const Product& product, const Drawn& drawn, const ScaledValues& cells) {
  const std::string kind = is_complex(product) ? "Magnitude, " : "";
  if (!cells.are_levels || !(cells.most > 0.0)) {
    return fmt::format("{}{} to {}", kind, text_of_value(cells.least, product.unit),
                       text_of_value(cells.most, product.unit));
  }
  const auto most = std::find(cells.values.begin(), cells.values.end(), cells.most);
  const auto cell = static_cast<std::size_t>(std::distance(cells.values.begin(), most));
  const auto place = [](const Axis& axis, std::size_t index) {
    return fmt::format("{} = {}{}{}", axis.name, text_of_entry(axis, index), has_unit(axis.unit) ? " " : "",
                       has_unit(axis.unit) ? axis.unit : "");
  };
  return fmt::format("Maximum {} at {}{}", text_of(cells, cells.most, product.unit),
                     place(*drawn.across, cell % drawn.columns()),
                     drawn.down == nullptr ? "" : ", " + place(*drawn.down, cell / drawn.columns()));
}

void draw_titles(Canvas& canvas, const ResultHeader& header, const Frame& frame, const Selection& subject,
                 const Drawn& drawn, const ScaledValues& cells) {
  const Product& product = header.products[subject.product];
  std::string title = product.quantity;
  title.front() = static_cast<char>(std::toupper(static_cast<unsigned char>(title.front())));
  const std::vector<std::string> chosen = chosen_axes(product);
  for (std::size_t i = 0; i < chosen.size(); ++i) {
    const Axis& axis = *header.axis(chosen[i]);
    title += fmt::format(", {} = {}{}{}", axis.name, text_of_entry(axis, subject.indices[i]),
                         has_unit(axis.unit) ? " " : "", has_unit(axis.unit) ? axis.unit : "");
  }
  canvas.text(kMargin, 24, title, kTitleStyle);
  canvas.text(kMargin, 47,
              fmt::format("{} of {}   frame {}   first sample {}   {}", product.name, header.processor, frame.sequence,
                          frame.first_bit_time, time_in_words(frame.timestamp_ns)),
              kSubtitleStyle);
  canvas.text(kMargin, 72, range_in_words(product, drawn, cells), kPanelTitleStyle);
}

std::vector<std::string> notes_of(const Frame& frame, const ScaledValues& cells) {
  std::vector<std::string> notes;
  if (frame.flags != 0) {
    notes.push_back(fmt::format("Frame: {}.", flags_in_words(frame.flags)));
  }
  const auto lost =
      std::count_if(cells.values.begin(), cells.values.end(), [](double value) { return !std::isfinite(value); });
  if (lost > 0) {
    notes.push_back(fmt::format("Hatched: {} of {} values are not finite.", lost, cells.values.size()));
  }
  if (cells.above() > 0) {
    notes.push_back(fmt::format("{} of {} values lie above the scale.", cells.above(), cells.values.size()));
  }
  return notes;
}

/// Part of a file's name: the axis and its value, with equal width in all names; if an entry has several numbers its
/// index, and for bands also the limits, which several bands could share after rounding: "_band1_447-562Hz".
std::string name_of_entry(const Axis& axis, std::size_t index) {
  if (axis.components != 1) {
    const std::string name = fmt::format("_{}{:0{}}", axis.name, index, fmt::formatted_size("{}", axis.size() - 1));
    const bool is_band = axis.name == "band" && axis.components == 2;
    return is_band
               ? fmt::format("{}_{:.0f}-{:.0f}{}", name, axis.values[2 * index], axis.values[2 * index + 1], axis.unit)
               : name;
  }
  const bool is_signed = std::any_of(axis.values.begin(), axis.values.end(), [](double value) { return value < 0.0; });
  const int decimals = decimals_for(axis.values, axis.unit == "m" ? 3 : 1);
  const auto text = [&](double value) {
    return is_signed ? fmt::format("{:+.{}f}", value + 0.0, decimals) : fmt::format("{:.{}f}", value + 0.0, decimals);
  };
  std::size_t width = 0;
  for (const double value : axis.values) {
    width = std::max(width, text(value).size());
  }
  std::string number = text(axis.values[index]);
  number.insert(is_signed ? 1 : 0, width - number.size(), '0');
  std::string unit = has_unit(axis.unit) ? axis.unit : "";
  std::replace(unit.begin(), unit.end(), '/', '_');
  return fmt::format("_{}{}{}", axis.name, number, unit);
}

/// "frame00012_surface2_images_z+0.000m_1007.1Hz_pressure.png" for a further processor.
std::string name_of_image(const ResultHeader& header, const Frame& frame, const Selection& image) {
  std::string name = picture_name(header, image, frame.sequence);
  if (frame.processor > 0) {
    name.insert(name.find('_'), fmt::format("_{}_images", header.processor));
  }
  return name;
}

/// Calls use(selection, are_images, picture's name, options) for each picture of a frame.
template <typename Use>
void for_pictures(const ResultHeader& header, const Frame& frame, PictureScale& scale, Use use) {
  for (std::size_t product = 0; product < header.products.size(); ++product) {
    const Product& one = header.products[product];
    if (one.form != Product::Form::kArray || one.axes.empty()) {
      continue;
    }
    const bool are_images = &one == images_of(header);
    for (const Selection& subject : pictures_of(header, product)) {
      const std::string name =
          are_images ? name_of_image(header, frame, subject) : array_picture_name(header, subject, frame.sequence);
      use(subject, are_images, name, scale.options_for(name, level_rule(one), map_values(header, frame, subject)));
    }
  }
}

}  // namespace

std::vector<Selection> pictures_of(const ResultHeader& header, std::size_t product) {
  std::vector<Selection> subjects = {{.product = product}};
  for (const std::string& name : chosen_axes(header.products[product])) {
    std::vector<Selection> longer;
    for (const Selection& subject : subjects) {
      for (std::size_t index = 0; index < header.axis(name)->size(); ++index) {
        longer.push_back(subject);
        longer.back().indices.push_back(index);
      }
    }
    subjects = std::move(longer);
  }
  return subjects;
}

ArrayLayout array_layout(const ResultHeader& header, const Product& product, const PictureOptions& options) {
  const Drawn drawn = drawn_axes(header, product);
  const int columns = static_cast<int>(std::min<std::size_t>(drawn.columns(), kArrayLargestPanel));
  const int rows = static_cast<int>(std::min<std::size_t>(drawn.rows(), kArrayLargestPanel));
  const int room =
      std::max(1, std::max(options.width, kArrayLeastWidth) - kArrayLeft - kArrayBarGap - kArrayBarWidth - kArrayRight);
  // A cell's sides are comparable only along axes of one unit.
  const bool is_square = drawn.down == nullptr || drawn.down->unit == drawn.across->unit;
  const int across =
      std::clamp(is_square ? std::min(room / columns, kMostDown / rows) : room / columns, 1, kLargestCell);
  const int down = is_square ? across : std::clamp(kMostDown / rows, 1, kLargestCell);
  ArrayLayout layout;
  layout.panel = {kArrayLeft, kArrayTop, columns * across, rows * down};
  layout.bar = {kArrayLeft + layout.panel.width + kArrayBarGap, kArrayTop, kArrayBarWidth,
                std::max(layout.panel.height, kArrayLeastBarHeight)};
  layout.width = std::max(kArrayLeastWidth, layout.bar.x + kArrayBarWidth + kArrayRight);
  layout.height = kArrayTop + layout.bar.height + kArrayBelow;
  return layout;
}

std::string array_picture_name(const ResultHeader& header, const Selection& subject, std::uint64_t frame_index) {
  const Product& product = header.products.at(subject.product);
  std::string name = fmt::format("frame{:05}_{}_{}", frame_index, header.processor, product.name);
  const std::vector<std::string> chosen = chosen_axes(product);
  for (std::size_t i = 0; i < chosen.size(); ++i) {
    name += name_of_entry(*header.axis(chosen[i]), subject.indices.at(i));
  }
  return name + ".png";
}

std::vector<double> map_values(const ResultHeader& header, const Frame& frame, const Selection& subject) {
  const Product& product = header.products.at(subject.product);
  if (frame.products.size() != header.products.size() ||
      frame.products[subject.product].size() != header.bytes(product)) {
    throw DataError(
        fmt::format("picture: frame {}: {} has not the size that its axes say", frame.sequence, product.name));
  }
  std::size_t picture = 0;
  const std::vector<std::string> chosen = chosen_axes(product);
  for (std::size_t i = 0; i < chosen.size(); ++i) {
    picture = picture * header.axis(chosen[i])->size() + subject.indices.at(i);
  }
  const Drawn drawn = drawn_axes(header, product);
  const std::size_t bytes = drawn.rows() * drawn.columns() * bytes_of(product.type);
  std::vector<double> values;
  for (const std::complex<double> value :
       complex_values_of(product.type, frame.products[subject.product].subspan(picture * bytes, bytes))) {
    values.push_back(is_complex(product) ? std::abs(value) : value.real());
  }
  return values;
}

void write_array_picture(const std::filesystem::path& path, const ResultHeader& header, const Frame& frame,
                         const Selection& subject, const PictureOptions& options, const std::vector<Circle>& circles) {
  require_in_range(options);
  const Product& product = header.products.at(subject.product);
  const ScaledValues cells = cells_of(header, frame, subject, options);
  const Drawn drawn = drawn_axes(header, product);
  const ArrayLayout layout = array_layout(header, product, options);
  const std::vector<std::string> notes = wrap(Canvas(1, 1), notes_of(frame, cells), layout.width - 2 * kMargin);

  Canvas canvas(layout.width, layout.height + kNoteHeight * static_cast<int>(notes.size()));
  draw_titles(canvas, header, frame, subject, drawn, cells);
  draw_cells(canvas, layout.panel, drawn, cells);
  if (drawn.down != nullptr) {
    draw_circles(canvas, layout.panel, *drawn.across, *drawn.down, circles);
  }
  draw_axes(canvas, layout.panel, drawn);
  draw_scale(canvas, layout.bar, product, cells);
  double y = layout.height;
  for (const std::string& note : notes) {
    canvas.text(kMargin, y, note, kNoteStyle);
    y += kNoteHeight;
  }
  canvas.write_png(path);
}

void hold_result_maxima(const ResultHeader& header, const Frame& frame, PictureScale& scale) {
  for_pictures(header, frame, scale, [](const Selection&, bool, const std::string&, const PictureOptions&) {});
}

std::size_t write_result_pictures(const std::filesystem::path& directory, const ResultHeader& header,
                                  const Frame& frame, PictureScale& scale) {
  const std::optional<std::size_t> table = sources_table(header);
  const std::vector<FoundSource> sources =
      table ? read_sources(header.products[*table], frame.products[*table]) : std::vector<FoundSource>();
  std::size_t written = 0;
  const auto write = [&](const Selection& subject, bool are_images, const std::string& name,
                         const PictureOptions& options) {
    if (are_images) {
      write_picture(directory / name, header, frame, subject, options);
    } else {
      std::vector<Circle> circles;
      if (!sources.empty()) {
        circles =
            circles_on(header, header.products[subject.product], subject.indices, header.products[*table], sources);
      }
      write_array_picture(directory / name, header, frame, subject, options, circles);
    }
    ++written;
  };
  for_pictures(header, frame, scale, write);
  return written;
}

}  // namespace nearfield
