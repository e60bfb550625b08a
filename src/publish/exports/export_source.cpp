#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "core/error.hpp"
#include "core/product.hpp"
#include "publish/exports/exports.hpp"
#include "publish/pictures/sources_table.hpp"

namespace nearfield {
namespace {

constexpr double kFrequencyTolerance_hz = 0.5;  ///< like `compare --truth`
constexpr double kTolerance_m = 1e-3;           ///< for an axis of one entry, which has no step

bool is_depth_axis(const Axis& axis) { return axis.unit == "m" && (axis.name == "z" || axis.name == "distance"); }

bool is_space_axis(const Axis& axis) {
  return is_depth_axis(axis) || (axis.unit == "m" && (axis.name == "x" || axis.name == "y" || axis.name == "point"));
}

/// True if each value has its own place.
bool has_places(const Product& product) {
  const auto has = [&](const char* name) {
    return std::find(product.axes.begin(), product.axes.end(), name) != product.axes.end();
  };
  return product.form == Product::Form::kArray && (has("point") || (has("x") && has("y")));
}

/// "surface.images, far.map".
std::string names_of_products(const ResultsReader& reader) {
  std::vector<std::string> names;
  for (std::size_t p = 0; p < reader.processors(); ++p) {
    for (const Product& product : reader.header(p).products) {
      if (has_places(product)) {
        names.push_back(fmt::format("{}.{}", reader.header(p).processor, product.name));
      }
    }
  }
  return fmt::format("{}", fmt::join(names, ", "));
}

double tolerance_of(const Axis& axis) {
  if (axis.unit == "Hz") {
    return kFrequencyTolerance_hz;
  }
  double step = 0.0;
  for (std::size_t i = 1; i < axis.values.size(); ++i) {
    step = std::max(step, std::abs(axis.values[i] - axis.values[i - 1]));
  }
  return step > 0.0 ? step / 2.0 * (1.0 + 1e-9) : kTolerance_m;
}

std::size_t entry_near(const Axis& axis, double value, const char* option) {
  const auto nearest = std::min_element(axis.values.begin(), axis.values.end(),
                                        [&](double a, double b) { return std::abs(a - value) < std::abs(b - value); });
  if (!(std::abs(*nearest - value) <= tolerance_of(axis))) {
    throw UsageError(
        fmt::format("{}: expected one of {} {}, found {}", option, fmt::join(axis.values, ", "), axis.unit, value));
  }
  return static_cast<std::size_t>(std::distance(axis.values.begin(), nearest));
}

/// The choice for an axis, and the option's name.
std::pair<std::optional<double>, const char*> asked_of(const Axis& axis, const ExportChoice& choice) {
  if (axis.components != 1) {
    return {std::nullopt, ""};
  }
  if (axis.name == "frequency") {
    return {choice.frequency_hz, "--frequency"};
  }
  if (is_depth_axis(axis)) {
    return {choice.plane_m, "--plane"};
  }
  if (axis.name == "x") {
    return {choice.x_m, "--x"};
  }
  return {axis.name == "y" ? choice.y_m : std::nullopt, "--y"};
}

}  // namespace

ExportSource::ExportSource(const ResultsReader& reader, const ExportChoice& choice, const std::string& file)
    : reader_(&reader) {
  choose_product(choice, file);
  choose_frames(choice);
  choose_entries(choice);
  lay_out();
  lay_on_surface();
}

void ExportSource::choose_product(const ExportChoice& choice, const std::string& file) {
  for (std::size_t p = 0; p < reader_->processors(); ++p) {
    const ResultHeader& header = reader_->header(p);
    for (std::size_t i = 0; i < header.products.size(); ++i) {
      const Product& product = header.products[i];
      if (has_places(product) && (choice.processor.empty() || choice.processor == header.processor) &&
          (choice.product.empty() || choice.product == product.name)) {
        const bool is_preferred = product.name == "images" || !choice.product.empty();
        const bool has_images = header.product("images") != nullptr && has_places(*header.product("images"));
        if (is_preferred || !has_images) {
          processor_ = p;
          product_ = i;
          return;
        }
      }
    }
  }
  const std::string names = names_of_products(*reader_);
  if (names.empty()) {
    throw DataError(fmt::format("{}: expected an array over x and y or over points, found none", file));
  }
  throw UsageError(fmt::format("--processor, --product: expected one of {}, found {}.{}", names,
                               choice.processor.empty() ? "*" : choice.processor,
                               choice.product.empty() ? "*" : choice.product));
}

void ExportSource::choose_frames(const ExportChoice& choice) {
  const std::uint64_t frames = reader_->frames(processor_);
  const bool has_end = choice.end_frame != std::numeric_limits<std::uint64_t>::max();
  if (choice.first_frame >= frames || (has_end && choice.end_frame > frames)) {
    throw UsageError(fmt::format("--frames: expected frames among the {} of {}, found {}:{}", frames,
                                 header().processor, choice.first_frame,
                                 has_end ? fmt::format("{}", choice.end_frame) : ""));
  }
  first_frame_ = choice.first_frame;
  end_frame_ = std::min(frames, choice.end_frame);
  stamps_ = reader_->stamps(processor_);
}

void ExportSource::choose_entries(const ExportChoice& choice) {
  std::vector<const char*> used;
  std::size_t stride = header().values(product());
  for (const std::string& name : product().axes) {
    const Axis& axis = *header().axis(name);
    stride /= axis.size();
    const auto [asked, option] = asked_of(axis, choice);
    const std::size_t only = asked ? entry_near(axis, *asked, option) : 0;
    Chosen chosen = {.axis = axis, .offsets = {}};
    chosen.axis.values.clear();
    for (std::size_t entry = 0; entry < axis.size(); ++entry) {
      if (asked && entry != only) {
        continue;
      }
      chosen.offsets.push_back(entry * stride);
      for (std::size_t component = 0; component < axis.components; ++component) {
        chosen.axis.values.push_back(axis.values[entry * axis.components + component]);
      }
    }
    if (asked) {
      used.push_back(option);
    }
    chosen_.push_back(std::move(chosen));
  }
  const std::pair<bool, std::string> options[] = {{choice.frequency_hz.has_value(), "--frequency"},
                                                  {choice.plane_m.has_value(), "--plane"},
                                                  {choice.x_m.has_value(), "--x"},
                                                  {choice.y_m.has_value(), "--y"}};
  for (const auto& [is_asked, option] : options) {
    if (is_asked && std::find(used.begin(), used.end(), option) == used.end()) {
      throw UsageError(fmt::format("{}: expected a product with such an axis, found {} over {}", option, name(),
                                   fmt::join(product().axes, ", ")));
    }
  }
}

void ExportSource::lay_out() {
  const double standoff_m = standoff_of(header());
  places_ = {{}};
  entries_ = {{}};
  for (const Chosen& chosen : chosen_) {
    const Axis& axis = chosen.axis;
    if (!is_space_axis(axis)) {
      std::vector<ExportEntry> entries;
      for (const ExportEntry& before : entries_) {
        for (std::size_t i = 0; i < axis.size(); ++i) {
          ExportEntry entry = before;
          entry.indices.push_back(i);
          entry.offset += chosen.offsets[i];
          entries.push_back(std::move(entry));
        }
      }
      entries_ = std::move(entries);
      outer_axes_.push_back(axis);
      continue;
    }
    std::vector<ExportPlace> places;
    for (const ExportPlace& before : places_) {
      for (std::size_t i = 0; i < axis.size(); ++i) {
        ExportPlace place = before;
        const double* values = &axis.values[i * axis.components];
        place.offset += chosen.offsets[i];
        if (axis.name == "point") {
          place.x_m = values[0];
          place.y_m = values[1];
          if (axis.components > 2) {
            place.z_m = values[2];
          }
        } else if (is_depth_axis(axis)) {
          place.z_m = axis.name == "z" ? values[0] : standoff_m - values[0];
        } else {
          (axis.name == "x" ? place.x_m : place.y_m) = values[0];
        }
        places.push_back(place);
      }
    }
    places_ = std::move(places);
    space_axes_.push_back(axis);
  }
}

/// Gives the pixels of a surface that is no plane their places on it. The header does not state the places of point
/// values.
void ExportSource::lay_on_surface() {
  constexpr std::size_t kComponents = 3;
  const Axis* const surface = header().axis("surface");
  const Axis* const normals = header().axis("normal");
  if (surface == nullptr || normals == nullptr || surface->components != kComponents ||
      normals->values.size() != surface->values.size()) {
    return;
  }
  const std::vector<std::string>& axes = product().axes;
  const bool has_pixels = axes.size() >= 2 && axes[axes.size() - 2] == "y" && axes.back() == "x" &&
                          header().axis("x")->size() * header().axis("y")->size() == surface->size();
  for (ExportPlace& place : places_) {
    if (!has_pixels) {
      place.z_m.reset();
      continue;
    }
    const std::size_t first = place.offset % surface->size() * kComponents;  // rows and columns are the fastest axes
    place.x_m = surface->values[first];
    place.y_m = surface->values[first + 1];
    place.z_m = surface->values[first + 2];
    std::copy_n(normals->values.begin() + static_cast<std::ptrdiff_t>(first), kComponents, place.normal.begin());
  }
  is_on_surface_ = has_pixels;
}

std::string ExportSource::name() const { return fmt::format("{} of {}", product().name, header().processor); }

std::vector<std::complex<double>> ExportSource::values(std::uint64_t frame) const {
  return complex_values_of(product().type, reader_->read_array(processor_, product_, frame, 1));
}

}  // namespace nearfield
