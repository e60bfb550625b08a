#include "publish/overviews/sections.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <complex>
#include <optional>
#include <vector>

#include "core/product_values.hpp"
#include "nearfield/error.hpp"
#include "publish/pictures/array_picture.hpp"
#include "publish/pictures/axis.hpp"
#include "publish/pictures/canvas.hpp"
#include "publish/pictures/map_marks.hpp"
#include "publish/pictures/picture_parts.hpp"
#include "publish/pictures/sources_table.hpp"

namespace nearfield {
namespace {

constexpr int kSectionsTop = 96;
constexpr int kSectionsLeft = 100;
constexpr int kSectionsGap = 96;  ///< between cuts, for the labels of axes
constexpr int kSectionsRight = 120;
constexpr int kSectionsBelow = 56;
constexpr int kSectionsRoom = 960;  ///< pixels for adjacent cells
constexpr int kMostCell = 16;
constexpr int kSectionsBarWidth = 16;
constexpr int kLeastDepth = 60;  ///< pixels, for few depths

struct Volume {
  std::size_t processor = 0;
  std::size_t product = 0;
  std::size_t depth_axis = 0;  ///< index in the product's axes
};

std::optional<std::size_t> depth_axis_of(const ResultHeader& header, const Product& product) {
  const std::size_t count = product.axes.size();
  if (product.form != Product::Form::kArray || count < 3 || product.axes[count - 1] != "x" ||
      product.axes[count - 2] != "y") {
    return std::nullopt;
  }
  for (std::size_t i = 0; i + 2 < count; ++i) {
    const bool is_depth = product.axes[i] == "distance" || product.axes[i] == "z";
    if (is_depth && header.axis(product.axes[i])->size() > 1) {
      return i;
    }
  }
  return std::nullopt;
}

Volume find_volume(const ResultsReader& reader, const std::string& name) {
  const std::size_t dot = std::min(name.find('.'), name.size());
  for (std::size_t p = 0; p < reader.processors(); ++p) {
    const ResultHeader& header = reader.header(p);
    for (std::size_t i = 0; i < header.products.size(); ++i) {
      const bool is_asked = name.empty() || (header.processor == name.substr(0, dot) &&
                                             (dot == name.size() || header.products[i].name == name.substr(dot + 1)));
      const std::optional<std::size_t> depth = depth_axis_of(header, header.products[i]);
      if (is_asked && depth) {
        return {p, i, *depth};
      }
    }
  }
  throw UsageError(fmt::format("sections: expected a map over x, y and at least two depths{}, found none",
                               name.empty() ? "" : fmt::format(" of {}", name)));
}

std::size_t nearest_entry(const Axis& axis, double value) {
  const auto nearest = std::min_element(axis.values.begin(), axis.values.end(),
                                        [&](double a, double b) { return std::abs(a - value) < std::abs(b - value); });
  return static_cast<std::size_t>(std::distance(axis.values.begin(), nearest));
}

/// Axes of a volume, and the place on them.
struct Cut {
  const Axis* x = nullptr;
  const Axis* y = nullptr;
  const Axis* depth = nullptr;
  double at_x = 0.0;
  double at_y = 0.0;
  double at_depth = 0.0;
};

void require_inside(const Axis& axis, double value, double asked, const char* name) {
  if (!pixel_at(axis, value, 0, 1)) {
    throw UsageError(fmt::format("--at: expected {} inside the volume, {} from {:.6g} to {:.6g} m, found {}", name,
                                 axis.name, axis.values.front(), axis.values.back(), asked));
  }
}

Cut cut_of(const ResultHeader& header, const Volume& volume, const std::array<double, 3>& at_m) {
  const Product& product = header.products[volume.product];
  Cut cut = {.x = header.axis("x"), .y = header.axis("y"), .depth = header.axis(product.axes[volume.depth_axis])};
  cut.at_x = at_m[0];
  cut.at_y = at_m[1];
  cut.at_depth = cut.depth->name == "distance" ? standoff_of(header) - at_m[2] : at_m[2];
  require_inside(*cut.x, cut.at_x, at_m[0], "x");
  require_inside(*cut.y, cut.at_y, at_m[1], "y");
  require_inside(*cut.depth, cut.at_depth, at_m[2], "z");
  return cut;
}

/// All values over depth, y and x, as magnitudes if complex, for one entry of the further axes.
std::vector<double> volume_of(const ResultHeader& header, const Volume& volume, const Frame& frame,
                              std::vector<std::size_t> indices) {
  std::vector<double> values;
  const std::size_t depths = header.axis(header.products[volume.product].axes[volume.depth_axis])->size();
  for (std::size_t depth = 0; depth < depths; ++depth) {
    indices[volume.depth_axis] = depth;
    const std::vector<double> plane = map_values(header, frame, {.product = volume.product, .indices = indices});
    values.insert(values.end(), plane.begin(), plane.end());
  }
  return values;
}

/// Ticks at round values of an axis whose entries are cells.
std::vector<Tick> ticks_on(const Axis& axis, int length, int pixels_a_tick) {
  std::vector<Tick> ticks;
  const auto [least, most] = std::minmax_element(axis.values.begin(), axis.values.end());
  const std::vector<double> values = nice_ticks(*least, *most, std::max(2, length / pixels_a_tick));
  const std::vector<std::string> labels = tick_labels(values);
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (const auto pixel = pixel_at(axis, values[i], 0, length)) {
      ticks.push_back({*pixel / length, labels[i]});
    }
  }
  return ticks;
}

/// Draws one cut: `value(row, column)` of its cells, and lines through the place.
template <class Value>
void draw_cut(Canvas& canvas, const Area& area, const Axis& across, const Axis& down, const ScaledValues& scaled,
              const MapMarks& marks, const Value& value) {
  constexpr int kPixelsOfLabel = 70;
  canvas.paint(area.x, area.y, area.width, area.height, [&](int column, int row) {
    const double one = value(static_cast<std::size_t>(row) * down.size() / static_cast<std::size_t>(area.height),
                             static_cast<std::size_t>(column) * across.size() / static_cast<std::size_t>(area.width));
    return std::isfinite(one) ? magnitude_colour(scaled.position(one)) : hatch(column, row);
  });
  canvas.frame(area.x, area.y, area.width, area.height);
  draw_marks(canvas, area, across, down, marks);
  draw_axis_below(canvas, area, ticks_on(across, area.width, kPixelsOfLabel),
                  fmt::format("{} [{}]", across.name, across.unit));
  draw_axis_left(canvas, area, ticks_on(down, area.height, kPixelsPerTick), axis_title(down.name, down.unit));
}

void draw_level_bar(Canvas& canvas, const Area& bar, const Product& product, const ScaledValues& scaled) {
  const std::vector<Tick> ticks = scaled.high > scaled.low
                                      ? ticks_between(scaled.low, scaled.high, std::max(2, bar.height / kPixelsPerTick))
                                      : std::vector<Tick>{{0.0, "0"}};
  draw_bar(canvas, bar, ticks,
           fmt::format("{} [{}]", product.name, scaled.are_levels ? scaled.rule.unit : product.unit), magnitude_colour);
}

void draw_sections(const std::filesystem::path& path, const ResultHeader& header, const Product& product,
                   const Frame& frame, const Cut& cut, const ScaledValues& scaled, const std::string& of) {
  const SectionsLayout layout = sections_layout(cut.x->size(), cut.y->size(), cut.depth->size());
  const std::size_t columns = cut.x->size();
  const std::size_t rows = cut.y->size();
  const std::size_t column_at = nearest_entry(*cut.x, cut.at_x);
  const std::size_t row_at = nearest_entry(*cut.y, cut.at_y);
  const std::size_t depth_at = nearest_entry(*cut.depth, cut.at_depth);
  const auto value = [&](std::size_t depth, std::size_t row, std::size_t column) {
    return scaled.values[(depth * rows + row) * columns + column];
  };
  std::vector<std::string> notes;
  if (frame.flags != 0) {
    notes.push_back(fmt::format("Frame: {}.", flags_in_words(frame.flags)));
  }
  if (scaled.above() > 0) {
    notes.push_back(fmt::format("{} of {} values lie above the scale.", scaled.above(), scaled.values.size()));
  }
  notes = wrap(Canvas(1, 1), notes, layout.width - 2 * kMargin);
  Canvas canvas(layout.width, layout.height + kNoteHeight * static_cast<int>(notes.size()));
  canvas.text(kMargin, 24, fmt::format("Sections of {}{}", product.name, of), kTitleStyle);
  canvas.text(kMargin, 47,
              fmt::format("{}, of {}   frame {}   {}", product.quantity, header.processor, frame.sequence,
                          time_in_words(frame.timestamp_ns)),
              kSubtitleStyle);
  canvas.text(kMargin, 70,
              with_minus_signs(fmt::format("cut at x = {:.4g} m, y = {:.4g} m, {} = {:.4g} m", cut.x->values[column_at],
                                           cut.y->values[row_at], cut.depth->name, cut.depth->values[depth_at])),
              kPanelTitleStyle);
  MapMarks marks;
  marks.guide_across = cut.at_x;
  marks.guide_down = cut.at_y;
  draw_cut(canvas, layout.xy, *cut.x, *cut.y, scaled, marks,
           [&](std::size_t row, std::size_t column) { return value(depth_at, row, column); });
  marks.guide_across = cut.at_depth;
  draw_cut(canvas, layout.depth_y, *cut.depth, *cut.y, scaled, marks,
           [&](std::size_t row, std::size_t depth) { return value(depth, row, column_at); });
  marks.guide_across = cut.at_x;
  marks.guide_down = cut.at_depth;
  draw_cut(canvas, layout.x_depth, *cut.x, *cut.depth, scaled, marks,
           [&](std::size_t depth, std::size_t column) { return value(depth, row_at, column); });
  draw_level_bar(canvas, layout.bar, product, scaled);
  double y = layout.height;
  for (const std::string& note : notes) {
    canvas.text(kMargin, y, note, kNoteStyle);
    y += kNoteHeight;
  }
  canvas.write_png(path);
}

/// "sections00003_far_map_frequency1000.0Hz.png": the name of a map's picture without its depth.
std::string name_of_sections(const ResultHeader& header, const Volume& volume, std::vector<std::size_t> indices,
                             std::uint64_t frame) {
  ResultHeader without = header;
  Product& product = without.products[volume.product];
  product.axes.erase(product.axes.begin() + static_cast<std::ptrdiff_t>(volume.depth_axis));
  indices.erase(indices.begin() + static_cast<std::ptrdiff_t>(volume.depth_axis));
  const std::string name = array_picture_name(without, {.product = volume.product, .indices = indices}, frame);
  return "sections" + name.substr(std::string("frame").size());
}

/// ", frequency = 1000 Hz".
std::string further_in_words(const ResultHeader& header, const Volume& volume,
                             const std::vector<std::size_t>& indices) {
  std::string words;
  const Product& product = header.products[volume.product];
  for (std::size_t i = 0; i < indices.size(); ++i) {
    const Axis& axis = *header.axis(product.axes[i]);
    if (i != volume.depth_axis && axis.components == 1) {
      words += fmt::format(", {} = {:.6g} {}", axis.name, axis.values[indices[i]], axis.unit);
    }
  }
  return words;
}

}  // namespace

