#pragma once
#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>

#include "files/nfr/nfr_reader.hpp"

/// Conversion of recordings to HDF5.
namespace nearfield::nfr {

/// Part of a recording: bit-times of the stream, or indices of an epoch's frames; all without limits.
struct ConvertRange {
  std::optional<std::uint64_t> from;
  std::optional<std::uint64_t> to;  ///< exclusive
};

using ShareDone = std::function<void(double share)>;  ///< may be empty

struct ConvertedBits {
  std::uint64_t bit_times = 0;
  std::uint64_t missing_bit_times = 0;  ///< silence in the capture
  std::uint64_t runs = 0;               ///< rows of /missing
};
/// Writes a capture, or time data where the recording holds samples, in Pa if it states their unit; settings may
/// correct the pitch and standoff of a `correctable` capture. Throws DataError when the range holds no bits, and
/// whatever the writers throw.
ConvertedBits convert_bits(Reader& reader, const std::filesystem::path& output, const ConvertRange& range,
                           const ShareDone& done, bool correctable = false);

/// Selects one processor and one epoch of a recording's frames.
struct FramesChoice {
  std::optional<std::string> processor;  ///< its name; default: the first one with frames in the recording
  std::optional<std::uint64_t> epoch;    ///< default: the only one
};
struct ConvertedFrames {
  std::uint64_t frames = 0;
  std::uint64_t damaged = 0;  ///< damaged frames left out
};
/// Writes frames of images. Throws DataError when there is no such processor or epoch, none in the range, several
/// epochs and none selected, or when the frames are no images; and whatever ResultsWriter throws.
ConvertedFrames convert_frames(const Reader& reader, const std::filesystem::path& output, const FramesChoice& choice,
                               const ConvertRange& range, const ShareDone& done);

}  // namespace nearfield::nfr
