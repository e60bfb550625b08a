#pragma once
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <filesystem>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "core/system/inheriting_mutex.hpp"
#include "core/system/wake_up.hpp"
#include "files/nfr/nfr_format.hpp"
#include "nearfield/daemon_settings.hpp"
#include "nearfield/output.hpp"
#include "nearfield/product.hpp"
#include "recording/bits_lane.hpp"
#include "recording/bits_tap.hpp"
#include "recording/lane.hpp"
#include "recording/output.hpp"
#include "recording/room.hpp"

namespace nearfield {

struct RecorderStatus;

/// What a recorder is made for. All that a user sets is in `settings`, of which folder and contents are the caller's
/// business; 0 as a limit means that there is none.
///
/// Trigger kLevel begins a recording when an image's magnitude rises above the level, and ends it once none has been
/// above it for quiet_s. The images are the product `images` of the first processor that has one. A rise counts after
/// quiet_s below the level, so that neither a noise that is there when the recorder is armed nor one that goes on
/// beyond a recording begins a recording. Trigger kLimit does the same by Frame::exceeds_recorded_limit of the frames
/// of all processors. Times are those of the frames' last bits.
struct RecorderOptions {
  nfr::FileInfo info;  ///< host and boot_id are filled in
  std::string path;    ///< a folder, and a name with strftime's fields, in UTC: "/data/%Y%m%dT%H%M%SZ.nfr"
  bool bits = true;    ///< records them
  bool images = true;  ///< records the frames of all processors
  DaemonSettings::Recording settings = {};
  std::optional<std::size_t> pixel;  ///< row * columns + column of the one whose level counts; without it, all
  /// A recording has begun, has ended, or could not begin. Called on the writer's thread, which must not wait there for
  /// any thread that waits for the recorder.
  std::function<void(const RecorderStatus& status)> changed;
  /// The recorder has made room for a recording, or looked for it. Called as `changed`.
  std::function<void(const RecordingRoom& room)> made_room;
  /// A file of a recording is complete. Called as `changed`.
  std::function<void(const std::filesystem::path& path)> finished;

  [[nodiscard]] bool is_by_level() const { return settings.trigger == DaemonSettings::Trigger::kLevel; }
  /// By the level or by a limit.
  [[nodiscard]] bool is_by_rise() const { return is_by_level() || settings.trigger == DaemonSettings::Trigger::kLimit; }
};

enum class RecorderState {
  kIdle,       ///< nothing is kept
  kArmed,      ///< keeps the history, waits for a trigger
  kRecording,  ///< writes
  kEnded       ///< as kIdle, after a recording; status() says why it ended
};
std::string_view name_of(RecorderState state);

struct RecorderStatus {
  RecorderState state = RecorderState::kIdle;
  EndCause end_cause = EndCause::kNone;  ///< of the last recording that ended
  std::string end_reason;                ///< the same in words, with the system's reason
  std::string path;                      ///< of the recording's last file
  std::string began_by;                  ///< what began it, in words
  std::uint64_t recordings = 0;          ///< begun since the recorder was made
  std::uint64_t refused = 0;             ///< that did not begin, as the quota was reached, since the recorder was made
  // Of the recording, or the last one:
  std::uint64_t files = 0;           ///< more than one after restarts of the source
  std::uint64_t bytes = 0;           ///< in these files
  std::uint64_t records = 0;         ///< of bits and frames, that write() has taken
  std::uint64_t end_bit_time = 0;    ///< of the last of them
  nfr::BitCounts bits;               ///< what became of the bit-times of these files, as their records say it
  std::uint64_t dropped_pieces = 0;  ///< of bits, that found the queue full
  std::uint64_t dropped_images = 0;  ///< frames of any processor
  // At this moment:
  std::uint64_t queued_bytes = 0;
  // Since the recorder was made:
  std::uint64_t all_dropped_pieces = 0;
  std::uint64_t all_dropped_images = 0;
  std::uint64_t all_paused_bit_times = 0;
};

/// Writes a live stream to disk by a thread of its own. push() and write() copy into memory that is there from the
/// start and wait for no disk; what finds it full is dropped, counted, and recorded as a gap. A recording that fails
/// ends with its reason; the stream goes on. push() may be called by one thread, begin() and write() by one, the rest
/// by any. start(), stop(), arm(), disarm() and trigger() return at once; the writer thread executes them in order.
class Recorder : public BitsTap, public Output {
 public:
  /// Throws ConfigError, or what the system throws when it has no memory or no thread.
  explicit Recorder(RecorderOptions options);
  /// Ends a recording with all that was pushed.
  ~Recorder() override;

