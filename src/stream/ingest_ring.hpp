#pragma once
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "core/streaming_copy.hpp"
#include "core/system/wake_up.hpp"
#include "files/files.hpp"
#include "nearfield/daemon_settings.hpp"
#include "stream/huge_pages.hpp"
#include "stream/packets/packet.hpp"
#include "stream/received_map.hpp"

namespace nearfield {

/// Made by ring_settings(); the defaults stand in DaemonSettings::Source.
struct RingSettings {
  PayloadKind kind = PayloadKind::kBits;
  std::size_t words_per_element;
  std::uint64_t elements;          ///< held; rounded up to a power of two, at least 64
  std::uint64_t reorder_elements;  ///< how far behind the newest element one may still come, below `elements`
};

/// What happened to elements (bit-times, or decimated samples), each counted once where it says so. When source and
/// engine rest, this holds exactly:
///
///   received = delivered + overrun + skipped + abandoned + pending
///   taken    = delivered + missing
struct RingCounters {
  std::uint64_t received = 0;   ///< came in time and were not there yet, whatever became of them
  std::uint64_t duplicate = 0;  ///< came again while the ring still knew of the first time; not in `received`
  std::uint64_t late = 0;  ///< came after they had been taken, or before the stream's first element; not in `received`
  std::uint64_t overrun = 0;    ///< of `received`: lost because the reader was too slow; it sees them as missing
  std::uint64_t taken = 0;      ///< requested by take(), or missing where a take() skipped them
  std::uint64_t delivered = 0;  ///< of `taken`: received
  std::uint64_t missing = 0;    ///< of `taken`: never received, or overrun; delivered as silence
  std::uint64_t skipped = 0;    ///< of `received`: passed over by a take() that began later than the last one ended
  std::uint64_t abandoned = 0;  ///< of `received`: not taken when the reader went on to a new stream, or when a gap
                                ///< longer than the ring came, however quick the reader is
  std::uint64_t pending = 0;    ///< of `received`: in the ring, not taken yet. Exact only at rest
};

/// One run of a source, from its start to its restart.
struct StreamStart {
  std::uint32_t stream_id = 0;
  std::uint64_t first_element = 0;  ///< none before it belongs to the stream
  std::uint64_t number = 0;         ///< 1 for the first stream, then one more each
};

/// What the ring holds of a stream and the reader took: a thread beside writer and reader may copy it.
struct HeldElements {
  StreamStart stream;
  std::uint64_t first_element = 0;
  std::uint64_t end_element = 0;
  std::uint64_t begin_position = 0;  ///< of the stream's first element, the ring's own
};

/// The newest element of the newest stream.
struct NewestElement {
  std::uint64_t stream = 0;     ///< number of the stream
  std::uint64_t elements = 0;   ///< from the stream's first one up to it, those that never came included
  std::int64_t arrived_ns = 0;  ///< of CLOCK_MONOTONIC, not before it came
};

enum class WaitResult {
  kReady,      ///< take() may be called up to there
  kNewStream,  ///< call accept_stream(); what the old one holds is not enough
  kEnded,      ///< the source has ended before that element
  kTimeout,
};

struct TakeResult {
  std::uint64_t missing = 0;         ///< elements that are silence
  std::uint64_t overwritten = 0;     ///< of these the first ones: they were overwritten before they were taken
  std::int64_t capture_mono_ns = 0;  ///< when the newest of them came into memory; of a take that got none, when the
                                     ///< newest element of all did
};

/// The newest elements of a stream in the host's memory, from one thread that receives (the writer) to one that
/// computes (the reader). Memory is fixed. The writer never waits and holds no lock.
///
/// What was not received when it is taken is silence: bit-time t has all ones for odd t, else zeros; samples are 0.
/// Taking freezes elements: what comes later for them is `late`. A stream may start anywhere and may pass 2^64; all
/// distances are taken modulo 2^64 and must stay below 2^62.
///
/// Inside, elements have positions that start at 0, never wrap and go on over restarts; each stream has its own offset,
/// chosen so that position and element agree modulo 64. Who may touch which slots:
/// - frozen_: below it nothing is stored any more. The reader moves it up to the end of what it takes, the writer up to
///   what it overwrites; both by compare-exchange, so that each element is either taken or overrun.
/// - writing_: the writer announces where it stores before it looks at frozen_; the reader moves frozen_ first, then
///   waits while a store below it is under way (the copy of one packet).
/// - reading_: the reader announces where it copies before it moves frozen_; the writer does not touch slots from there
///   on. If it would have to, the packet is refused and its elements are `overrun`.
/// - copying_: the same for one thread more, that of copy_held(), which moves nothing.
/// - overwritten_: the writer stores the limit below which it may overwrite before it loads reading_; a reader of old
/// elements stores reading_ first, then loads this, so that at least one of the two sees the other's value and backs
/// off.
class IngestRing {
 public:
  /// Throws ConfigError when the sizes make no sense.
  explicit IngestRing(const RingSettings& settings);

