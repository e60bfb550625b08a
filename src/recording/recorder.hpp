#pragma once
#include <atomic>
#include <condition_variable>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "capture/nfr_format.hpp"
#include "publish/live_frame.hpp"
#include "recording/bits_lane.hpp"
#include "recording/bits_tap.hpp"
#include "recording/lane.hpp"
#include "recording/output.hpp"

namespace nearfield {

/// Starts a recording when an image's magnitude exceeds the level, ends it once none has for a while.
struct LevelTrigger {
  double level = 0.0;                ///< in the images' unit, peak
  double quiet_s = 1.0;              ///< time below the level that ends the recording
  std::optional<std::size_t> pixel;  ///< row * columns + column of the one to watch; without it, all
};

struct RecorderOptions {
  nfr::FileInfo info;      ///< host and boot_id are filled in
  std::string path;        ///< with strftime's fields, in UTC: "/data/%Y%m%dT%H%M%SZ.nfr"
  bool bits = true;        ///< records them
  bool images = true;      ///< records them
  double history_s = 0.0;  ///< of what came before the trigger, kept in memory while armed
  std::uint64_t bits_queue_bytes = std::uint64_t{64} << 20U;    ///< beside the history: 0.35 s at 192 MB/s
  std::uint64_t images_queue_bytes = std::uint64_t{64} << 20U;  ///< the images' history included
  std::optional<LevelTrigger> level;
  std::uint64_t max_bytes = 0;  ///< of a recording; 0: no limit
  double max_seconds = 0.0;     ///< of a recording's bit-times, history included; 0: no limit
  double sync_s = 0.0;          ///< waits for the disk this often, and at the end; 0: only at the end
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
  std::uint64_t recordings = 0;          ///< begun since the recorder was made
  // Of the recording, or the last one:
  std::uint64_t files = 0;           ///< more than one after restarts of the source
  std::uint64_t bytes = 0;           ///< in these files
  std::uint64_t records = 0;         ///< of bits and images, that write() has taken
  std::uint64_t end_bit_time = 0;    ///< of the last of them
  std::uint64_t dropped_pieces = 0;  ///< of bits, that found the queue full
  std::uint64_t dropped_bit_times = 0;
  std::uint64_t dropped_images = 0;
  // At this moment:
  std::uint64_t queued_bytes = 0;
  // Since the recorder was made:
  std::uint64_t all_dropped_pieces = 0;
  std::uint64_t all_dropped_images = 0;
};

/// Writes a live stream to disk by a thread of its own. push() and write() copy into memory that is there from the
/// start and never wait; what finds it full is dropped, counted, and recorded as a gap. A recording that fails ends
/// with its reason; the stream goes on. push() may be called by one thread, begin_epoch() and write() by one, the rest
/// by any. start(), stop(), arm(), disarm() and trigger() return at once; the writer obeys them in turn.
class Recorder : public BitsTap, public LiveSink {
 public:
  /// Throws ConfigError, or what the system throws when it has no memory or no thread.
  explicit Recorder(RecorderOptions options);
  /// Ends a recording with all that was pushed.
  ~Recorder() override;

  void push(const BitsPiece& piece) override;
  void begin_epoch(const ImagesHeader& header, std::uint64_t epoch) override;
  void write(const LiveFrame& frame) override;

  /// Keeps a history from now on and waits for a trigger.
  void arm() { ask(Request::kArm); }
  /// Back to idle from armed.
  void disarm() { ask(Request::kDisarm); }
  /// Begins a recording, with the history if armed.
  void start() { ask(Request::kStart); }
  /// As start(), if armed.
  void trigger() { ask(Request::kTrigger); }
  /// Ends the recording with what was pushed until now.
  void stop() { ask(Request::kStop); }
  /// Waits until the writer has obeyed what was asked so far.
  void wait_until_obeyed();
  [[nodiscard]] RecorderStatus status() const;

 private:
  enum class Request { kArm, kDisarm, kStart, kTrigger, kStop, kQuit };
  struct EpochText {
    std::uint64_t epoch = 0;
    std::string json;
  };
  struct Totals {
    std::uint64_t dropped_pieces = 0;
    std::uint64_t dropped_bit_times = 0;
    std::uint64_t dropped_images = 0;
  };

  void ask(Request request);
  void watch_level(const LiveFrame& frame);

  // The writer's.
  void run();
  [[nodiscard]] std::optional<Request> next_request();
  void obey(Request request);
  void begin(bool by_level);
  bool open_file();
  void finish(EndCause cause, const std::string& reason);
  std::pair<EndCause, std::string> close_file(EndCause cause, const std::string& reason);
  void drain(Lane& lane, std::uint64_t until);
  [[nodiscard]] std::uint64_t prepare_batch(Lane& lane, std::uint64_t position, std::uint64_t until);
  [[nodiscard]] bool is_over_limit(const nfr::RecordHeader& header, std::uint64_t batch_bytes);
  void write_batch(Lane& lane, std::uint64_t position, std::uint64_t end);
  void meet(Lane& lane, std::uint64_t position);
  bool write_epoch(std::uint64_t epoch);
  void fail(int error);
  int write_record(nfr::Kind kind, const std::string& text);
  void sync();
  void check_level();
  void set_lanes(Lane::Mode mode);
  void set_state(RecorderState state);
  [[nodiscard]] Totals totals() const;
  [[nodiscard]] static std::uint64_t epoch_at(const Lane& lane, std::uint64_t position);

  const RecorderOptions options_;
  BitsLane bits_;
  Lane images_;
  std::size_t pixels_ = 1;  ///< of an image of the epoch; of the thread that writes frames
  std::atomic<std::uint64_t> dropped_images_{0};
  std::atomic<bool> is_above_level_{false};     ///< set by a frame, taken back by the writer
  std::atomic<std::int64_t> last_above_ns_{0};  ///< capture time of the last frame above the level
  std::atomic<std::int64_t> last_frame_ns_{0};

  mutable std::mutex mutex_;  ///< guards what follows up to the writer's own
  std::condition_variable asked_;
  std::condition_variable obeyed_;
  std::deque<Request> requests_;
  std::uint64_t asked_count_ = 0;
  std::uint64_t obeyed_count_ = 0;
  std::deque<EpochText> epochs_;
  RecorderStatus status_;
  Totals at_begin_;
  Totals at_end_;

  // The writer's own.
  RecorderState state_ = RecorderState::kIdle;
  bool is_rearmed_ = false;  ///< goes back to armed when the recording ends
  bool is_by_level_ = false;
  bool quits_ = false;
  std::optional<std::pair<EndCause, std::string>> ends_;  ///< what a record met says
  std::unique_ptr<RecordingOutput> file_;
  std::uint64_t recording_id_ = 0;
  std::uint64_t sequence_ = 0;
  std::uint64_t bytes_before_ = 0;  ///< of the recording's files that are closed
  std::optional<std::uint64_t> first_bit_time_;
  std::optional<std::uint64_t> epoch_in_file_;
  std::int64_t last_sync_ns_ = 0;
  std::uint64_t not_written_back_ = 0;
  std::thread thread_;  ///< last: it uses all of the above
};

}  // namespace nearfield
