#pragma once
#include <nearfield_ring.h>

#include <nlohmann/json_fwd.hpp>

/// Any processor's products, as `nearfield tap` shows them where they are no images.
namespace nearfield::cli {

/// A line a product: name, quantity, unit, type and sizes.
void print_descriptions(const nf_ring_layout& layout);

/// A figure's values, an array's rms and largest magnitude, a table's rows; the first of many. `frame` is the one that
/// was read last.
void print_products(const nf_ring* ring, const nf_frame& frame);

/// The same by the products' names, with all values of figures and all rows of tables.
nlohmann::json products_json(const nf_ring* ring, const nf_frame& frame);

/// From the next read on, frames have the table `sources` alone. False where the ring has none.
bool select_sources(nf_ring* ring);

/// A line for each row of a frame's table `sources`; as JSON one line a frame.
void print_sources(const nf_ring* ring, const nf_frame& frame, bool is_json);

}  // namespace nearfield::cli
