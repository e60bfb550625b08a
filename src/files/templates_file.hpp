#pragma once
#include <complex>
#include <cstddef>
#include <filesystem>
#include <vector>

#include "files/files.hpp"

namespace nearfield {

/// What an array received of a source at each of some places, but for the source's own pressure: steering vectors that
/// were measured.
struct Templates {
  MeasurementGeometry measurement;     ///< of the array that received them; no sensitivity
  std::vector<double> frequencies_hz;  ///< ascending
  std::vector<double> positions_m;     ///< [template][x, y, z], on the axes of images
  std::vector<std::complex<float>> a;  ///< [frequency][template][channel], 1 at the array's centre
  std::vector<float> coherence;        ///< [frequency][template], the share of the power that one source makes
  std::vector<float> of_microphones;   ///< [frequency][template][channel], coherence of each with all of them

  [[nodiscard]] std::size_t count() const { return positions_m.size() / 3; }
};

/// A template with less says more of noise than of its source.
inline constexpr double kLeastTemplateCoherence = 0.9;

/// HDF5: attributes format "nearfield-templates" and version 1, /geometry as in captures, /frequencies_hz, /positions_m
/// [template][3], /templates [frequency][template][channel], /coherence [frequency][template] and
/// /microphone_coherence [frequency][template][channel]. Throws IoError.
void write_templates(const std::filesystem::path& path, const Templates& templates);
/// Throws NoInputError, and DataError on what is no such file.
Templates read_templates(const std::filesystem::path& path);

}  // namespace nearfield
