#pragma once
#include <filesystem>
#include <string>
#include <string_view>

#include "core/system/partial_file.hpp"
#include "files/hdf5/h5.hpp"

namespace nearfield::h5 {

/// Where a dataset's values lie.
enum class Storage {
  kGrowing,  ///< in chunks; the slowest axis grows, the others stay
  kInPlace,  ///< at a fixed place that is there from the start, holes where nothing was written
};

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
  /// As write(), of `count` values whose type is known only at run time.
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
  /// A string of fixed length, up to 32 KiB; HDF5 keeps those of variable length in a heap of the file, where a single
  /// damaged byte makes the library crash or never end (1.10.8). An attribute of that name is replaced.
  void write_attribute(const std::string& object, const std::string& name, std::string_view value);
  void write_attribute(const std::string& object, const std::string& name, std::int64_t value);
  void write_attribute(const std::string& object, const std::string& name, double value);

  template <typename T>
  [[nodiscard]] OutputDataset create(const std::string& name, const Shape& shape, Storage storage) {
    return create_dataset(name, element_of<T>(), shape, storage);
  }
  /// As create(), of an element that is known only at run time.
  [[nodiscard]] OutputDataset create_dataset(const std::string& name, Element element, const Shape& shape,
                                             Storage storage);
  /// A whole dataset, column fastest.
  template <typename T>
  void write(const std::string& name, const Shape& shape, std::span<const T> values) {
    create<T>(name, shape, Storage::kInPlace).write(0, values);
  }
  template <typename T>
  void write(const std::string& name, const Shape& shape, const std::vector<T>& values) {
    write(name, shape, std::span<const T>(values));
  }

  /// Makes what was written so far a valid file that survives a kill.
  void flush();
  void keep_partial() { partial_.keep(); }
  /// Closes the file, waits until it is on the disk, and gives it its name.
  void finish();

  /// Throws IoError with the reason of the HDF5 call that just failed, unless `ok`.
  void require(bool ok, std::string_view what) const;

 private:
  void write_attribute(const std::string& object, const std::string& name, const Type& type, const void* value);

  PartialFile partial_;
  File file_;  ///< is closed before the partial file is removed
};

}  // namespace nearfield::h5
