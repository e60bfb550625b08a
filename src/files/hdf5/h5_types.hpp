#pragma once
#include <optional>
#include <string>

#include "files/hdf5/h5.hpp"

/// Types of values in files: HDF5 hands over what a file says, and a damaged file may say anything. What has one of the
/// types below can be read; HDF5 has no check of its own.
namespace nearfield::h5 {

/// IEEE 754 of 16, 32 or 64 bits, in either order of bytes.
[[nodiscard]] bool is_ieee_float(hid_t type);
/// An integer of 1, 2, 4 or 8 bytes, in either order of bytes, whose bits lie within these.
[[nodiscard]] bool is_sound_integer(hid_t type);
/// Either of both.
[[nodiscard]] bool is_number(hid_t type);

/// Such as "float32", "uint64", "string", "compound {x, y}".
[[nodiscard]] std::string name_of_type(hid_t type);

/// Whether values of this type are read as the element: floats of any width, float64 from integers, too.
[[nodiscard]] bool fits(hid_t type, Element element, const PartNames& parts);
[[nodiscard]] PartNames part_names_in(hid_t type);
/// As messages name it.
[[nodiscard]] std::string expected_type(Element element);
/// The element that values of this type are; nothing where they are none.
[[nodiscard]] std::optional<Element> element_of_type(hid_t type);

/// Filters of a dataset that this library does not have, such as "lzf (filter 32000)"; empty where it has all.
[[nodiscard]] std::string missing_filters(hid_t dataset);

}  // namespace nearfield::h5
