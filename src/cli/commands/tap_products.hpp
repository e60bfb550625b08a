#pragma once
#include <nearfield_ring.h>

#include <nlohmann/json_fwd.hpp>

/// Products of any processor as text and JSON, for `nearfield tap` on rings without images.
namespace nearfield::cli {

/// One line per product: name, quantity, unit, type and sizes.
void print_descriptions(const nf_ring_layout& layout);

/// Prints a figure's values, an array's rms and largest magnitude, a table's rows; only the first of many. `frame` must
/// be the one that was read last.
void print_products(const nf_ring* ring, const nf_frame& frame);

/// The products by their names, with all values of figures and all rows of tables.
nlohmann::json products_json(const nf_ring* ring, const nf_frame& frame);

/// Reduces frames to the table `sources` from the next read on. False if the ring has none.
bool select_sources(nf_ring* ring);

/// Prints a line for each row of a frame's table `sources`; as JSON one line per frame.
void print_sources(const nf_ring* ring, const nf_frame& frame, bool is_json);

}  // namespace nearfield::cli
