#pragma once
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <span>
#include <string>

#include "core/error.hpp"
#include "core/system/file_descriptor.hpp"

namespace nearfield::time_data {

/// A random-access file. Throws NoInputError when it is missing or no file, DataError beyond its end.
class ByteFile {
 public:
  explicit ByteFile(const std::filesystem::path& path);
  [[nodiscard]] const std::filesystem::path& path() const { return path_; }
  [[nodiscard]] std::uint64_t size_bytes() const { return size_bytes_; }
  /// Errors name `what` where the file ends before the last of these bytes.
  void read(std::uint64_t offset, std::span<std::byte> bytes, std::string_view what) const;
  /// Up to `most` bytes, fewer at the end of the file.
  [[nodiscard]] std::string text(std::uint64_t offset, std::size_t most) const;
  [[nodiscard]] DataError wrong(std::string_view place, std::string_view found, std::string_view expected) const;

 private:
  std::filesystem::path path_;
  FileDescriptor descriptor_;
  std::uint64_t size_bytes_ = 0;
};

/// A number at the beginning of `bytes`, in the byte order of this machine or reversed.
template <class Number>
Number number_at(const std::byte* bytes, bool is_reversed = false) {
  std::byte own[sizeof(Number)];
  for (std::size_t i = 0; i < sizeof(Number); ++i) {
    own[i] = bytes[is_reversed ? sizeof(Number) - 1 - i : i];
  }
  Number number;
  std::memcpy(&number, own, sizeof(Number));
  return number;
}

}  // namespace nearfield::time_data
