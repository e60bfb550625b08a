#pragma once
#include <vector>

#include "processors/beamform/settings.hpp"
#include "processors/beamform/snapshots.hpp"
#include "processors/far_field/grid.hpp"
#include "processors/processor.hpp"

namespace nearfield {

/// What the device and the reference are both made from: places, weights and sizes, and no table of theirs.
struct BeamformPlan {
  explicit BeamformPlan(const ProcessorPlan& plan);

  [[nodiscard]] bool is_averaged() const { return settings.average.kind != AverageKind::kNone; }
  [[nodiscard]] std::size_t channels() const { return microphones.size(); }
  [[nodiscard]] std::size_t frequencies() const { return frequencies_hz.size(); }
  [[nodiscard]] std::size_t pixels() const { return grid.pixels.size(); }
  /// Waves to a metre.
  [[nodiscard]] double waves_per_m(std::size_t frequency) const {
    return frequencies_hz[frequency] / array.medium.sound_speed_m_s;
  }

  std::string name;
  BeamformSettings settings;
  ArrayPlan array;
  std::vector<double> frequencies_hz;            ///< that were asked for: the first of the array's
  std::vector<far_field::Position> microphones;  ///< [channel]
  std::vector<double> shading;                   ///< [channel], > 0
  far_field::Grid grid;                          ///< directions where `is_plane_wave`
  bool is_plane_wave = false;
  Snapshots snapshots;
  int batch = 1;
};

ResultHeader header_of(const BeamformPlan& plan);

/// Microphones that a map needs; one of fewer is NaN.
inline constexpr int kFewestMicrophones = 4;
/// Pa; beyond it squares overflow in float32, so a value counts as not finite.
inline constexpr double kLargestPressure_pa = 1e18;
/// A pixel nearer to a microphone is NaN.
inline constexpr double kNearest_m = 1e-3;

std::unique_ptr<reference::Processor> make_beamform_reference(const ProcessorPlan& plan);

}  // namespace nearfield
