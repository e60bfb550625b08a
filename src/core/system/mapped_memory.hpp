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

/// Has malloc(3) take each block of 256 KiB or more from the kernel by itself, and give it back when it is freed. Left
/// alone, malloc raises that size to the largest block that was freed, up to 32 MB, and keeps what lies below the last
/// one. Call it before a second thread starts.
void keep_large_blocks_apart();

/// Takes the pages of programs and libraries that are only read out of this process's memory: most of what a start
/// needs runs once. They stay in the kernel's cache of files, from which a page that is touched again comes back by
/// a page fault, or from the disk where the kernel has dropped it meanwhile. Pages that this process has
/// written to stay. Without effect where memory is locked.
void release_file_pages();

}  // namespace nearfield
