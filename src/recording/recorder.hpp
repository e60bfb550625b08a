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

#include "core/daemon_settings.hpp"
#include "core/frame.hpp"
#include "core/product.hpp"
#include "core/recording_state.hpp"
#include "core/system/threads.hpp"
#include "files/nfr/nfr_format.hpp"
#include "limits/limit_plan.hpp"
#include "recording/lane.hpp"
#include "recording/output.hpp"
#include "recording/retention.hpp"

namespace nearfield {

struct RecorderStatus;

/// Options of a recorder. All that a user sets is in `settings`; its folder and contents are the caller's business. A
/// limit of 0 means no limit.
///
/// Trigger kLevel begins a recording when a limit on the images of the first processor that makes some is exceeded, and
/// ends it once none has been above it for quiet_s. A rise counts after
/// quiet_s below the level, so that neither a noise that is there when the recorder is armed nor one that goes on
/// beyond a recording begins a recording. Trigger kLimit does the same by Frame::exceeds_recorded_limit of the frames
/// of all processors. Times are those of the frames' last bits.
struct RecorderOptions {
  nfr::FileInfo info;  ///< host and boot_id are filled in
  std::string path;    ///< a folder, and a name with strftime's fields, in UTC: "/data/%Y%m%dT%H%M%SZ.nfr"
  bool bits = true;    ///< records the bits
  bool images = true;  ///< records the frames of all processors
  DaemonSettings::Recording settings = {};
  /// Called when a recording has begun, has ended, or could not begin, on the writer's thread. It must not wait for any
  /// thread that waits for the recorder.
  std::function<void(const RecorderStatus& status)> changed;
  /// Called like `changed` when the recorder has made room for a recording, or checked for it.
  std::function<void(const FolderUsage& room)> made_room;
  /// Called like `changed` when a file of a recording is complete.
  std::function<void(const std::filesystem::path& path)> finished;

  [[nodiscard]] bool is_by_level() const { return settings.trigger == DaemonSettings::Trigger::kLevel; }
  /// True for the triggers kLevel and kLimit.
  [[nodiscard]] bool is_by_rise() const { return is_by_level() || settings.trigger == DaemonSettings::Trigger::kLimit; }
};

struct RecorderStatus {
  RecordingState state = RecordingState::kIdle;
  EndCause end_cause = EndCause::kNone;  ///< cause of the last recording's end
  std::string end_reason;                ///< end_cause in words, with the system's reason
  std::string path;                      ///< last file of the recording
  std::string began_by;                  ///< cause of the recording's begin, in words
  std::uint64_t recordings = 0;          ///< recordings begun since the recorder was made
  std::uint64_t refused = 0;             ///< recordings refused for lack of space since the recorder was made
  // About the current recording, or the last one:
  std::uint64_t files = 0;           ///< more than one after restarts of the source
  std::uint64_t bytes = 0;           ///< in these files
  std::uint64_t records = 0;         ///< records of bits and frames that write() has taken
  std::uint64_t end_bit_time = 0;    ///< end of the last such record
  nfr::BitCounts bits;               ///< bit-times of these files by their state, according to their records
  std::uint64_t dropped_pieces = 0;  ///< pieces of bits that found the queue full
  std::uint64_t dropped_images = 0;  ///< frames of any processor
  // Current:
  std::uint64_t queued_bytes = 0;
  // Since the recorder was made:
  std::uint64_t all_dropped_pieces = 0;
  std::uint64_t all_dropped_images = 0;
  std::uint64_t all_paused_bit_times = 0;
};

/// Writes a live stream to disk on its own thread. push() and write() copy into memory allocated at construction and
/// never wait for the disk; a piece or frame that finds it full is dropped, counted, and recorded as a gap. A recording
/// that fails ends with its reason; the stream continues. push() may be called by one thread, begin() and write() by
/// one, the other functions by any. start(), stop(), arm(), disarm() and trigger() return at once; the writer thread
/// executes them in order.
class Recorder : public BitsTap, public Output {
 public:
  /// Throws ConfigError, or the system's exception when there is no memory or thread.
  explicit Recorder(RecorderOptions options);
  /// Ends a recording with everything pushed so far.
  ~Recorder() override;

  void push(const BitsPiece& piece) override;
  [[nodiscard]] bool takes_words() const override { return options_.bits && bits_.lane().is_on(); }
  void skip(const BitsPiece& piece) override;
  void begin(const ResultHeader& header, const Beginning& beginning) override;
  void write(const Frame& frame) override;
  void mask(const MaskChange& change) override { pending_mask_ = change; }

  /// Keeps a history from now on and waits for a trigger.
  void arm() { post(Request::kArm); }
  /// Back to idle from armed.
  void disarm() { post(Request::kDisarm); }
  /// Begins a recording, with the history if armed.
  void start() { post(Request::kStart); }
  /// Like start(), but only if armed.
  void trigger() { post(Request::kTrigger); }
  /// Ends the recording with everything pushed so far.
  void stop() { post(Request::kStop); }
  /// Waits until the writer thread has executed all requests so far.
  void wait_for_requests();
  [[nodiscard]] RecorderStatus status() const;
  /// Memory of the queues and of the history, allocated for the recorder's lifetime.
  [[nodiscard]] std::uint64_t memory_bytes() const { return bits_.lane().capacity_bytes() + images_.capacity_bytes(); }

