#include "files/nfr/nfr_reader.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <fstream>

#include "core/crc32c.hpp"
#include "core/error.hpp"
#include "core/microphones.hpp"

namespace nearfield::nfr {
namespace {

/// Bytes of the file between two entries of the index.
constexpr std::uint64_t kIndexStep = std::uint64_t{1} << 20U;
/// Range in which the file record must start.
constexpr std::size_t kHeadBytes = 65536;

/// Reads a valid file record, which gives the recording's number.
std::optional<FileInfo> file_record_at(const Source& source, std::uint64_t offset, RecordHeader& header) {
  const std::uint64_t size = source.size_bytes();
  source.read(offset, std::as_writable_bytes(std::span(&header, 1)));
  if (!is_sound(header) || header.kind != Kind::kFile || header.payload_bytes > size - offset - sizeof(header)) {
    return std::nullopt;
  }
  std::vector<std::byte> payload(header.payload_bytes);
  source.read(offset + sizeof(header), payload);
  return crc32c(payload) == header.payload_crc ? file_info_of(payload) : std::nullopt;
}

}  // namespace

std::string text_of_losses(const BitsSummary& bits) {
  return fmt::format(
      "{} never sent by the source, {} paused by the daemon, {} overrun in its ring, {} dropped by the recorder, {} in "
      "lost records",
      bits.not_sent, bits.paused, bits.overrun, bits.dropped, bits.damaged);
}

bool is_recording(const std::filesystem::path& path) {
  std::error_code unknown;
  if (!std::filesystem::is_regular_file(path, unknown)) {  // do not wait on a pipe
    return false;
  }
  std::ifstream file(path, std::ios::binary);
  std::vector<char> head(kHeadBytes);
  file.read(head.data(), static_cast<std::streamsize>(head.size()));
  head.resize(static_cast<std::size_t>(file.gcount()));
  const Source source(std::as_bytes(std::span(head)));
  RecordHeader header;
  for (std::uint64_t at = 0; at + sizeof(header) <= source.size_bytes(); at += sizeof(std::uint64_t)) {
    if (file_record_at(source, at, header)) {
      return true;
    }
  }
  return false;
}

Reader::Reader(const std::filesystem::path& path) : name_(path.string()), source_(path), cursor_(source_, 0) { open(); }

Reader::Reader(std::span<const std::byte> memory) : name_("recording"), source_(memory), cursor_(source_, 0) { open(); }

void Reader::open() {
  find_file_record();
  words_ = info_.words_per_element();
  summary_.size_bytes = source_.size_bytes();
  Scan all = scan();
  while (const std::optional<Record> record = all.next()) {
    add(*record);
  }
  summary_.damaged_places += all.damaged_places();  // besides records that contradict others
  summary_.damaged_bytes = all.damaged_bytes();
  summary_.lost_records = all.lost_records();
  summary_.tail_bytes = all.tail_bytes();
  cursor_ = scan();
}

void Reader::find_file_record() {
  RecordHeader header;
  const std::uint64_t size = source_.size_bytes();
  for (std::uint64_t at = 0; at < kHeadBytes && at + sizeof(header) <= size; at += sizeof(std::uint64_t)) {
    if (const std::optional<FileInfo> info = file_record_at(source_, at, header)) {
      info_ = *info;
      recording_id_ = header.recording_id;
      return;
    }
  }
  throw DataError(fmt::format("{}: expected a recording, found no complete file record in its {} bytes", name_, size));
}

void Reader::add(const Record& record) {
  ++summary_.records;
  switch (record.header.kind) {
    case Kind::kBits:
      add_bits(record);
      break;
    case Kind::kResult:
      add_result(record);
      break;
    case Kind::kEpoch:
      add_epoch(record);
      break;
    case Kind::kNote:
      ++summary_.notes;
      break;
    case Kind::kEnd:
      if (std::vector<std::byte> payload; read_payload(record, payload)) {
        summary_.end = end_info_of(payload);
      }
      break;
    case Kind::kMask:
      add_mask(record);
      break;
    case Kind::kFile:
      break;
  }
}

/// The writer stores every mask record twice; ignore the copy.
void Reader::add_mask(const Record& record) {
  std::vector<std::byte> payload;
  const std::optional<MaskChange> mask = read_payload(record, payload)
                                             ? mask_of(record.header, payload, info_.measurement.geometry.channels())
                                             : std::nullopt;
  if (!mask || (!masks_.empty() && mask->first_bit_time < masks_.back().first_bit_time)) {
    ++summary_.damaged_places;
  } else if (masks_.empty() || mask->first_bit_time > masks_.back().first_bit_time) {
    masks_.push_back(*mask);
  }
}

/// True for a record of bits of the stated length that does not overlap earlier ones.
bool Reader::follows(const RecordHeader& header, std::uint64_t end_bit_time) const {
  return header.kind == Kind::kBits && has_bits_size(header, words_) && header.first_bit_time >= end_bit_time;
}

void Reader::add_bits(const Record& record) {
  const RecordHeader& header = record.header;
  BitsSummary& bits = summary_.bits;
  if (!follows(header, bits.records == 0 ? 0 : bits.end_bit_time)) {
    ++summary_.damaged_places;
    return;
  }
  if (bits.records == 0) {
    bits.first_bit_time = bits.end_bit_time = header.first_bit_time;
    summary_.first_tai_ns = header.tai_ns;
  }
  if (index_.empty() || record.offset - index_.back().offset >= kIndexStep) {
    index_.push_back({.first_bit_time = header.first_bit_time, .offset = record.offset});
  }
  const std::uint64_t lost = header.first_bit_time - bits.end_bit_time;
  ++bits.records;
  bits.damaged += lost;
  bits.add(header);
  bits.gaps += (lost > 0 ? 1U : 0U) + (header.missing_bit_times > 0 ? 1U : 0U);
  bits.end_bit_time = header.first_bit_time + header.bit_times;
  if (bits.records == 1) {
    const double span_ns = std::min(static_cast<double>(header.bit_times) / info_.sample_rate_hz * 1e9, 1e18);
    // Unsigned: a forged time may be smaller than the span.
    bits_start_ns_ = static_cast<std::int64_t>(static_cast<std::uint64_t>(header.tai_ns) -
                                               static_cast<std::uint64_t>(std::llround(span_ns)));
  }
  summary_.last_tai_ns = header.tai_ns;
}

void Reader::add_epoch(const Record& record) {
  std::vector<std::byte> payload;
  const std::optional<Epoch> epoch = read_payload(record, payload) ? epoch_of(record.header, payload) : std::nullopt;
  if (!epoch) {
    ++summary_.damaged_places;
    return;
  }
  if (find_epoch(epoch->epoch, epoch->processor) == nullptr) {
    epochs_.push_back({.epoch = epoch->epoch,
                       .processor = epoch->processor,
                       .header = epoch->header,
                       .frames = 0,
                       .offset = record.offset});
  }
}

EpochSummary* Reader::find_epoch(std::uint64_t epoch, std::size_t processor) {
  // Search from the newest epoch, to which most frames belong.
  const auto found = std::find_if(epochs_.rbegin(), epochs_.rend(), [&](const EpochSummary& one) {
    return one.epoch == epoch && one.processor == processor;
  });
  return found == epochs_.rend() ? nullptr : &*found;
}

void Reader::add_result(const Record& record) {
  std::vector<std::byte> start(std::min<std::size_t>(record.header.payload_bytes, sizeof(ResultFields)));
  source_.read(record.offset + sizeof(RecordHeader), start);
  const std::optional<ResultFields> fields = result_fields_of(record.header, start);
  ++summary_.frames;
  if (EpochSummary* const epoch = fields ? find_epoch(fields->epoch, fields->processor) : nullptr; epoch != nullptr) {
    ++epoch->frames;
  }
  if (summary_.first_tai_ns == 0) {
    summary_.first_tai_ns = record.header.tai_ns;
  }
  summary_.last_tai_ns = std::max(summary_.last_tai_ns, record.header.tai_ns);
}

std::uint64_t Reader::stored_bit_times(std::uint64_t first, std::uint64_t end) const {
  if (first <= summary_.bits.first_bit_time && end >= summary_.bits.end_bit_time) {
    return summary_.bits.received;
  }
  Scan all = scan();
  std::uint64_t stored = 0;
  std::uint64_t end_bit_time = 0;
  while (const std::optional<Record> record = all.next()) {
    const RecordHeader& header = record->header;
    if (!follows(header, end_bit_time)) {
      continue;
    }
    end_bit_time = header.first_bit_time + header.bit_times;
    const std::uint64_t from = std::max(first, header.first_bit_time);
    const std::uint64_t to = std::min(end, end_bit_time);
    stored += to > from ? std::min(to - from, header.bit_times - header.missing_bit_times) : 0;
  }
  return stored;
}

void Reader::require_plausible_span(std::uint64_t first, std::uint64_t end) const {
  const std::uint64_t stored = stored_bit_times(first, end);
  const auto least = static_cast<std::uint64_t>(kSilence_s * std::min(info_.sample_rate_hz, 1e9));
  // Subtract, because a forged bit-time may lie anywhere up to 2^64.
  const std::uint64_t silence = end - first - std::min(stored, end - first);
  if (silence <= least || (silence - least) / kMostSilence < stored) {
    return;
  }
  throw DataError(
      fmt::format("{}: {} {} to {} hold {} that were recorded and {} that are missing: expected at most {} "
                  "missing for each recorded one and {} s more; one's number is damaged or forged, or the source was "
                  "away for long. nearfield convert --from and --to take a part",
                  name_, info_.elements(), first, end, stored, silence, kMostSilence, kSilence_s));
}

CaptureInfo Reader::capture_info() const {
  return {.measurement = info_.measurement,
          .layout = info_.layout,
          .sample_rate_hz = info_.sample_rate_hz,
          .start_time_ns = bits_start_ns_,
          .bit_times = summary_.bits.expected(),
          .words_per_bit_time = static_cast<int>(words_),
          .first_bit_time = summary_.bits.first_bit_time};
}

bool Reader::read_payload(const Record& record, std::vector<std::byte>& payload) const {
  payload.resize(record.header.payload_bytes);
  source_.read(record.offset + sizeof(RecordHeader), payload);
  return crc32c(payload) == record.header.payload_crc;
}

void Reader::seek(std::uint64_t first_bit_time) {
  const auto after =
      std::upper_bound(index_.begin(), index_.end(), first_bit_time,
                       [](std::uint64_t wanted, const IndexEntry& entry) { return wanted < entry.first_bit_time; });
  const IndexEntry from = after == index_.begin() ? IndexEntry{.first_bit_time = 0, .offset = 0} : *std::prev(after);
  cursor_ = Scan(source_, recording_id_, from.offset);
  cursor_end_bit_time_ = from.first_bit_time;
  current_.reset();
}

/// Moves to the next record of bits.
bool Reader::advance() {
  while (std::optional<Record> record = cursor_.next()) {
    if (follows(record->header, cursor_end_bit_time_)) {
      cursor_end_bit_time_ = record->header.first_bit_time + record->header.bit_times;
      current_ = record;
      payload_is_read_ = false;
      return true;
    }
  }
  current_.reset();
  return false;
}

/// Loads the runs of the current record, and its words if they are intact.
void Reader::load_current() {
  const RecordHeader& header = current_->header;
  payload_is_read_ = true;
  words_are_sound_ = false;
  runs_.clear();
  if ((header.flags & kNotStored) != 0 || !read_payload(*current_, payload_)) {
    return;
  }
  if (std::optional<std::vector<Run>> runs = runs_of(header, payload_)) {
    runs_ = std::move(*runs);
    words_are_sound_ = true;
  }
}

void Reader::copy_current(std::uint64_t first, std::span<std::uint32_t> words, std::vector<MissingRun>& missing) {
  if (!payload_is_read_) {
    load_current();
  }
  const std::uint64_t end = first + words.size() / words_;
  if (!words_are_sound_) {
    info_.fill_silence(first, words);
    append_run(&missing, first, end - first);
    return;
  }
  const RecordHeader& header = current_->header;
  const std::size_t offset = header.runs * sizeof(Run) + (first - header.first_bit_time) * words_ * sizeof(words[0]);
  std::memcpy(words.data(), payload_.data() + offset, words.size_bytes());
  for (const Run& run : runs_) {
    const std::uint64_t run_first = std::max(first, header.first_bit_time + run.offset_bit_times);
    const std::uint64_t run_end = std::min(end, header.first_bit_time + run.offset_bit_times + run.bit_times);
    if (run_first < run_end) {
      info_.fill_silence(run_first, words.subspan((run_first - first) * words_, (run_end - run_first) * words_));
      append_run(&missing, run_first, run_end - run_first);
    }
  }
}

void Reader::read_bits(std::uint64_t first_bit_time, std::span<std::uint32_t> words, std::vector<MissingRun>& missing) {
  std::uint64_t at = first_bit_time;
  const std::uint64_t end = first_bit_time + words.size() / words_;
  if (!current_ || first_bit_time < current_->header.first_bit_time) {
    seek(first_bit_time);
    advance();
  }
  while (at < end) {
    while (current_ && current_->header.first_bit_time + current_->header.bit_times <= at) {
      advance();
    }
    const std::uint64_t known_from = current_ ? std::clamp(current_->header.first_bit_time, at, end) : end;
    const auto part = [&](std::uint64_t from, std::uint64_t to) {
      return words.subspan((from - first_bit_time) * words_, (to - from) * words_);
    };
    if (known_from > at) {
      info_.fill_silence(at, part(at, known_from));
      append_run(&missing, at, known_from - at);
      at = known_from;
    }
    if (at < end) {
      const std::uint64_t until = std::min(end, current_->header.first_bit_time + current_->header.bit_times);
      copy_current(at, part(at, until), missing);
      at = until;
    }
  }
}

std::uint64_t for_each_frame(const Reader& reader, const EpochSummary& epoch, std::uint64_t first, std::uint64_t end,
                             const std::function<void(const Frame&)>& visit) {
  Scan scan = reader.scan();
  FrameReader frames(epoch.header, reader.info().sample_rate_hz);
  std::vector<std::byte> payload;
  std::uint64_t index = 0;
  std::uint64_t damaged = 0;
  while (const std::optional<Record> record = scan.next()) {
    if (record->header.kind != Kind::kResult || record->offset < epoch.offset) {
      continue;
    }
    const bool is_sound_payload = reader.read_payload(*record, payload);
    const std::optional<ResultFields> fields = result_fields_of(record->header, payload);
    if (!fields || fields->epoch != epoch.epoch || fields->processor != epoch.processor) {
      continue;
    }
    const bool is_asked = index >= first && index < end;
    ++index;
    const std::optional<Frame> frame =
        is_asked && is_sound_payload ? frames.read(record->header, payload) : std::nullopt;
    if (frame) {
      visit(*frame);
    }
    damaged += is_asked && !frame ? 1U : 0U;
  }
  return damaged;
}

Verification verify(const Reader& reader) {
  Scan scan = reader.scan();
  std::vector<std::byte> payload;
  Verification found;
  while (const std::optional<Record> record = scan.next()) {
    if (reader.read_payload(*record, payload)) {
      continue;
    }
    ++found.damaged_payloads;
    if (record->header.kind == Kind::kBits) {
      found.damaged_bit_times += record->header.bit_times - record->header.missing_bit_times;
    }
  }
  return found;
}

}  // namespace nearfield::nfr