  void push(const BitsPiece& piece) override;
  void begin(const ResultHeader& header, const Beginning& beginning) override;
  void write(const Frame& frame) override;
  void mask(const MaskChange& change) override { pending_mask_ = change; }

  /// Keeps a history from now on and waits for a trigger.
  void arm() { post(Request::kArm); }
  /// Back to idle from armed.
  void disarm() { post(Request::kDisarm); }
  /// Begins a recording, with the history if armed.
  void start() { post(Request::kStart); }
  /// As start(), if armed.
  void trigger() { post(Request::kTrigger); }
  /// Ends the recording with what was pushed until now.
  void stop() { post(Request::kStop); }
  /// Waits until the writer thread has executed all requests so far.
  void wait_for_requests();
  [[nodiscard]] RecorderStatus status() const;
  /// Memory for records on their way and for the history, which is there as long as the recorder.
  [[nodiscard]] std::uint64_t memory_bytes() const { return bits_.lane().capacity_bytes() + images_.capacity_bytes(); }

 private:
  enum class BeganBy { kRequest, kTrigger, kRise };
  enum class Request { kArm, kDisarm, kStart, kTrigger, kStop, kQuit };
  /// A header that frames can have.
  struct EpochKey {
    std::uint64_t epoch = 0;
    std::size_t processor = 0;
    friend bool operator==(const EpochKey&, const EpochKey&) = default;
    friend bool operator<(const EpochKey& a, const EpochKey& b) {
      return a.epoch != b.epoch ? a.epoch < b.epoch : a.processor < b.processor;
    }
  };
  struct EpochText {
    EpochKey key;
    std::string json;
  };
  struct PostedMask {
    std::uint64_t number = 0;    ///< of all that were posted
    std::uint64_t restarts = 0;  ///< of the stream, before it
    MaskChange change;
  };
  /// A processor's frames of the epoch that was begun last.
  struct Layout {
    ProductPlaces places;  ///< none where the processor was not begun
    /// Index of the product that a level can watch.
    std::optional<std::size_t> images;
    ElementType images_type = ElementType::kComplex64;
    std::size_t pixels = 1;  ///< of an image
  };
  struct Totals {
    std::uint64_t dropped_pieces = 0;
    std::uint64_t dropped_images = 0;
  };

  void post(Request request);
  [[nodiscard]] static Layout layout_of(const ResultHeader& header);
  [[nodiscard]] const Layout* layout_of(const Frame& frame) const;
  [[nodiscard]] bool push_frame(const Layout& layout, const Frame& frame);
  [[nodiscard]] bool is_loud(const Layout& layout, const Frame& frame) const;
  void watch_rise(bool is_loud, const Frame& frame);
  void post_mask();
  void data_came();

  // The writer's.
  void run();
  [[nodiscard]] std::optional<Request> next_request();
  void wait_for_work();
  [[nodiscard]] bool has_work();
  void execute(Request request);
  void begin(BeganBy cause);
  [[nodiscard]] std::string text_of(BeganBy cause) const;
  void refuse(EndCause cause, const std::string& reason);
  [[nodiscard]] RecordingRoom make_room_for(std::uint64_t bytes) const;
  [[nodiscard]] std::optional<std::pair<EndCause, std::string>> lack_in(const RecordingRoom& room) const;
  void look_for_room();
  [[nodiscard]] bool is_over_quota(std::uint64_t bytes);
  void report_change() const;
  bool open_file();
  bool follow_epoch();
  int follow_masks();
  void end_recording(EndCause cause, const std::string& reason);
  std::pair<EndCause, std::string> close_file(EndCause cause, const std::string& reason);
  void drain(Lane& lane, std::uint64_t until);
  void drain_all();
  [[nodiscard]] std::uint64_t prepare_batch(Lane& lane, std::uint64_t position, std::uint64_t until);
  [[nodiscard]] bool is_over_limit(const nfr::RecordHeader& header, std::uint64_t batch_bytes);
  void write_batch(Lane& lane, std::uint64_t position, std::uint64_t end);
  void meet(Lane& lane, std::uint64_t position);
  bool write_epoch(const EpochKey& key);
  void fail(int error);
  int write_record(nfr::RecordHeader header, const std::string& text);
  void sync();
  void check_level();
  void set_lanes(Lane::Mode mode);
  void set_state(RecorderState state);
  [[nodiscard]] double seconds_in_file() const;
  [[nodiscard]] Totals totals() const;
  [[nodiscard]] static EpochKey epoch_at(const Lane& lane, std::uint64_t position);

