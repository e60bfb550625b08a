#pragma once
#include <optional>
#include <string>

#include "files/hdf5/h5.hpp"

/// Types of values in files. HDF5 passes on a file's types unchecked, and a damaged file may state anything. Values of
/// the types below can be read safely.
namespace nearfield::h5 {

/// IEEE 754 of 16, 32 or 64 bits, in either order of bytes.
[[nodiscard]] bool is_ieee_float(hid_t type);
/// An integer of 1, 2, 4 or 8 bytes, in either order of bytes, with all its bits inside.
[[nodiscard]] bool is_sound_integer(hid_t type);
/// is_ieee_float() or is_sound_integer().
[[nodiscard]] bool is_number(hid_t type);

/// Name such as "float32", "uint64", "string", "compound {x, y}".
[[nodiscard]] std::string name_of_type(hid_t type);

/// True if values of this type can be read as the element: floats of any width, float64 also from integers.
[[nodiscard]] bool fits(hid_t type, Element element, const PartNames& parts);
[[nodiscard]] PartNames part_names_in(hid_t type);
/// Name of the element's type in messages.
[[nodiscard]] std::string expected_type(Element element);
/// Element with values of this type; nothing if there is none.
[[nodiscard]] std::optional<Element> element_of_type(hid_t type);

/// Filters of a dataset that this library lacks, such as "lzf (filter 32000)"; empty if none.
[[nodiscard]] std::string missing_filters(hid_t dataset);

}  // namespace nearfield::h5
