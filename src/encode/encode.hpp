#pragma once
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "simulate/scene.hpp"

namespace nearfield {

struct EncodeOptions {
  /// Rms over the live microphones and over the loudest segment's time, 0 dBFS being the rms of a full-scale sine.
  /// Segments of spectra are the frequencies (with `segment_per_frequency`) or the sum of all; segments of time data
  /// last 21.85 ms.
  double level_dbfs = -20.0;
  SigmaDeltaOrder order = SigmaDeltaOrder::kSecond;
  double clock_hz = kBitRateHz;  ///< bit-times a second
  std::uint64_t seed = 1;
  std::int64_t start_time_ns = 0;

  // Spectra only. The phasors are taken to refer to bit-time 0 of the capture, in every segment.
  std::uint64_t frame = 0;
  /// Each frequency alone, one after another, in `segment_samples` decimated samples of 32 bit-times: a window of 1024
  /// and 64 before and after it, in which the front end's filter settles. Otherwise all at once for `duration_s`.
  bool segment_per_frequency = false;
  int segment_samples = 1024 + 2 * 64;
  /// Moves each frequency to the nearest bin of a transform of `window_samples` decimated samples.
  bool bin_grid = false;
  int window_samples = 1024;
  double duration_s = 0.1;

  // Time data and sound files only, which do not describe their array; the user must give both, there is no default.
  ArrayGeometry geometry{};
  double standoff_m = 0.0;
  /// For samples whose file does not state it (a sound file's full scale is 1); not for others.
  std::optional<double> pascal_per_unit = {};
  /// The channels of the microphones, in their order; empty: all.
  std::vector<int> channels = {};
};

struct EncodeReport {
  std::uint64_t bit_times = 0;
  double sensitivity_dbfs = 0.0;       ///< written value; converts the bits back to the input's own pascal
  std::vector<double> frequencies_hz;  ///< spectra only, as encoded
  std::vector<int> dead_channels;      ///< with input values that are not finite; deliver zeros only
  OverloadReport overload;
  std::string levels;  ///< in words, for samples over time: the loudest microphone's and the median
  std::vector<std::string> warnings;
};

/// Properties of an input of samples that the file may not state.
struct BareInput {
  int channels = 0;
  bool states_pascal = false;
  StatedPositions positions = {};
};
/// Properties of these channels of time data or a sound file; empty for spectra, which state all of it. Throws
/// NoInputError, DataError, and ConfigError if a channel does not exist.
std::optional<BareInput> bare_input(const std::filesystem::path& input, const std::vector<int>& channels);

/// Turns a recording (time data of any format, measured spectra or a sound file, recognised by content) into a capture
/// of one-bit microphones, sorama-cam for 32 x 32 microphones, else row-major. Time data are resampled to the clock
/// without delay. For spectra, /truth's aperture pressure repeats the encoded one, and /segments gives the position of
/// each frequency. Throws NoInputError, DataError (not finite in more than a tenth of the channels, silence, another
/// channel count than the geometry's, a frequency out of range), ConfigError (an option out of range or missing) and
/// IoError.
EncodeReport encode_capture(const std::filesystem::path& input, const std::filesystem::path& output,
                            const EncodeOptions& options, const ProgressCallback& progress = {});

}  // namespace nearfield
