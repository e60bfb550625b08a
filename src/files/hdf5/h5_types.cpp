#include "files/hdf5/h5_types.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <utility>

namespace nearfield::h5 {
namespace {

/// Names that programs use for a complex number's parts; h5py's come first.
constexpr std::array<PartNames, 3> kKnownPartNames{kPartNames, {"re", "im"}, {"real", "imag"}};

constexpr std::size_t kBitsOfByte = 8;

/// Layout of an IEEE 754 number. The sign is the uppermost bit, the exponent follows, then the mantissa.
struct IeeeLayout {
  std::size_t bytes;
  std::size_t exponent_bits;
  std::size_t bias;
};
constexpr std::array<IeeeLayout, 3> kIeeeLayouts{{{2, 5, 15}, {4, 8, 127}, {8, 11, 1023}}};

bool has_byte_order(hid_t type) {
  const H5T_order_t order = H5Tget_order(type);
  return order == H5T_ORDER_LE || order == H5T_ORDER_BE;
}

bool has_layout(hid_t type, const IeeeLayout& layout) {
  const std::size_t bits = kBitsOfByte * layout.bytes;
  const std::size_t mantissa_bits = bits - 1 - layout.exponent_bits;
  std::size_t sign_at = 0;
  std::size_t exponent_at = 0;
  std::size_t exponent_bits = 0;
  std::size_t mantissa_at = 0;
  std::size_t found_mantissa_bits = 0;
  return H5Tget_size(type) == layout.bytes && H5Tget_precision(type) == bits && H5Tget_offset(type) == 0 &&
         H5Tget_fields(type, &sign_at, &exponent_at, &exponent_bits, &mantissa_at, &found_mantissa_bits) >= 0 &&
         sign_at == bits - 1 && exponent_at == mantissa_bits && exponent_bits == layout.exponent_bits &&
         mantissa_at == 0 && found_mantissa_bits == mantissa_bits && H5Tget_ebias(type) == layout.bias &&
         H5Tget_norm(type) == H5T_NORM_IMPLIED;
}

bool is_complex_of(hid_t type, const PartNames& parts) {
  if (H5Tget_class(type) != H5T_COMPOUND || H5Tget_nmembers(type) != 2) {
    return false;
  }
  std::size_t bytes = 0;
  for (const char* name : {parts.first, parts.second}) {
    const int member = H5Tget_member_index(type, name);
    if (member < 0) {
      return false;
    }
    const auto index = static_cast<unsigned>(member);
    const Type part(H5Tget_member_type(type, index));
    if (!part.valid() || !is_ieee_float(part.id())) {
      return false;
    }
    bytes = std::max(bytes, H5Tget_member_offset(type, index) + H5Tget_size(part.id()));
  }
  return bytes <= H5Tget_size(type);
}

bool is_integer_of(hid_t type, std::size_t bytes, H5T_sign_t sign) {
  return is_sound_integer(type) && H5Tget_size(type) == bytes && H5Tget_sign(type) == sign;
}

/// Names of its members, with the types of those that are no valid numbers.
std::string name_of_compound(hid_t type) {
  std::vector<std::string> names;
  const int members = H5Tget_nmembers(type);
  for (int member = 0; member < members; ++member) {
    char* name = H5Tget_member_name(type, static_cast<unsigned>(member));
    const Type part(H5Tget_member_type(type, static_cast<unsigned>(member)));
    const bool is_odd = H5Tget_class(part.id()) == H5T_FLOAT && !is_ieee_float(part.id());
    names.push_back(
        fmt::format("{}{}{}", name == nullptr ? "?" : name, is_odd ? ": " : "", is_odd ? name_of_type(part.id()) : ""));
    H5free_memory(name);
  }
  return fmt::format("compound {{{}}}", fmt::join(names, ", "));
}

/// Name of a common third-party filter, by the number that The HDF Group assigned.
std::string name_of_filter(H5Z_filter_t filter, const std::string& in_file) {
  constexpr std::array<std::pair<H5Z_filter_t, const char*>, 9> kKnown{{{307, "bzip2"},
                                                                        {32000, "lzf"},
                                                                        {32001, "blosc"},
                                                                        {32004, "lz4"},
                                                                        {32008, "bitshuffle"},
                                                                        {32013, "zfp"},
                                                                        {32015, "zstd"},
                                                                        {32017, "sz"},
                                                                        {32026, "blosc2"}}};
  for (const auto& [number, name] : kKnown) {
    if (number == filter) {
      return name;
    }
  }
  return in_file.empty() ? "an unknown one" : in_file;
}

}  // namespace

bool is_ieee_float(hid_t type) {
  return H5Tget_class(type) == H5T_FLOAT && has_byte_order(type) &&
         std::any_of(kIeeeLayouts.begin(), kIeeeLayouts.end(),
                     [&](const IeeeLayout& layout) { return has_layout(type, layout); });
}

bool is_sound_integer(hid_t type) {
  if (H5Tget_class(type) != H5T_INTEGER || !has_byte_order(type)) {
    return false;
  }
  const std::size_t bytes = H5Tget_size(type);
  const std::size_t bits = H5Tget_precision(type);
  const int offset = H5Tget_offset(type);
  const bool has_size = bytes == 1 || bytes == 2 || bytes == 4 || bytes == 8;
  return has_size && bits > 0 && offset >= 0 && static_cast<std::size_t>(offset) + bits <= kBitsOfByte * bytes;
}

bool is_number(hid_t type) { return is_ieee_float(type) || is_sound_integer(type); }

std::string name_of_type(hid_t type) {
  const std::size_t bytes = H5Tget_size(type);
  switch (H5Tget_class(type)) {
    case H5T_INTEGER:
      return is_sound_integer(type)
                 ? fmt::format("{}int{}", H5Tget_sign(type) == H5T_SGN_NONE ? "u" : "", kBitsOfByte * bytes)
                 : fmt::format("an integer type of {} bytes, which is damaged or unusual", bytes);
    case H5T_FLOAT:
      return is_ieee_float(type) ? fmt::format("float{}", kBitsOfByte * bytes)
                                 : fmt::format("a float type of {} bytes that is not IEEE 754 of 2, 4 or 8", bytes);
    case H5T_STRING:
      return "string";
    case H5T_COMPOUND:
      return name_of_compound(type);
    case H5T_ENUM:
      return "enumeration";
    case H5T_ARRAY:
      return "array";
    case H5T_VLEN:
      return "variable-length array";
    default:
      return "another type";
  }
}

bool fits(hid_t type, Element element, const PartNames& parts) {
  switch (element) {
    case Element::kFloat32:
      return is_ieee_float(type);
    case Element::kFloat64:
      return is_number(type);
    case Element::kComplex64:
      return is_complex_of(type, parts);
    case Element::kUint32:
      return is_integer_of(type, sizeof(std::uint32_t), H5T_SGN_NONE);
    case Element::kUint64:
      return is_integer_of(type, sizeof(std::uint64_t), H5T_SGN_NONE);
    case Element::kInt64:
      return is_integer_of(type, sizeof(std::int64_t), H5T_SGN_2);
  }
  return false;
}

PartNames part_names_in(hid_t type) {
  for (const PartNames& parts : kKnownPartNames) {
    if (is_complex_of(type, parts)) {
      return parts;
    }
  }
  return kPartNames;
}

std::string expected_type(Element element) {
  switch (element) {
    case Element::kFloat32:
      return "float32";
    case Element::kFloat64:
      return "float64";
    case Element::kComplex64:
      return "complex: compound {r, i} of float32";
    case Element::kUint32:
      return "uint32";
    case Element::kUint64:
      return "uint64";
    case Element::kInt64:
      return "int64";
  }
  return "?";
}

std::optional<Element> element_of_type(hid_t type) {
  if (is_ieee_float(type)) {
    return H5Tget_size(type) <= sizeof(float) ? Element::kFloat32 : Element::kFloat64;
  }
  for (const Element element : {Element::kComplex64, Element::kUint32, Element::kUint64, Element::kInt64}) {
    if (fits(type, element, part_names_in(type))) {
      return element;
    }
  }
  return std::nullopt;
}

std::string missing_filters(hid_t dataset) {
  const Properties creation(H5Dget_create_plist(dataset));
  std::vector<std::string> names;
  const int filters = H5Pget_nfilters(creation.id());
  for (int index = 0; index < filters; ++index) {
    unsigned flags = 0;
    std::size_t values = 0;
    std::array<char, 64> name{};
    const H5Z_filter_t filter = H5Pget_filter2(creation.id(), static_cast<unsigned>(index), &flags, &values, nullptr,
                                               name.size() - 1, name.data(), nullptr);
    if (filter >= 0 && H5Zfilter_avail(filter) <= 0) {
      names.push_back(fmt::format("{} (filter {})", name_of_filter(filter, name.data()), filter));
    }
  }
  return fmt::format("{}", fmt::join(names, ", "));
}

}  // namespace nearfield::h5
