#pragma once
#include <complex>
#include <vector>

#include "processors/beamform/settings.hpp"

namespace nearfield::history {

/// Inner products of the snapshots of a map, and what they are in proportion to.
struct SnapshotProducts {
  std::size_t held = 0;                          ///< snapshots
  std::size_t microphones = 0;                   ///< that are not masked
  double weight_sum = 0.0;                       ///< of their shading
  std::vector<std::complex<double>> of_columns;  ///< [frequency][held][held], p_s^H p_t, Pa^2, the oldest one first
  /// [frequency][held][channel], p_t, in place of the products where microphones' own noise is left out.
  std::vector<std::complex<float>> columns = {};
  std::size_t channels = 0;
};

/// Modes of a map as kernels/processors/beamform/history.cl reads them.
struct Decomposition {
  std::vector<std::complex<float>> vectors;  ///< [frequency][mode][snapshot]
  std::vector<float> coefficients;           ///< [frequency][mode]
  std::vector<float> loadings;               ///< [frequency]
  std::size_t signals = 0;  ///< of clean_sc: modes at most of a frequency, whose beams are the signals'
};

/// Modes that a method needs at most.
std::size_t modes_of(const BeamformSettings& settings);

/// Eigenvectors of the products over `held`, those of the largest eigenvalues first, with the coefficients of the
/// method; lines have `snapshots_of_map` values. Modes that are 0 to rounding count for nothing. Without microphones'
/// own noise (settings.removes_own_noise(), of clean_sc) modes are the signals, times the root of their number.
Decomposition decompose(const BeamformSettings& settings, const SnapshotProducts& products, std::size_t frequencies);

}  // namespace nearfield::history
