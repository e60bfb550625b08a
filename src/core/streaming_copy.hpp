#pragma once
#include <cstdint>
#include <span>

namespace nearfield {

/// How bits are written to the memory that a device takes them from.
enum class Copying {
  kCached,      ///< for a device that shares the processor's caches
  kPastCaches,  ///< for one that fetches them over a bus: lines that a cache holds changed would have to be asked for
};

/// Copies to the begin of `to`, which is at least as long and does not overlap. Past the caches only where the
/// processor has stores for it (x86-64); what is written is there for a device that is told of it afterwards.
void copy_words(std::span<const std::uint32_t> from, std::span<std::uint32_t> to, Copying copying);

}  // namespace nearfield
