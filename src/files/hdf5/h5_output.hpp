#pragma once
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/system/files.hpp"
#include "files/hdf5/h5.hpp"

namespace nearfield::h5 {

/// Storage layout of a dataset's values.
enum class Storage {
  kGrowing,  ///< in chunks; the slowest axis grows, the others are fixed
  kInPlace,  ///< contiguous and allocated from the start, with holes where nothing was written
  kPieces,   ///< like kInPlace, but in chunks of about 1 MiB along the slowest axis if that gives several
};

/// Name of the complex type in each file that has complex values.
inline constexpr const char* kComplexType = "/complex64";

class OutputFile;

/// A dataset being written.
class OutputDataset {
 public:
  OutputDataset() = default;
  /// Writes whole indices of the slowest axis from `first` on; a growing dataset is extended. Throws IoError.
  template <typename T>
  void write(std::uint64_t first, std::span<const T> values) {
    write_bytes(element_of<T>(), first, values.data(), values.size());
  }
  /// write() of `count` values whose type is known only at run time.
  void write_bytes(Element element, std::uint64_t first, const void* values, std::uint64_t count);

 private:
  friend class OutputFile;

  const OutputFile* file_ = nullptr;
  std::string name_;
  Dataset dataset_;
  Shape shape_;
  Storage storage_ = Storage::kInPlace;
};

/// An HDF5 file that grows under PATH.partial and takes its own name in finish(). Destroyed before, it is removed,
/// unless keep_partial() was called. Throws IoError with the path and the system's reason.
class OutputFile {
 public:
  explicit OutputFile(const std::filesystem::path& path);

  void create_group(const std::string& name);
  /// Writes a string of fixed length, up to 32 KiB; HDF5 keeps those of variable length in a heap of the file, where a
  /// single damaged byte makes the library crash or never end (1.10.8). Replaces an attribute of that name.
  void write_attribute(const std::string& object, const std::string& name, std::string_view value);
  void write_attribute(const std::string& object, const std::string& name, std::int64_t value);
  void write_attribute(const std::string& object, const std::string& name, double value);
  void write_attribute(const std::string& object, const std::string& name, std::span<const std::uint32_t> values);

  template <typename T>
  [[nodiscard]] OutputDataset create(const std::string& name, const Shape& shape, Storage storage) {
    return create_dataset(name, element_of<T>(), shape, storage);
  }
  /// create() for an element that is known only at run time.
  [[nodiscard]] OutputDataset create_dataset(const std::string& name, Element element, const Shape& shape,
                                             Storage storage);
  /// Writes a whole dataset, column fastest.
  template <typename T>
  void write(const std::string& name, const Shape& shape, std::span<const T> values) {
    create<T>(name, shape, Storage::kInPlace).write(0, values);
  }
  template <typename T>
  void write(const std::string& name, const Shape& shape, const std::vector<T>& values) {
    write(name, shape, std::span<const T>(values));
  }

  /// Makes a dataset of one axis an HDF5 dimension scale: the values of an axis of other datasets.
  void make_scale(const std::string& place);
  /// Creates a dimension scale that has a length and no values, as netCDF-4 does: it takes no space in the file.
  void create_dimension(const std::string& place, hsize_t length);
  /// Attaches the scales to the dataset's axes, slowest first; empty names are skipped.
  void attach_scales(const std::string& place, const std::vector<std::string>& scales);
  [[nodiscard]] bool has(const std::string& place) const;

  /// Makes the data written so far a valid file that survives a kill.
  void flush();
  void keep_partial() { partial_.keep(); }
  /// Closes the file, waits until it is on the disk, and renames it to its final name.
  void finish();

  /// Throws IoError with the reason of the HDF5 call that just failed, if `ok` is false.
  void require(bool ok, std::string_view what) const;

 private:
  void write_attribute(const std::string& object, const std::string& name, const Type& type, const Space& space,
                       const void* value);
  [[nodiscard]] Dataset open(const std::string& place) const;
  /// Type of values in the file: same as in memory. The complex type is a named type, kComplexType, without which
  /// netCDF's library (4.9) omits its datasets.
  [[nodiscard]] Type file_type(Element element);

  PartialFile partial_;
  File file_;  ///< closed before the partial file is removed
};

}  // namespace nearfield::h5
