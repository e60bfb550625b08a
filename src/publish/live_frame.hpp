#pragma once
#include <complex>
#include <cstdint>
#include <span>

#include "nearfield/frame.hpp"

namespace nearfield {

/// What a frame of a live stream tells beside its images. Times are nanoseconds: `mono` of CLOCK_MONOTONIC, `tai` of
/// CLOCK_TAI.
struct LiveFrame {
  std::uint64_t sequence = 0;        ///< hops since the stream began, shed ones counted: it never repeats or shrinks
  std::uint32_t stream_id = 0;       ///< of the source; another one is a restart of the source
  std::uint64_t first_bit_time = 0;  ///< of the window's first bit
  std::uint32_t window_bit_times = 0;
  std::int64_t capture_mono_ns = 0;  ///< when the window's last bit was in this host's memory
  std::int64_t capture_tai_ns = 0;
  std::uint32_t flags = 0;              ///< FrameFlag
  std::uint64_t missing_bit_times = 0;  ///< of the window that never came and are silence
  std::uint64_t shed_hops = 0;          ///< hops that overload dropped between the frame before and this one
  std::uint32_t valid_microphones = 0;
  std::uint64_t epoch = 0;                      ///< of the configuration: 1, then one more with each change
  std::span<const float> cutoff_rad_per_m;      ///< [frequency]; NaN where the filter has none
  std::span<const float> slope;                 ///< [frequency]
  std::span<const float> noise_pa;              ///< [frequency]; NaN where it was not measured
  std::span<const float> error_estimate;        ///< [frequency]; NaN where there is none
  std::span<const std::complex<float>> points;  ///< [plane][frequency][point], of the header's points
  std::span<const std::complex<float>> images;  ///< [plane][frequency][row][column], column fastest
};

/// Takes the frames of a live stream. No call may wait for a reader, a disk or a network.
class LiveSink {
 public:
  LiveSink() = default;
  LiveSink(const LiveSink&) = delete;
  LiveSink& operator=(const LiveSink&) = delete;
  virtual ~LiveSink() = default;
  /// Before the first frame of an epoch: sizes and axes of its images may have changed. May throw.
  virtual void begin_epoch(const ImagesHeader& header, std::uint64_t epoch) = 0;
  /// Hands a frame over; its spans hold only during the call.
  virtual void write(const LiveFrame& frame) = 0;
};

}  // namespace nearfield
