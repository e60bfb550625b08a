#pragma once
#include <cstddef>
#include <cstdint>
#include <span>

namespace nearfield {

/// CRC32C (Castagnoli; RFC 3720, appendix B.4) of `bytes`, continuing from the CRC `before`; crc32c("123456789") is
/// 0xE3069283.
std::uint32_t crc32c(std::span<const std::byte> bytes, std::uint32_t before = 0);

}  // namespace nearfield
