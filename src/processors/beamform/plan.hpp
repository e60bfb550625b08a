#pragma once
#include <complex>
#include <string>
#include <vector>

#include "processors/beamform/history/schedule.hpp"
#include "processors/beamform/settings.hpp"
#include "processors/beamform/snapshots.hpp"
#include "processors/far_field/array.hpp"
#include "processors/far_field/grid.hpp"
#include "processors/images/bands.hpp"
#include "processors/processor.hpp"

namespace nearfield {

/// The pixels of a sector on each plane.
struct SectorPixels {
  std::size_t first_row = 0;
  std::size_t rows = 0;
  std::size_t first_column = 0;
  std::size_t columns = 0;
  std::size_t centre = 0;  ///< of a plane's pixels, the one where the source is that its sum is compared with
};

/// What the device and the reference are both made from: places, weights and sizes, and no table of theirs.
struct BeamformPlan {
  explicit BeamformPlan(const ProcessorPlan& plan);

  [[nodiscard]] bool is_measured() const { return settings.steering.model == far_field::Model::kMeasured; }
  [[nodiscard]] bool is_averaged() const { return settings.average.kind != AverageKind::kNone; }
  /// Maps of the last snapshots together: by any method but delay and sum.
  [[nodiscard]] bool is_history() const { return settings.method != Method::kDas; }
  /// Maps are powers, whose phases do not count.
  [[nodiscard]] bool has_powers() const { return is_averaged() || is_history(); }
  [[nodiscard]] std::size_t channels() const { return microphones.size(); }
  [[nodiscard]] std::size_t frequencies() const { return frequencies_hz.size(); }
  [[nodiscard]] std::size_t pixels() const { return grid.pixels.size(); }
  [[nodiscard]] bool has_focus() const { return settings.focus == Focus::kMax; }
  [[nodiscard]] std::size_t planes() const { return distances_m.empty() ? 1 : distances_m.size(); }
  [[nodiscard]] std::size_t plane_pixels() const { return pixels() / planes(); }
  /// Of a map as it is published: of all planes, or of the largest of them.
  [[nodiscard]] std::size_t map_pixels() const { return has_focus() ? plane_pixels() : pixels(); }
  [[nodiscard]] std::size_t sector_values() const { return planes() * sectors.size(); }  ///< [plane][sector]
  /// Waves to a metre.
  [[nodiscard]] double waves_per_m(std::size_t frequency) const {
    return frequencies_hz[frequency] / array.medium.sound_speed_m_s;
  }

  std::string name;
  BeamformSettings settings;
  ArrayPlan array;
  std::vector<double> frequencies_hz;            ///< whose maps are computed: the first of the array's
  std::vector<far_field::Position> microphones;  ///< [channel]
  std::vector<double> shading;                   ///< [channel], > 0
  far_field::Grid grid;                          ///< directions where `is_plane_wave`
  bool is_plane_wave = false;
  std::vector<double> distances_m;             ///< of the planes; none where pixels have no distance or an own one each
  std::vector<SectorPixels> sectors;           ///< of the settings' sectors
  std::vector<std::complex<float>> templates;  ///< of measured: [frequency][pixel][channel], NaN where left out
  std::vector<std::string> left_out;           ///< templates without a value at some frequency, in words
  Snapshots snapshots;
  HistorySchedule history;
  int batch = 1;
  std::vector<Band> bands_hz;  ///< whose mean squares are published
  BandPlan bands;              ///< their bins, indices of frequencies_hz
  std::size_t lines = 0;       ///< the first frequencies, whose maps are published
};

/// Of maps as they are published: those of single frequencies, then those of bands, each a weighted sum of maps.
struct PublishedMaps {
  explicit PublishedMaps(const BeamformPlan& plan);
  [[nodiscard]] std::size_t size() const { return sums.size(); }
  std::vector<std::vector<BandBin>> sums;  ///< [map], of the plan's frequencies
  std::vector<double> lowest_hz;           ///< [map], of its bins
};

/// The longer side of what the microphones span that are not masked, x or y, in m.
double aperture_side_m(const BeamformPlan& plan, const MicrophoneMask& mask);

ResultHeader header_of(const BeamformPlan& plan);

/// Values of one window; Value is float, or std::complex<float> where maps are no powers.
template <class Value>
struct PublishedValues {
  std::span<const Value> maps;       ///< [published map][map_pixels()]
  std::span<const float> focus_m;    ///< likewise, with focus
  std::span<const float> sectors;    ///< [published map][plane][sector], Pa^2
  std::span<const float> effective;  ///< [published map], of powers
};
/// In the order of the header.
template <class Value>
std::vector<std::span<const std::byte>> products_of(const BeamformPlan& plan, const PublishedValues<Value>& values);

using far_field::kFewestMicrophones;
using far_field::kNearest_m;
/// Pa; beyond it squares overflow in float32, so a value counts as not finite.
inline constexpr double kLargestPressure_pa = 1e18;

std::unique_ptr<reference::Processor> make_beamform_reference(const ProcessorPlan& plan);

}  // namespace nearfield
