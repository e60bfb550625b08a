#pragma once
#include <cstdint>
#include <span>

namespace nearfield {

/// Store type for writing bits to memory that a device reads.
enum class Copying {
  kCached,      ///< for a device that shares the processor's caches
  kPastCaches,  ///< for a device that fetches over a bus: modified cache lines would have to be fetched from the cache
};

/// Copies to the start of `to`, which is at least as long and does not overlap. kPastCaches takes effect only if the
/// processor has stores for it (x86-64); the data are visible to a device that is notified afterwards.
void copy_words(std::span<const std::uint32_t> from, std::span<std::uint32_t> to, Copying copying);

}  // namespace nearfield
