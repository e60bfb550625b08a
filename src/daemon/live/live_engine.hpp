#pragma once
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/daemon_settings.hpp"
#include "daemon/live/cadences.hpp"
#include "daemon/live/engine_input.hpp"
#include "daemon/live/epoch.hpp"
#include "daemon/live/publisher.hpp"
#include "daemon/live/rates.hpp"
#include "engine/feeder.hpp"
#include "engine/search_schedule.hpp"
#include "pipeline/missing_bits.hpp"
#include "stream/ingest_ring.hpp"

namespace nearfield::daemon {

/// Times and losses of one published frame, which the engine's thread passes to LiveHooks::end.
struct FrameReport {
  std::int64_t taken_ns = 0;  ///< time to take its bits from the ring and feed them, except those fed ahead
  std::int64_t computed_ns = 0;
  std::int64_t published_ns = 0;  ///< time to read its first products and pass them to controllers
  std::int64_t others_ns = 0;     ///< time for other processors, recorder and dashboards
  /// Time at which controllers had its first frame; of a window whose processors have none yet, that of the window.
  std::int64_t out_mono_ns = 0;
  std::int64_t capture_mono_ns = 0;
  std::uint64_t sequence = 0;
  std::uint64_t shed_hops = 0;
  std::uint64_t absent_hops = 0;  ///< part of `shed_hops` without data, or without a stream
  std::uint64_t missing = 0;      ///< bit-times missing in the window
  bool has_input = false;         ///< at least half of the window's bit-times were received
};

/// A computed window, which the engine's thread passes to LiveHooks::look.
struct WindowView {
  const Engine* engine = nullptr;
  FinishedBatch batch;
  std::uint64_t epoch = 0;
  std::uint64_t first_sample = 0;
  std::uint64_t hop = 0;                 ///< hop number, from the stream's bit-time 0 on
  std::span<const std::uint32_t> words;  ///< bits received last, [bit-time][word]; empty for other inputs
  bool is_whole = true;                  ///< nothing of the window is missing
};

struct LiveHooks {
  std::function<void(std::int64_t now_ns)> begin;         ///< called when all or some bits of a frame have arrived
  std::function<void()> fed;                              ///< called instead of `end`: the engine waits for more bits
  std::function<void(const FrameReport& report)> end;     ///< called when a frame is published
  std::function<void(const StreamStart& start)> restart;  ///< called when a stream has begun
  std::function<void(const WindowView& view)> look;       ///< called for the first of the windows computed together
  std::function<void(std::span<const std::uint32_t> words)> values;  ///< called with samples if none is missing
  std::function<void(Frame& frame)> judge;                           ///< called with a frame before publication
  std::function<void(std::uint64_t sequence)> fault;                 ///< for tests: called when a frame is computed
};

/// Computes frames from a source's ring for the outputs, hop by hop, on one thread. Positions count samples (32
/// bit-times, or one decimated sample) like the stream, but never decrease, whatever the stream's own numbers do.
///
/// A stream's windows start at multiples of the hop, like in a replay; the first frame follows the first complete
/// window. After a restart of the source windows count from its first bits; the frames' sequence continues, and counts
/// the hops without a stream by this host's clock. Windows without any received data are skipped.
class LiveEngine {
 public:
  enum class Step { kFrames, kNothing, kEnded };
  struct Options {
    DaemonSettings::Overload overload;
    std::optional<double> poll_us = {};  ///< daemon.realtime.poll_us; nullopt: auto
    LiveHooks hooks;
  };

  LiveEngine(IngestRing& ring, const LiveInput& input, std::unique_ptr<Epoch> epoch, Publisher& publisher,
             Options options);

  /// Waits for the next hop, at most until `deadline_ns`, and publishes its frame. kEnded: the source has ended and no
  /// whole window is left.
  Step step(std::int64_t deadline_ns);
  /// Continues with another configuration; returns the old one. The outputs must have begun the new epoch already. No
  /// hop is lost: the next window begins a hop after the last one, and the part of it that was taken already is read
  /// from the ring again. A longer window follows when it is complete, a shorter one ends a hop after the last one's
  /// end. Hops that the ring no longer holds are shed. Throws what feeding the engine throws; then nothing has changed.
  std::unique_ptr<Epoch> swap(std::unique_ptr<Epoch> next);

  /// Publishes pending frames of slow-cadence processors. Required before the outputs begin another epoch.
  void finish_late();

