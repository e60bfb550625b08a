#include "publish/pictures/array_picture.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <optional>

#include "core/product_values.hpp"
#include "nearfield/error.hpp"
#include "publish/pictures/axis.hpp"
#include "publish/pictures/canvas.hpp"
#include "publish/pictures/picture_parts.hpp"

namespace nearfield {
namespace {

// Pixels around the panel: titles above, tick labels and axis titles at the left and below, the colour bar at the
// right.
constexpr int kArrayTop = 92;
constexpr int kArrayLeft = 130;
constexpr int kArrayBarGap = 14;
constexpr int kArrayBarWidth = 16;
constexpr int kArrayRight = 90;
constexpr int kArrayBelow = 60;
constexpr int kArrayLeastWidth = 740;
constexpr int kArrayLeastBarHeight = 120;
constexpr int kMostDown = 600;  ///< unless there are more rows than fit
constexpr int kLargestCell = 64;
constexpr int kArrayLargestPanel = 4096;

/// The axes that are drawn; of a product with one axis there is none that runs down.
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

/// Names of the axes that are not drawn.
std::vector<std::string> chosen_axes(const Product& product) {
  const std::size_t drawn = std::min<std::size_t>(2, product.axes.size());
  return {product.axes.begin(), product.axes.end() - static_cast<std::ptrdiff_t>(drawn)};
}

/// What is coloured, and the ends of its scale.
struct Cells {
  std::vector<double> values;  ///< [row][column]; magnitudes of complex values
  double least = 0.0;          ///< of the finite values
  double most = 0.0;
  bool are_magnitudes = false;

