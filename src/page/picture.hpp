#pragma once
#include <nearfield_ring.h>

#include <cstddef>
#include <cstdint>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

namespace nearfield::page {

/// Axes of a product by their names, and the index at which each is fixed.
using Selection = std::map<std::string, std::uint32_t>;

/// What is copied out of a product's values: `run_bytes` from each of the places, in bytes from the first value.
struct Slice {
  std::size_t product = 0;
  std::size_t run_bytes = 0;
  std::vector<std::size_t> places;
};

/// A ring's layout as JSON: what the message "layout" of docs/page_protocol.md says of axes and products.
nlohmann::json layout_json(const nf_ring_layout& layout);

/// Which bytes of a ring's frames make one subscription's pictures: a product, sliced, and all figures. It holds for
/// one ring.
class PicturePlan {
 public:
  /// Throws UsageError where the ring has no such product, the product no such axis, or the axis no such index.
  PicturePlan(const nf_ring_layout& layout, const std::string& product, const Selection& selection);

  /// The binary message of docs/page_protocol.md. The frame was read with the product selected.
  [[nodiscard]] std::string encode(std::uint32_t id, const nf_ring* ring, const nf_frame& frame,
                                   std::int64_t sent_mono_ns) const;

 private:
  std::vector<Slice> slices_;  ///< the product's first; a table's without runs
};

}  // namespace nearfield::page