 private:
  enum class BeganBy { kRequest, kTrigger, kRise };
  enum class Request { kArm, kDisarm, kStart, kTrigger, kStop, kQuit };
  /// Identifies the header of a frame.
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
    std::uint64_t number = 0;    ///< index among all posted changes
    std::uint64_t restarts = 0;  ///< restarts of the stream before it
    MaskChange change;
  };
  /// Layout of a processor's frames in the newest epoch.
  struct Layout {
    ProductPlaces places;                    ///< empty if the processor has not begun
    std::optional<limits::LimitPlan> level;  ///< for the trigger kLevel, if the processor makes images
  };
  struct Totals {
    std::uint64_t dropped_pieces = 0;
    std::uint64_t dropped_images = 0;
  };

  void post(Request request);
  [[nodiscard]] const Layout* layout_of(const Frame& frame) const;
  [[nodiscard]] bool push_frame(const Layout& layout, const Frame& frame);
  void watch_rise(bool is_loud, const Frame& frame);
  void post_mask();
  void data_came();

  // For the writer:
  void run();
  [[nodiscard]] std::optional<Request> next_request();
  void wait_for_work();
  [[nodiscard]] bool has_work();
  void execute(Request request);
  void begin(BeganBy cause);
  [[nodiscard]] std::string text_of(BeganBy cause) const;
  void refuse(EndCause cause, const std::string& reason);
  [[nodiscard]] FolderUsage make_room_for(std::uint64_t bytes) const;
  [[nodiscard]] std::optional<std::pair<EndCause, std::string>> lack_in(const FolderUsage& room) const;
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
  void set_state(RecordingState state);
  [[nodiscard]] double seconds_in_file() const;
  [[nodiscard]] Totals totals() const;
  [[nodiscard]] static EpochKey epoch_at(const Lane& lane, std::uint64_t position);

  const RecorderOptions options_;
  BitsLane bits_;
  Lane images_;
  std::atomic<std::uint64_t> dropped_images_{0};
  std::atomic<bool> has_risen_{false};          ///< level exceeded; set by a frame, cleared by the writer
  std::atomic<std::int64_t> last_above_ns_{0};  ///< capture time of the last frame above the level
  std::atomic<std::int64_t> last_frame_ns_{0};
  std::atomic<std::uint64_t> armings_{0};           ///< requests to arm so far, counted by the writer
  std::atomic<std::int64_t> no_rise_before_ns_{0};  ///< end of the pause after a recording
  WakeUp wake_up_;  ///< wakes the writer: requests, rises and, while it waits for them, data
  std::atomic<bool> waits_for_data_{false};
  // For the thread that pushes bits and writes frames:
  std::optional<MaskChange> pending_mask_;           ///< held until bits of its stream arrive
  std::vector<Layout> layouts_;                      ///< [processor]
  std::vector<std::span<const std::byte>> payload_;  ///< parts of one record, reserved for the largest processor's
  std::optional<std::size_t> watched_;               ///< the processor whose images the level watches
  std::uint64_t armings_seen_ = 0;
  std::int64_t below_since_ns_ = 0;  ///< time since when the level is below, or of the first frame after arming
  bool is_quiet_ = false;            ///< below the level for long enough: the next frame above it is a rise

  mutable InheritingMutex mutex_;  ///< guards the following members up to the writer's own
  InheritingCondition executed_;
  std::deque<Request> requests_;
  std::uint64_t posted_count_ = 0;
  std::uint64_t executed_count_ = 0;
  std::deque<EpochText> epochs_;
  std::deque<PostedMask> masks_;
  RecorderStatus status_;
  Totals at_begin_;
  Totals at_end_;

  // For the writer only:
  RecordingState state_ = RecordingState::kIdle;
  bool is_rearmed_ = false;  ///< goes back to armed when the recording ends
  bool is_by_level_ = false;
  bool has_drained_ = false;  ///< since it slept last
  bool quits_ = false;
  std::optional<std::pair<EndCause, std::string>> ends_;  ///< cause and reason of the end that a record demands
  std::unique_ptr<RecordingOutput> file_;
  std::uint64_t recording_id_ = 0;
  std::uint64_t sequence_ = 0;
  std::uint64_t bytes_before_ = 0;                      ///< total bytes of the recording's closed files
  std::deque<std::unique_ptr<RecordingOutput>> parts_;  ///< closed files, kept open so that nobody removes them
  std::optional<std::uint64_t> most_by_quota_;          ///< bytes that the quota leaves for the recording
  std::optional<std::uint64_t> bits_end_;               ///< end of the last record of bits in the file
  std::optional<std::uint64_t> first_bit_time_;
  std::uint64_t file_end_bit_time_ = 0;  ///< end of the bits and frames in the file
  std::set<EpochKey> epochs_in_file_;
  std::uint64_t restarts_in_file_ = 0;  ///< restarts of the stream before the one in the file
  std::uint64_t next_mask_ = 0;         ///< number after the last one that was written to the file or skipped
  std::int64_t last_sync_ns_ = 0;
  std::int64_t last_look_ns_ = 0;  ///< time of the last check that the file exists
  std::uint64_t not_written_back_ = 0;
  std::thread thread_;  ///< last: the thread uses all of the above
};

}  // namespace nearfield
