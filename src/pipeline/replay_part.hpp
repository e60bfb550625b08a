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

#include "core/frame.hpp"
#include "engine/engine.hpp"
#include "engine/microphone_watch.hpp"
#include "engine/recording_search.hpp"
#include "pipeline/recording.hpp"

namespace nearfield {

/// A recording and the engine that computes its frames, on their own thread; a replay has one per device.
struct ReplayPart {
  std::unique_ptr<Recording> recording;
  std::unique_ptr<Engine> engine;
  /// Opens the recording again, to examine windows before its frames are computed.
  std::function<std::unique_ptr<Recording>()> reopen = {};
};

/// Receives the output of a part of a replay, window by window, on that part's thread.
class FrameSink {
 public:
  FrameSink() = default;
  FrameSink(const FrameSink&) = delete;
  FrameSink& operator=(const FrameSink&) = delete;
  virtual ~FrameSink() = default;
  /// Receives a frame; its products are valid only during the call.
  virtual void write(const Frame& frame) = 0;
  /// Called after the frames of a window, which may be none, with the `flags` of all of them.
  virtual void end_window(std::uint32_t flags) = 0;
  /// True if look() needs the spectra of the window that begins there.
  [[nodiscard]] virtual bool is_due(std::uint64_t first_sample) const = 0;
  /// Receives spectra of a whole window, as from Engine::read_spectra(), after the windows of its batch.
  virtual void look(std::uint64_t first_sample, std::span<const std::complex<float>> spectra) = 0;
};

/// Samples from one window of a recording to the next; frames for spectra.
std::uint64_t hop_samples_of(const Recording& recording);

/// bit_time_of(): bit-time of the stream, as in Frame::first_bit_time, of a sample counted from the recording's first
/// window. sample_of(): first such sample at that bit-time or later.
std::uint64_t bit_time_of(const InputInfo& input, std::uint64_t first_sample);
std::uint64_t sample_of(const InputInfo& input, std::uint64_t first_bit_time);

/// Largest bounded number of earlier hops that a frame of any processor may depend on.
std::uint64_t bounded_memory_hops(const Engine& engine);

/// Computes frames of a recording, run by run. The hops that a run's first frame may depend on are computed before it
/// and dropped, so that the frames do not depend on where the run began; unbounded memory starts afresh.
class PartReplay {
 public:
  static constexpr std::size_t kAnyBatch = std::numeric_limits<std::size_t>::max();
  /// `masks`, whose samples count from the recording's first window, must outlive it. The sink may change them during a
  /// batch of at most `most_windows`, for later windows.
  PartReplay(ReplayPart& part, const MaskSchedule& masks, std::size_t most_windows);
  /// Computes frames `first` to `end` - 1 of the recording; runs come in the recording's order. Where the engine allows
  /// it, one batch is computed while the previous batch's frames are written; frames, exceptions and the frame that
  /// each exception follows are the same as with one batch in flight. Ends early, between two batches, once `stop`,
  /// which may be empty, returns true. Throws DataError when more than a tenth of the microphones of a frame are not
  /// finite. If `are_last`, these are the recording's last frames, and each processor's last frame includes its windows
  /// up to there.
  void compute(std::uint64_t first, std::uint64_t end, FrameSink& sink, const std::function<bool()>& stop,
               bool are_last = false);

 private:
  /// A batch in flight.
  struct Begun {
    Batch batch;
    std::uint64_t first = 0;
    bool is_looked_at = false;  ///< its spectra are examined, which may change later batches
  };
  void warm_up(std::uint64_t first, const std::function<bool()>& stop);
  /// Begins and finishes batches up to `end`, one after the other.
  void run(std::uint64_t first, std::uint64_t end, FrameSink& sink, const std::function<bool()>& stop);
  [[nodiscard]] std::size_t windows_to(std::uint64_t first, std::uint64_t end) const;
  void search_before(std::uint64_t first);
  [[nodiscard]] bool may_begin(std::uint64_t first) const;
  void begin_batch(std::uint64_t first, std::size_t windows, const FrameSink* sink);
  FinishedBatch finish_batch();
  void write_batch(FrameSink& sink);
  void require_valid(int non_finite, std::uint64_t index) const;
  void drop_begun();
  [[nodiscard]] bool is_last(std::size_t processor, std::uint64_t frame) const;
  std::uint32_t write(const FinishedBatch& batch, std::size_t window, Frame& frame, FrameSink& sink);
  void look(std::uint64_t first, const FinishedBatch& batch, FrameSink& sink);

  Recording& recording_;
  std::function<std::unique_ptr<Recording>()> reopen_;
  Engine& engine_;
  RecordingSearch search_;
  const MaskSchedule* masks_;
  ScheduledMask mask_;
  std::uint64_t hop_;
  std::size_t batch_;
  std::deque<Begun> begun_;
  std::optional<std::uint64_t> end_;   ///< end of the last frames, once it is known
  std::optional<std::uint64_t> next_;  ///< frame after the one computed last
  std::vector<std::complex<float>> spectra_;
};

}  // namespace nearfield
