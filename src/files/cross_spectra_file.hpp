#pragma once
#include <complex>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "files/files.hpp"

namespace nearfield {

/// Description of a file of cross-spectral matrices. Root attributes format="nearfield-cross-spectra", version=1; the
/// last four members are attributes of /csm, from which Acoular's PowerSpectraImport can be filled
/// (docs/use/cross_spectra.md).
struct CrossSpectraInfo {
  ArrayGeometry geometry;
  std::vector<double> frequencies_hz;  ///< ascending
  std::uint64_t snapshots = 0;         ///< number of averaged windows
  double sample_rate_hz = 0.0;         ///< rate of the samples in the windows
  std::int64_t window_samples = 0;
  std::int64_t step_samples = 0;  ///< distance between successive windows
};

/// Writes /csm complex64 [frequency][channel][channel], Pa^2, /frequencies_hz, /positions_m float64 [x, y, z][channel]
/// with z = 0 in the array's plane and z towards the sources, as in Acoular, and /geometry.
class CrossSpectraWriter {
 public:
  CrossSpectraWriter(const std::filesystem::path& path, const CrossSpectraInfo& info);
  ~CrossSpectraWriter();
  CrossSpectraWriter(const CrossSpectraWriter&) = delete;
  CrossSpectraWriter& operator=(const CrossSpectraWriter&) = delete;
  CrossSpectraWriter(CrossSpectraWriter&&) = delete;
  CrossSpectraWriter& operator=(CrossSpectraWriter&&) = delete;
  /// Appends the matrix [channel][channel] of the next frequency.
  void append(std::span<const std::complex<float>> matrix);
  /// Call it after one matrix per frequency.
  void finish();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

struct CrossSpectraFile {
  CrossSpectraInfo info;
  std::vector<std::complex<float>> matrices;  ///< [frequency][channel][channel], Pa^2
};
/// read_cross_spectra_info() reads the description only, read_cross_spectra() everything.
CrossSpectraInfo read_cross_spectra_info(const std::filesystem::path& path);
CrossSpectraFile read_cross_spectra(const std::filesystem::path& path);
/// Reads the diagonals, [frequency][channel], Pa^2, with one matrix in memory at a time.
std::vector<double> read_mean_squares(const std::filesystem::path& path);

}  // namespace nearfield