  [[nodiscard]] double low() const { return std::min(0.0, least); }
  /// 0 to 1 on the scale.
  [[nodiscard]] double position(double value) const { return most > low() ? (value - low()) / (most - low()) : 0.0; }
};

Cells cells_of(const ResultHeader& header, const Frame& frame, const ArraySubject& subject, const Drawn& drawn) {
  const Product& product = header.products[subject.product];
  std::size_t picture = 0;
  const std::vector<std::string> chosen = chosen_axes(product);
  for (std::size_t i = 0; i < chosen.size(); ++i) {
    picture = picture * header.axis(chosen[i])->size() + subject.indices.at(i);
  }
  const std::size_t count = drawn.rows() * drawn.columns();
  const std::size_t bytes = count * bytes_of(product.type);
  Cells cells;
  cells.are_magnitudes = product.type == ElementType::kComplex64;
  for (const std::complex<double> value :
       complex_values_of(product.type, frame.products[subject.product].subspan(picture * bytes, bytes))) {
    cells.values.push_back(cells.are_magnitudes ? std::abs(value) : value.real());
  }
  const auto is_finite = [](double value) { return std::isfinite(value); };
  if (std::any_of(cells.values.begin(), cells.values.end(), is_finite)) {
    cells.least = std::numeric_limits<double>::infinity();
    cells.most = -cells.least;
    for (const double value : cells.values) {
      cells.least = std::isfinite(value) ? std::min(cells.least, value) : cells.least;
      cells.most = std::isfinite(value) ? std::max(cells.most, value) : cells.most;
    }
    cells.most = std::max(cells.most, 0.0);
  }
  return cells;
}

/// "1000" or, of two numbers, "400 to 600".
std::string text_of_entry(const Axis& axis, std::size_t index) {
  const auto first = axis.values.begin() + static_cast<std::ptrdiff_t>(index * axis.components);
  std::vector<std::string> numbers;
  for (auto value = first; value != first + static_cast<std::ptrdiff_t>(axis.components); ++value) {
    numbers.push_back(fmt::format("{:.6g}", *value + 0.0));
  }
  return with_minus_signs(fmt::format("{}", fmt::join(numbers, axis.name == "band" ? " to " : ", ")));
}

bool has_unit(const std::string& unit) { return !unit.empty() && unit != "1"; }

/// A prefix before "Pa^2" would be squared, too.
bool takes_prefix(const std::string& unit) {
  const std::size_t end = std::min(unit.find_first_of("^/*"), unit.size());
  return has_unit(unit) && (end == unit.size() || unit[end] != '^');
}

std::string text_of_value(double value, const std::string& unit) {
  if (takes_prefix(unit)) {
    return with_si_prefix(value, unit);
  }
  return with_minus_signs(fmt::format("{:.3g}{}{}", value, has_unit(unit) ? " " : "", has_unit(unit) ? unit : ""));
}

std::string title_of(const Axis& axis) {
  return has_unit(axis.unit) ? fmt::format("{} [{}]", axis.name, axis.unit) : axis.name;
}

/// A label in the middle of each cell, or of every second, third, ... cell, so that `pixels` of them have room.
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

void draw_cells(Canvas& canvas, const Area& area, const Drawn& drawn, const Cells& cells) {
  canvas.paint(area.x, area.y, area.width, area.height, [&](int column, int row) {
    const std::size_t cell_column =
        static_cast<std::size_t>(column) * drawn.columns() / static_cast<std::size_t>(area.width);
    const std::size_t cell_row = static_cast<std::size_t>(row) * drawn.rows() / static_cast<std::size_t>(area.height);
    const double value = cells.values[cell_row * drawn.columns() + cell_column];
    return std::isfinite(value) ? magnitude_colour(cells.position(value)) : hatch(column, row);
  });
  canvas.frame(area.x, area.y, area.width, area.height);
}

void draw_scale(Canvas& canvas, const Area& bar, const Product& product, const Cells& cells) {
  const SiPrefix prefix = takes_prefix(product.unit) ? si_prefix(std::max(-cells.low(), cells.most)) : SiPrefix{};
  const std::vector<Tick> ticks = cells.most > cells.low()
                                      ? ticks_between(cells.low() / prefix.factor, cells.most / prefix.factor,
                                                      std::max(2, bar.height / kPixelsPerTick))
                                      : std::vector<Tick>{{0.0, "0"}};
  const std::string name = cells.are_magnitudes ? fmt::format("|{}|", product.name) : product.name;
  draw_bar(canvas, bar, ticks,
           has_unit(product.unit) ? fmt::format("{} [{}{}]", name, prefix.prefix, product.unit) : name,
           magnitude_colour);
}

void draw_titles(Canvas& canvas, const ResultHeader& header, const Frame& frame, const ArraySubject& subject,
                 const Cells& cells) {
  const Product& product = header.products[subject.product];
  std::string title = product.name;
  const std::vector<std::string> chosen = chosen_axes(product);
  for (std::size_t i = 0; i < chosen.size(); ++i) {
    const Axis& axis = *header.axis(chosen[i]);
    title += fmt::format(", {} = {}{}{}", axis.name, text_of_entry(axis, subject.indices[i]),
                         has_unit(axis.unit) ? " " : "", has_unit(axis.unit) ? axis.unit : "");
  }
  canvas.text(kMargin, 24, title, kTitleStyle);
  canvas.text(kMargin, 47,
              fmt::format("{}, of {}   frame {}   first sample {}   {}", product.quantity, header.processor,
                          frame.sequence, frame.first_bit_time, time_in_words(frame.timestamp_ns)),
              kSubtitleStyle);
  canvas.text(kMargin, 72,
              fmt::format("{}{} to {}", cells.are_magnitudes ? "Magnitude, " : "",
                          text_of_value(cells.least, product.unit), text_of_value(cells.most, product.unit)),
              kPanelTitleStyle);
}

std::vector<std::string> notes_of(const Frame& frame, const Cells& cells) {
  std::vector<std::string> notes;
  if (frame.flags != 0) {
    notes.push_back(fmt::format("Frame: {}.", flags_in_words(frame.flags)));
  }
  const auto lost =
      std::count_if(cells.values.begin(), cells.values.end(), [](double value) { return !std::isfinite(value); });
  if (lost > 0) {
    notes.push_back(fmt::format("Hatched: {} of {} values are not finite.", lost, cells.values.size()));
  }
  return notes;
}

/// For a file's name: the axis and its value, all names of one width; "band1" where an entry has several numbers.
std::string name_of_entry(const Axis& axis, std::size_t index) {
  if (axis.components != 1) {
    return fmt::format("_{}{:0{}}", axis.name, index, fmt::formatted_size("{}", axis.size() - 1));
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

/// "frame00012_surface2_images_z+0.000m_1007.1Hz_pressure.png" of a further processor.
std::string name_of_image(const ResultHeader& header, const ImagesHeader& images, const Frame& frame,
                          const PictureSubject& subject) {
  std::string name = picture_name(images, subject);
  if (frame.processor > 0) {
    name.insert(name.find('_'), fmt::format("_{}_images", header.processor));
  }
  return name;
}

void write_images(const std::filesystem::path& directory, const ResultHeader& header, const ImagesHeader& images,
                  const Frame& frame, const PictureOptions& options) {
  const ImageFrame values = image_frame_of(images, frame);
  for (std::size_t plane = 0; plane < images.planes_m.size(); ++plane) {
    for (std::size_t frequency = 0; frequency < images.frequencies_hz.size(); ++frequency) {
      const PictureSubject subject = {frame.sequence, plane, frequency};
      write_picture(directory / name_of_image(header, images, frame, subject), images, values, subject, options);
    }
  }
}

}  // namespace

std::vector<ArraySubject> array_subjects(const ResultHeader& header, std::size_t product) {
  std::vector<ArraySubject> subjects = {{.product = product}};
  for (const std::string& name : chosen_axes(header.products[product])) {
    std::vector<ArraySubject> longer;
    for (const ArraySubject& subject : subjects) {
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
  const int cell = std::clamp(std::min(room / columns, kMostDown / rows), 1, kLargestCell);
  ArrayLayout layout;
  layout.panel = {kArrayLeft, kArrayTop, columns * cell, rows * cell};
  layout.bar = {kArrayLeft + layout.panel.width + kArrayBarGap, kArrayTop, kArrayBarWidth,
                std::max(layout.panel.height, kArrayLeastBarHeight)};
  layout.width = std::max(kArrayLeastWidth, layout.bar.x + kArrayBarWidth + kArrayRight);
  layout.height = kArrayTop + layout.bar.height + kArrayBelow;
  return layout;
}

std::string array_picture_name(const ResultHeader& header, const ArraySubject& subject, std::uint64_t frame_index) {
  const Product& product = header.products.at(subject.product);
  std::string name = fmt::format("frame{:05}_{}_{}", frame_index, header.processor, product.name);
  const std::vector<std::string> chosen = chosen_axes(product);
  for (std::size_t i = 0; i < chosen.size(); ++i) {
    name += name_of_entry(*header.axis(chosen[i]), subject.indices.at(i));
  }
  return name + ".png";
}

void write_array_picture(const std::filesystem::path& path, const ResultHeader& header, const Frame& frame,
                         const ArraySubject& subject, const PictureOptions& options) {
  require_in_range(options);
  const Product& product = header.products.at(subject.product);
  if (frame.products.size() != header.products.size() ||
      frame.products[subject.product].size() != header.bytes(product)) {
    throw DataError(
        fmt::format("picture: frame {}: {} has not the size that its axes say", frame.sequence, product.name));
  }
  const Drawn drawn = drawn_axes(header, product);
  const ArrayLayout layout = array_layout(header, product, options);
  const Cells cells = cells_of(header, frame, subject, drawn);
  const std::vector<std::string> notes = wrap(Canvas(1, 1), notes_of(frame, cells), layout.width - 2 * kMargin);

  Canvas canvas(layout.width, layout.height + kNoteHeight * static_cast<int>(notes.size()));
  draw_titles(canvas, header, frame, subject, cells);
  draw_cells(canvas, layout.panel, drawn, cells);
  draw_axes(canvas, layout.panel, drawn);
  draw_scale(canvas, layout.bar, product, cells);
  double y = layout.height;
  for (const std::string& note : notes) {
    canvas.text(kMargin, y, note, kNoteStyle);
    y += kNoteHeight;
  }
  canvas.write_png(path);
}

void write_result_pictures(const std::filesystem::path& directory, const ResultHeader& header, const Frame& frame,
                           const PictureOptions& options) {
  const std::optional<ImagesHeader> images = images_header_of(header);
  const bool are_images = images && images->holds_images;
  if (are_images) {
    write_images(directory, header, *images, frame, options);
  }
  for (std::size_t product = 0; product < header.products.size(); ++product) {
    const Product& one = header.products[product];
    if (one.form != Product::Form::kArray || one.axes.empty() || (are_images && one.name == "images")) {
      continue;
    }
    for (const ArraySubject& subject : array_subjects(header, product)) {
      write_array_picture(directory / array_picture_name(header, subject, frame.sequence), header, frame, subject,
                          options);
    }
  }
}

}  // namespace nearfield
