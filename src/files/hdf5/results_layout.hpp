#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "core/product.hpp"
#include "files/hdf5/h5_input.hpp"

/// Layout of a processor's results in the images file, shared by ResultsWriter and ResultsReader.
namespace nearfield::results {

/// Object with the attributes of the first processor; its results lie in "".
inline constexpr const char* kRoot = "/";
inline constexpr const char* kFramesWritten = "frames_written";
inline constexpr const char* kRows = "rows";  ///< table dataset besides the columns

/// Coordinate of frames of a processor and a table, in s, and the attribute with Frame::timestamp_ns of its zero.
inline constexpr const char* kTime = "time";
inline constexpr const char* kTimeZero = "time_zero_ns";
inline constexpr const char* kRow = "row";  ///< dimension of a table's rows

/// Datasets [frame] stored next to the products. One list serves both directions.
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

/// Attributes of a processor: number of microphones that it could use; those that the settings mask, and those masked
/// in some frame because they were found bad, both separated by commas and omitted if empty.
inline constexpr const char* kMicrophones = "microphones";
inline constexpr const char* kMaskedMicrophones = "masked_microphones";
inline constexpr const char* kFoundMicrophones = "found_bad_microphones";

/// Datasets of a product: one for an array; rows and columns for a table.
template <typename Data>
struct ProductDatasets {
  Data array;
  Data rows;
  std::vector<Data> columns;
};

/// "/images" in the root, "/far/level" in a processor's or a table's group.
std::string place_in(const std::string& group, std::string_view name);

/// The object that carries a group's attributes.
std::string object_of(const std::string& group);

h5::Element element_of(ElementType type);

/// "frequencies_hz" for the axis frequency, and so on for the axes of images; else the axis's name, followed by its
/// unit if that is letters: "azimuth_deg".
std::string dataset_of(const Axis& axis);

/// Replaces '_' by spaces.
std::string spaced(std::string name);

/// Description of an axis's values.
std::string words_of(const Axis& axis);

/// Scales of an axis: its own dataset, or dimensions for its entries and for the numbers of each entry where these are
/// several.
struct AxisScales {
  std::string entries;
  std::string components;  ///< empty where an entry is one number
};
AxisScales scales_of(const Axis& axis);

/// Known axis, without values, of a dataset with such a name; null for another name.
const Axis* axis_named_by(std::string_view dataset);

/// Plural for messages: "frequencies", "planes", ... or the axis's name.
std::string_view entries_of(const Axis& axis);

/// Reads and checks the axis's values: frequencies above 0, positions finite. Throws DataError.
std::vector<double> read_axis_values(const h5::InputFile& file, const std::string& place, const Axis& axis);

/// Joins names with commas, for an attribute.
std::string joined(const std::vector<std::string>& names);
std::vector<std::string> separated(const std::string& text);

}  // namespace nearfield::results
