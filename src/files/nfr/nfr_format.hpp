#pragma once
#include <bit>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/frame.hpp"
#include "files/files.hpp"

/// The append-only recording (.nfr): consecutive records, each with a header and a payload that have their own CRC32C.
/// Everything is little-endian and starts at a multiple of 8 bytes. docs/reference/recording_file.md has the table.
namespace nearfield::nfr {

static_assert(std::endian::native == std::endian::little, "records are written as they lie in memory");

inline constexpr std::uint32_t kMagic = 0x3152464EU;  ///< "NFR1"
inline constexpr std::uint16_t kVersion = 3;          ///< version written
/// Older versions are read too; nfr_results.cpp has the differences.
inline constexpr std::uint16_t kOldestVersion = 1;

enum class Kind : std::uint16_t {
  kFile = 0,    ///< JSON: the array, the rate, the host; stored twice at the start in case one copy is damaged
  kBits = 1,    ///< runs of missing bit-times, then words [bit-time][word]; or samples, see FileInfo
  kResult = 2,  ///< ResultFields, then a frame's products
  kEpoch = 3,   ///< JSON: the header of a processor's frames of an epoch, before the first of them
  kNote = 4,    ///< text
  kEnd = 5,     ///< JSON: why the recording ended, and what the recorder dropped
  kMask = 6,    ///< JSON: microphones that are masked from its first bit-time on
};

/// Flags of a record of bits; those of a result are FrameFlag. The last three give causes of a gap other than the
/// source; without them, the bit-times never arrived.
enum BitsFlag : std::uint32_t {
  kNotStored = 1,  ///< all its bit-times are missing, and the payload is empty
  kDropped = 2,    ///< the recorder's queue was full
  kPaused = 4,     ///< the daemon did not record because its engine was too far behind
  kOverrun = 8,    ///< overwritten in the daemon's ring before they were recorded
};

struct RecordHeader {
  std::uint32_t magic = kMagic;
  std::uint16_t version = kVersion;
  Kind kind = Kind::kNote;
  std::uint64_t recording_id = 0;       ///< random; rejects a record of another file that lies inside this one
  std::uint64_t sequence = 0;           ///< number of the record in its file
  std::uint64_t first_bit_time = 0;     ///< start of its bits, or of a frame's window
  std::uint64_t bit_times = 0;          ///< covered bit-times, received and missing
  std::uint64_t missing_bit_times = 0;  ///< missing part of bit_times
  std::int64_t mono_ns = 0;             ///< arrival of the last bit in memory; for other kinds, time of writing
  std::int64_t tai_ns = 0;
  std::uint32_t flags = 0;
  std::uint32_t runs = 0;           ///< bits: pairs (offset, bit-times) of missing ones at the payload's start
  std::uint32_t payload_bytes = 0;  ///< without padding to 8 bytes
  std::uint32_t payload_crc = 0;
  std::uint32_t spare = 0;
  std::uint32_t header_crc = 0;  ///< CRC of the preceding members
};
static_assert(sizeof(RecordHeader) == 88);

/// Bit-time after the last one that a record covers.
inline std::uint64_t end_of(const RecordHeader& header) { return header.first_bit_time + header.bit_times; }

/// Bit-times by outcome, for a recording's span.
struct BitCounts {
  std::uint64_t received = 0;  ///< received and stored
  std::uint64_t not_sent = 0;  ///< never arrived from the source
  std::uint64_t paused = 0;    ///< kPaused
  std::uint64_t overrun = 0;   ///< kOverrun
  std::uint64_t dropped = 0;   ///< kDropped

  /// Adds the bit-times of a record of bits.
  void add(const RecordHeader& header);
  void add(const BitCounts& more);
  [[nodiscard]] std::uint64_t sum() const { return received + not_sent + paused + overrun + dropped; }
  friend bool operator==(const BitCounts&, const BitCounts&) = default;
};

/// A run inside a record of bits.
struct Run {
  std::uint32_t offset_bit_times = 0;
  std::uint32_t bit_times = 0;
};

/// Content of the file record. A recording of samples holds float32 [sample][channel] in place of words of bits, and
/// each of its bit-times is a sample.
struct FileInfo {
  MeasurementGeometry measurement;
  WireLayout layout = WireLayout::kRowMajor;  ///< order of bits
  double sample_rate_hz = kBitRateHz;
  std::string host;
  std::string boot_id;     ///< kernel's id; times of CLOCK_MONOTONIC are comparable only within one boot
  std::string notes = {};  ///< by the requester, UTF-8; may be empty
  bool holds_samples = false;
  std::optional<double> pascal_per_unit = {};  ///< unit of samples; none: their source did not say it

  /// Name of what bit-times count.
  [[nodiscard]] const char* elements() const { return holds_samples ? "samples" : "bit-times"; }
  /// 32-bit words of a bit-time or sample. Throws ConfigError when the layout does not fit the geometry.
  [[nodiscard]] std::uint64_t words_per_element() const;
  /// Writes what stands where nothing was received over whole bit-times or samples.
  void fill_silence(std::uint64_t first_element, std::span<std::uint32_t> words) const;
};

/// Content of the end record.
struct EndInfo {
  std::string reason;
  std::uint64_t dropped_bit_times = 0;
  std::uint64_t dropped_images = 0;    ///< frames of any processor
  std::optional<double> seconds = {};  ///< from the file's first bit or frame to its last; nothing in older files
  std::string began_by = {};           ///< start trigger in words; empty in older files
};

constexpr std::uint64_t padded(std::uint64_t payload_bytes) { return (payload_bytes + 7) / 8 * 8; }
/// Size of header, payload and padding.
constexpr std::uint64_t record_bytes(const RecordHeader& header) {
  return sizeof(RecordHeader) + padded(header.payload_bytes);
}

/// CRC of the header without its CRC.
std::uint32_t header_crc(const RecordHeader& header);
/// True if the magic, version, CRC and counts are valid.
bool is_sound(const RecordHeader& header);

std::string to_json(const FileInfo& info);
std::string to_json(const EndInfo& info);
/// The channels only; the bit-time is in the record's header.
std::string to_json(const MaskChange& change);
/// Nothing where the text is invalid.
std::optional<FileInfo> file_info_of(std::span<const std::byte> json);
std::optional<EndInfo> end_info_of(std::span<const std::byte> json);
std::optional<MaskChange> mask_of(const RecordHeader& header, std::span<const std::byte> json, int microphones);

/// Missing runs of a record of bits; nothing when they contradict the header.
std::optional<std::vector<Run>> runs_of(const RecordHeader& header, std::span<const std::byte> payload);

/// True if the payload's length matches the header's counts.
bool has_bits_size(const RecordHeader& header, std::uint64_t words_per_bit_time);

/// Appends a complete record to `bytes`, with sizes and CRCs filled in.
void append_record(std::vector<std::byte>& bytes, RecordHeader header, std::span<const std::byte> payload);

}  // namespace nearfield::nfr
