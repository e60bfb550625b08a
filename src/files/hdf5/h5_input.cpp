#include "files/hdf5/h5_input.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cmath>
#include <cstring>
#include <numeric>
#include <optional>

#include "core/system/files.hpp"
#include "files/format.hpp"
#include "files/hdf5/h5.hpp"
#include "files/hdf5/h5_types.hpp"

namespace nearfield::h5 {
namespace {

/// The best ratio that HDF5's usual filter, deflate, can reach is 1032.
constexpr std::uint64_t kLargestCompression = 1032;

/// Size of a readable file. Checked before HDF5 opens it, because HDF5 gives one error for all reasons.
std::uint64_t size_of_readable_file(const std::filesystem::path& path) {
  struct stat status {};
  if (::stat(path.c_str(), &status) != 0) {
    throw NoInputError(fmt::format("{}: cannot be read: {}", path.string(), std::strerror(errno)));
  }
  if (!S_ISREG(status.st_mode)) {
    throw NoInputError(fmt::format("{}: found {}, expected an HDF5 file", path.string(),
                                   S_ISDIR(status.st_mode) ? "a directory" : "a special file"));
  }
  if (!FileDescriptor(open(path.c_str(), O_RDONLY | O_CLOEXEC)).valid()) {
    throw NoInputError(fmt::format("{}: cannot be read: {}", path.string(), std::strerror(errno)));
  }
  return static_cast<std::uint64_t>(status.st_size);
}

std::string damaged() { return fmt::format("damaged content ({})", last_error()); }

std::string place_of_attribute(std::string_view object, std::string_view name) {
  return object == "/" ? fmt::format("attribute {}", name) : fmt::format("{}, attribute {}", object, name);
}

Shape shape_of(const Space& space) {
  const int rank = H5Sget_simple_extent_ndims(space.id());
  Shape shape(rank < 0 ? 0 : static_cast<std::size_t>(rank));
  H5Sget_simple_extent_dims(space.id(), shape.data(), nullptr);
  return shape;
}

std::string text_of(const std::vector<Axis>& axes) {
  std::vector<std::string> names;
  for (const Axis& axis : axes) {
    names.push_back(axis.length == Axis::kAnyLength ? std::string(axis.name)
                                                    : fmt::format("{} {}", axis.length, axis.name));
  }
  return axes.empty() ? "a scalar" : fmt::format("[{}]", fmt::join(names, ", "));
}

/// Crashes, or never ends, on a damaged file.
std::optional<std::string> variable_text(const Attribute& attribute, const Type& type) {
  char* text = nullptr;
  const Type memory = text_type(H5Tget_cset(type.id()));
  if (H5Aread(attribute.id(), memory.id(), &text) < 0) {
    return std::nullopt;
  }
  std::string result(text == nullptr ? "" : text);
  H5free_memory(text);
  return result;
}

/// True if the values lie in another file: HDF5 would open anything named there, even a pipe or a device.
bool lies_elsewhere(const Dataset& dataset) {
  const Properties creation(H5Dget_create_plist(dataset.id()));
  return H5Pget_external_count(creation.id()) != 0 || H5Pget_layout(creation.id()) == H5D_VIRTUAL;
}

/// Removes padding: a string of fixed length ends at its first zero, or before the spaces that pad it.
std::string trimmed(std::string text, H5T_str_t padding) {
  text.resize(std::strlen(text.c_str()));
  if (padding == H5T_STR_SPACEPAD) {
    text.erase(text.find_last_not_of(' ') + 1);
  }
  return text;
}

}  // namespace

std::uint64_t InputDataset::values() const {
  return std::accumulate(shape_.begin(), shape_.end(), std::uint64_t{1}, std::multiplies<>());
}

std::uint64_t InputDataset::values_per_index() const { return shape_.empty() ? 1 : values() / shape_.front(); }

DataError InputDataset::unreadable() const {
  const std::string reason = last_error();
  if (const std::string filters = missing_filters(dataset_.id()); !filters.empty()) {
    return DataError(
        fmt::format("{0}: found values packed by {1}, which is not installed here, expected gzip, szip or none; where "
                    "the file was written, \"h5repack -f GZIP=4 IN OUT\" makes a file of it that is read here",
                    place_, filters));
  }
  return DataError(fmt::format("{}: damaged: {}", place_, reason));
}

void InputDataset::read_bytes(Element element, std::uint64_t first, void* values, std::uint64_t count) const {
  quiet();
  const std::uint64_t length = shape_.empty() ? 1 : shape_.front();
  const std::uint64_t indices = count / values_per_index();
  if (first > length || indices > length - first || count % values_per_index() != 0) {
    throw DataError(fmt::format("{}: {} values from index {} were requested, the dataset is {}", place_, count, first,
                                h5::text_of(shape_)));
  }
  if (count == 0) {
    return;
  }
  const Space file_space(H5Dget_space(dataset_.id()));
  Shape start(shape_.size(), 0);
  Shape block = shape_;
  if (!shape_.empty()) {
    start.front() = first;
    block.front() = indices;
    H5Sselect_hyperslab(file_space.id(), H5S_SELECT_SET, start.data(), nullptr, block.data(), nullptr);
  }
  const Space memory_space(H5Screate_simple(static_cast<int>(block.size()), block.data(), nullptr));
  const Type type = memory_type(element, parts_);
  if (H5Dread(dataset_.id(), type.id(), memory_space.id(), file_space.id(), H5P_DEFAULT, values) < 0) {
    throw unreadable();
  }
  clear_fill(element, values, count);
}

/// Replaces netCDF's marks of unwritten values: its default number, or the attribute's.
void InputDataset::clear_fill(Element element, void* values, std::uint64_t count) const {
  constexpr double kOfNetcdf = 9.9692099683868690e+36;
  const auto clear = [&](auto* numbers, std::uint64_t length) {
    using Number = std::remove_pointer_t<decltype(numbers)>;
    const auto of_netcdf = static_cast<Number>(static_cast<float>(kOfNetcdf));
    const auto own = static_cast<Number>(fill_.value_or(kOfNetcdf));
    for (std::uint64_t i = 0; i < length; ++i) {
      if (numbers[i] == own || numbers[i] == of_netcdf) {
        numbers[i] = std::numeric_limits<Number>::quiet_NaN();
      }
    }
  };
  if (element == Element::kFloat32 || element == Element::kComplex64) {
    clear(static_cast<float*>(values), element == Element::kComplex64 ? 2 * count : count);
  } else if (element == Element::kFloat64) {
    clear(static_cast<double*>(values), count);
  }
}

void InputDataset::read_columns(std::uint64_t first, std::uint64_t count, std::span<double> values) const {
  quiet();
  if (shape_.size() != 2 || first > shape_.back() || count > shape_.back() - first ||
      values.size() != shape_.front() * count) {
    throw DataError(fmt::format("{}: {} values from index {} of the faster axis were requested, the dataset is {}",
                                place_, count, first, h5::text_of(shape_)));
  }
  const Space file_space(H5Dget_space(dataset_.id()));
  const Shape start = {0, first};
  const Shape block = {shape_.front(), count};
  H5Sselect_hyperslab(file_space.id(), H5S_SELECT_SET, start.data(), nullptr, block.data(), nullptr);
  const Space memory_space(H5Screate_simple(2, block.data(), nullptr));
  const Type type = memory_type(Element::kFloat64);
  if (H5Dread(dataset_.id(), type.id(), memory_space.id(), file_space.id(), H5P_DEFAULT, values.data()) < 0) {
    throw unreadable();
  }
  clear_fill(Element::kFloat64, values.data(), values.size());
}

InputFile::InputFile(const std::filesystem::path& path) : path_(path), size_bytes_(size_of_readable_file(path)) {
  quiet();
  if (H5Fis_hdf5(path.c_str()) <= 0) {
    throw DataError(
        fmt::format("{}: found {} bytes that are not HDF5, expected an HDF5 file, or for time data WAV, RF64, a "
                    "universal file (58, 58b) or MATLAB (level 5, version 7.3); {}",
                    path.string(), size_bytes_, hint_on_unknown_format(path)));
  }
  const Properties access = file_access();
  file_ = File(H5Fopen(path.c_str(), H5F_ACC_RDONLY, access.id()));
  if (!file_.valid()) {
    const std::string reason = last_error();
    if (reason.find("already open for write") != std::string::npos) {
      throw DataError(
          fmt::format("{0}: found a file that another program is still writing (SWMR), or was when it ended; expected "
                      "a closed one: close it there first, or, if nothing writes it, \"h5clear -s {0}\"",
                      path.string()));
    }
    throw DataError(
        fmt::format("{}: found a damaged or truncated HDF5 file ({}), expected a whole one", path.string(), reason));
  }
}

DataError InputFile::wrong(std::string_view place, std::string_view found, std::string_view expected) const {
  return DataError(fmt::format("{}: {}: found {}, expected {}", path_.string(), place, found, expected));
}

DataError InputFile::wrong_attribute(std::string_view object, std::string_view name, std::string_view found,
                                     std::string_view expected) const {
  return wrong(place_of_attribute(object, name), found, expected);
}

bool InputFile::has(const std::string& object) const {
  quiet();
  if (object == "/") {
    return true;
  }
  // H5Lexists fails where a group on the path is missing, so that each is checked, outermost first.
  for (std::size_t end = object.find('/', 1);; end = object.find('/', end + 1)) {
    const std::string part = object.substr(0, end);
    if (H5Lexists(file_.id(), part.c_str(), H5P_DEFAULT) <= 0) {
      return false;
    }
    H5L_info_t link{};
    if (H5Lget_info(file_.id(), part.c_str(), &link, H5P_DEFAULT) >= 0 && link.type == H5L_TYPE_EXTERNAL) {
      throw wrong(part, "a link to another file", "an object of this one");
    }
    if (end == std::string::npos) {
      return H5Oexists_by_name(file_.id(), object.c_str(), H5P_DEFAULT) > 0;
    }
  }
}

std::vector<std::string> InputFile::names_in_root(std::size_t most) const {
  quiet();
  struct Found {
    std::vector<std::string> names;
    std::size_t most;
  } found{{}, most};
  const H5L_iterate_t add = [](hid_t, const char* name, const H5L_info_t*, void* data) -> herr_t {
    Found& all = *static_cast<Found*>(data);
    all.names.emplace_back(name);
    return all.names.size() < all.most ? 0 : 1;
  };
  if (H5Literate(file_.id(), H5_INDEX_NAME, H5_ITER_INC, nullptr, add, &found) < 0) {
    throw wrong("/", damaged(), "a group");
  }
  return std::move(found.names);
}

std::optional<Shape> InputFile::shape_of_dataset(const std::string& object) const {
  if (!has(object)) {
    return std::nullopt;
  }
  const Object opened(H5Oopen(file_.id(), object.c_str(), H5P_DEFAULT));
  if (!opened.valid() || H5Iget_type(opened.id()) != H5I_DATASET) {
    return std::nullopt;
  }
  return shape_of(Space(H5Dget_space(opened.id())));
}

bool InputFile::holds_numbers(const std::string& object) const {
  if (!shape_of_dataset(object)) {
    return false;
  }
  const Dataset dataset = open_any(object, "of numbers");
  const Type type(H5Dget_type(dataset.id()));
  return is_number(type.id());
}

std::string InputFile::type_of_numbers(const std::string& object) const {
  const Dataset dataset = open_any(object, "of numbers");
  return name_of_type(Type(H5Dget_type(dataset.id())).id());
}

bool InputFile::has_attribute(const std::string& object, const std::string& name) const {
  return has(object) && H5Aexists_by_name(file_.id(), object.c_str(), name.c_str(), H5P_DEFAULT) > 0;
}

Attribute InputFile::open_attribute(const std::string& object, const std::string& name,
                                    std::string_view expected) const {
  if (!has(object)) {
    throw wrong(object, "nothing", fmt::format("it with the attribute {}", name));
  }
  if (!has_attribute(object, name)) {
    throw wrong_attribute(object, name, "nothing", expected);
  }
  Attribute attribute(H5Aopen_by_name(file_.id(), object.c_str(), name.c_str(), H5P_DEFAULT, H5P_DEFAULT));
  if (!attribute.valid()) {
    throw wrong_attribute(object, name, damaged(), expected);
  }
  const Space space(H5Aget_space(attribute.id()));
  if (H5Sget_simple_extent_npoints(space.id()) != 1) {
    throw wrong_attribute(object, name, fmt::format("shape {}", h5::text_of(shape_of(space))), expected);
  }
  return attribute;
}

std::string InputFile::text_attribute(const std::string& object, const std::string& name) const {
  const Attribute attribute = open_attribute(object, name, "a string");
  const Type type(H5Aget_type(attribute.id()));
  if (H5Tget_class(type.id()) != H5T_STRING) {
    throw wrong_attribute(object, name, name_of_type(type.id()), "a string");
  }
  if (H5Tis_variable_str(type.id()) > 0) {
    const auto read = [&] { return variable_text(attribute, type); };
    std::optional<std::string> text = text_from_child(read, size_bytes_);
    if (!text) {
      throw wrong_attribute(object, name, "damaged content", "a string");
    }
    return std::move(*text);
  }
  if (H5Tget_size(type.id()) == 0 || H5Tget_size(type.id()) > size_bytes_) {
    throw wrong_attribute(object, name, fmt::format("a string of {} bytes", H5Tget_size(type.id())),
                          fmt::format("one of 1 to {}, the bytes of the file", size_bytes_));
  }
  std::string text(H5Tget_size(type.id()) + 1, '\0');
  if (H5Aread(attribute.id(), type.id(), text.data()) < 0) {
    throw wrong_attribute(object, name, damaged(), "a string");
  }
  return trimmed(std::move(text), H5Tget_strpad(type.id()));
}

std::int64_t InputFile::integer_attribute(const std::string& object, const std::string& name, std::int64_t least,
                                          std::int64_t most) const {
  const bool bounded = most != std::numeric_limits<std::int64_t>::max();
  const std::string expected = bounded ? fmt::format("an integer from {} to {}", least, most) : "an integer";
  const Attribute attribute = open_attribute(object, name, expected);
  const Type type(H5Aget_type(attribute.id()));
  if (!is_sound_integer(type.id())) {
    throw wrong_attribute(object, name, name_of_type(type.id()), expected);
  }
  std::int64_t value = 0;
  if (H5Aread(attribute.id(), H5T_NATIVE_INT64, &value) < 0) {
    throw wrong_attribute(object, name, damaged(), expected);
  }
  if (value < least || value > most) {
    throw wrong_attribute(object, name, fmt::format("{}", value), expected);
  }
  return value;
}

double InputFile::real_attribute(const std::string& object, const std::string& name) const {
  constexpr std::string_view kExpected = "a finite number";
  const Attribute attribute = open_attribute(object, name, kExpected);
  const Type type(H5Aget_type(attribute.id()));
  if (!is_number(type.id())) {
    throw wrong_attribute(object, name, name_of_type(type.id()), kExpected);
  }
  double value = 0.0;
  if (H5Aread(attribute.id(), H5T_NATIVE_DOUBLE, &value) < 0) {
    throw wrong_attribute(object, name, damaged(), kExpected);
  }
  if (!std::isfinite(value)) {
    throw wrong_attribute(object, name, fmt::format("{}", value), kExpected);
  }
  return value;
}

double InputFile::positive_attribute(const std::string& object, const std::string& name) const {
  const double value = real_attribute(object, name);
  if (value <= 0.0) {
    throw wrong_attribute(object, name, fmt::format("{}", value), "a number above 0");
  }
  return value;
}

Dataset InputFile::open_any(const std::string& name, const std::string& expected) const {
  if (!has(name)) {
    throw wrong(name, "nothing", fmt::format("a dataset {}", expected));
  }
  Dataset dataset(H5Dopen2(file_.id(), name.c_str(), H5P_DEFAULT));
  if (!dataset.valid()) {
    throw wrong(name, fmt::format("no readable dataset ({})", last_error()), fmt::format("a dataset {}", expected));
  }
  if (lies_elsewhere(dataset)) {
    throw wrong(name, "values in another file", "values in this one");
  }
  return dataset;
}

Element InputFile::element_in(const std::string& name) const {
  constexpr std::string_view kExpected = "complex, float32, float64, uint32, uint64 or int64";
  const Dataset dataset = open_any(name, fmt::format("of {}", kExpected));
  const Type type(H5Dget_type(dataset.id()));
  if (const std::optional<Element> element = element_of_type(type.id())) {
    return *element;
  }
  throw wrong(name, name_of_type(type.id()), kExpected);
}

InputDataset InputFile::open_dataset(const std::string& name, Element element, const std::vector<Axis>& axes) const {
  InputDataset result;
  result.place_ = fmt::format("{}: {}", path_.string(), name);
  result.dataset_ = open_any(name, fmt::format("{} of {}", text_of(axes), expected_type(element)));
  const Type type(H5Dget_type(result.dataset_.id()));
  result.parts_ = part_names_in(type.id());
  if (!fits(type.id(), element, result.parts_)) {
    throw wrong(name, name_of_type(type.id()), expected_type(element));
  }
  const Space space(H5Dget_space(result.dataset_.id()));
  result.shape_ = shape_of(space);
  require_axes(result.shape_, name, axes);
  require_plausible_size(result, name, H5Tget_size(type.id()));
  result.fill_ = fill_of(name);
  return result;
}

/// Value of netCDF's attribute _FillValue, if it is a finite number.
std::optional<double> InputFile::fill_of(const std::string& object) const {
  constexpr const char* kFill = "_FillValue";
  if (!has_attribute(object, kFill)) {
    return std::nullopt;
  }
  const Attribute attribute = open_attribute(object, kFill, "one value");
  double value = 0.0;
  const bool is_read =
      is_number(Type(H5Aget_type(attribute.id())).id()) && H5Aread(attribute.id(), H5T_NATIVE_DOUBLE, &value) >= 0;
  return is_read && std::isfinite(value) ? std::optional(value) : std::nullopt;
}

void InputFile::require_axes(const Shape& shape, const std::string& name, const std::vector<Axis>& axes) const {
  const std::string found = h5::text_of(shape);
  if (shape.size() != axes.size()) {
    throw wrong(name, fmt::format("rank {} {}", shape.size(), found),
                fmt::format("rank {} {}", axes.size(), text_of(axes)));
  }
  for (std::size_t axis = 0; axis < axes.size(); ++axis) {
    if (shape[axis] == 0) {
      throw wrong(name, fmt::format("{}, that is 0 {}", found, axes[axis].name), "at least 1");
    }
    if (axes[axis].length != Axis::kAnyLength && axes[axis].length != shape[axis]) {
      throw wrong(name, fmt::format("{}, that is {} {}", found, shape[axis], axes[axis].name), text_of(axes));
    }
  }
}

void InputFile::require_plausible_size(const InputDataset& dataset, const std::string& name,
                                       std::size_t value_bytes) const {
  const Properties creation(H5Dget_create_plist(dataset.dataset_.id()));
  const bool filtered = H5Pget_nfilters(creation.id()) > 0;
  std::uint64_t room = size_bytes_ * (filtered ? kLargestCompression : 1) / value_bytes;
  for (const hsize_t length : dataset.shape()) {
    room /= length;
  }
  if (room == 0) {
    throw wrong(name, fmt::format("{} values of {} bytes", h5::text_of(dataset.shape()), value_bytes),
                fmt::format("no more than a file of {} bytes holds", size_bytes_));
  }
}

}  // namespace nearfield::h5
