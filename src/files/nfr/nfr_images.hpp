#pragma once
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "core/frame.hpp"
#include "files/nfr/nfr_format.hpp"

/// Epochs and results of versions 1 and 2, which hold the images of one processor. No longer written.
namespace nearfield::nfr {

constexpr bool is_of_images(const RecordHeader& header) { return header.version <= 2; }

/// Start of a result record of these versions. Then follow cutoff, slope, noise and, from version 2 on, error estimate
/// [frequency] each, points [plane][frequency][point], images [plane][frequency][row][column].
struct ImageFields {
  std::uint64_t epoch = 0;
  std::uint64_t frame_sequence = 0;
  std::uint64_t shed_hops = 0;
  std::uint64_t values = 0;  ///< [plane][frequency][row][column]
  std::uint32_t stream_id = 0;
  std::uint32_t window_bit_times = 0;
  std::uint32_t valid_microphones = 0;
  std::uint32_t frequencies = 0;
};
static_assert(sizeof(ImageFields) == 48);

/// Content of an epoch record's JSON.
struct ImagesEpoch {
  std::uint64_t epoch = 0;
  ImagesHeader header;
};
std::optional<ImagesEpoch> images_epoch_of(std::span<const std::byte> json);

std::optional<ImageFields> image_fields_of(std::span<const std::byte> payload);

/// Values of a result record, without its stamp: NaN for error estimates of version 1, and the power computed from the
/// images. Nothing where the payload contradicts `images`.
std::optional<ImageFrame> image_values_of(const RecordHeader& header, std::span<const std::byte> payload,
                                          const ImagesHeader& images);

}  // namespace nearfield::nfr
