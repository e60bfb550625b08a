#pragma once
#include <cstddef>
#include <vector>

#include "core/product.hpp"
#include "nearfield_ring.h"

namespace nearfield::ring {

inline constexpr std::size_t kLine = 64;  ///< bytes of a cache line

constexpr std::size_t round_up(std::size_t value, std::size_t step) { return (value + step - 1) / step * step; }

/// Returns `fields` with the sizes, counts and offsets of the tables that describe `header`, followed by those tables:
/// nf_ring_header.header_bytes in all. `products_offset` is the offset of the first product in a slot. Throws
/// ConfigError on more axes, products, columns or text than the ring's format permits.
std::vector<std::byte> make_header_block(const nf_ring_header& fields, const ResultHeader& header,
                                         std::size_t products_offset);

}  // namespace nearfield::ring
