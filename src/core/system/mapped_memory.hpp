#pragma once
#include <cstdint>
#include <map>
#include <optional>
#include <string>

namespace nearfield {

/// What of a mapped file is in memory.
struct FileMemory {
  std::uint64_t resident_bytes = 0;
  std::uint64_t anonymous_bytes = 0;  ///< of these: pages that this process has written to, which are its own copies
};

/// The resident memory of this process at one moment.
struct MappedMemory {
  std::uint64_t resident_bytes = 0;
  std::map<std::string, FileMemory> files;  ///< by path; programs, libraries, shared memory
};

/// From /proc/self/smaps, for which the kernel goes through all pages: a few milliseconds. Nothing where it cannot be
/// read.
std::optional<MappedMemory> read_mapped_memory();

/// Resident memory of this process that is of no file, from /proc/self/statm: some microseconds. The kernel counts it
/// to about a megabyte. 0 where it cannot be read.
std::uint64_t anonymous_memory_bytes();

/// Gives those pages of the heap back to the kernel that no object lies on (malloc_trim): what allocates next needs
/// them again. Other threads that allocate wait meanwhile, some milliseconds at most. Without effect where memory is
/// locked.
void release_free_memory();

}  // namespace nearfield
