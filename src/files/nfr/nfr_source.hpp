#pragma once
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>

#include "core/system/file_descriptor.hpp"

namespace nearfield::nfr {

/// The bytes of a recording: a file, with its length at opening, or memory.
class Source {
 public:
  /// Throws NoInputError.
  explicit Source(const std::filesystem::path& path);
  explicit Source(std::span<const std::byte> memory) : memory_(memory), size_bytes_(memory.size()) {}
  Source(const Source&) = delete;
  Source& operator=(const Source&) = delete;
  [[nodiscard]] std::uint64_t size_bytes() const { return size_bytes_; }
  /// Fills `bytes` from `offset` on. Throws DataError when the file fails or became shorter.
  void read(std::uint64_t offset, std::span<std::byte> bytes) const;

 private:
  std::filesystem::path path_;
  FileDescriptor file_;
  std::span<const std::byte> memory_;
  std::uint64_t size_bytes_ = 0;
};

}  // namespace nearfield::nfr
