#pragma once
#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "processors/far_field/position.hpp"
#include "processors/listen/settings.hpp"
#include "processors/processor.hpp"

namespace nearfield {

/// Shape of the Kaiser window over the 16 coefficients of a delay: an error of 0.46 % at most up to 0.4 times the
/// sample rate (docs/listen.md).
inline constexpr double kListenKaiserBeta = 5.0;
/// Coefficients before the one at or below a delay.
inline constexpr int kListenTapsBefore = kListenTaps / 2 - 1;

/// What the device and the reference are both made from: places, weights and sizes, and no table of theirs.
struct ListenPlan {
  /// Throws ConfigError where the subset cannot be had.
  explicit ListenPlan(const ProcessorPlan& plan);

  /// [channel] of those that are used beside a mask, ascending.
  [[nodiscard]] std::vector<int> used(const MicrophoneMask& mask) const;
  [[nodiscard]] bool is_masked(const MicrophoneMask& mask) const;
  /// As Processor::subset().
  [[nodiscard]] std::span<const int> subset() const {
    return has_subset ? std::span<const int>(channels) : std::span<const int>();
  }
  [[nodiscard]] ResultHeader header() const;
  /// Of a frame's first sample behind the frame's first bit (or sample), in decimated samples: after the coefficients
  /// before it, less what the decimator delays bits by.
  [[nodiscard]] double first_sample_at() const;
  /// From the newest bit of a window to its newest sample, s.
  [[nodiscard]] double latency_s() const;

  std::string name;
  ArrayGeometry geometry;
  double sound_speed_m_s = 343.0;
  std::vector<ListenBeam> beams;
  std::vector<int> channels;  ///< of the subset; of the whole array, if there is none
  bool has_subset = false;
  std::vector<double> shading;  ///< [channel], 0 outside the subset
  double reference_m = 0.0;     ///< 0: at the array's centre
  ListenSizes sizes;
  double sample_rate_hz = 0.0;
  double pascal = 1.0;         ///< of a sample's unit
  bool is_full_scale = false;  ///< samples are fractions of full scale, of bits
  std::size_t hop_samples = 1;
  std::size_t batch = 1;
};

std::unique_ptr<reference::Processor> make_listen_reference(const ProcessorPlan& plan);

}  // namespace nearfield
