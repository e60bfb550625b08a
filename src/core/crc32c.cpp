#include "core/crc32c.hpp"

#include <isa-l/crc.h>

#include <algorithm>

namespace nearfield {

std::uint32_t crc32c(std::span<const std::byte> bytes, std::uint32_t before) {
  constexpr std::size_t kMostAtOnce = std::size_t{1} << 30U;
  std::uint32_t crc = ~before;  // isa-l inverts neither at the start nor at the end
  while (!bytes.empty()) {
    const std::size_t count = std::min(bytes.size(), kMostAtOnce);
    // The library takes a non-const pointer but only reads from it.
    // NOLINTNEXTLINE(cppcoreguidelines-pro-type-const-cast)
    auto* data = const_cast<unsigned char*>(reinterpret_cast<const unsigned char*>(bytes.data()));
    crc = crc32_iscsi(data, static_cast<int>(count), crc);
    bytes = bytes.subspan(count);
  }
  return ~crc;
}

}  // namespace nearfield
