#include "core/system/memory.hpp"

#include <link.h>
#include <malloc.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <charconv>
#include <cstring>
#include <fstream>
#include <string_view>
#include <system_error>
#include <utility>

#ifdef __SSE2__
#include <emmintrin.h>
#endif

namespace nearfield {
namespace {

constexpr std::uint64_t kKilobyte = 1024;

/// The bytes of a line such as "Rss:     528 kB" with this name; empty for other lines.
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

/// True for the first line of a mapping, which begins with its addresses; names of fields begin with capitals.
bool begins_mapping(std::string_view line) {
  return !line.empty() && ((line[0] >= '0' && line[0] <= '9') || (line[0] >= 'a' && line[0] <= 'f'));
}

/// Path after addresses, rights, offset, device and inode; empty for memory without a file, which also has names such
/// as [heap].
std::string path_of(std::string_view line) {
  const std::size_t slash = line.find('/');
  return slash == std::string_view::npos ? std::string() : std::string(line.substr(slash));
}

/// Mappings of files without any page written by this process: first address, and end address.
using Unwritten = std::map<std::uintptr_t, std::uintptr_t>;

/// Mappings of ordinary pages without any private copy of this process, in memory or swapped out.
Unwritten unwritten_mappings() {
  Unwritten mappings;
  std::ifstream file("/proc/self/smaps");
  const auto page_bytes = static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
  std::uintptr_t first = 0;
  for (std::string line; std::getline(file, line);) {
    if (begins_mapping(line)) {
      const char* text = line.data();
      std::uintptr_t end = 0;
      const auto [dash, error] = std::from_chars(text, text + line.size(), first, 16);
      if (error == std::errc() && !path_of(line).empty() &&
          std::from_chars(dash + 1, text + line.size(), end, 16).ec == std::errc()) {
        mappings[first] = end;
      }
    } else if (bytes_of(line, "Anonymous:").value_or(0) != 0 || bytes_of(line, "Swap:").value_or(0) != 0 ||
               bytes_of(line, "KernelPageSize:").value_or(page_bytes) != page_bytes) {
      mappings.erase(first);
    }
  }
  return mappings;
}

/// Callback of dl_iterate_phdr(3): releases those parts of a program or library that are never written to.
int release_segments(dl_phdr_info* loaded, std::size_t /*bytes*/, void* data) {
  auto& unwritten = *static_cast<std::optional<Unwritten>*>(data);
  if (!unwritten) {  // first call: under the loader's lock
    unwritten = unwritten_mappings();
  }
  const auto page_bytes = static_cast<std::uintptr_t>(::sysconf(_SC_PAGESIZE));
  for (std::size_t i = 0; i < loaded->dlpi_phnum; ++i) {
    const auto& segment = loaded->dlpi_phdr[i];
    if (segment.p_type != PT_LOAD || (segment.p_flags & PF_W) != 0) {
      continue;
    }
    const std::uintptr_t first = (loaded->dlpi_addr + segment.p_vaddr) / page_bytes * page_bytes;
    const std::uintptr_t last = loaded->dlpi_addr + segment.p_vaddr + segment.p_filesz;
    const std::uintptr_t end = (last + page_bytes - 1) / page_bytes * page_bytes;
    // A longer mapping may hold relocations after the segment, which are written at the start and only read afterwards.
    if (const auto found = unwritten->find(first); found != unwritten->end() && end <= found->second) {
      (void)::madvise(std::bit_cast<void*>(first), end - first, MADV_DONTNEED);
    }
  }
  return 0;
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

void keep_large_blocks_apart() { (void)::mallopt(M_MMAP_THRESHOLD, 256 * 1024); }

void release_file_pages() {
  std::optional<Unwritten> unwritten;
  // The loader's lock is held throughout: nothing that is released can be unloaded and replaced meanwhile.
  (void)::dl_iterate_phdr(release_segments, &unwritten);
}

namespace {

#ifdef __SSE2__
constexpr std::size_t kStoreWords = sizeof(__m128i) / sizeof(std::uint32_t);

/// Copies whole stores to `to`, which must be aligned to one.
void stream(const std::uint32_t* from, std::uint32_t* to, std::size_t words) {
  for (std::size_t i = 0; i < words; i += kStoreWords) {
    _mm_stream_si128(reinterpret_cast<__m128i*>(to + i), _mm_loadu_si128(reinterpret_cast<const __m128i*>(from + i)));
  }
  _mm_sfence();
}

/// Words of `to` before the first aligned store.
std::size_t words_before_store(const std::uint32_t* to) {
  const std::size_t place = reinterpret_cast<std::uintptr_t>(to) / sizeof(std::uint32_t) % kStoreWords;
  return (kStoreWords - place) % kStoreWords;
}
#endif

}  // namespace

void copy_words(std::span<const std::uint32_t> from, std::span<std::uint32_t> to, Copying copying) {
#ifdef __SSE2__
  if (copying == Copying::kPastCaches) {
    const std::size_t head = std::min(words_before_store(to.data()), from.size());
    const std::size_t body = (from.size() - head) / kStoreWords * kStoreWords;
    std::copy_n(from.begin(), head, to.begin());
    stream(from.data() + head, to.data() + head, body);
    std::copy(from.begin() + static_cast<std::ptrdiff_t>(head + body), from.end(),
              to.begin() + static_cast<std::ptrdiff_t>(head + body));
    return;
  }
#endif
  (void)copying;
  std::copy(from.begin(), from.end(), to.begin());
}

}  // namespace nearfield
