#pragma once
#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "processors/far_field/settings.hpp"
#include "processors/listen/settings.hpp"
#include "processors/processor.hpp"

namespace nearfield {

/// Shape of the Kaiser window over the 16 coefficients of a delay: an error of at most 0.46 % up to 0.4 times the
/// sample rate (docs/how/beamform.md).
inline constexpr double kListenKaiserBeta = 5.0;
/// Coefficients before the one at or below a delay.
inline constexpr int kListenTapsBefore = kListenTaps / 2 - 1;

/// Common input of device and reference: positions, weights and sizes, but none of their tables.
struct ListenPlan {
  /// Throws ConfigError if the subset is impossible.
  explicit ListenPlan(const ProcessorPlan& plan);

  /// [channel] of the microphones used with a mask, ascending.
  [[nodiscard]] std::vector<int> used(const MicrophoneMask& mask) const;
  [[nodiscard]] bool is_masked(const MicrophoneMask& mask) const;
  [[nodiscard]] ResultHeader header() const;
  /// Offset of a frame's first sample from the frame's first bit (or sample), in decimated samples: the coefficients
  /// before it, minus the decimator's delay of bits.
  [[nodiscard]] double first_sample_at() const;
  /// Time from the newest bit of a window to its newest sample, s.
  [[nodiscard]] double latency_s() const;

  std::string name;
  ArrayGeometry geometry;
  double sound_speed_m_s = 343.0;
  std::vector<ListenBeam> beams;
  std::vector<int> channels;  ///< channels of the subset, or of the whole array without one
  bool has_subset = false;
  std::vector<double> shading;  ///< [channel], 0 outside the subset
  double reference_m = 0.0;     ///< 0: at the array's centre
  ListenSizes sizes;
  double sample_rate_hz = 0.0;
  double pascal = 1.0;         ///< pascal per unit of a sample
  bool is_full_scale = false;  ///< true: samples of bits, as fractions of full scale
  std::size_t hop_samples = 1;
  std::size_t batch = 1;
};

std::unique_ptr<reference::Processor> make_listen_reference(const ProcessorPlan& plan);

}  // namespace nearfield