  /// Uses other masks, made for this epoch; those for another epoch are ignored.
  void use(const Masks& masks, std::uint64_t epoch);
  /// Uses findings of this epoch's search, from the hop at which they take effect; those of another epoch are ignored.
  void adopt(const SearchChain::Found& found, std::uint64_t epoch);

  [[nodiscard]] const Epoch& epoch() const { return *epoch_; }
  [[nodiscard]] Epoch& epoch() { return *epoch_; }
  /// True after a stream has begun.
  [[nodiscard]] bool is_streaming() const { return is_streaming_; }
  /// Elements in the ring that have not been taken yet.
  [[nodiscard]] std::uint64_t waiting_elements() const;
  [[nodiscard]] Overload& overload() { return overload_; }

 private:
  /// The newest part of a window that was fed.
  struct FedPart {
    std::span<const std::uint32_t> words;  ///< words that follow on each other in memory, up to the newest
    std::int64_t received_ns = 0;          ///< receipt time of the window's newest part; 0: none was taken
    bool is_whole = true;                  ///< nothing of the last piece is missing
  };
  // One hop, in this order:
  WaitResult wait_for_window(std::int64_t deadline_ns);
  [[nodiscard]] std::int64_t poll_ns() const;
  WaitResult poll_for_window(std::uint64_t end, std::int64_t deadline_ns);
  bool pass_over_gap();
  void run_hop();
  void shed(std::int64_t now_ns);
  [[nodiscard]] Pauses pauses_at(std::int64_t now_ns) const;
  void take_found();
  void pass_on_mask();
  [[nodiscard]] std::size_t windows_there() const;
  FinishedBatch compute(std::size_t windows, FrameReport& report);
  void feed(std::uint64_t first, std::uint64_t end, FedPart& part);
  [[nodiscard]] WindowRange range_of(std::size_t windows) const;
  void publish(const FinishedBatch& batch, std::size_t window, const Pauses& pauses, FrameReport& report);
  [[nodiscard]] Frame stamped(std::size_t window, FrameReport& report);
  [[nodiscard]] Frame of_processor(std::size_t processor, std::size_t window, const Frame& stamp) const;
  void take_products(Frame& frame, const FinishedBatch& batch, std::size_t window);
  void publish_bits(const Pauses& pauses, std::uint64_t end_sample);
  void publish_late();

  void begin_stream();
  void use_epoch();
  void forget_parts();
  void go_on();
  void begin_anew(std::uint64_t first);
  void pass_over(std::uint64_t hops, bool is_absent);
  /// Number of missing elements in samples of the stream.
  [[nodiscard]] std::uint64_t missing_in(const SampleSpan& span) const {
    return missing_.count(clock_.elements(span.first), clock_.elements(span.end));
  }

  IngestRing* ring_;
  LiveInput input_;
  Publisher* publisher_;
  LiveHooks hooks_;
  Overload overload_;
  std::optional<double> poll_us_;
  std::unique_ptr<Epoch> epoch_;
  StreamClock clock_;
  int usable_processors_ = 1;  ///< processors that this thread could run on when the stream began
  Feeder feeder_;
  FrameStamps stamps_;
  EngineInput engine_input_;
  BitsOutput bits_;
  std::shared_ptr<const MicrophoneMask> seen_mask_;  ///< mask in effect when the last batch began
  std::optional<std::vector<int>> passed_mask_;      ///< mask that the outputs have for this stream
  std::deque<SearchChain::Found> found_;             ///< findings not yet in effect, by their numbers
  Cadences cadences_;
  std::vector<Frame> prompt_;  ///< frames of the published window, for recorder and dashboards
  LateFrames late_;

  bool is_streaming_ = false;
  std::uint64_t next_ = 0;          ///< first sample of the next window
  std::uint64_t taken_ = 0;         ///< end of the samples taken from the ring
  std::uint64_t imaged_end_ = 0;    ///< end of the newest imaged window, samples; the origin before the first
  std::int64_t taken_ns_ = 0;       ///< receipt time of the samples taken last
  std::int64_t tai_offset_ns_ = 0;  ///< CLOCK_TAI minus CLOCK_MONOTONIC, before the frame
  MissingBits missing_;             ///< positions in elements
  std::vector<MissingRun> runs_;    ///< missing runs of a piece
  std::vector<FedPart> fed_;        ///< one per window of a batch
};

}  // namespace nearfield::daemon
