#pragma once
#include <complex>
#include <vector>

#include "processors/beamform/settings.hpp"

namespace nearfield::history {

/// Inner products of a map's snapshots, and their normalisation.
struct SnapshotProducts {
  std::size_t held = 0;                          ///< number of snapshots
  std::size_t microphones = 0;                   ///< number that are not masked
  double weight_sum = 0.0;                       ///< sum of their shading
  std::vector<std::complex<double>> of_columns;  ///< [frequency][held][held], p_s^H p_t, Pa^2, oldest first
  /// [frequency][held][channel], p_t; replaces the products where microphones' own noise is removed.
  std::vector<std::complex<float>> columns = {};
  std::size_t channels = 0;
};

/// Modes of a map, in the layout of kernels/processors/beamform/history.cl.
struct Decomposition {
  std::vector<std::complex<float>> vectors;  ///< [frequency][mode][snapshot]
  std::vector<float> coefficients;           ///< [frequency][mode]
  std::vector<float> loadings;               ///< [frequency]
  std::size_t signals = 0;                   ///< clean_sc: most modes of any frequency, whose beams are the signals'
};

/// Maximum number of modes that a method needs.
std::size_t modes_of(const BeamformSettings& settings);

/// Eigenvectors of the products over `held`, largest eigenvalues first, with the coefficients of the method; lines have
/// `snapshots_of_map` values. Modes that are 0 to rounding are ignored. With removal of microphones' own noise
/// (settings.removes_own_noise(), only clean_sc) modes are the signals, times the root of their number.
Decomposition decompose(const BeamformSettings& settings, const SnapshotProducts& products, std::size_t frequencies);

}  // namespace nearfield::history