  const RecorderOptions options_;
  BitsLane bits_;
  Lane images_;
  std::atomic<std::uint64_t> dropped_images_{0};
  std::atomic<bool> has_risen_{false};          ///< above the level; set by a frame, taken back by the writer
  std::atomic<std::int64_t> last_above_ns_{0};  ///< capture time of the last frame above the level
  std::atomic<std::int64_t> last_frame_ns_{0};
  std::atomic<std::uint64_t> armings_{0};           ///< requested so far, counted by the writer
  std::atomic<std::int64_t> no_rise_before_ns_{0};  ///< end of the pause after a recording
  WakeUp wake_up_;  ///< of the writer, by requests, rises and, where it waits for them, data
  std::atomic<bool> waits_for_data_{false};
  // Of the thread that pushes bits and writes frames:
  std::optional<MaskChange> pending_mask_;           ///< until bits of its stream come
  std::vector<Layout> layouts_;                      ///< [processor]
  std::vector<std::span<const std::byte>> payload_;  ///< of a record, with room for any processor's
  std::optional<std::size_t> watched_;               ///< the processor whose images the level is for
  std::uint64_t armings_seen_ = 0;
  std::int64_t below_since_ns_ = 0;  ///< or the first frame since it was armed
  bool is_quiet_ = false;            ///< has been for long enough: the next frame above the level is a rise

  mutable InheritingMutex mutex_;  ///< guards what follows up to the writer's own
  InheritingCondition executed_;
  std::deque<Request> requests_;
  std::uint64_t posted_count_ = 0;
  std::uint64_t executed_count_ = 0;
  std::deque<EpochText> epochs_;
  std::deque<PostedMask> masks_;
  RecorderStatus status_;
  Totals at_begin_;
  Totals at_end_;

  // The writer's own.
  RecorderState state_ = RecorderState::kIdle;
  bool is_rearmed_ = false;  ///< goes back to armed when the recording ends
  bool is_by_level_ = false;
  bool has_drained_ = false;  ///< since it slept last
  bool quits_ = false;
  std::optional<std::pair<EndCause, std::string>> ends_;  ///< what a record met says
  std::unique_ptr<RecordingOutput> file_;
  std::uint64_t recording_id_ = 0;
  std::uint64_t sequence_ = 0;
  std::uint64_t bytes_before_ = 0;                      ///< of the recording's files that are closed
  std::deque<std::unique_ptr<RecordingOutput>> parts_;  ///< that are closed, kept open so that nobody removes them
  std::optional<std::uint64_t> most_by_quota_;          ///< bytes that the quota leaves for the recording
  std::optional<std::uint64_t> bits_end_;               ///< of the last record of bits in the file
  std::optional<std::uint64_t> first_bit_time_;
  std::uint64_t file_end_bit_time_ = 0;  ///< of the bits and frames in the file
  std::set<EpochKey> epochs_in_file_;
  std::uint64_t restarts_in_file_ = 0;  ///< of the stream, before the file's
  std::uint64_t next_mask_ = 0;         ///< number behind the last one that was written to the file, or passed over
  std::int64_t last_sync_ns_ = 0;
  std::int64_t last_look_ns_ = 0;  ///< whether the file is still there
  std::uint64_t not_written_back_ = 0;
  std::thread thread_;  ///< last: it uses all of the above
};

}  // namespace nearfield
