#pragma once
#include <cstdint>
#include <vector>

#include "processors/levels/settings.hpp"
#include "processors/processor.hpp"

namespace nearfield {

/// Common input of device and reference: sizes and bins, but none of their tables.
struct LevelsPlan {
  /// Throws ConfigError where a band is narrower than three bins, or beyond half the sample rate.
  explicit LevelsPlan(const ProcessorPlan& plan);

  [[nodiscard]] std::size_t channels() const { return static_cast<std::size_t>(array.geometry.channels()); }
  [[nodiscard]] std::size_t bins() const { return window_samples / 2 + 1; }
  [[nodiscard]] double frequency_hz(std::size_t bin) const {
    return static_cast<double>(bin) * sample_rate_hz / static_cast<double>(window_samples);
  }
  [[nodiscard]] ResultHeader header() const;

  std::string name;
  ArrayPlan array;
  std::size_t window_samples = 0;
  Weighting weighting = Weighting::kA;
  std::vector<Band> bands_hz;
  /// [sum], contiguous bins with their shares: of the level, then of each band.
  std::vector<std::vector<BinShare>> sums;
  double sample_rate_hz = 0.0;
  double sensitivity_dbfs = 0.0;
  bool is_full_scale = false;  ///< true: samples of bits, as fractions of full scale
  std::size_t hop_samples = 1;
  std::size_t batch = 1;
};

std::unique_ptr<reference::Processor> make_levels_reference(const ProcessorPlan& plan);

}  // namespace nearfield