SectionsLayout sections_layout(std::size_t columns, std::size_t rows, std::size_t depths) {
  const auto across = static_cast<int>(columns);
  const auto down = static_cast<int>(rows);
  const auto deep = static_cast<int>(depths);
  const int cell = std::clamp(kSectionsRoom / std::max(across + deep, down + deep), 1, kMostCell);
  const int deep_cell = std::max(cell, (kLeastDepth + deep - 1) / deep);
  SectionsLayout layout;
  layout.xy = {kSectionsLeft, kSectionsTop, across * cell, down * cell};
  layout.depth_y = {layout.xy.x + layout.xy.width + kSectionsGap, kSectionsTop, deep * deep_cell, down * cell};
  layout.x_depth = {kSectionsLeft, kSectionsTop + layout.xy.height + kSectionsBelow + 8, across * cell,
                    deep * deep_cell};
  layout.bar = {layout.depth_y.x, layout.x_depth.y, kSectionsBarWidth,
                std::max(layout.x_depth.height, 2 * kLeastDepth)};
  layout.width = std::max(layout.depth_y.x + std::max(layout.depth_y.width, kSectionsRight) + kMargin, 620);
  layout.height = std::max(layout.x_depth.y + layout.x_depth.height, layout.bar.y + layout.bar.height) + kSectionsBelow;
  return layout;
}

