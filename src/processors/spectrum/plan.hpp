#pragma once
#include <cstdint>
#include <vector>

#include "processors/processor.hpp"
#include "processors/spectrum/settings.hpp"

namespace nearfield {

/// What the device and the reference are both made from: places and sizes, and no table of theirs.
struct SpectrumPlan {
  explicit SpectrumPlan(const ProcessorPlan& plan);

  /// [point], row * columns + column of the nearest microphone that is not masked, the first of equally near ones;
  /// kNoMicrophone where there is none.
  [[nodiscard]] std::vector<std::uint32_t> nearest(const MicrophoneMask& mask) const;
  [[nodiscard]] std::size_t bins() const { return window_samples / 2 + 1; }
  [[nodiscard]] double frequency_hz(std::size_t bin) const {
    return static_cast<double>(bin) * sample_rate_hz / static_cast<double>(window_samples);
  }
  /// Of a bin without a twin of negative frequency: 0, and half the sample rate.
  [[nodiscard]] bool is_single(std::size_t bin) const { return bin == 0 || 2 * bin == window_samples; }
  [[nodiscard]] ResultHeader header() const;

  std::string name;
  ArrayPlan array;
  std::vector<PlanePoint> points;
  std::size_t window_samples = 0;
  SpectrumTaper taper = SpectrumTaper::kFlatTop;
  double sample_rate_hz = 0.0;
  double sensitivity_dbfs = 0.0;
  bool is_full_scale = false;  ///< samples are fractions of full scale, of bits
  std::size_t hop_samples = 1;
  std::size_t batch = 1;
};

inline constexpr std::uint32_t kNoMicrophone = 0xFFFFFFFFU;

std::unique_ptr<reference::Processor> make_spectrum_reference(const ProcessorPlan& plan);

}  // namespace nearfield
