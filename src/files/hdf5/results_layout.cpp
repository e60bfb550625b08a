#include "files/hdf5/results_layout.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cmath>

#include "files/format.hpp"

namespace nearfield::results {
namespace {

/// Constraint on the entries of an axis.
enum class Entry { kFrequency, kLength, kAny };

struct KnownAxis {
  Axis axis;  ///< without values
  std::string_view dataset;
  std::string_view entries;
  Entry entry;
  std::string_view words;
};

/// Axes of images. Their datasets have special names because they predate axes.
const std::array<KnownAxis, 6>& known_axes() {
  static const std::array<KnownAxis, 6> kTable = {
      {{{.name = "frequency", .unit = "Hz", .values = {}},
        "frequencies_hz",
        "frequencies",
        Entry::kFrequency,
        "frequency"},
       {{.name = "z", .unit = "m", .values = {}}, "planes_m", "planes", Entry::kLength, "z of the plane"},
       {{.name = "y", .unit = "m", .values = {}}, "y_m", "rows", Entry::kLength, "y"},
       {{.name = "x", .unit = "m", .values = {}}, "x_m", "columns", Entry::kLength, "x"},
       {{.name = "point", .unit = "m", .values = {}, .components = 2},
        "points_xy_m",
        "points",
        Entry::kAny,
        "x and y of the point"},
       {{.name = "band", .unit = "Hz", .values = {}, .components = 2},
        "bands_hz",
        "bands",
        Entry::kAny,
        "lower and upper limit of the band"}}};
  return kTable;
}

const KnownAxis* known_axis(const Axis& axis) {
  const auto is_it = [&](const KnownAxis& known) {
    return known.axis.name == axis.name && known.axis.unit == axis.unit && known.axis.components == axis.components;
  };
  const auto found = std::find_if(known_axes().begin(), known_axes().end(), is_it);
  return found == known_axes().end() ? nullptr : &*found;
}

bool is_letters(std::string_view text) {
  return !text.empty() &&
         std::all_of(text.begin(), text.end(), [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); });
}

}  // namespace

std::string place_in(const std::string& group, std::string_view name) { return fmt::format("{}/{}", group, name); }

std::string object_of(const std::string& group) { return group.empty() ? kRoot : group; }

h5::Element element_of(ElementType type) {
  switch (type) {
    case ElementType::kComplex64:
      return h5::Element::kComplex64;
    case ElementType::kFloat32:
      return h5::Element::kFloat32;
    case ElementType::kFloat64:
      return h5::Element::kFloat64;
    case ElementType::kUint32:
      return h5::Element::kUint32;
    case ElementType::kUint64:
      return h5::Element::kUint64;
  }
  return h5::Element::kFloat32;
}

std::string dataset_of(const Axis& axis) {
  if (const KnownAxis* const known = known_axis(axis)) {
    return std::string(known->dataset);
  }
  return is_letters(axis.unit) ? fmt::format("{}_{}", axis.name, axis.unit) : axis.name;
}

std::string spaced(std::string name) {
  std::replace(name.begin(), name.end(), '_', ' ');
  return name;
}

std::string words_of(const Axis& axis) {
  const KnownAxis* const known = known_axis(axis);
  return known == nullptr ? spaced(axis.name) : std::string(known->words);
}

AxisScales scales_of(const Axis& axis) {
  const std::string dataset = dataset_of(axis);
  if (axis.components == 1) {
    return {.entries = dataset, .components = ""};
  }
  return {.entries = axis.name == dataset ? fmt::format("{}_entry", axis.name) : axis.name,
          .components = fmt::format("{}_component", axis.name)};
}

const Axis* axis_named_by(std::string_view dataset) {
  const auto found = std::find_if(known_axes().begin(), known_axes().end(),
                                  [&](const KnownAxis& known) { return known.dataset == dataset; });
  return found == known_axes().end() ? nullptr : &found->axis;
}

std::string_view entries_of(const Axis& axis) {
  const KnownAxis* const known = known_axis(axis);
  return known == nullptr ? std::string_view(axis.name) : known->entries;
}

std::vector<double> read_axis_values(const h5::InputFile& file, const std::string& place, const Axis& axis) {
  const KnownAxis* const known = known_axis(axis);
  if (known != nullptr && known->entry == Entry::kFrequency) {
    // Images, whose quantity the root states, have no frequency 0; the first bin of a spectrum is at 0 Hz.
    const bool is_of_images = place == "/frequencies_hz" && file.has_attribute("/", "quantity");
    return read_frequencies(file, place, is_of_images ? Lowest::kAbove0 : Lowest::k0);
  }
  if (axis.components > 1) {
    const bool are_pairs = axis.components == 2;
    return file.values<double>(place, {{are_pairs ? "pairs" : "entries"},
                                       {are_pairs ? "numbers of a pair" : "numbers of an entry", axis.components}});
  }
  std::vector<double> values = file.values<double>(place, {{entries_of(axis)}});
  for (std::size_t index = 0; index < values.size(); ++index) {
    if (!std::isfinite(values[index])) {
      throw file.wrong(fmt::format("{}[{}]", place, index), fmt::format("{}", values[index]),
                       known != nullptr ? "a finite length" : "a finite number");
    }
  }
  return values;
}

std::string joined(const std::vector<std::string>& names) { return fmt::format("{}", fmt::join(names, ",")); }

std::vector<std::string> separated(const std::string& text) {
  std::vector<std::string> names;
  for (std::size_t start = 0; start < text.size();) {
    const std::size_t end = std::min(text.find(',', start), text.size());
    names.push_back(text.substr(start, end - start));
    start = end + 1;
  }
  return names;
}

}  // namespace nearfield::results
