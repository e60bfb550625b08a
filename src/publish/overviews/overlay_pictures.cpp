#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "nearfield/error.hpp"
#include "publish/overviews/overviews.hpp"
#include "publish/pictures/array_picture.hpp"
#include "publish/pictures/axis.hpp"
#include "publish/pictures/sources_table.hpp"

namespace nearfield {
namespace {

constexpr std::array kContourPlaces = {0.25, 0.5, 0.75};  // fractions of the upper map's scale

/// A product of a processor of the file.
struct MapOfFile {
  std::size_t processor = 0;
  std::size_t product = 0;
};

bool is_map(const Product& product) { return product.form == Product::Form::kArray && product.axes.size() > 1; }

MapOfFile find_map(const ResultsReader& reader, const std::string& name) {
  const std::size_t dot = std::min(name.find('.'), name.size());
  const std::string processor = name.substr(0, dot);
  const std::string product = dot < name.size() ? name.substr(dot + 1) : "";
  std::string found;
  for (std::size_t i = 0; i < reader.processors(); ++i) {
    const ResultHeader& header = reader.header(i);
    found += (found.empty() ? "" : ", ") + header.processor;
    if (header.processor != processor) {
      continue;
    }
    std::vector<std::string> wanted = {product};
    if (product.empty()) {
      wanted = {"map", "images"};
      for (const Product& one : header.products) {
        wanted.push_back(one.name);
      }
    }
    for (const std::string& want : wanted) {
      for (std::size_t p = 0; p < header.products.size(); ++p) {
        if (header.products[p].name == want && is_map(header.products[p])) {
          return {i, p};
        }
      }
    }
    throw UsageError(fmt::format("--overlay: expected a processor with a map over two axes, found \"{}\"", name));
  }
  throw UsageError(
      fmt::format("--overlay: expected a processor of the file, one of {}; found \"{}\"", found, processor));
}

/// The two axes over which a map is drawn: down, then across.
std::array<const Axis*, 2> axes_of(const ResultHeader& header, const Product& product) {
  const std::size_t count = product.axes.size();
  return {header.axis(product.axes[count - 2]), header.axis(product.axes[count - 1])};
}

std::string in_words(const std::array<const Axis*, 2>& axes) {
  return fmt::format("{} [{}] and {} [{}]", axes[1]->name, axes[1]->unit, axes[0]->name, axes[0]->unit);
}

void require_same_axes(const ResultsReader& reader, const MapOfFile& upper, const MapOfFile& lower) {
  const ResultHeader& upper_header = reader.header(upper.processor);
  const ResultHeader& lower_header = reader.header(lower.processor);
  const auto over = axes_of(upper_header, upper_header.products[upper.product]);
  const auto under = axes_of(lower_header, lower_header.products[lower.product]);
  for (std::size_t i = 0; i < 2; ++i) {
    if (over.at(i)->name != under.at(i)->name || over.at(i)->unit != under.at(i)->unit || over.at(i)->components != 1) {
      throw UsageError(fmt::format("--overlay: expected maps over the same axes, found {} of {}, and {} of {}",
                                   in_words(over), upper_header.processor, in_words(under), lower_header.processor));
    }
    const auto [least, most] = std::minmax_element(under.at(i)->values.begin(), under.at(i)->values.end());
    if (std::none_of(over.at(i)->values.begin(), over.at(i)->values.end(),
                     [&, low = *least, high = *most](double value) { return value >= low && value <= high; })) {
      throw UsageError(
          fmt::format("--overlay: expected maps that overlap, found {} from {:.6g} to {:.6g} of {}, and "
                      "from {:.6g} to {:.6g} of {}",
                      under.at(i)->name, over.at(i)->values.front(), over.at(i)->values.back(), upper_header.processor,
                      *least, *most, lower_header.processor));
    }
  }
}

/// True if the entries of other axes that both maps have are each other's nearest.
bool go_together(const ResultHeader& upper_header, const ArraySubject& upper, const ResultHeader& lower_header,
                 const ArraySubject& lower) {
  const Product& over = upper_header.products[upper.product];
  const Product& under = lower_header.products[lower.product];
  for (std::size_t i = 0; i < upper.indices.size(); ++i) {
    for (std::size_t k = 0; k < lower.indices.size(); ++k) {
      if (over.axes[i] != under.axes[k]) {
        continue;
      }
      const Axis& axis = *upper_header.axis(over.axes[i]);
      if (axis.components != 1 || lower_header.axis(under.axes[k])->components != 1) {
        continue;
      }
      const double wanted = lower_header.axis(under.axes[k])->values[lower.indices[k]];
      const double distance = std::abs(axis.values[upper.indices[i]] - wanted);
      if (std::any_of(axis.values.begin(), axis.values.end(),
                      [&](double value) { return std::abs(value - wanted) < distance; })) {
        return false;
      }
    }
  }
  return true;
}

std::size_t nearest_frame(const std::vector<std::int64_t>& stamps, std::int64_t stamp, std::size_t index) {
  if (stamps.back() == stamps.front()) {  // no times
    return std::min(index, stamps.size() - 1);
  }
  const auto distance = [&](std::int64_t other) { return other > stamp ? other - stamp : stamp - other; };
  const auto nearest = std::min_element(stamps.begin(), stamps.end(),
                                        [&](std::int64_t a, std::int64_t b) { return distance(a) < distance(b); });
  return static_cast<std::size_t>(std::distance(stamps.begin(), nearest));
}

std::string contour_note(const ResultHeader& header, const Product& product, const ScaledValues& scaled) {
  std::string values;
  for (const double place : kContourPlaces) {
    const double value = scaled.low + place * (scaled.high - scaled.low);
    values += fmt::format("{}{:.4g}", values.empty() ? "" : ", ", value);
  }
  const std::string unit = scaled.are_levels ? scaled.rule.unit : product.unit;
  return with_minus_signs(fmt::format("Contours: {} of {} at {}{}.", product.name, header.processor, values,
                                      unit == "1" ? "" : " " + unit));
}

void add_contours(MapMarks& marks, const ResultHeader& header, const Frame& frame, const ArraySubject& subject,
                  const PictureOptions& options) {
  const Product& product = header.products[subject.product];
  const auto axes = axes_of(header, product);
  const ScaledValues scaled = scaled_values(product, map_values(header, frame, subject), options);
  std::vector<double> positions;
  for (const double value : scaled.values) {
    const double position = scaled.position(value);
    positions.push_back(std::isnan(position) ? position : std::clamp(position, -1.0, 2.0));
  }
  for (const double place : kContourPlaces) {
    const std::vector<ContourPiece> pieces = contours_of(positions, *axes[1], *axes[0], place);
    marks.contours.insert(marks.contours.end(), pieces.begin(), pieces.end());
  }
  marks.notes.push_back(contour_note(header, product, scaled));
}

void add_circles(MapMarks& marks, const ResultHeader& map_header, const ArraySubject& subject,
                 const ResultHeader& finder, const Frame& frame) {
  if (const std::optional<std::size_t> table = sources_table(finder)) {
    const Product& sources = finder.products[*table];
    const std::vector<Circle> circles = circles_on(map_header, map_header.products[subject.product], subject.indices,
                                                   sources, read_sources(sources, frame.products[*table]));
    marks.circles.insert(marks.circles.end(), circles.begin(), circles.end());
  }
}

}  // namespace

Overlay parse_overlay(const std::string& text) {
  const std::size_t colon = text.find(':');
  if (colon == std::string::npos || colon == 0 || colon + 1 == text.size()) {
    throw UsageError(fmt::format("--overlay: expected UPPER:LOWER, two processors, found \"{}\"", text));
  }
  return {text.substr(0, colon), text.substr(colon + 1)};
}

std::size_t write_overlays(const std::filesystem::path& directory, const ResultsReader& reader, const Overlay& overlay,
                           std::uint64_t first_frame, std::uint64_t end_frame, const ScaleChoice& choice) {
  const MapOfFile upper = find_map(reader, overlay.upper);
  const MapOfFile lower = find_map(reader, overlay.lower);
  require_same_axes(reader, upper, lower);
  const ResultHeader& over = reader.header(upper.processor);
  const ResultHeader& under = reader.header(lower.processor);
  const std::vector<std::int64_t> stamps = reader.stamps(upper.processor).timestamps_ns;
  if (stamps.empty()) {
    return 0;
  }
  PictureScale scale(choice);
  PictureScale upper_scale(choice);
  std::size_t written = 0;
  for (std::uint64_t index = first_frame; index < std::min(end_frame, reader.frames(lower.processor)); ++index) {
    const ResultFrame below = reader.read(lower.processor, index);
    const ResultFrame above = reader.read(upper.processor, nearest_frame(stamps, below.frame.timestamp_ns, index));
    for (const ArraySubject& subject : array_subjects(under, lower.product)) {
      for (const ArraySubject& contours : array_subjects(over, upper.product)) {
        if (!go_together(over, contours, under, subject)) {
          continue;
        }
        std::string name = array_picture_name(under, subject, index);
        const std::string upper_name = array_picture_name(over, contours, index);
        name.insert(name.find('_'),
                    upper_name.substr(upper_name.find('_'), upper_name.size() - upper_name.find('_') - 4) + "_over");
        MapMarks marks;
        add_contours(marks, over, above.frame, contours,
                     upper_scale.options_for(upper_name, level_rule(over.products[upper.product]),
                                             map_values(over, above.frame, contours)));
        add_circles(marks, under, subject, over, above.frame);
        if (upper.processor != lower.processor) {
          add_circles(marks, under, subject, under, below.frame);
        }
        const PictureOptions options =
            scale.options_for(name, level_rule(under.products[lower.product]), map_values(under, below.frame, subject));
        write_array_picture(directory / name, under, below.frame, subject, options, marks);
        ++written;
      }
    }
  }
  return written;
}

}  // namespace nearfield
