#pragma once
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "files/nfr/nfr_format.hpp"
#include "nearfield/frame.hpp"
#include "nearfield/product.hpp"

/// Records of epochs and results: what processors made of a stream. docs/recording.md has the tables.
namespace nearfield::nfr {

/// One processor of an epoch, as an epoch record describes it.
struct Epoch {
  std::uint64_t epoch = 0;
  std::size_t processor = 0;  ///< its index in the run
  ResultHeader header;
};
std::string to_json(const Epoch& epoch);
/// `record` is the JSON's. Nothing where it describes no processor.
std::optional<Epoch> epoch_of(const RecordHeader& record, std::span<const std::byte> json);
/// What keeps the header out of an epoch record: what flaw_of() says, and more axes, products or columns than a reader
/// accepts. Empty where nothing does.
std::string flaw_of_recorded(const ResultHeader& header);

/// What a result record starts with; the frame's products follow, in the header's order and each at a multiple of 8
/// bytes, as places_of() says. Later writers of this version may append fields.
struct ResultFields {
  std::uint32_t fields_bytes = 56;  ///< where the products begin, a multiple of 8
  std::uint32_t processor = 0;      ///< its index in the run
  std::uint64_t epoch = 0;
  std::uint64_t frame_sequence = 0;
  std::uint64_t shed_hops = 0;
  std::uint64_t products_bytes = 0;  ///< of all of them
  std::uint32_t stream_id = 0;
  std::uint32_t window_bit_times = 0;
  std::uint32_t valid_microphones = 0;
  std::uint32_t spare = 0;
};
static_assert(sizeof(ResultFields) == ResultFields().fields_bytes);

/// Of the first bytes of a result record's payload; of versions 1 and 2 what their fields mean. Nothing where it has
/// none, or where the products would not lie inside the payload.
std::optional<ResultFields> result_fields_of(const RecordHeader& header, std::span<const std::byte> payload);

/// Makes frames of the result records of one processor's epoch.
class FrameReader {
 public:
  FrameReader(const ResultHeader& header, double sample_rate_hz);
  /// Nothing where the payload contradicts the header, by its size or by a table of more rows than it has room for. The
  /// frame's products hold until the next call, as long as
  /// `payload` stays, which must be aligned to 8 bytes.
  [[nodiscard]] std::optional<Frame> read(const RecordHeader& record, std::span<const std::byte> payload);

 private:
  [[nodiscard]] bool find_products(const ResultFields& fields, std::span<const std::byte> payload);
  [[nodiscard]] bool find_images(const RecordHeader& record, std::span<const std::byte> payload);

  ProductPlaces places_;
  std::vector<std::uint64_t> most_rows_;  ///< [product]; of an array 0
  double sample_rate_hz_;
  std::optional<ImagesHeader> images_;  ///< where versions 1 and 2 could hold its products
  ImageFrame values_;                   ///< of such a record
  std::vector<std::span<const std::byte>> products_;
};

}  // namespace nearfield::nfr
