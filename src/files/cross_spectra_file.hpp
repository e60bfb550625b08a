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

/// What a file of cross-spectral matrices says of them. Root attributes format="nearfield-cross-spectra", version=1;
/// the last four are attributes of /csm, with which Acoular's PowerSpectraImport can be filled (docs/cross_spectra.md).
struct CrossSpectraInfo {
  ArrayGeometry geometry;
  std::vector<double> frequencies_hz;  ///< ascending
  std::uint64_t snapshots = 0;         ///< windows that were averaged
  double sample_rate_hz = 0.0;         ///< of what the windows are cut from
  std::int64_t window_samples = 0;
  std::int64_t step_samples = 0;  ///< from one window to the next
};

/// Writes /csm complex64 [frequency][channel][channel], Pa^2, /frequencies_hz, /positions_m float64 [x, y, z][channel]
/// with z = 0 in the array's plane and z towards the sources, as Acoular has it, and /geometry.
class CrossSpectraWriter {
 public:
  CrossSpectraWriter(const std::filesystem::path& path, const CrossSpectraInfo& info);
  ~CrossSpectraWriter();
  CrossSpectraWriter(const CrossSpectraWriter&) = delete;
  CrossSpectraWriter& operator=(const CrossSpectraWriter&) = delete;
  CrossSpectraWriter(CrossSpectraWriter&&) = delete;
  CrossSpectraWriter& operator=(CrossSpectraWriter&&) = delete;
  /// matrix [channel][channel], of the next frequency.
  void append(std::span<const std::complex<float>> matrix);
  /// After as many matrices as there are frequencies.
  void finish();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

struct CrossSpectraFile {
  CrossSpectraInfo info;
  std::vector<std::complex<float>> matrices;  ///< [frequency][channel][channel], Pa^2
};
/// The description alone, or all.
CrossSpectraInfo read_cross_spectra_info(const std::filesystem::path& path);
CrossSpectraFile read_cross_spectra(const std::filesystem::path& path);
/// The diagonals, [frequency][channel], Pa^2; one matrix is in memory at a time.
std::vector<double> read_mean_squares(const std::filesystem::path& path);

}  // namespace nearfield
