#pragma once
#include <complex>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/band.hpp"
#include "core/settings.hpp"
#include "engine/engine.hpp"

namespace nearfield {

/// Sums of x x^H over snapshots of some microphones at some frequencies, in double precision; only the upper triangle.
class CrossSpectraSums {
 public:
  CrossSpectraSums(std::size_t frequencies, std::size_t channels);

  static double bytes(std::size_t frequencies, std::size_t channels);

  /// spectra [frequency][channel], Pa peak; a channel with a value that is not finite is left out of this snapshot.
  void add(std::span<const std::complex<float>> spectra);
  [[nodiscard]] std::uint64_t snapshots() const { return snapshots_; }
  /// C_mn = <P_m conj(P_n)>/2 of a frequency, Pa^2, [channel][channel], each over the snapshots that have both
  /// channels; 0 where there is none.
  [[nodiscard]] std::vector<std::complex<float>> matrix(std::size_t frequency);

 private:
  /// Number of snapshots added at once, so that a row of the matrix stays in the first-level cache meanwhile.
  static constexpr std::size_t kBlock = 8;
  void flush();
  void leave_out(const std::vector<bool>& is_absent);

  std::size_t frequencies_;
  std::size_t channels_;
  std::uint64_t snapshots_ = 0;
  std::size_t waiting_ = 0;
  std::vector<double> real_;  ///< [frequency][snapshot of a block][channel]
  std::vector<double> imaginary_;
  std::vector<double> sum_real_;  ///< [frequency][row of the upper triangle]
  std::vector<double> sum_imaginary_;
  std::vector<std::uint64_t> lacking_;  ///< [row of the upper triangle], snapshots that lack one of the two channels
};

struct CrossSpectraOptions {
  std::filesystem::path input;  ///< a capture, a recording of bits, time data or spectra
  Settings settings;            ///< for the front end and the calibration; processors do not matter
  EngineKind engine = EngineKind::kOpencl;
  std::optional<Band> bins_hz;  ///< all bins of the window in this band instead of front_end.frequencies_hz
  double overlap = 0.5;         ///< between neighbouring windows, from 0 to below 1
  /// Limit for the matrices; the free memory of this machine limits them in any case.
  double memory_bytes = std::numeric_limits<double>::infinity();
  std::function<void(double)> progress;  ///< may be empty
};

struct CrossSpectraResult {
  std::uint64_t snapshots = 0;
  std::size_t frequencies = 0;
  std::vector<int> silent;      ///< microphones with zero rows: masked by the settings, or without a finite value
  std::vector<int> incomplete;  ///< microphones without one in some windows, which their means omit
  std::uint64_t skipped = 0;    ///< windows with missing bits
};

/// Computes Welch's average (P. D. Welch, IEEE Trans. Audio Electroacoust. 15, 1967) of the cross-spectra of all
/// microphones and writes it to `output`. Throws ConfigError for bins that do not exist or are too many, and where the
/// matrices do not fit this machine's memory; DataError when there is no whole window without missing bits; and
/// whatever reading and writing throw.
CrossSpectraResult write_cross_spectra_of(const CrossSpectraOptions& options, const std::filesystem::path& output);

}  // namespace nearfield
