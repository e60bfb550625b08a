#pragma once
#include <complex>
#include <string>
#include <vector>

#include "core/microphones.hpp"
#include "processors/beamform/settings.hpp"
#include "processors/beamform/snapshots.hpp"
#include "processors/far_field/array.hpp"
#include "processors/far_field/grid.hpp"
#include "processors/images/bands.hpp"
#include "processors/processor.hpp"

namespace nearfield {

/// Pixels of a sector on each plane.
struct SectorPixels {
  std::size_t first_row = 0;
  std::size_t rows = 0;
  std::size_t first_column = 0;
  std::size_t columns = 0;
  std::size_t centre = 0;  ///< index in a plane of the reference source's pixel, to which its sum is compared
};

/// Common input of device and reference: positions, weights and sizes, but none of their tables.
struct BeamformPlan {
  explicit BeamformPlan(const ProcessorPlan& plan);

  [[nodiscard]] bool is_measured() const { return settings.steering.model == far_field::Model::kMeasured; }
  [[nodiscard]] bool is_averaged() const { return settings.average.kind != AverageKind::kNone; }
  /// True if maps use the last snapshots together: all methods except delay and sum.
  [[nodiscard]] bool is_history() const { return settings.method != Method::kDas; }
  /// True if maps are powers, without phases.
  [[nodiscard]] bool has_powers() const { return is_averaged() || is_history(); }
  [[nodiscard]] std::size_t channels() const { return microphones.size(); }
  [[nodiscard]] std::size_t frequencies() const { return frequencies_hz.size(); }
  [[nodiscard]] std::size_t pixels() const { return grid.pixels.size(); }
  [[nodiscard]] bool has_focus() const { return settings.focus == Focus::kMax; }
  [[nodiscard]] std::size_t planes() const { return distances_m.empty() ? 1 : distances_m.size(); }
  [[nodiscard]] std::size_t plane_pixels() const { return pixels() / planes(); }
  /// Pixels of a published map: of all planes, or of their maximum.
  [[nodiscard]] std::size_t map_pixels() const { return has_focus() ? plane_pixels() : pixels(); }
  [[nodiscard]] std::size_t sector_values() const { return planes() * sectors.size(); }  ///< [plane][sector]
  /// Spatial frequency in waves per metre.
  [[nodiscard]] double waves_per_m(std::size_t frequency) const {
    return frequencies_hz[frequency] / array.medium.sound_speed_m_s;
  }

  std::string name;
  BeamformSettings settings;
  ArrayPlan array;
  std::vector<double> frequencies_hz;            ///< frequencies of computed maps: the first of the array's
  std::vector<far_field::Position> microphones;  ///< [channel]
  std::vector<double> shading;                   ///< [channel], > 0
  far_field::Grid grid;                          ///< directions where `is_plane_wave`
  bool is_plane_wave = false;
  std::vector<double> distances_m;             ///< empty where pixels have no distance or one each
  std::vector<SectorPixels> sectors;           ///< one per sector of the settings
  std::vector<std::complex<float>> templates;  ///< only measured: [frequency][pixel][channel], NaN where left out
  std::vector<std::string> left_out;           ///< in words: templates without a value at some frequency
  Snapshots snapshots;
  HistorySchedule history;
  int batch = 1;
  std::vector<Band> bands_hz;           ///< bands with published mean squares
  Weighting weighting = Weighting::kZ;  ///< frequency weighting of bands
  BandPlan bands;                       ///< their bins, indices of frequencies_hz
  std::size_t lines = 0;                ///< number of leading frequencies with published maps
};

/// Published maps: those of single frequencies, then those of bands, each a weighted sum of maps.
struct PublishedMaps {
  explicit PublishedMaps(const BeamformPlan& plan);
  [[nodiscard]] std::size_t size() const { return sums.size(); }
  std::vector<std::vector<BandBin>> sums;  ///< [map], over the plan's frequencies
  std::vector<double> lowest_hz;           ///< [map], lowest among its bins
};

/// Longer side of the extent of the unmasked microphones, along x or y, in m.
double aperture_side_m(const BeamformPlan& plan, const MicrophoneMask& mask);

ResultHeader header_of(const BeamformPlan& plan);

/// Values of one window; Value is float, or std::complex<float> where maps are not powers.
template <class Value>
struct PublishedValues {
  std::span<const Value> maps;       ///< [published map][map_pixels()]
  std::span<const float> focus_m;    ///< likewise; only with focus
  std::span<const float> sectors;    ///< [published map][plane][sector], Pa^2
  std::span<const float> effective;  ///< [published map]; only for powers
};
/// The products in the order of the header.
template <class Value>
std::vector<std::span<const std::byte>> products_of(const BeamformPlan& plan, const PublishedValues<Value>& values);

using far_field::kFewestMicrophones;
using far_field::kNearest_m;
/// Pa; larger pressures count as not finite, because their squares overflow in float32.
inline constexpr double kLargestPressure_pa = 1e18;

std::unique_ptr<reference::Processor> make_beamform_reference(const ProcessorPlan& plan);

/// Fills the plan's grid, templates and left_out from the templates in `files`: interpolated linearly between the
/// file's frequencies, NaN where a used neighbour has a coherence below kLeastTemplateCoherence, and scaled from the
/// array's centre to the plan's reference. If the plan's array is a part of another one, `channels` (else empty) are
/// its channels, and templates of the whole array are reduced to it. Throws ConfigError where the templates are for
/// another array or do not cover a frequency, and where `files` is null; passes on exceptions of `files`.
void use_templates(BeamformPlan& plan, const ArrayFiles* files, const std::vector<int>& channels);

}  // namespace nearfield
