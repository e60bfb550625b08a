#pragma once
#include <complex>
#include <cstdint>
#include <span>

#include "nearfield/output.hpp"

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

/// A frame of these products, by their names; the spans are the frame's.
inline LiveFrame live_frame_of(const ResultHeader& header, const Frame& frame) {
  LiveFrame live;
  live.sequence = frame.sequence;
  live.stream_id = frame.stream_id;
  live.first_bit_time = frame.first_bit_time;
  live.window_bit_times = frame.window_bit_times;
  live.capture_mono_ns = frame.capture_mono_ns;
  live.capture_tai_ns = frame.capture_tai_ns;
  live.flags = frame.flags;
  live.missing_bit_times = frame.missing_bit_times;
  live.shed_hops = frame.shed_hops;
  live.valid_microphones = frame.valid_microphones;
  live.epoch = frame.epoch;
  for (std::size_t i = 0; i < header.products.size(); ++i) {
    const std::string& name = header.products[i].name;
    const std::span<const std::byte> bytes = frame.products[i];
    if (name == "cutoff_rad_per_m") {
      live.cutoff_rad_per_m = values_of<float>(bytes);
    } else if (name == "slope") {
      live.slope = values_of<float>(bytes);
    } else if (name == "noise_pa") {
      live.noise_pa = values_of<float>(bytes);
    } else if (name == "error_estimate") {
      live.error_estimate = values_of<float>(bytes);
    } else if (name == "points") {
      live.points = values_of<std::complex<float>>(bytes);
    } else if (name == "images") {
      live.images = values_of<std::complex<float>>(bytes);
    }
  }
  return live;
}

}  // namespace nearfield
