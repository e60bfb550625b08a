#pragma once
#include <complex>
#include <cstdint>
#include <deque>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "engine/engine.hpp"
#include "engine/mask_schedule.hpp"
#include "engine/recording_search.hpp"
#include "nearfield/output.hpp"
#include "pipeline/recording.hpp"

namespace nearfield {

/// A recording and the engine that computes its frames, on a thread of theirs: a replay has one, or one a device.
struct ReplayPart {
  std::unique_ptr<Recording> recording;
  std::unique_ptr<Engine> engine;
  /// Opens the recording once more, for what looks at windows before its frames are computed.
  std::function<std::unique_ptr<Recording>()> reopen = {};
};

/// Takes what a part of a replay makes, window by window, on that part's thread.
class FrameSink {
 public:
  FrameSink() = default;
  FrameSink(const FrameSink&) = delete;
  FrameSink& operator=(const FrameSink&) = delete;
  virtual ~FrameSink() = default;
  /// Takes a frame over; its products hold only during the call.
  virtual void write(const Frame& frame) = 0;
  /// After the frames of a window, which may be none. `flags` are those of all of them.
  virtual void end_window(std::uint32_t flags) = 0;
  /// Whether look() shall have the spectra of the window that begins there.
  [[nodiscard]] virtual bool is_due(std::uint64_t first_sample) const = 0;
  /// Spectra of a whole window as Engine::read_spectra() has them, after the windows of its batch.
  virtual void look(std::uint64_t first_sample, std::span<const std::complex<float>> spectra) = 0;
};

/// Samples from one window of a recording to the next; frames for spectra.
std::uint64_t hop_samples_of(const Recording& recording);

/// The bit-time of the stream, as Frame::first_bit_time, of a sample counted from the recording's first window on; and
/// the first such sample at that bit-time or later.
std::uint64_t bit_time_of(const InputInfo& input, std::uint64_t first_sample);
std::uint64_t sample_of(const InputInfo& input, std::uint64_t first_bit_time);

/// How many hops before a frame its processors may depend on, of those where this is bounded.
std::uint64_t bounded_memory_hops(const Engine& engine);

/// Computes frames of a recording, run by run. What the first frame of a run may depend on is computed before it and
/// dropped, so that the frames do not depend on where the run began; what has no bound starts from nothing.
class PartReplay {
 public:
  static constexpr std::size_t kAnyBatch = std::numeric_limits<std::size_t>::max();
  /// `masks`, whose samples count from the recording's first window on, must outlive it. What a sink sees in a batch
  /// of `most_windows` may change them for windows behind it.
  PartReplay(ReplayPart& part, const MaskSchedule& masks, std::size_t most_windows);
  /// Frames `first` to `end` - 1 of the recording; runs come in the recording's order. Where the engine allows it, one
  /// batch is computed while the frames of the one before are written; frames, and what is thrown and after which of
  /// them, are the same as with one batch in flight. Ends early, between two batches, once `stop` is true, which may be
  /// empty. Throws DataError when more than a tenth of the microphones of a frame are
  /// not finite. Where they are the last ones of all, each processor's last frame has what its windows up to there say.
  void compute(std::uint64_t first, std::uint64_t end, FrameSink& sink, const std::function<bool()>& stop,
               bool are_last = false);

 private:
  /// A batch in flight.
  struct Begun {
    std::uint64_t first = 0;
    bool is_looked_at = false;  ///< its spectra; what is found there may change the batches behind it
  };
  void warm_up(std::uint64_t first, const std::function<bool()>& stop);
  /// Begins and finishes batches up to `end`, one after the other.
  void run(std::uint64_t first, std::uint64_t end, FrameSink& sink, const std::function<bool()>& stop);
  [[nodiscard]] std::size_t windows_to(std::uint64_t first, std::uint64_t end) const;
  void search_before(std::uint64_t first);
  [[nodiscard]] bool may_begin(std::uint64_t first) const;
  void begin_batch(std::uint64_t first, std::size_t windows, const FrameSink* sink);
  std::span<const WindowStatus> finish_batch();
  void write_batch(FrameSink& sink);
  void require_valid(int non_finite, std::uint64_t index) const;
  void drop_begun();
  [[nodiscard]] bool is_last(std::size_t processor, std::uint64_t frame) const;
  std::uint32_t write(std::size_t window, Frame& frame, FrameSink& sink);
  void look(std::uint64_t first, std::span<const WindowStatus> statuses, FrameSink& sink);

  Recording& recording_;
  std::function<std::unique_ptr<Recording>()> reopen_;
  Engine& engine_;
  RecordingSearch search_;
  const MaskSchedule* masks_;
  ScheduledMask mask_;
  std::uint64_t hop_;
  std::size_t batch_;
  std::deque<Begun> begun_;
  std::optional<std::uint64_t> end_;   ///< behind the last frame of all, once that is known
  std::optional<std::uint64_t> next_;  ///< frame behind the one that was computed last
  std::vector<std::complex<float>> spectra_;
};

}  // namespace nearfield
