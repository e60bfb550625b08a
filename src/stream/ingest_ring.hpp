#pragma once
#include <sys/mman.h>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <new>
#include <optional>
#include <span>
#include <vector>

#include "core/system/memory.hpp"
#include "core/system/threads.hpp"
#include "files/files.hpp"
#include "stream/packets/packet.hpp"

namespace nearfield {

/// One bit per slot of a ring: 1 if the element at that position was received. One thread changes the map while another
/// reads parts of it; the ring coordinates their parts. Positions never wrap, slots are modulo the capacity.
class ReceivedMap {
 public:
  /// `capacity`: a power of two, at least 64.
  explicit ReceivedMap(std::uint64_t capacity) : mask_(capacity - 1), words_(capacity / 64) {}

  void set(std::uint64_t begin, std::uint64_t end);
  void clear(std::uint64_t begin, std::uint64_t end);
  /// Number of set bits in [begin, end), which is at most the capacity.
  [[nodiscard]] std::uint64_t count(std::uint64_t begin, std::uint64_t end) const;
  /// Longest run from `begin`, below `end`, whose elements are all received or all missing.
  struct Run {
    std::uint64_t end;
    bool received;
  };
  [[nodiscard]] Run run(std::uint64_t begin, std::uint64_t end) const;

 private:
  /// Calls action(word, mask) for each word of the map that overlaps [begin, end).
  template <typename Action>
  void for_words(std::uint64_t begin, std::uint64_t end, const Action& action) const;

  std::uint64_t mask_;
  std::vector<std::atomic<std::uint64_t>> words_;
};

/// Allocates a large array in pages of 2 MiB, if the kernel has them: fewer misses of its address cache, and a process
/// that ends releases 134 MB in 3 ms instead of 20. Arrays smaller than a page are in ordinary
/// memory: each would take a page of its own.
template <typename T>
struct HugePages {
  using value_type = T;  // NOLINT(readability-identifier-naming): as the standard calls it
  static constexpr std::size_t kPageBytes = std::size_t{2} << 20U;

  HugePages() = default;
  template <typename U>
  explicit HugePages(const HugePages<U>& /*other*/) {}

  T* allocate(std::size_t count) {
    static_assert(alignof(T) <= __STDCPP_DEFAULT_NEW_ALIGNMENT__);
    const std::size_t bytes = count * sizeof(T);
    if (bytes < kPageBytes) {
      return static_cast<T*>(::operator new(bytes));
    }
    void* memory = ::operator new (bytes, std::align_val_t{kPageBytes});
    (void)::madvise(memory, bytes, MADV_HUGEPAGE);  // falls back to small pages
    return static_cast<T*>(memory);
  }
  void deallocate(T* memory, std::size_t count) {
    if (count * sizeof(T) < kPageBytes) {
      ::operator delete(memory);
    } else {
      ::operator delete (memory, std::align_val_t{kPageBytes});
    }
  }

