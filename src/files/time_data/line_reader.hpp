#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "files/time_data/byte_file.hpp"

namespace nearfield::time_data {

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
