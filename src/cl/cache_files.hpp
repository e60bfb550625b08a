#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <initializer_list>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace nearfield::ocl {

/// 128-bit hash of everything that a cached value depends on.
struct CacheKey {
  std::array<std::uint8_t, 16> bytes{};
  [[nodiscard]] std::string hex() const;
  friend bool operator==(const CacheKey&, const CacheKey&) = default;
};

/// The key of `parts`, in their order: XXH3 over each part's length and text.
CacheKey cache_key(std::initializer_list<std::string_view> parts);

/// Values that can be recomputed, one file per key, in one folder. Nothing here throws or fails: an unreadable value
/// counts as missing, an unwritable one is not stored. Several processes and threads may use one folder; a file appears
/// whole or not at all. Only files and folders of this process's own user are used.
class CacheFiles {
 public:
  static constexpr std::uint64_t kMostBytes = std::uint64_t{256} << 20U;

  /// An empty folder: off. When a value is stored the folder is created, for its user alone, and the least recently
  /// used files are deleted until the rest have at most `most_bytes`.
  explicit CacheFiles(std::filesystem::path folder, std::uint64_t most_bytes = kMostBytes)
      : folder_(std::move(folder)), most_bytes_(most_bytes) {}

  [[nodiscard]] bool is_on() const { return !folder_.empty(); }
  /// Empty unless the file is whole, undamaged, of this key and of this version of Nearfield's format.
  [[nodiscard]] std::optional<std::vector<unsigned char>> load(const CacheKey& key) const;
  void store(const CacheKey& key, std::span<const unsigned char> value) const;
  /// Stores the value unless one that `is_usable` is already stored, and returns the stored one: the first value wins
  /// among several processes and threads. Empty if can_store_first() is false or the value could not be written.
  [[nodiscard]] std::optional<std::vector<unsigned char>> store_first(
      const CacheKey& key, std::span<const unsigned char> value,
      const std::function<bool(std::span<const unsigned char>)>& is_usable) const;
  /// True if the folder is this user's, writable, and on a file system with locks.
  [[nodiscard]] bool can_store_first() const;
  /// Path of a key's value.
  [[nodiscard]] std::filesystem::path path_of(const CacheKey& key) const;

 private:
  /// False, with a line in the log, if it could not be written.
  bool write(const CacheKey& key, std::span<const unsigned char> value) const;

  std::filesystem::path folder_;
  std::uint64_t most_bytes_;
};

}  // namespace nearfield::ocl
