#pragma once
#include <filesystem>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/error.hpp"
#include "files/hdf5/h5.hpp"

namespace nearfield::h5 {

/// A required axis of a dataset: its name for messages and its length.
struct Axis {
  static constexpr std::uint64_t kAnyLength = 0;  ///< accepts every length of at least 1
  std::string_view name;
  std::uint64_t length = kAnyLength;
};

/// A dataset whose type, rank, lengths and size have been checked.
class InputDataset {
 public:
  [[nodiscard]] const Shape& shape() const { return shape_; }
  /// Number of values in the whole dataset, over all axes.
  [[nodiscard]] std::uint64_t values() const;

  /// Fills `values` from index `first` of the slowest axis on; netCDF's fill values of floats become NaN. Throws
  /// DataError beyond the end or when reading fails.
  template <typename T>
  void read(std::uint64_t first, std::span<T> values) const {
    read_bytes(element_of<T>(), first, values.data(), values.size());
  }
  template <typename T>
  [[nodiscard]] std::vector<T> read_all() const {
    std::vector<T> result(values());
    read(0, std::span<T>(result));
    return result;
  }
  /// Reads indices first to first + count - 1 of the faster of two axes, as [slow][fast]. Throws as read().
  void read_columns(std::uint64_t first, std::uint64_t count, std::span<double> values) const;
  /// read() of `count` values whose type is known only at run time.
  void read_bytes(Element element, std::uint64_t first, void* values, std::uint64_t count) const;

 private:
  friend class InputFile;
  [[nodiscard]] std::uint64_t values_per_index() const;
  /// Error with the reason why the last read failed.
  [[nodiscard]] DataError unreadable() const;

  void clear_fill(Element element, void* values, std::uint64_t count) const;

  Dataset dataset_;
  Shape shape_;
  std::optional<double> fill_;    ///< fill value, in addition to netCDF's default
  PartNames parts_ = kPartNames;  ///< names of a complex value's parts in the file
  std::string place_;             ///< file and dataset, for messages
};

/// An HDF5 file open for reading. Every error names the file, the dataset or attribute, the value found and the value
/// expected. Throws NoInputError when the file is missing or unreadable, DataError when its content is wrong.
class InputFile {
 public:
  explicit InputFile(const std::filesystem::path& path);

  [[nodiscard]] const std::filesystem::path& path() const { return path_; }
  [[nodiscard]] std::uint64_t size_bytes() const { return size_bytes_; }

  /// `object` is an absolute path such as "/truth/pressure". Throws DataError on a link to another file.
  [[nodiscard]] bool has(const std::string& object) const;
  [[nodiscard]] bool has_attribute(const std::string& object, const std::string& name) const;
  /// Names of the objects in the root in alphabetical order, `most` at most.
  [[nodiscard]] std::vector<std::string> names_in_root(std::size_t most) const;
  /// Lengths of a dataset's axes; nothing where `object` is no dataset.
  [[nodiscard]] std::optional<Shape> shape_of_dataset(const std::string& object) const;
  /// True for a dataset of floats or integers.
  [[nodiscard]] bool holds_numbers(const std::string& object) const;
  /// Type name such as "int16"; requires holds_numbers().
  [[nodiscard]] std::string type_of_numbers(const std::string& object) const;
  /// String of fixed or variable length; the latter is read in a child process (h5.hpp).
  [[nodiscard]] std::string text_attribute(const std::string& object, const std::string& name) const;
  /// Integer of any width, within [least, most].
  [[nodiscard]] std::int64_t integer_attribute(const std::string& object, const std::string& name,
                                               std::int64_t least = std::numeric_limits<std::int64_t>::min(),
                                               std::int64_t most = std::numeric_limits<std::int64_t>::max()) const;
  /// Finite float or integer of any width.
  [[nodiscard]] double real_attribute(const std::string& object, const std::string& name) const;
  /// real_attribute() that must be above zero.
  [[nodiscard]] double positive_attribute(const std::string& object, const std::string& name) const;

  /// Opens a dataset of the given element and axes. Floats may be of any width, float64 may be integers in the file;
  /// integers must be the requested ones. Refuses a dataset whose values lie in another file or cannot lie in one of
  /// this size.
  template <typename T>
  [[nodiscard]] InputDataset dataset(const std::string& name, const std::vector<Axis>& axes) const {
    return open_dataset(name, element_of<T>(), axes);
  }
  /// dataset() for an element that is known only at run time.
  [[nodiscard]] InputDataset open_dataset(const std::string& name, Element element,
                                          const std::vector<Axis>& axes) const;
  /// Element type of a dataset's values. Throws DataError where they are no Element.
  [[nodiscard]] Element element_in(const std::string& name) const;
  /// Reads a whole dataset, [index].
  template <typename T>
  [[nodiscard]] std::vector<T> values(const std::string& name, const std::vector<Axis>& axes) const {
    return dataset<T>(name, axes).template read_all<T>();
  }

  [[nodiscard]] DataError wrong(std::string_view place, std::string_view found, std::string_view expected) const;
  [[nodiscard]] DataError wrong_attribute(std::string_view object, std::string_view name, std::string_view found,
                                          std::string_view expected) const;

 private:
  [[nodiscard]] Dataset open_any(const std::string& name, const std::string& expected) const;
  [[nodiscard]] Attribute open_attribute(const std::string& object, const std::string& name,
                                         std::string_view expected) const;
  [[nodiscard]] std::optional<double> fill_of(const std::string& object) const;
  void require_axes(const Shape& shape, const std::string& name, const std::vector<Axis>& axes) const;
  void require_plausible_size(const InputDataset& dataset, const std::string& name, std::size_t value_bytes) const;

  std::filesystem::path path_;
  std::uint64_t size_bytes_ = 0;
  File file_;
};

}  // namespace nearfield::h5
