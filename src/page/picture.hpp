#pragma once
#include <nearfield_ring.h>

#include <cstddef>
#include <cstdint>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

namespace nearfield::page {

/// Indices at which axes of a product are fixed, by their names.
using FixedAxes = std::map<std::string, std::uint32_t>;

/// Parts of a product's values to copy: `run_bytes` from each of the places, in bytes from the first value.
struct Slice {
  std::size_t product = 0;
  std::size_t run_bytes = 0;
  std::vector<std::size_t> places;
};

/// A ring's layout as JSON: axes and products of the message "layout" of docs/reference/page_protocol.md.
nlohmann::json layout_json(const nf_ring_layout& layout);

/// Bytes of a ring's frames that make one subscription's pictures: a product, sliced, and all figures. Valid for one
/// ring.
class PicturePlan {
 public:
  /// Throws UsageError if the ring has no such product, the product no such axis, or the axis no such index.
  PicturePlan(const nf_ring_layout& layout, const std::string& product, const FixedAxes& fixed_axes);

  /// Makes the binary message of docs/reference/page_protocol.md. The frame must have been read with the product
  /// selected.
  [[nodiscard]] std::string encode(std::uint32_t id, const nf_ring* ring, const nf_frame& frame,
                                   std::int64_t sent_mono_ns) const;

 private:
  std::vector<Slice> slices_;  ///< the subscribed product first; tables have no runs
};

}  // namespace nearfield::page