std::size_t write_sections(const std::filesystem::path& directory, const ResultsReader& reader,
                           const SectionOptions& options) {
  const Volume volume = find_volume(reader, options.map);
  const ResultHeader& header = reader.header(volume.processor);
  const Product& product = header.products[volume.product];
  const Cut cut = cut_of(header, volume, options.at_m);
  PictureScale scale(options.scale);
  std::size_t written = 0;
  const std::uint64_t end = std::min(options.end_frame, reader.frames(volume.processor));
  for (std::uint64_t index = options.first_frame; index < end; ++index) {
    const ResultFrame frame = reader.read(volume.processor, index);
    for (const ArraySubject& subject : array_subjects(header, volume.product)) {
      if (subject.indices[volume.depth_axis] != 0) {
        continue;
      }
      std::vector<double> values = volume_of(header, volume, frame.frame, subject.indices);
      const std::string name = name_of_sections(header, volume, subject.indices, index);
      const PictureOptions drawn = scale.options_for(name, level_rule(product), values);
      require_in_range(drawn);
      draw_sections(directory / name, header, product, frame.frame, cut,
                    scaled_values(product, std::move(values), drawn),
                    further_in_words(header, volume, subject.indices));
      ++written;
    }
  }
  return written;
}

}  // namespace nearfield
