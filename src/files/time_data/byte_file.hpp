#pragma once
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "core/error.hpp"
#include "core/system/files.hpp"

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

/// Reads the lines of a text file in order, from any offset. Lines end with LF or CR LF.
class LineReader {
 public:
  LineReader(const ByteFile& file, std::uint64_t offset) : file_(&file), offset_(offset) {}
  /// The next line without its end, valid until the next call; nothing at the end of the file. Throws DataError on a
  /// line of more than 1024 characters.
  std::optional<std::string_view> next();
  /// Offset of the next line in the file.
  [[nodiscard]] std::uint64_t offset() const { return offset_ + begin_; }
  void go_to(std::uint64_t offset);

 private:
  void fill();
  const ByteFile* file_;
  std::uint64_t offset_ = 0;  ///< offset of buffer_ in the file
  std::size_t begin_ = 0;
  std::string buffer_;
};

}  // namespace nearfield::time_data
