#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "files/hdf5/h5_input.hpp"
#include "nearfield/product.hpp"

/// How the results of a processor lie in the images file; ResultsWriter and ResultsReader share it.
namespace nearfield::results {

/// Where attributes of the first processor are; its results lie in "".
inline constexpr const char* kRoot = "/";
inline constexpr const char* kFramesWritten = "frames_written";
inline constexpr const char* kRows = "rows";  ///< of a table, beside its columns

/// A processor's and a table's coordinate of frames, in s, and the Frame::timestamp_ns of its zero.
inline constexpr const char* kTime = "time";
inline constexpr const char* kTimeZero = "time_zero_ns";
inline constexpr const char* kRow = "row";  ///< the dimension of a table's rows

/// The datasets [frame] that stand beside the products. One list serves both directions.
template <typename Data>
struct Stamps {
  Data first_sample, timestamp_ns, flags, missing_bits, valid_microphones, missing_information;
};
inline constexpr Stamps<const char*> kStampNames{.first_sample = "first_sample",
                                                 .timestamp_ns = "timestamp_ns",
                                                 .flags = "flags",
                                                 .missing_bits = "missing_bits",
                                                 .valid_microphones = "valid_microphones",
                                                 .missing_information = "missing_information"};

/// Attributes of a processor: how many microphones it could use; those that the settings mask, and those that were
/// masked in some frame as they were found bad, both separated by commas and left out where there are none.
inline constexpr const char* kMicrophones = "microphones";
inline constexpr const char* kMaskedMicrophones = "masked_microphones";
inline constexpr const char* kFoundMicrophones = "found_bad_microphones";

/// The datasets of a product: one of an array; of a table its rows and its columns.
template <typename Data>
struct ProductDatasets {
  Data array;
  Data rows;
  std::vector<Data> columns;
};

/// "/images" in the root, "/row_power/level" in a processor's or a table's group.
std::string place_in(const std::string& group, std::string_view name);

/// The object that carries a group's attributes.
std::string object_of(const std::string& group);

h5::Element element_of(ElementType type);

/// "frequencies_hz" for the axis frequency, and so on for the axes of images; else the axis's name, with its unit
/// behind it where that is letters: "azimuth_deg".
std::string dataset_of(const Axis& axis);

/// With spaces in place of '_'.
std::string spaced(std::string name);

/// What an axis's values are, in words.
std::string words_of(const Axis& axis);

/// The scales of an axis: its own dataset, or dimensions of its entries and their numbers where these are several.
struct AxisScales {
  std::string entries;
  std::string components;  ///< empty where an entry is one number
};
AxisScales scales_of(const Axis& axis);

/// The axis that a dataset of one of these names holds, without values; null for another name.
const Axis* axis_named_by(std::string_view dataset);

/// For messages: "frequencies", "planes", ... or the axis's name.
std::string_view entries_of(const Axis& axis);

/// The axis's values, checked: frequencies above 0, positions finite. Throws DataError.
std::vector<double> read_axis_values(const h5::InputFile& file, const std::string& place, const Axis& axis);

/// Names in an attribute, separated by commas.
std::string joined(const std::vector<std::string>& names);
std::vector<std::string> separated(const std::string& text);

}  // namespace nearfield::results