  friend bool operator==(const HugePages&, const HugePages&) { return true; }
};

/// Made by ring_settings(); DaemonSettings::Source has the defaults.
struct RingSettings {
  PayloadKind kind = PayloadKind::kBits;
  std::size_t words_per_element;
  std::uint64_t elements;          ///< held; rounded up to a power of two, at least 64
  std::uint64_t reorder_elements;  ///< most elements behind the newest that one may still come, below `elements`
};

/// Elements (bit-times, or decimated samples) by outcome, each counted once where stated. When source and engine are at
/// rest, this holds exactly:
///
///   received = delivered + overrun + skipped + abandoned + pending
///   taken    = delivered + missing
struct RingCounters {
  std::uint64_t received = 0;   ///< received in time for the first time, whatever became of them
  std::uint64_t duplicate = 0;  ///< received again while the ring still knew of the first time; not in `received`
  std::uint64_t late = 0;       ///< received after being taken, or before the stream's first element; not in `received`
  std::uint64_t overrun = 0;    ///< part of `received`, lost because the reader was too slow; it sees them as missing
  std::uint64_t taken = 0;      ///< requested by take(), or missing where a take() skipped them
  std::uint64_t delivered = 0;  ///< part of `taken` that was received
  std::uint64_t missing = 0;    ///< part of `taken` never received, or overrun; delivered as silence
  std::uint64_t skipped = 0;    ///< part of `received` that a take() skipped by beginning after the last one's end
  std::uint64_t abandoned = 0;  ///< part of `received` not taken when the reader went on to a new stream, or when a gap
                                ///< longer than the ring came, however quick the reader is
  std::uint64_t pending = 0;    ///< part of `received` in the ring, not taken yet. Exact only at rest
};

/// One run of a source, from its start to its restart.
struct StreamStart {
  std::uint32_t stream_id = 0;
  std::uint64_t first_element = 0;  ///< no earlier one belongs to the stream
  std::uint64_t number = 0;         ///< 1 for the first stream, then counting up
};

/// Elements of a stream that the reader took and the ring still holds: a thread besides writer and reader may copy
/// them.
struct HeldElements {
  StreamStart stream;
  std::uint64_t first_element = 0;
  std::uint64_t end_element = 0;
  std::uint64_t begin_position = 0;  ///< the ring's own position of the stream's first element
};

/// The newest element of the newest stream.
struct NewestElement {
  std::uint64_t stream = 0;     ///< number of the stream
  std::uint64_t elements = 0;   ///< from the stream's first one up to it, missing ones included
  std::int64_t arrived_ns = 0;  ///< CLOCK_MONOTONIC, not before it was received
};

enum class WaitResult {
  kReady,      ///< everything before the requested end may be taken
  kNewStream,  ///< call accept_stream(); the old stream does not reach that far
  kEnded,      ///< the source has ended before the requested element
  kTimeout,
};

struct TakeResult {
  std::uint64_t missing = 0;         ///< elements replaced by silence
  std::int64_t capture_mono_ns = 0;  ///< receipt time of the newest of them; if none was received, of the newest
                                     ///< element of all
};

/// Holds the newest elements of a stream in the host's memory, for one thread that receives (the writer) and one that
/// computes (the reader). Its memory is fixed. The writer holds no lock. It waits while another thread copies elements
/// that it is about to overwrite, as that thread may be preempted in the middle of a copy, but at most 20 ms: then the
/// packet is refused and its elements are `overrun`.
///
/// Elements that were not received before being taken are silence: bit-time t has all ones for odd t, else zeros;
/// samples are 0. Taking freezes elements: later data for them are `late`. A stream may start anywhere and may pass
/// 2^64; all distances are taken modulo 2^64 and must stay below 2^62.
///
/// Internally, elements have positions that start at 0, never wrap and continue over restarts; each stream has its own
/// offset, chosen so that position and element agree modulo 64. Access to slots follows these variables:
/// - frozen_: nothing is stored below it any more. The reader advances it to the end of what it takes, the writer to
///   what it overwrites; both by compare-exchange, so that each element is either taken or overrun.
/// - writing_: the writer announces where it stores before it loads frozen_; the reader advances frozen_ first, then
///   waits while a store below it is in progress (the copy of one packet).
/// - reading_: the reader announces where it copies before it advances frozen_; the writer does not touch slots from
///   there on, and waits if it would have to.
/// - copying_: like reading_, for a third thread, that of copy_held(), which advances nothing.
/// - overwritten_: the writer stores the limit below which it may overwrite before it advances frozen_ and loads
///   reading_; a reader of old elements stores reading_ first, then loads this, so that at least one of the two sees
///   the other's value and backs off.
class IngestRing {
 public:
  /// Throws ConfigError when the sizes make no sense.
  explicit IngestRing(const RingSettings& settings);

