#pragma once
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/system/files.hpp"
#include "files/nfr/nfr_format.hpp"
#include "files/nfr/nfr_results.hpp"

namespace nearfield::nfr {

/// The bytes of a recording: a file, with its length at opening, or memory.
class Source {
 public:
  /// Throws NoInputError.
  explicit Source(const std::filesystem::path& path);
  explicit Source(std::span<const std::byte> memory) : memory_(memory), size_bytes_(memory.size()) {}
  Source(const Source&) = delete;
  Source& operator=(const Source&) = delete;
  [[nodiscard]] std::uint64_t size_bytes() const { return size_bytes_; }
  /// Fills `bytes` from `offset` on. Throws DataError when the file fails or became shorter.
  void read(std::uint64_t offset, std::span<std::byte> bytes) const;

 private:
  std::filesystem::path path_;
  FileDescriptor file_;
  std::span<const std::byte> memory_;
  std::uint64_t size_bytes_ = 0;
};

/// A record and its location.
struct Record {
  RecordHeader header;
  std::uint64_t offset = 0;
};

/// Iterates over the records of a source by their headers, with at most 64 KiB in memory. Where a header is damaged, it
/// searches for the next valid one; a record that reaches beyond the end is not returned.
class Scan {
 public:
  Scan(const Source& source, std::uint64_t recording_id, std::uint64_t offset = 0)
      : source_(&source), recording_id_(recording_id), offset_(offset), from_start_(offset == 0) {}
  std::optional<Record> next();
  /// Number of places with anything but the next record, and their bytes.
  [[nodiscard]] std::uint64_t damaged_places() const { return damaged_places_; }
  [[nodiscard]] std::uint64_t damaged_bytes() const { return damaged_bytes_; }
  /// Count of record numbers that were lost in damaged places.
  [[nodiscard]] std::uint64_t lost_records() const { return lost_records_; }
  /// Bytes after the last record, once next() returned nothing.
  [[nodiscard]] std::uint64_t tail_bytes() const { return tail_bytes_; }

 private:
  [[nodiscard]] bool is_next(const RecordHeader& header, std::uint64_t offset) const;
  [[nodiscard]] std::optional<Record> record_at(std::uint64_t offset) const;
  [[nodiscard]] std::optional<Record> search() const;

  const Source* source_;
  std::uint64_t recording_id_;
  std::uint64_t offset_;
  bool from_start_;
  std::optional<std::uint64_t> last_sequence_;
  std::uint64_t damaged_places_ = 0;
  std::uint64_t damaged_bytes_ = 0;
  std::uint64_t lost_records_ = 0;
  std::uint64_t tail_bytes_ = 0;
};

/// Bit-times by outcome: sum() + damaged = all from the first to the end.
struct BitsSummary : BitCounts {
  std::uint64_t first_bit_time = 0;
  std::uint64_t end_bit_time = 0;
  std::uint64_t records = 0;
  std::uint64_t damaged = 0;  ///< bit-times whose record is lost
  std::uint64_t gaps = 0;     ///< records with missing bit-times, plus lost ones

  [[nodiscard]] std::uint64_t expected() const { return end_bit_time - first_bit_time; }
};

/// Causes of the bit-times that were not received: "5 never sent by the source, 0 paused by the daemon, ...".
std::string text_of_losses(const BitsSummary& bits);

/// A processor of an epoch whose header is in the file.
struct EpochSummary {
  std::uint64_t epoch = 0;
  std::size_t processor = 0;  ///< its index in the run
  ResultHeader header;
  std::uint64_t frames = 0;
  std::uint64_t offset = 0;  ///< offset of the record
};

struct Summary {
  std::uint64_t size_bytes = 0;
  std::uint64_t records = 0;
  BitsSummary bits;
  std::uint64_t frames = 0;  ///< frames of all processors
  std::uint64_t notes = 0;
  std::uint64_t damaged_places = 0;
  std::uint64_t damaged_bytes = 0;
  std::uint64_t lost_records = 0;
  std::uint64_t tail_bytes = 0;   ///< size of an incomplete record at the end
  std::int64_t first_tai_ns = 0;  ///< time of the first bits or frame; 0 if there is none
  std::int64_t last_tai_ns = 0;
  std::optional<EndInfo> end;  ///< nothing when the recorder was killed, or is still writing
};

/// Reads a recording. Opening iterates over all headers once and checks those of bits against each other; a payload is
/// checked when it is read. Memory: one record, and 16 bytes for each MiB of the file.
class Reader {
 public:
  /// Throws NoInputError, or DataError when there is no sound file record.
  explicit Reader(const std::filesystem::path& path);
  /// `memory` must outlive the reader.
  explicit Reader(std::span<const std::byte> memory);