  [[nodiscard]] const RingSettings& settings() const { return settings_; }
  /// Memory of its elements.
  [[nodiscard]] std::uint64_t memory_bytes() const { return words_.size() * sizeof(std::uint32_t); }

  // For the writer.

  /// Starts a stream, the first or a new one. False when the reader is copying just what would be overwritten: try
  /// again with the next packet.
  bool begin_stream(std::uint32_t stream_id, std::uint64_t first_element);
  struct StoreResult {
    std::uint64_t stored = 0;
    std::uint64_t duplicate = 0;
    std::uint64_t late = 0;
    std::uint64_t refused = 0;  ///< counted as overrun
    bool behind = false;        ///< began before the newest element
  };
  /// Stores [element][word] bytes, whole elements, of the present stream. `now_ns` of CLOCK_MONOTONIC.
  StoreResult store(std::uint64_t first_element, std::span<const std::byte> words, std::int64_t now_ns);
  /// No more elements come, unless a new stream begins.
  void end_stream();
  /// One past the newest element of the present stream.
  [[nodiscard]] std::uint64_t written_end() const;
  /// Sleeps until `elements` more can be stored without overwriting what was not taken, or the last quarter of the ring
  /// that was, for take_again(); false after `deadline_ns`. Only for sources that can wait, such as a file.
  bool wait_for_room(std::uint64_t elements, std::int64_t deadline_ns);

  // For the reader.

  /// Sleeps until everything before `end_element` is there, or is at least `reorder_elements` behind the newest, or
  /// will not come because the stream has ended or given way to another and what there is reaches that far; or until
  /// `deadline_ns`. Before the first accept_stream() nothing is ready.
  WaitResult wait_for(std::uint64_t end_element, std::int64_t deadline_ns);
  /// The same without sleeping: looks again and again, as who has a processor to spare does where a sleeper would wake
  /// too late.
  WaitResult poll_for(std::uint64_t end_element, std::int64_t deadline_ns) const;
  /// Sleeps until a stream newer than the accepted one has begun; false after `deadline_ns`. For a reader that has
  /// nothing else to wait for, at the start and after kEnded.
  bool wait_for_stream(std::int64_t deadline_ns);
  /// Goes on to the newest stream and drops what was not taken of older ones. Must follow on kNewStream or
  /// wait_for_stream(): throws an internal error when there is no newer stream.
  StreamStart accept_stream();
  /// One past the newest element of the accepted stream.
  [[nodiscard]] std::uint64_t available_end() const;
  /// One past the last of the elements from `first_element` on of which none was received and none can be any more;
  /// `first_element` itself when it was received or still may be. Not before the end of the last take.
  [[nodiscard]] std::uint64_t missing_end(std::uint64_t first_element) const;
  /// Where the elements from `first_element` on end that were overwritten before they were taken; `first_element` where
  /// it still is there.
  [[nodiscard]] std::uint64_t overwritten_end(std::uint64_t first_element) const;
  /// Elements that were received and will not be delivered, overrun or abandoned: two loads, where counters() looks
  /// through the whole ring for what is pending.
  [[nodiscard]] std::uint64_t lost() const {
    return overrun_.load(std::memory_order_relaxed) + abandoned_.load(std::memory_order_relaxed);
  }
  /// Copies elements from `first_element` on to `words` [element][word]. They must not begin before the end of the last
  /// take and not reach beyond available_end(): throws an internal error. Adds to `missing`, where given, the runs of
  /// elements that are silence, counted from `first_element`. Elements between the last take and this one count as
  /// skipped where they were received, else as taken and missing.
  TakeResult take(std::uint64_t first_element, std::span<std::uint32_t> words,
                  std::vector<MissingRun>* missing = nullptr, Copying copying = Copying::kCached);

  /// Copies once more what take() gave from `first_element` on, the same silence included; nothing is counted. Nothing
  /// where some of it was overwritten since. Elements must be of the accepted stream and not reach beyond the end of
  /// the last take: throws an internal error.
  std::optional<TakeResult> take_again(std::uint64_t first_element, std::span<std::uint32_t> words,
                                       std::vector<MissingRun>* missing = nullptr);

  /// Counts elements as taken and missing that have no place in the ring: those that a source would have sent between
  /// two of its streams.
  void count_missing(std::uint64_t elements);

