#pragma once
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <deque>
#include <span>
#include <utility>
#include <vector>

#include "core/frame.hpp"
#include "daemon/live/live_input.hpp"
#include "engine/engine.hpp"
#include "engine/stream_clock.hpp"
#include "recording/lane.hpp"
#include "stream/ingest_ring.hpp"

namespace nearfield::daemon {

/// Memory between ring and engine: of the engine for bits, its own for samples, which it converts to Pa.
class EngineInput {
 public:
  EngineInput(InputForm form, double pascal_per_unit) : form_(form), pascal_per_unit_(pascal_per_unit) {}

  /// Room for the words of the next push(); valid until then.
  std::span<std::uint32_t> room(Engine& engine, std::uint64_t words) {
    if (form_ == InputForm::kBits) {
      return engine.room_for_bits(words);
    }
    words_.resize(words);
    return words_;
  }
  /// Pushes the words in the room that room() returned.
  void push(Engine& engine, std::uint64_t first_sample, std::span<const std::uint32_t> words) {
    if (form_ == InputForm::kBits) {
      engine.push_bits(first_sample, words);
      return;
    }
    if (pieces_ == samples_.size()) {
      samples_.emplace_back();
    }
    std::vector<float>& samples = samples_[pieces_++];
    samples.resize(words.size());
    std::memcpy(samples.data(), words.data(), words.size_bytes());
    if (pascal_per_unit_ != 1.0) {  // same arithmetic as TimeDataReader: identical samples and frames
      for (float& value : samples) {
        value = static_cast<float>(static_cast<double>(value) * pascal_per_unit_);
      }
    }
    engine.push_samples(first_sample, samples);
  }
  /// To be called when the windows of all pushes are computed: their memory is used again.
  void reuse() { pieces_ = 0; }

 private:
  InputForm form_;
  double pascal_per_unit_;
  std::vector<std::uint32_t> words_;
  std::deque<std::vector<float>> samples_;  ///< [piece], kept until the windows are computed
  std::size_t pieces_ = 0;
};

/// Passes a live stream's bits from the ring to a recorder, behind the frames of controllers: each bit-time once, as
/// words or as a gap with its cause. It reads the ring by itself, so that the engine is fed in the same way with and
/// without a recorder. For the engine's thread.
class BitsOutput {
 public:
  explicit BitsOutput(IngestRing& ring) : ring_(&ring) {}
  /// Begins the stream that the ring has accepted. The rest of the old one is in no recording.
  void begin(const StreamStart& stream, std::uint64_t first_element);
  /// Passes on the elements before `end_element`, which the engine has taken or skipped. Null: none is recorded.
  /// `is_paused`: they are recorded as a gap that the daemon caused.
  void write(BitsTap* recorder, std::uint64_t end_element, bool is_paused);

 private:
  void write_piece(BitsTap& recorder, std::uint64_t most);
  void write_lost(BitsTap& recorder, std::uint64_t elements);
  void write_gap(BitsTap& recorder, std::uint64_t elements, GapCause cause);

  IngestRing* ring_;
  std::uint32_t stream_id_ = 0;
  std::uint64_t next_ = 0;  ///< element
  std::uint64_t lost_ = 0;  ///< part of the ring's lost elements that recordings account for
  std::vector<std::uint32_t> words_;
  std::vector<MissingRun> runs_;
};

/// Numbers and times of the frames. `sequence` counts the hops of all streams, with and without a frame, and those
/// without a stream by this host's clock.
class FrameStamps {
 public:
  explicit FrameStamps(const LiveInput& input) : rate_hz_(input.element_rate_hz), counts_absence_(!input.waits) {}

  void begin_stream(std::uint32_t stream_id) {
    stream_id_ = stream_id;
    is_back_ = imaged_ns_ != 0;
  }
  /// Counts hops that get no frame; `is_absent`: because nothing of them was received.
  void pass_over(std::uint64_t hops, bool is_absent) {
    sequence_ += hops;
    shed_ += hops;
    absent_ += is_absent ? hops : 0;
  }
  /// Counts the hops between the newest frame and the first one of a new stream, received at `capture_mono_ns`, as
  /// absent. Hops of the new stream that were skipped since it began are counted already. Returns the elements that
  /// were not sent meanwhile; 0 for all frames but a stream's first.
  std::uint64_t count_absence(const StreamClock& clock, std::uint64_t first_sample, std::int64_t capture_mono_ns) {
    if (!std::exchange(is_back_, false) || !counts_absence_) {
      return 0;
    }
    const double elements = 1e-9 * static_cast<double>(capture_mono_ns - imaged_ns_) * rate_hz_;
    const auto per_sample = static_cast<double>(clock.elements_per_sample());
    const std::uint64_t passed = first_sample - clock.origin();
    const std::uint64_t passed_hops = passed / clock.hop_samples();
    const double hops = std::round(elements / (static_cast<double>(clock.hop_samples()) * per_sample)) - 1.0 -
                        static_cast<double>(passed_hops);
    const double unsent = elements - static_cast<double>(clock.window_samples() + passed) * per_sample;
    pass_over(static_cast<std::uint64_t>(std::max(hops, 0.0)), true);
    return static_cast<std::uint64_t>(std::max(unsent, 0.0));
  }
  /// Stamp of the next frame, of the run's window at `first_sample`, without its losses of bits.
  Frame next(const StreamClock& clock, std::uint64_t first_sample, std::int64_t capture_mono_ns,
             std::int64_t tai_offset_ns) {
    imaged_ns_ = capture_mono_ns;
    Frame frame;
    frame.sequence = sequence_++;
    frame.stream_id = stream_id_;
    frame.capture_mono_ns = capture_mono_ns;
    frame.capture_tai_ns = capture_mono_ns + tai_offset_ns;
    frame.shed_hops = std::exchange(shed_, 0);
    set_window(frame, clock, {.first = first_sample, .end = clock.end_of(first_sample)});
    return frame;
  }
  void set_window(Frame& frame, const StreamClock& clock, const SampleSpan& span) const {
    const std::uint64_t elements = clock.elements(span.size());
    frame.first_bit_time = clock.element_of(span.first);
    frame.window_bit_times = static_cast<std::uint32_t>(elements);
    frame.timestamp_ns = frame.capture_tai_ns - std::llround(1e9 * static_cast<double>(elements) / rate_hz_);
  }
  /// Absent hops since the last call.
  std::uint64_t take_absent() { return std::exchange(absent_, 0); }

  [[nodiscard]] std::uint64_t sequence() const { return sequence_; }
  /// Receipt time of the last bit of the newest frame's window; 0: no frame yet.
  [[nodiscard]] std::int64_t imaged_ns() const { return imaged_ns_; }

 private:
  double rate_hz_;
  bool counts_absence_;
  std::uint32_t stream_id_ = 0;
  std::uint64_t sequence_ = 0;
  std::uint64_t shed_ = 0;    ///< hops without a frame since the last one
  std::uint64_t absent_ = 0;  ///< part of them, due to missing bits
  std::int64_t imaged_ns_ = 0;
  bool is_back_ = false;  ///< a stream has begun since the newest frame
};

}  // namespace nearfield::daemon
