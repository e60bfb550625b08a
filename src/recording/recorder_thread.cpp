#include <spdlog/spdlog.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <limits>
#include <utility>

#include "core/daemon_settings.hpp"
#include "core/error.hpp"
#include "core/system/clocks.hpp"
#include "core/system/host.hpp"
#include "core/system/threads.hpp"
#include "files/nfr/nfr_results.hpp"
#include "recording/recorder.hpp"

/// The writer thread of the recorder.
namespace nearfield {
namespace {

/// Pieces that come one by one are written together, this often.
constexpr std::int64_t kPaceNs = 2'000'000;
/// Largest single write().
constexpr std::uint64_t kBatchBytes = std::uint64_t{4} << 20U;
constexpr std::uint64_t kWritebackBytes = std::uint64_t{8} << 20U;
/// Bytes of max_bytes reserved for the end record.
constexpr std::uint64_t kEndBytes = 512;
/// Least bytes left of the quota: with fewer, the next recording would end with its first bits.
constexpr std::uint64_t kLeastBytes = std::uint64_t{1} << 20U;
constexpr std::int64_t kLookNs = kNsPerSecond;
/// Most closed files of the current recording that are kept from being removed.
constexpr std::size_t kMostParts = 128;

}  // namespace

void Recorder::run() {
  give_signal_stack();
  while (!quits_) {
    if (const std::optional<Request> request = next_request()) {
      execute(*request);
      const std::lock_guard lock(mutex_);
      ++executed_count_;
      executed_.notify_all();
    }
    if (state_ == RecordingState::kArmed && has_risen_.exchange(false)) {
      begin(BeganBy::kRise);
    }
    if (state_ == RecordingState::kRecording) {
      if (!options_.images) {
        (void)follow_epoch();
      }
      if (const int error = ends_ ? 0 : follow_masks(); error != 0) {
        fail(error);
      }
      drain_all();
      check_level();
      sync();
    }
    if (ends_) {
      end_recording(ends_->first, ends_->second);
    }
  }
}

/// Nothing if other work is due.
std::optional<Recorder::Request> Recorder::next_request() {
  wait_for_work();
  const std::lock_guard lock(mutex_);
  if (requests_.empty()) {
    return std::nullopt;
  }
  const Request request = requests_.front();
  requests_.pop_front();
  return request;
}

/// Sleeps until a request is there, and while armed until a rise. During a recording it sleeps for kPaceNs, in which
/// data wake nobody; where there were none, until there are some, or until sync() is due.
void Recorder::wait_for_work() {
  const bool is_recording = state_ == RecordingState::kRecording;
  const bool paces = is_recording && std::exchange(has_drained_, false);
  std::int64_t deadline_ns = std::numeric_limits<std::int64_t>::max();
  if (paces) {
    deadline_ns = monotonic_ns() + kPaceNs;
  } else if (is_recording) {
    const std::int64_t sync_ns = std::llround(options_.settings.sync_s * 1e9);
    deadline_ns = std::min(last_look_ns_ + kLookNs, sync_ns > 0 ? last_sync_ns_ + sync_ns : deadline_ns);
  }
  waits_for_data_.store(is_recording && !paces);
  const std::uint32_t ticket = wake_up_.ticket();
  if (has_work()) {
    wake_up_.awake();
  } else {
    (void)wake_up_.sleep(ticket, deadline_ns);
  }
  waits_for_data_.store(false);
}

bool Recorder::has_work() {
  if (state_ == RecordingState::kArmed && has_risen_.load()) {
    return true;
  }
  const auto has_data = [](const Lane& lane) { return lane.head() != lane.tail(); };
  if (waits_for_data_.load() && (has_data(bits_.lane()) || has_data(images_))) {
    return true;
  }
  const std::lock_guard lock(mutex_);
  return !requests_.empty();
}

void Recorder::execute(Request request) {
  const bool records = state_ == RecordingState::kRecording;
  switch (request) {
    case Request::kArm:
      is_rearmed_ = true;
      if (!records && state_ != RecordingState::kArmed) {
        has_risen_ = false;
        armings_.fetch_add(1);
        set_lanes(Lane::Mode::kHistory);
        set_state(RecordingState::kArmed);
      }
      break;
    case Request::kDisarm:
      is_rearmed_ = false;
      if (state_ == RecordingState::kArmed) {
        set_lanes(Lane::Mode::kOff);
        set_state(RecordingState::kIdle);
      }
      break;
    case Request::kStart:
      if (!records) {
        begin(BeganBy::kRequest);
      }
      break;
    case Request::kTrigger:
      if (state_ == RecordingState::kArmed) {
        begin(BeganBy::kTrigger);
      }
      break;
    case Request::kStop:
    case Request::kQuit:
      is_rearmed_ = false;
      if (records) {
        end_recording(EndCause::kStopped, "");
      } else if (state_ == RecordingState::kArmed) {
        set_lanes(Lane::Mode::kOff);
        set_state(RecordingState::kIdle);
      }
      quits_ = request == Request::kQuit;
      break;
  }
}

std::string Recorder::text_of(BeganBy cause) const {
  switch (cause) {
    case BeganBy::kRequest:
      return "record start";
    case BeganBy::kTrigger:
      return "record trigger";
    default:
      return options_.is_by_level() ? fmt::format("the level {:g}", options_.settings.level) : "a limit";
  }
}

void Recorder::begin(BeganBy cause) {
  const DaemonSettings::Recording& settings = options_.settings;
  most_by_quota_.reset();
  if (settings.quota_bytes > 0 || settings.keep_free_bytes > 0) {
    const FolderUsage room = make_room_for(kLeastBytes);
    if (const auto lack = lack_in(room)) {
      refuse(lack->first, lack->second);
      return;
    }
    if (settings.quota_bytes > 0) {
      most_by_quota_ = static_cast<std::uint64_t>(settings.quota_bytes) - room.used_bytes;
    }
  }
  is_by_level_ = cause == BeganBy::kRise;
  ends_.reset();
  bytes_before_ = 0;
  last_sync_ns_ = monotonic_ns();
  {
    const std::lock_guard lock(mutex_);
    at_begin_ = totals();
    RecorderStatus fresh;
    fresh.state = RecordingState::kRecording;
    fresh.recordings = status_.recordings + 1;
    fresh.refused = status_.refused;
    fresh.began_by = text_of(cause);
    status_ = fresh;
  }
  state_ = RecordingState::kRecording;
  if (open_file()) {
    // The history holds one stream. If another begins now, the lane has a marker of it, unless it was off.
    const std::uint64_t of_history = bits_.restarts();
    const bool has_history = bits_.lane().is_on();
    set_lanes(Lane::Mode::kDraining);
    restarts_in_file_ = has_history ? of_history : bits_.restarts();
    report_change();
  }
}

/// Removes nothing for its age, which is not urgent.
FolderUsage Recorder::make_room_for(std::uint64_t bytes) const {
  FolderUsage room =
      make_room(std::filesystem::path(options_.path).parent_path(), options_.settings, bytes, std::nullopt);
  if (options_.made_room) {
    options_.made_room(room);
  }
  return room;
}

/// Reason why no recording can begin.
std::optional<std::pair<EndCause, std::string>> Recorder::lack_in(const FolderUsage& room) const {
  const std::string folder = std::filesystem::path(options_.path).parent_path().string();
  const auto quota_bytes = static_cast<std::uint64_t>(options_.settings.quota_bytes);
  const auto kept_bytes = static_cast<std::uint64_t>(options_.settings.keep_free_bytes);
  if (quota_bytes > 0 && room.used_bytes + kLeastBytes > quota_bytes) {
    return std::pair(EndCause::kDirectoryFull,
                     fmt::format("{}: recordings of {} bytes, of {} permitted", folder, room.used_bytes, quota_bytes));
  }
  if (kept_bytes > 0 && room.free_bytes && *room.free_bytes < kept_bytes + kLeastBytes) {
    return std::pair(EndCause::kFreeKept, fmt::format("{}: {} bytes of the disk are free, {} to be kept", folder,
                                                      *room.free_bytes, kept_bytes));
  }
  return std::nullopt;
}

/// Measures the space again during a recording: files that others, such as a frozen ring, have added or removed in the
/// meantime count, and so do closed files of this recording that were removed.
void Recorder::look_for_room() {
  const DaemonSettings::Recording& settings = options_.settings;
  if (settings.keep_free_bytes == 0 && settings.quota_bytes == 0) {
    return;
  }
  std::erase_if(parts_, [](const auto& part) { return part->is_removed(); });  // frees their blocks
  const FolderUsage room = make_room_for(kLeastBytes);
  const std::uint64_t own_bytes = bytes_before_ + file_->bytes();
  if (most_by_quota_) {
    const auto quota_bytes = static_cast<std::uint64_t>(settings.quota_bytes);
    most_by_quota_ = own_bytes + quota_bytes - std::min(quota_bytes, room.used_bytes);
  }
  const auto kept_bytes = static_cast<std::uint64_t>(settings.keep_free_bytes);
  if (room.free_bytes && *room.free_bytes < kept_bytes) {
    ends_ = {EndCause::kFreeKept, fmt::format("{} bytes are free, {} to be kept", *room.free_bytes, kept_bytes)};
  }
}

/// True if the recording must end rather than grow to `bytes`, which exceeds the quota left at the last check.
bool Recorder::is_over_quota(std::uint64_t bytes) {
  if (!options_.settings.remove_oldest) {
    return true;
  }
  look_for_room();  // sooner than scheduled
  return !ends_ && bytes > *most_by_quota_;
}

/// Rejects a recording for lack of space; an armed recorder stays armed, for when there is space again.
void Recorder::refuse(EndCause cause, const std::string& reason) {
  {
    const std::lock_guard lock(mutex_);
    ++status_.refused;
    status_.path.clear();
    status_.end_cause = cause;
    status_.end_reason = fmt::format("{} ({})", name_of(cause), reason);
    if (state_ != RecordingState::kArmed) {
      state_ = status_.state = RecordingState::kEnded;
    }
  }
  report_change();
}

void Recorder::report_change() const {
  if (options_.changed) {
    options_.changed(status());
  }
}

/// Opens a new file and writes its file record, twice, and the settings in effect.
bool Recorder::open_file() {
  try {
    file_ = std::make_unique<RecordingOutput>(options_.path, clock_ns(CLOCK_REALTIME) / kNsPerSecond);
  } catch (const IoError& error) {
    file_.reset();
    ends_ = {EndCause::kNotOpened, error.what()};
    return false;
  }
  recording_id_ = random_id();
  sequence_ = 0;
  not_written_back_ = 0;
  bits_end_.reset();
  first_bit_time_.reset();
  file_end_bit_time_ = 0;
  epochs_in_file_.clear();
  next_mask_ = 0;
  {
    const std::lock_guard lock(mutex_);
    status_.path = file_->path().string();
    ++status_.files;
  }
  const std::string info = nfr::to_json(options_.info);
  if (int error = write_record({.kind = nfr::Kind::kFile}, info);
      error != 0 || (error = write_record({.kind = nfr::Kind::kFile}, info)) != 0) {
    fail(error);
    return false;
  }
  return follow_epoch();
}

/// Writes the headers of the newest epoch, with its settings, if the file lacks them: a replay of bits needs the
/// settings. False if writing failed.
bool Recorder::follow_epoch() {
  std::set<EpochKey> newest;
  {
    const std::lock_guard lock(mutex_);
    for (const EpochText& text : epochs_) {
      if (text.key.epoch == epochs_.back().key.epoch && !epochs_in_file_.contains(text.key)) {
        newest.insert(text.key);
      }
    }
  }
  return std::all_of(newest.begin(), newest.end(), [this](const EpochKey& key) { return ends_ || write_epoch(key); });
}

/// Writes the masks of the file's stream that it lacks, each twice. Returns 0, or errno.
int Recorder::follow_masks() {
  std::vector<MaskChange> fresh;
  {
    const std::lock_guard lock(mutex_);
    for (const PostedMask& mask : masks_) {
      if (mask.number < next_mask_ || mask.restarts > restarts_in_file_) {
        continue;
      }
      next_mask_ = mask.number + 1;
      if (mask.restarts == restarts_in_file_) {
        fresh.push_back(mask.change);
      }
    }
  }
  for (const MaskChange& change : fresh) {
    const nfr::RecordHeader header{.kind = nfr::Kind::kMask, .first_bit_time = change.first_bit_time};
    const std::string json = nfr::to_json(change);
    for (int copy = 0; copy < 2; ++copy) {
      if (const int error = write_record(header, json); error != 0) {
        return error;
      }
    }
  }
  return 0;
}

void Recorder::end_recording(EndCause cause, const std::string& reason) {
  if (cause == EndCause::kStopped || cause == EndCause::kBelowLevel) {
    const std::optional<BitsLane::Gap> dropped = bits_.pending_gap();
    drain_all();
    // Bits that were pushed last and found the queue full become a gap like those before them.
    if (dropped && file_ && !ends_ && bits_end_ == dropped->first) {
      const nfr::RecordHeader gap{.kind = nfr::Kind::kBits,
                                  .first_bit_time = dropped->first,
                                  .bit_times = dropped->end - dropped->first,
                                  .missing_bit_times = dropped->end - dropped->first,
                                  .flags = nfr::kNotStored | nfr::kDropped};
      if (write_record(gap, "") == 0) {
        file_end_bit_time_ = std::max(file_end_bit_time_, dropped->end);
        const std::lock_guard lock(mutex_);
        status_.bits.add(gap);
        status_.end_bit_time = std::max(status_.end_bit_time, dropped->end);
      }
    }
  }
  const std::pair<EndCause, std::string> end = ends_.value_or(std::pair(cause, reason));
  ends_.reset();
  is_rearmed_ = is_rearmed_ &&
                (!is_failure(end.first) || end.first == EndCause::kDirectoryFull || end.first == EndCause::kFreeKept);
  set_lanes(is_rearmed_ ? Lane::Mode::kHistory : Lane::Mode::kOff);
  {
    const std::lock_guard lock(mutex_);
    at_end_ = totals();
  }
  const std::pair<EndCause, std::string> closed = close_file(end.first, end.second);
  parts_.clear();
  if (options_.is_by_rise()) {
    no_rise_before_ns_.store(last_frame_ns_.load() +
                             static_cast<std::int64_t>(std::llround(options_.settings.pause_s * 1e9)));
  }
  has_risen_ = false;
  {
    const std::lock_guard lock(mutex_);
    status_.end_cause = closed.first;
    status_.end_reason = closed.second.empty() ? std::string(name_of(closed.first))
                                               : fmt::format("{} ({})", name_of(closed.first), closed.second);
    state_ = status_.state = is_rearmed_ ? RecordingState::kArmed : RecordingState::kEnded;
  }
  report_change();
}

double Recorder::seconds_in_file() const {
  const std::uint64_t first = first_bit_time_.value_or(file_end_bit_time_);
  return first < file_end_bit_time_ ? static_cast<double>(file_end_bit_time_ - first) / options_.info.sample_rate_hz
                                    : 0.0;
}

/// Writes the end record, as far as there is room for it, and waits for the disk. Returns the last failure as cause.
std::pair<EndCause, std::string> Recorder::close_file(EndCause cause, const std::string& reason) {
  if (!file_) {
    return {cause, reason};
  }
  const RecorderStatus now = status();
  const nfr::EndInfo end{.reason = std::string(name_of(cause)),
                         .dropped_bit_times = now.bits.dropped,
                         .dropped_images = now.dropped_images,
                         .seconds = seconds_in_file(),
                         .began_by = now.began_by};
  (void)follow_masks();  // masks of the bits that were drained last
  (void)write_record({.kind = nfr::Kind::kEnd}, nfr::to_json(end));
  const int error = file_->wait_for_disk();
  bytes_before_ += file_->bytes();
  const std::string path = file_->path().string();
  if (options_.finished) {
    options_.finished(file_->path());
  }
  if (cause == EndCause::kSourceRestarted) {
    parts_.push_back(std::move(file_));
    if (parts_.size() > kMostParts) {
      parts_.pop_front();
    }
  }
  file_.reset();
  {
    const std::lock_guard lock(mutex_);
    status_.bytes = bytes_before_;
  }
  if (error != 0 && !is_failure(cause)) {
    return {cause_of(error), fmt::format("{}: {}", path, std::strerror(error))};
  }
  return {cause, reason};
}

void Recorder::drain_all() {
  drain(bits_.lane(), bits_.lane().head());
  drain(images_, images_.head());
}

void Recorder::drain(Lane& lane, std::uint64_t until) {
  std::uint64_t position = lane.tail();
  has_drained_ = has_drained_ || position < until;
  while (position < until && !ends_ && file_) {
    const std::uint64_t end = prepare_batch(lane, position, until);
    if (end > position) {
      write_batch(lane, position, end);
    } else if (!ends_) {
      meet(lane, position);
    }
    position = lane.tail();
  }
}

/// End of the records from `position` on that go out in one write: up to one that changes the file's state.
std::uint64_t Recorder::prepare_batch(Lane& lane, std::uint64_t position, std::uint64_t until) {
  std::uint64_t end = position;
  while (end < until && end - position < kBatchBytes) {
    nfr::RecordHeader header = lane.header_at(end);
    const bool is_plain = header.kind == nfr::Kind::kBits ||
                          (header.kind == nfr::Kind::kResult && epochs_in_file_.contains(epoch_at(lane, end)));
    if (!is_plain || is_over_limit(header, end - position)) {
      break;
    }
    header.recording_id = recording_id_;
    header.sequence = sequence_++;
    const std::uint64_t payload = end + sizeof(header);
    header.payload_crc = lane.crc_of(payload, payload + header.payload_bytes);
    header.header_crc = nfr::header_crc(header);
    lane.set_header(end, header);
    end += nfr::record_bytes(header);
  }
  return end;
}

bool Recorder::is_over_limit(const nfr::RecordHeader& header, std::uint64_t batch_bytes) {
  const std::uint64_t first = first_bit_time_.value_or(header.first_bit_time);
  first_bit_time_ = std::min(first, header.first_bit_time);
  const double seconds = static_cast<double>(end_of(header) - *first_bit_time_) / options_.info.sample_rate_hz;
  const std::uint64_t bytes = bytes_before_ + file_->bytes() + batch_bytes + nfr::record_bytes(header) + kEndBytes;
  if (options_.settings.max_s > 0.0 && seconds > options_.settings.max_s) {
    ends_ = {EndCause::kLongEnough, ""};
  } else if (options_.settings.max_bytes > 0 && bytes > static_cast<std::uint64_t>(options_.settings.max_bytes)) {
    ends_ = {EndCause::kLargeEnough, ""};
  } else if (most_by_quota_ && bytes > *most_by_quota_ && is_over_quota(bytes)) {
    ends_ = {EndCause::kDirectoryFull, fmt::format("of {} permitted", options_.settings.quota_bytes)};
  }
  return ends_.has_value();
}

void Recorder::write_batch(Lane& lane, std::uint64_t position, std::uint64_t end) {
  const std::uint64_t before = file_->bytes();
  const auto pieces = lane.pieces(position, end);
  const int error = file_->append(pieces[0], pieces[1]);
  const std::uint64_t written = file_->bytes() - before;
  std::uint64_t records = 0;
  std::uint64_t unwritten = 0;
  std::uint64_t complete = position;
  std::uint64_t end_bit_time = 0;
  nfr::BitCounts bits;
  for (std::uint64_t at = position; at < end;) {
    const nfr::RecordHeader header = lane.header_at(at);
    at += nfr::record_bytes(header);
    if (at - position > written) {
      ++unwritten;
      continue;
    }
    complete = at;
    end_bit_time = end_of(header);
    if (header.kind == nfr::Kind::kBits) {
      bits.add(header);
      bits_end_ = end_bit_time;
    }
    ++records;
  }
  lane.release(complete);
  not_written_back_ += complete - position;
  if (error != 0) {
    file_->truncate(before + complete - position);
    sequence_ -= unwritten;
    fail(error);
  }
  file_end_bit_time_ = std::max(file_end_bit_time_, records > 0 ? end_bit_time : 0);
  const std::lock_guard lock(mutex_);
  status_.bytes = bytes_before_ + file_->bytes();
  status_.bits.add(bits);
  status_.records += records;
  status_.end_bit_time = std::max(status_.end_bit_time, records > 0 ? end_bit_time : 0);  // delayed frames end earlier
}

/// Handles a record that changes the file's state: a processor's first frame of an epoch, or a restart of the source.
void Recorder::meet(Lane& lane, std::uint64_t position) {
  const nfr::RecordHeader header = lane.header_at(position);
  if (header.kind == nfr::Kind::kResult) {
    if (!write_epoch(epoch_at(lane, position)) && !ends_) {
      dropped_images_.fetch_add(1, std::memory_order_relaxed);
      lane.release(position + nfr::record_bytes(header));
    }
    return;
  }
  lane.release(position + nfr::record_bytes(header));
  if (header.kind == kRestartMarker) {
    (void)close_file(EndCause::kSourceRestarted, "");
    restarts_in_file_ = header.first_bit_time;
    (void)open_file();
  }
}

/// Writes a processor's header of an epoch, twice. False if it has not begun, or if writing failed.
bool Recorder::write_epoch(const EpochKey& key) {
  std::string json;
  {
    const std::lock_guard lock(mutex_);
    for (const EpochText& known : epochs_) {
      json = known.key == key ? known.json : json;
    }
  }
  if (json.empty()) {
    return false;
  }
  if (int error = write_record({.kind = nfr::Kind::kEpoch}, json);
      error != 0 || (error = write_record({.kind = nfr::Kind::kEpoch}, json)) != 0) {
    fail(error);
    return false;
  }
  epochs_in_file_.insert(key);
  return true;
}

void Recorder::fail(int error) {
  ends_ = {cause_of(error), fmt::format("{}: {}", file_->path().string(), std::strerror(error))};
}

/// Sets the record's number and times. Returns 0, or errno, with the file truncated to its state before.
int Recorder::write_record(nfr::RecordHeader header, const std::string& text) {
  header.recording_id = recording_id_;
  header.sequence = sequence_;
  header.mono_ns = monotonic_ns();
  header.tai_ns = clock_ns(CLOCK_TAI);
  std::vector<std::byte> bytes;
  nfr::append_record(bytes, header, std::as_bytes(std::span(text)));
  const std::uint64_t before = file_->bytes();
  const int error = file_->append(bytes);
  if (error != 0) {
    file_->truncate(before);
    return error;
  }
  ++sequence_;
  return 0;
}

void Recorder::sync() {
  if (!file_ || ends_) {
    return;
  }
  if (not_written_back_ >= kWritebackBytes) {
    file_->start_writeback();
    not_written_back_ = 0;
  }
  const std::int64_t now_ns = monotonic_ns();
  if (now_ns - last_look_ns_ >= kLookNs) {
    last_look_ns_ = now_ns;
    if (file_->is_removed()) {
      ends_ = {EndCause::kRemoved, file_->path().string()};
    } else {
      look_for_room();
    }
  }
  if (options_.settings.sync_s > 0.0 && static_cast<double>(now_ns - last_sync_ns_) >= options_.settings.sync_s * 1e9) {
    last_sync_ns_ = now_ns;
    if (const int error = file_->wait_for_disk(); error != 0) {
      fail(error);
    }
  }
}

void Recorder::check_level() {
  if (!is_by_level_ || ends_) {
    return;
  }
  const std::int64_t quiet_ns =
      last_frame_ns_.load(std::memory_order_relaxed) - last_above_ns_.load(std::memory_order_relaxed);
  if (static_cast<double>(quiet_ns) > options_.settings.quiet_s * 1e9) {
    ends_ = {EndCause::kBelowLevel, ""};
  }
}

void Recorder::set_lanes(Lane::Mode mode) {
  const bool keeps = mode != Lane::Mode::kHistory || options_.settings.pre_trigger_s > 0.0;
  bits_.lane().set_mode(options_.bits && keeps ? mode : Lane::Mode::kOff);
  images_.set_mode(options_.images && keeps ? mode : Lane::Mode::kOff);
}

void Recorder::set_state(RecordingState state) {
  state_ = state;
  const std::lock_guard lock(mutex_);
  status_.state = state;
}

Recorder::EpochKey Recorder::epoch_at(const Lane& lane, std::uint64_t position) {
  nfr::ResultFields fields;
  lane.copy_out(position + sizeof(nfr::RecordHeader), std::as_writable_bytes(std::span(&fields, 1)));
  return {.epoch = fields.epoch, .processor = fields.processor};
}

}  // namespace nearfield
