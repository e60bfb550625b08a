#pragma once
#include <cstdint>
#include <vector>

#include "processors/processor.hpp"
#include "processors/spectrum/settings.hpp"

namespace nearfield {

/// Common input of device and reference: positions and sizes, but none of their tables.
struct SpectrumPlan {
  explicit SpectrumPlan(const ProcessorPlan& plan);

  /// [point], row * columns + column of the nearest microphone that is not masked, the first of equally near ones;
  /// kNoMicrophone if there is none.
  [[nodiscard]] std::vector<std::uint32_t> nearest(const MicrophoneMask& mask) const;
  [[nodiscard]] std::size_t bins() const { return window_samples / 2 + 1; }
  [[nodiscard]] double frequency_hz(std::size_t bin) const {
    return static_cast<double>(bin) * sample_rate_hz / static_cast<double>(window_samples);
  }
  /// True for a bin without a counterpart at negative frequency: 0, and half the sample rate.
  [[nodiscard]] bool is_single(std::size_t bin) const { return bin == 0 || 2 * bin == window_samples; }
  [[nodiscard]] ResultHeader header() const;

  std::string name;
  ArrayPlan array;
  std::vector<PlanePoint> points;
  std::size_t window_samples = 0;
  SpectrumTaper taper = SpectrumTaper::kFlatTop;
  double sample_rate_hz = 0.0;
  double sensitivity_dbfs = 0.0;
  bool is_full_scale = false;  ///< true: samples of bits, as fractions of full scale
  std::size_t hop_samples = 1;
  std::size_t batch = 1;
};

inline constexpr std::uint32_t kNoMicrophone = 0xFFFFFFFFU;

std::unique_ptr<reference::Processor> make_spectrum_reference(const ProcessorPlan& plan);

}  // namespace nearfield