  /// Name in messages.
  [[nodiscard]] const std::string& name() const { return name_; }
  [[nodiscard]] const FileInfo& info() const { return info_; }
  [[nodiscard]] std::uint64_t words_per_bit_time() const { return words_; }
  [[nodiscard]] const Summary& summary() const { return summary_; }
  /// One entry per processor and epoch, in file order.
  [[nodiscard]] const std::vector<EpochSummary>& epochs() const { return epochs_; }
  /// The recorder's masks of bad microphones, ordered by bit-time; empty if not recorded.
  [[nodiscard]] const std::vector<MaskChange>& masks() const { return masks_; }
  /// Description of a capture of the bits, which starts with the first of them.
  [[nodiscard]] CaptureInfo capture_info() const;

  /// Number of stored bit-times from `first` to `end` - 1, according to the record headers.
  [[nodiscard]] std::uint64_t stored_bit_times(std::uint64_t first, std::uint64_t end) const;
  /// Throws DataError where the bit-times from `first` to `end` - 1 contain far more silence than recorded bits, as
  /// with a forged or damaged bit-time: a program that reads them would fill a disk with silence. The bound is
  /// kMostSilence.
  void require_plausible_span(std::uint64_t first, std::uint64_t end) const;
  /// Bit-times of silence allowed per stored bit-time, in addition to some seconds.
  static constexpr std::uint64_t kMostSilence = 10;
  static constexpr double kSilence_s = 1.0;

  /// A scan from the start.
  [[nodiscard]] Scan scan() const { return {source_, recording_id_}; }
  /// False if its CRC shows damage.
  [[nodiscard]] bool read_payload(const Record& record, std::vector<std::byte>& payload) const;

  /// Fills `words` [bit-time][word] from `first_bit_time` on, silence where bits are missing; their runs are appended
  /// to `missing`. Fast when each call starts near the end of the one before.
  void read_bits(std::uint64_t first_bit_time, std::span<std::uint32_t> words, std::vector<MissingRun>& missing);

 private:
  struct IndexEntry {
    std::uint64_t first_bit_time;
    std::uint64_t offset;
  };
  void open();
  void find_file_record();
  void add(const Record& record);
  void add_bits(const Record& record);
  void add_epoch(const Record& record);
  void add_result(const Record& record);
  void add_mask(const Record& record);
  [[nodiscard]] EpochSummary* find_epoch(std::uint64_t epoch, std::size_t processor);
  [[nodiscard]] bool follows(const RecordHeader& header, std::uint64_t end_bit_time) const;
  void seek(std::uint64_t first_bit_time);
  bool advance();
  void load_current();
  void copy_current(std::uint64_t first_bit_time, std::span<std::uint32_t> words, std::vector<MissingRun>& missing);

  std::string name_;
  Source source_;
  std::uint64_t recording_id_ = 0;
  FileInfo info_;
  std::uint64_t words_ = 1;
  Summary summary_;
  std::vector<EpochSummary> epochs_;
  std::vector<MaskChange> masks_;
  std::int64_t bits_start_ns_ = 0;
  std::vector<IndexEntry> index_;
  Scan cursor_;
  std::optional<Record> current_;  ///< record of bits before the cursor
  std::uint64_t cursor_end_bit_time_ = 0;
  std::vector<std::byte> payload_;  ///< content of current_, if payload_is_read_
  std::vector<Run> runs_;
  bool payload_is_read_ = false;
  bool words_are_sound_ = false;  ///< false: treat all of current_ as missing
};

/// Visits a processor's frames of an epoch with index first to end - 1; each is valid during the call. Skips damaged
/// frames and returns their number.
std::uint64_t for_each_frame(const Reader& reader, const EpochSummary& epoch, std::uint64_t first, std::uint64_t end,
                             const std::function<void(const Frame&)>& visit);

/// Result of reading every payload.
struct Verification {
  std::uint64_t damaged_payloads = 0;
  std::uint64_t damaged_bit_times = 0;  ///< received bit-times in damaged records
};
Verification verify(const Reader& reader);

/// True if the file starts with a valid file record.
bool is_recording(const std::filesystem::path& path);

}  // namespace nearfield::nfr
