#include "core/system/mapped_memory.hpp"

#include <malloc.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <fstream>
#include <string_view>
#include <system_error>
#include <utility>

namespace nearfield {
namespace {

constexpr std::uint64_t kKilobyte = 1024;

/// The bytes of a line such as "Rss:     528 kB" under this name; nothing of other lines.
std::optional<std::uint64_t> bytes_of(std::string_view line, std::string_view name) {
  if (!line.starts_with(name)) {
    return std::nullopt;
  }
  line.remove_prefix(name.size());
  line.remove_prefix(std::min(line.find_first_not_of(' '), line.size()));
  std::uint64_t kilobytes = 0;
  const auto [end, error] = std::from_chars(line.data(), line.data() + line.size(), kilobytes);
  return error == std::errc() ? std::optional(kilobytes * kKilobyte) : std::nullopt;
}

/// Whether it is the first line of a mapping, which begins with its addresses; names of fields begin with capitals.
bool begins_mapping(std::string_view line) {
  return !line.empty() && ((line[0] >= '0' && line[0] <= '9') || (line[0] >= 'a' && line[0] <= 'f'));
}

/// Behind addresses, rights, offset, device and inode; empty for memory of no file, which also has names such as
/// [heap].
std::string path_of(std::string_view line) {
  const std::size_t slash = line.find('/');
  return slash == std::string_view::npos ? std::string() : std::string(line.substr(slash));
}

}  // namespace

std::optional<MappedMemory> read_mapped_memory() {
  std::ifstream file("/proc/self/smaps");
  if (!file) {
    return std::nullopt;
  }
  MappedMemory memory;
  FileMemory* mapped = nullptr;
  for (std::string line; std::getline(file, line);) {
    if (begins_mapping(line)) {
      const std::string path = path_of(line);
      mapped = path.empty() ? nullptr : &memory.files[path];
    } else if (const auto resident_bytes = bytes_of(line, "Rss:")) {
      memory.resident_bytes += *resident_bytes;
      if (mapped != nullptr) {
        mapped->resident_bytes += *resident_bytes;
      }
    } else if (const auto anonymous_bytes = bytes_of(line, "Anonymous:"); anonymous_bytes && mapped != nullptr) {
      mapped->anonymous_bytes += *anonymous_bytes;
    }
  }
  return memory.resident_bytes > 0 ? std::optional(std::move(memory)) : std::nullopt;
}

std::uint64_t anonymous_memory_bytes() {
  std::ifstream file("/proc/self/statm");
  std::uint64_t size_pages = 0;
  std::uint64_t resident_pages = 0;
  std::uint64_t shared_pages = 0;
  if (!(file >> size_pages >> resident_pages >> shared_pages) || shared_pages > resident_pages) {
    return 0;
  }
  return (resident_pages - shared_pages) * static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
}

void release_free_memory() { (void)::malloc_trim(0); }

}  // namespace nearfield