  // For one thread beside these two; nothing is counted, and the reader does not wait for it. The writer does, while
  // one call copies what it is about to overwrite, as it waits for take_again().

  /// Of the newest stream; nothing where the reader took none of it that is still there.
  [[nodiscard]] std::optional<HeldElements> held() const;
  /// One past the last of the held elements from `first_element` on that were overwritten since.
  [[nodiscard]] std::uint64_t held_begin(const HeldElements& held, std::uint64_t first_element) const;
  /// As take_again(), of elements of `held`, also when a new stream has begun since.
  std::optional<TakeResult> copy_held(const HeldElements& held, std::uint64_t first_element,
                                      std::span<std::uint32_t> words, std::vector<MissingRun>* missing = nullptr);

  /// From any thread; nothing before a stream's first element, or while one begins.
  [[nodiscard]] std::optional<NewestElement> newest() const;
  /// From any thread.
  [[nodiscard]] RingCounters counters() const;

 private:
  using Position = std::uint64_t;
  static constexpr Position kNowhere = ~Position{0};
  using Counter = std::atomic<std::uint64_t>;
  static void count(Counter& counter, std::uint64_t more) { counter.fetch_add(more, std::memory_order_relaxed); }

  struct SharedStream {
    Counter stream_id{0}, first_element{0}, begin{0}, previous_end{0};
  };
  static constexpr std::size_t kStreams = 16;

  [[nodiscard]] std::size_t slot(Position position) const { return static_cast<std::size_t>(position & mask_); }
  bool make_room(Position begin, Position end);
  bool wait_to_make_room(Position begin, Position end);
  void store_piece(Position begin, std::span<const std::byte> words, std::int64_t now_ns, StoreResult& result);
  void pass_over_frozen(Position& begin, Position end, StoreResult& result) const;
  void copy_in(Position begin, Position end, const std::byte* words, std::int64_t now_ns);
  void copy_out(Position begin, Position end, std::uint32_t* words, Copying copying, std::int64_t& newest_ns) const;
  TakeResult copy_all(Position first, Position from, Position end, std::uint32_t* words,
                      std::vector<MissingRun>* missing, Copying copying) const;

  [[nodiscard]] WaitResult look(Position end) const;
  template <typename Found>
  bool sleep_until(const Found& found, Position wanted, std::int64_t deadline_ns);
  [[nodiscard]] Position position_of(std::uint64_t element) const { return begin_ + (element - first_element_); }
  [[nodiscard]] Position accepted_end() const;
  [[nodiscard]] bool complete(Position end) const;
  Position claim(Position end);
  std::optional<TakeResult> copy_frozen(std::atomic<Position>& announced, Position first, Position end,
                                        std::uint32_t* words, std::vector<MissingRun>* missing);
  StreamStart newest_stream(Position& begin) const;
  void wait_for_store_below(Position end) const;
  void fill_silence(Position begin, Position end, std::uint32_t* words) const;

  RingSettings settings_;
  std::uint64_t mask_;
  std::size_t element_bytes_;
  std::uint64_t stamp_elements_;                                ///< to one arrival time
  std::vector<std::uint32_t, HugePages<std::uint32_t>> words_;  ///< [slot][word]
  ReceivedMap received_;                                        ///< written by the writer
  std::vector<std::atomic<std::int64_t>> stamps_;               ///< [slot / stamp_elements_], ns
  std::atomic<std::int64_t> newest_stamp_{0};

  // The writer's own.
  std::uint64_t written_first_ = 0;  ///< the present stream's first element and its position
  Position written_begin_ = 0;

  // The reader's own.
  std::uint64_t accepted_ = 0;  ///< number of the stream
  std::uint64_t first_element_ = 0;
  Position begin_ = 0;
  Position cursor_ = 0;  ///< end of the last take

  // Shared, on lines of their own.
  alignas(64) std::atomic<Position> head_{0};  ///< one past the newest
  std::atomic<Position> writing_{kNowhere};
  std::atomic<Position> overwritten_{0};
  std::atomic<bool> ended_{false};
  std::array<SharedStream, kStreams> streams_;  ///< [number % kStreams]
  Counter streams_begun_{0};
  Counter received_count_{0}, duplicate_{0}, late_{0}, overrun_{0};
  alignas(64) std::atomic<Position> frozen_{0};
  std::atomic<Position> reading_{kNowhere};
  std::atomic<Position> copying_{kNowhere};
  Counter taken_{0}, delivered_{0}, missing_{0}, skipped_{0}, abandoned_{0};
  alignas(64) std::atomic<Position> wanted_{kNowhere};  ///< the sleeping reader's
  WakeUp data_came_;
  WakeUp room_came_;
};

}  // namespace nearfield
