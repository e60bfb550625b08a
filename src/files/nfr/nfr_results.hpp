#pragma once
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/frame.hpp"
#include "core/product.hpp"
#include "files/nfr/nfr_format.hpp"

/// Records of epochs and results: the output of processors for a stream. docs/reference/recording_file.md has the
/// tables.
namespace nearfield::nfr {

/// One processor of an epoch, as an epoch record describes it.
struct Epoch {
  std::uint64_t epoch = 0;
  std::size_t processor = 0;  ///< its index in the run
  ResultHeader header;
};
std::string to_json(const Epoch& epoch);
/// `record` is the JSON's record. Nothing where it describes no processor.
std::optional<Epoch> epoch_of(const RecordHeader& record, std::span<const std::byte> json);
/// Reason why the header cannot go into an epoch record: flaw_of(), or more axes, products or columns than a reader
/// accepts. Empty if it can.
std::string flaw_of_recorded(const ResultHeader& header);

/// Start of a result record; the frame's products follow, in the header's order and each at a multiple of 8 bytes, as
/// in places_of(). Later writers of this version may append fields.
struct ResultFields {
  std::uint32_t fields_bytes = 56;  ///< offset of the products, a multiple of 8
  std::uint32_t processor = 0;      ///< its index in the run
  std::uint64_t epoch = 0;
  std::uint64_t frame_sequence = 0;
  std::uint64_t shed_hops = 0;
  std::uint64_t products_bytes = 0;  ///< size of all products
  std::uint32_t stream_id = 0;
  std::uint32_t window_bit_times = 0;
  std::uint32_t valid_microphones = 0;
  std::uint32_t spare = 0;
};
static_assert(sizeof(ResultFields) == ResultFields().fields_bytes);

/// Parses the start of a result record's payload; for versions 1 and 2, the equivalent of their fields. Nothing where
/// it is invalid, or where the products would not lie inside the payload.
std::optional<ResultFields> result_fields_of(const RecordHeader& header, std::span<const std::byte> payload);

/// Makes frames from the result records of one processor's epoch.
class FrameReader {
 public:
  FrameReader(const ResultHeader& header, double sample_rate_hz);
  /// Nothing where the payload contradicts the header, by its size or by a table with too many rows. The frame's
  /// products are valid until the next call, while `payload` exists, which must be aligned to 8 bytes.
  [[nodiscard]] std::optional<Frame> read(const RecordHeader& record, std::span<const std::byte> payload);

 private:
  [[nodiscard]] bool find_products(const ResultFields& fields, std::span<const std::byte> payload);
  [[nodiscard]] bool find_images(const RecordHeader& record, std::span<const std::byte> payload);

  ProductPlaces places_;
  std::vector<std::uint64_t> most_rows_;  ///< [product]; 0 for an array
  double sample_rate_hz_;
  ResultHeader header_;
  std::optional<ResultFrame> values_;  ///< products of a record of versions 1 and 2
  std::vector<std::span<const std::byte>> products_;
};

}  // namespace nearfield::nfr
