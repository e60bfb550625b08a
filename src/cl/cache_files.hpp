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

/// 128 bits that stand for what a cached value depends on.
struct CacheKey {
  std::array<std::uint8_t, 16> bytes{};
  [[nodiscard]] std::string hex() const;
  friend bool operator==(const CacheKey&, const CacheKey&) = default;
};

/// The key of `parts`, in their order: XXH3 over each part's length and text.
CacheKey cache_key(std::initializer_list<std::string_view> parts);

/// Values that can be computed again, one file a key, in one folder. Nothing here throws or fails: what can't be read
/// is not there, what can't be written is left out. Several processes and threads may use one folder; a file appears
/// whole or not at all. Only files and folders of this process's own user count.
class CacheFiles {
 public:
  static constexpr std::uint64_t kMostBytes = std::uint64_t{256} << 20U;

  /// An empty folder: off. When a value is stored the folder is made, for its user alone, and the files used longest
  /// ago go until those left have at most `most_bytes`.
  explicit CacheFiles(std::filesystem::path folder, std::uint64_t most_bytes = kMostBytes)
      : folder_(std::move(folder)), most_bytes_(most_bytes) {}

  [[nodiscard]] bool is_on() const { return !folder_.empty(); }
  /// Nothing unless the file is whole, undamaged, of this key and of this version of Nearfield's format.
  [[nodiscard]] std::optional<std::vector<unsigned char>> load(const CacheKey& key) const;
  void store(const CacheKey& key, std::span<const unsigned char> value) const;
  /// Stores the value unless one that `is_usable` lies there already, and returns the one that lies there then: of
  /// several processes and threads the first one's value is that of all. Nothing where can_store_first() is false or
  /// the value could not be written.
  [[nodiscard]] std::optional<std::vector<unsigned char>> store_first(
      const CacheKey& key, std::span<const unsigned char> value,
      const std::function<bool(std::span<const unsigned char>)>& is_usable) const;
  /// Whether the folder is this user's, may be written, and lies on a file system with locks.
  [[nodiscard]] bool can_store_first() const;
  /// Where a key's value lies.
  [[nodiscard]] std::filesystem::path path_of(const CacheKey& key) const;

 private:
  /// False, and a line in the log, where it could not be written.
  bool write(const CacheKey& key, std::span<const unsigned char> value) const;

  std::filesystem::path folder_;
  std::uint64_t most_bytes_;
};

}  // namespace nearfield::ocl