  [[nodiscard]] const RingSettings& settings() const { return settings_; }
  /// Memory of the elements.
  [[nodiscard]] std::uint64_t memory_bytes() const { return words_.size() * sizeof(std::uint32_t); }

  // For the writer.

  /// Starts a stream, the first or a new one. False while the reader is copying what would be overwritten: try again
  /// with the next packet.
  bool begin_stream(std::uint32_t stream_id, std::uint64_t first_element);
  struct StoreResult {
    std::uint64_t stored = 0;
    std::uint64_t duplicate = 0;
    std::uint64_t late = 0;
    std::uint64_t refused = 0;  ///< counted as overrun
    bool behind = false;        ///< began before the newest element
  };
  /// Stores [element][word] bytes, whole elements, of the current stream. `now_ns` of CLOCK_MONOTONIC.
  StoreResult store(std::uint64_t first_element, std::span<const std::byte> words, std::int64_t now_ns);
  /// Declares that no more elements follow, unless a new stream begins.
  void end_stream();
  /// One past the newest element of the current stream.
  [[nodiscard]] std::uint64_t written_end() const;
  /// Sleeps until `elements` more can be stored without overwriting elements that are untaken or kept (keep_from()), or
  /// the quarter of the ring before them, for take_again(); false after `deadline_ns`. Only for sources that can wait,
  /// such as a file.
  bool wait_for_room(std::uint64_t elements, std::int64_t deadline_ns);

  // For the reader.

  /// Sleeps until everything before `end_element` is received, or is at least `reorder_elements` behind the newest, or
  /// will not be received because the stream has ended or was replaced by another and its elements reach that far; or
  /// until `deadline_ns`. Nothing is ready before the first accept_stream().
  WaitResult wait_for(std::uint64_t end_element, std::int64_t deadline_ns);
  /// Like wait_for(), but polls instead of sleeping, for a thread with a processor of its own, where waking up would
  /// take too long.
  WaitResult poll_for(std::uint64_t end_element, std::int64_t deadline_ns) const;
  /// Sleeps until a stream newer than the accepted one has begun; false after `deadline_ns`. For a reader that has
  /// nothing else to wait for, at the start and after kEnded.
  bool wait_for_stream(std::int64_t deadline_ns);
  /// Continues with the newest stream and drops untaken elements of older ones. Only after kNewStream or
  /// wait_for_stream(): throws an internal error if there is no newer stream.
  StreamStart accept_stream();
  /// One past the newest element of the accepted stream.
  [[nodiscard]] std::uint64_t available_end() const;
  /// One past the last of the consecutive elements from `first_element` on that were not received and cannot be any
  /// more; `first_element` itself if it was received or still may be. Elements before the end of the last take must not
  /// have been overwritten since: a take_again() from there that succeeds later shows it.
  [[nodiscard]] std::uint64_t missing_end(std::uint64_t first_element) const;
  /// Consecutive elements; none if begin equals end.
  struct Span {
    std::uint64_t begin;
    std::uint64_t end;
  };
  /// Elements from `first_element` on that were overwritten before they could be taken, as far as the newest take that
  /// found such ones knows. They end before the end of the last take.
  [[nodiscard]] Span overwritten(std::uint64_t first_element) const;
  /// The first element from `first_element` on that take_again() still finds, unless it is overwritten meanwhile.
  [[nodiscard]] std::uint64_t again_from(std::uint64_t first_element) const;
  /// Received elements that will not be delivered, overrun or abandoned: two loads, whereas counters() searches the
  /// whole ring for pending ones.
  [[nodiscard]] std::uint64_t lost() const {
    return overrun_.load(std::memory_order_relaxed) + abandoned_.load(std::memory_order_relaxed);
  }
  /// Copies elements from `first_element` on to `words` [element][word]. They must not begin before the end of the last
  /// take and not reach beyond available_end(): throws an internal error. Appends to `missing`, if given, the runs of
  /// elements that are silence, counted from `first_element`. Elements between the last take and this one count as
  /// skipped if they were received, else as taken and missing.
  TakeResult take(std::uint64_t first_element, std::span<std::uint32_t> words,
                  std::vector<MissingRun>* missing = nullptr, Copying copying = Copying::kCached);

