#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <complex>
#include <cstring>
#include <limits>

#include "core/product_values.hpp"
#include "publish/overviews/overviews.hpp"
#include "publish/pictures/array_picture.hpp"

namespace nearfield {
namespace {

constexpr std::array kBearings = {"angle", "azimuth", "elevation"};
constexpr std::array kDistances = {"distance", "radius"};

template <class Names>
bool is_one_of(const Names& names, const std::string& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

/// The axes of a product that are neither bearings nor distances.
std::vector<std::string> further_axes(const Product& product) {
  std::vector<std::string> further;
  for (const std::string& name : product.axes) {
    if (!is_one_of(kBearings, name) && !is_one_of(kDistances, name)) {
      further.push_back(name);
    }
  }
  return further;
}

/// All combinations of entries of these axes, the last one fastest.
std::vector<std::vector<std::size_t>> combinations_of(const ResultHeader& header,
                                                      const std::vector<std::string>& axes) {
  std::vector<std::vector<std::size_t>> all = {{}};
  for (const std::string& name : axes) {
    std::vector<std::vector<std::size_t>> longer;
    for (const std::vector<std::size_t>& one : all) {
      for (std::size_t index = 0; index < header.axis(name)->size(); ++index) {
        longer.push_back(one);
        longer.back().push_back(index);
      }
    }
    all = std::move(longer);
  }
  return all;
}

/// Bearing index of each value of a product; none for values of other entries of the chosen axes.
constexpr std::size_t kNoBearing = std::numeric_limits<std::size_t>::max();
std::vector<std::size_t> bearings_of_values(const ResultHeader& header, const Product& product,
                                            const std::string& bearing, const std::vector<std::string>& chosen,
                                            const std::vector<std::size_t>& indices) {
  std::vector<std::size_t> result(header.values(product), 0);
  for (std::size_t value = 0; value < result.size(); ++value) {
    std::size_t rest = value;
    for (std::size_t i = product.axes.size(); i-- > 0;) {
      const std::string& name = product.axes[i];
      const std::size_t entry = rest % header.axis(name)->size();
      rest /= header.axis(name)->size();
      const auto found = std::find(chosen.begin(), chosen.end(), name);
      if (found != chosen.end() && indices[static_cast<std::size_t>(found - chosen.begin())] != entry) {
        result[value] = kNoBearing;
        break;
      }
      if (name == bearing) {
        result[value] = entry;
      }
    }
  }
  return result;
}

ResultHeader header_of_bearings(const ResultHeader& of, const Product& product, const Axis& bearing,
                                std::vector<double> times, bool are_indices) {
  ResultHeader header;
  header.processor = of.processor;
  header.kind = of.kind;
  header.config = of.config;
  header.axes = {{.name = are_indices ? "frame" : "time", .unit = are_indices ? "1" : "s", .values = std::move(times)},
                 bearing};
  header.products = {{.name = product.name,
                      .quantity = product.quantity,
                      .unit = product.unit,
                      .type = ElementType::kFloat32,
                      .axes = {header.axes[0].name, bearing.name}}};
  return header;
}

/// Times rounded to a thousandth of their decade, as labels have no more digits.
std::vector<double> times_of_rows(const FrameTimes& times, std::size_t rows) {
  const double last = times.values.back();
  const double decade = last > 0.0 ? std::pow(10.0, std::floor(std::log10(last)) - 3.0) : 1.0;
  std::vector<double> values;
  for (std::size_t row = 0; row < rows; ++row) {
    values.push_back(std::round(times.values[(row * times.values.size() + rows - 1) / rows] / decade) * decade);
  }
  return values;
}

std::string name_of_bearings(const ResultHeader& header, const Product& product, const std::string& bearing,
                             const std::vector<std::string>& chosen, const std::vector<std::size_t>& indices) {
  // Name of the picture of one frame's map over the chosen axes, without the frame.
  ResultHeader of_chosen;
  of_chosen.processor = header.processor;
  of_chosen.axes = header.axes;
  of_chosen.axes.push_back({.name = "row", .unit = "1", .values = {0.0}});
  of_chosen.axes.push_back({.name = "column", .unit = "1", .values = {0.0}});
  of_chosen.products = {product};
  of_chosen.products[0].name = fmt::format("{}_{}", product.name, bearing);
  of_chosen.products[0].axes = chosen;
  of_chosen.products[0].axes.insert(of_chosen.products[0].axes.end(), {"row", "column"});
  const std::string name = array_picture_name(of_chosen, {.product = 0, .indices = indices}, 0);
  return "bearings" + name.substr(name.find('_'));
}

}  // namespace

Bearings bearings_of(const ResultsReader& reader, std::size_t processor, std::size_t product,
                     const std::string& bearing, const std::vector<std::string>& chosen,
                     const std::vector<std::size_t>& indices) {
  const ResultHeader& header = reader.header(processor);
  const Product& of = header.products[product];
  const Axis& axis = *header.axis(bearing);
  const std::uint64_t frames = reader.frames(processor);
  const std::size_t rows = std::min<std::size_t>(frames, kMostBearingRows);
  const FrameTimes times = frame_times(reader, processor);
  const std::vector<std::size_t> places = bearings_of_values(header, of, bearing, chosen, indices);
  std::vector<float> largest(rows * axis.size(), std::numeric_limits<float>::quiet_NaN());
  for (std::uint64_t frame = 0; frame < frames; ++frame) {
    const auto values = complex_values_of(of.type, reader.read_array(processor, product, frame, 1));
    float* row = largest.data() + frame * rows / frames * axis.size();
    for (std::size_t i = 0; i < values.size(); ++i) {
      if (places[i] != kNoBearing) {
        const double value = of.type == ElementType::kComplex64 ? std::abs(values[i]) : values[i].real();
        row[places[i]] = std::fmax(row[places[i]], static_cast<float>(value));
      }
    }
  }
  ResultHeader made = header_of_bearings(header, of, axis, times_of_rows(times, rows), times.are_indices);
  ResultFrame result(made);
  std::memcpy(result.product(0).data(), largest.data(), largest.size() * sizeof(float));
  return {std::move(made), std::move(result)};
}

std::size_t write_bearing_pictures(const std::filesystem::path& directory, const ResultsReader& reader,
                                   std::size_t processor, const ScaleChoice& choice) {
  std::size_t written = 0;
  const ResultHeader& header = reader.header(processor);
  for (std::size_t index = 0; index < header.products.size() && reader.frames(processor) > 1; ++index) {
    const Product& product = header.products[index];
    const bool is_length = product.unit == "m" && product.type != ElementType::kComplex64;
    if (product.form != Product::Form::kArray || is_length) {  // a maximum of lengths is meaningless
      continue;
    }
    const std::vector<std::string> chosen = further_axes(product);
    for (const std::string& bearing : product.axes) {
      if (!is_one_of(kBearings, bearing)) {
        continue;
      }
      for (const std::vector<std::size_t>& indices : combinations_of(header, chosen)) {
        const Bearings bearings = bearings_of(reader, processor, index, bearing, chosen, indices);
        MapMarks marks;
        marks.subtitle = fmt::format("{} frames", reader.frames(processor));
        for (std::size_t i = 0; i < chosen.size(); ++i) {
          const Axis& axis = *header.axis(chosen[i]);
          if (axis.components == 1) {
            marks.subtitle +=
                fmt::format("   {} = {:.6g} {}", axis.name, axis.values[indices[i]], axis.unit == "1" ? "" : axis.unit);
          }
        }
        const std::string name = name_of_bearings(header, product, bearing, chosen, indices);
        PictureScale scale(choice);
        const std::vector<double> values = map_values(bearings.header, bearings.frame.frame, {});
        write_array_picture(directory / name, bearings.header, bearings.frame.frame, {},
                            scale.options_for(name, level_rule(bearings.header.products[0]), values), marks);
        ++written;
      }
    }
  }
  return written;
}

std::size_t write_overviews(const std::filesystem::path& directory, const ResultsReader& reader,
                            const ScaleChoice& choice) {
  std::size_t written = 0;
  for (std::size_t processor = 0; processor < reader.processors(); ++processor) {
    written += write_tracks_picture(directory, reader, processor) ? 1U : 0U;
    written += write_bearing_pictures(directory, reader, processor, choice);
  }
  return written;
}

}  // namespace nearfield
