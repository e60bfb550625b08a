#pragma once
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>

namespace nearfield {

/// Resident memory of one mapped file.
struct FileMemory {
  std::uint64_t resident_bytes = 0;
  std::uint64_t anonymous_bytes = 0;  ///< pages thereof that this process has written to, which are its own copies
};

/// The resident memory of this process at one moment.
struct MappedMemory {
  std::uint64_t resident_bytes = 0;
  std::map<std::string, FileMemory> files;  ///< by path; programs, libraries, shared memory
};

/// Reads /proc/self/smaps, for which the kernel walks all pages: a few milliseconds. Empty if it cannot be read.
std::optional<MappedMemory> read_mapped_memory();

/// Resident memory of this process that belongs to no file, from /proc/self/statm: takes some microseconds. The kernel
/// counts it to about a megabyte. 0 if it cannot be read.
std::uint64_t anonymous_memory_bytes();

/// Returns unused pages of the heap to the kernel (malloc_trim); later allocations need them again. Other threads that
/// allocate wait meanwhile, some milliseconds at most. No effect if memory is locked.
void release_free_memory();

/// Makes malloc(3) map each block of 256 KiB or more separately, and unmap it when it is freed. By default malloc
/// raises that size to the largest block that was freed, up to 32 MB, and keeps everything below the last one. Call it
/// before a second thread starts.
void keep_large_blocks_apart();

/// Drops the read-only pages of programs and libraries from this process's memory: most code that a start needs runs
/// once. They stay in the kernel's page cache; a later access costs a page fault, or a disk read if the kernel has
/// dropped the page meanwhile. Pages that this process has written to stay. No effect if memory is locked.
void release_file_pages();

/// Store type for writing bits to memory that a device reads.
enum class Copying {
  kCached,      ///< for a device that shares the processor's caches
  kPastCaches,  ///< for a device that fetches over a bus: modified cache lines would have to be fetched from the cache
};

/// Copies to the start of `to`, which is at least as long and does not overlap. kPastCaches takes effect only if the
/// processor has stores for it (x86-64); the data are visible to a device that is notified afterwards.
void copy_words(std::span<const std::uint32_t> from, std::span<std::uint32_t> to, Copying copying);

}  // namespace nearfield