  /// Copies again what take() returned from `first_element` on, including the same silence; nothing is counted. Nullopt
  /// if some of it has been overwritten. Elements must be of the accepted stream and not reach beyond the end of the
  /// last take: throws an internal error.
  std::optional<TakeResult> take_again(std::uint64_t first_element, std::span<std::uint32_t> words,
                                       std::vector<MissingRun>* missing = nullptr);
  /// Keeps taken elements from this one on for take_again(), against sources that can wait, until the next call. Those
  /// that cannot wait overwrite them.
  void keep_from(std::uint64_t element);

  /// Counts elements without a place in the ring as taken and missing: those that a source would have sent between two
  /// of its streams.
  void count_missing(std::uint64_t elements);

  // For a third thread; nothing is counted, and the reader does not wait for it. The writer does, while a call copies
  // what it is about to overwrite, as it waits for take_again().

  /// Held elements of the newest stream; nullopt if the ring holds none that the reader took.
  [[nodiscard]] std::optional<HeldElements> held() const;
  /// One past the last of the held elements from `first_element` on that were overwritten since.
  [[nodiscard]] std::uint64_t held_begin(const HeldElements& held, std::uint64_t first_element) const;
  /// Like take_again(), for elements of `held`, also when a new stream has begun since.
  std::optional<TakeResult> copy_held(const HeldElements& held, std::uint64_t first_element,
                                      std::span<std::uint32_t> words, std::vector<MissingRun>* missing = nullptr);

  /// From any thread; nullopt before a stream's first element, or while one begins.
  [[nodiscard]] std::optional<NewestElement> newest() const;
  /// From any thread.
  [[nodiscard]] RingCounters counters() const;

 private:
  using Position = std::uint64_t;
  static constexpr Position kNowhere = ~Position{0};
  using Counter = std::atomic<std::uint64_t>;
  static void count(Counter& counter, std::uint64_t more) { counter.fetch_add(more, std::memory_order_relaxed); }

  /// Entry of a stream, reused kStreams streams later. The writer's stores release the count of streams before, and the
  /// loads of others acquire it, so that a reader of a reused entry finds by streams_begun_ that it was.
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

  RingSettings settings_;
  std::uint64_t mask_;
  std::size_t element_bytes_;
  std::uint64_t stamp_elements_;                                ///< elements per arrival time
  std::vector<std::uint32_t, HugePages<std::uint32_t>> words_;  ///< [slot][word]
  ReceivedMap received_;                                        ///< written by the writer
  std::vector<std::atomic<std::int64_t>> stamps_;               ///< [slot / stamp_elements_], ns
  std::atomic<std::int64_t> newest_stamp_{0};

  // For the writer only.
  std::uint64_t written_first_ = 0;  ///< first element of the current stream; its position follows
  Position written_begin_ = 0;

  // For the reader only.
  std::uint64_t accepted_ = 0;  ///< number of the stream
  std::uint64_t first_element_ = 0;
  Position begin_ = 0;
  Position cursor_ = 0;      ///< end of the last take
  Position lost_begin_ = 0;  ///< to lost_end_: the newest elements for which a take came too late
  Position lost_end_ = 0;

  // Shared, on separate cache lines.
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
  std::atomic<Position> kept_{kNowhere};
  Counter taken_{0}, delivered_{0}, missing_{0}, skipped_{0}, abandoned_{0};
  alignas(64) std::atomic<Position> wanted_{kNowhere};  ///< position for which the reader sleeps
  WakeUp data_came_;
  WakeUp room_came_;
};

}  // namespace nearfield
