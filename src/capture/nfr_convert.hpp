#pragma once
#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>

#include "capture/nfr_reader.hpp"

/// Recordings to HDF5.
namespace nearfield::nfr {

/// Part of a recording: bit-times of the stream, or indices of an epoch's images; all without limits.
struct ConvertRange {
  std::optional<std::uint64_t> from;
  std::optional<std::uint64_t> to;  ///< one after the last
};

using ShareDone = std::function<void(double share)>;  ///< may be empty

struct ConvertedBits {
  std::uint64_t bit_times = 0;
  std::uint64_t missing_bit_times = 0;  ///< of these, silence in the capture
  std::uint64_t runs = 0;               ///< in /missing
};
/// Writes a capture. Throws DataError when the range holds no bits, and what CaptureWriter throws.
ConvertedBits convert_bits(Reader& reader, const std::filesystem::path& output, const ConvertRange& range,
                           const ShareDone& done);

struct ConvertedImages {
  std::uint64_t images = 0;
  std::uint64_t damaged = 0;  ///< left out
};
/// Writes the images of one epoch, or of the only one. Throws DataError when there is no such epoch, none in the range,
/// or several and none named; and what ImagesWriter throws.
ConvertedImages convert_images(const Reader& reader, const std::filesystem::path& output,
                               std::optional<std::uint64_t> epoch, const ConvertRange& range, const ShareDone& done);

}  // namespace nearfield::nfr
