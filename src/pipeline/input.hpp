#pragma once
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "files/files.hpp"
#include "nearfield/settings.hpp"

namespace nearfield {

/// What a recording is and how long, whatever its kind.
struct InputInfo {
  FileKind kind = FileKind::kCapture;
  std::string name;             ///< as messages call it
  double sample_rate_hz = 0.0;  ///< of decimated samples; 0 for spectra
  std::uint64_t samples = 0;    ///< decimated samples, or frames of spectra
  int bits_per_sample = 1;      ///< bit-times to one of `samples`: 32 for bits, else 1
  std::int64_t start_time_ns = 0;
  double start_rate_hz = 0.0;        ///< of what /first_sample counts; 0 for spectra
  std::uint64_t first_bit_time = 0;  ///< of the first sample, in the stream that was recorded
  std::uint64_t first_hop = 0;       ///< of the first window: hops are counted from the stream's bit-time 0
};

/// The settings of a run: the recording's description of its array replaces defaults and must agree with what the user
/// set, but for what is correctable. Throws ConfigError on a disagreement.
Settings reconcile(Settings settings, const MeasurementGeometry& measurement, const WireLayout* layout,
                   const std::string& name);

/// The settings with the clock of a recording's bits, checked likewise. Throws DataError where no microphone has such a
/// clock, else as reconcile().
Settings with_clock(Settings settings, double clock_hz, const std::string& name);

/// One message for each length of a correctable recording that the user's settings replace.
std::vector<std::string> corrections(const Settings& given, const MeasurementGeometry& measurement,
                                     const std::string& name);

/// Where the microphones of time data stand, on the axes of images by array.axes, as it counts beside these settings:
/// nothing where the file does not say,
/// or where what it says is flawed and the settings give rows, columns and pitches, or array.positions. Throws
/// DataError where it is flawed and they do not.
std::vector<MicrophonePosition> positions_beside(const Settings& settings, const StatedPositions& stated,
                                                 const std::string& name);

/// The settings with the array of time data whose file says where its microphones stand, [channel]; the settings as
/// they are where it does not. What the user gave must agree to 1 % of a pitch, as positions are taken for a grid.
/// Throws ConfigError where it does not, and DataError where the positions are those of no array.
Settings with_positions(Settings settings, const std::vector<MicrophonePosition>& positions_m, const std::string& name);

/// The settings of samples of so many channels whose microphones stand at `positions_m`, [channel]; empty: where the
/// settings say: with_positions(), require_channels() and take_samples(). Throws ConfigError.
Settings with_samples(const Settings& settings, const std::vector<MicrophonePosition>& positions_m, int channels,
                      const std::string& name);

/// Indices of the frequencies to image: all, or those that the user requested, matched to 0.5 Hz. Throws ConfigError.
std::vector<std::size_t> select_frequencies(const Settings& settings, const std::vector<double>& available_hz,
                                            const std::string& name);

/// Windows of `window_samples` every `hop_samples` that fit. Throws DataError when there is not even one.
std::uint64_t count_frames(const InputInfo& input, const FrontEndSettings& front_end);

}  // namespace nearfield
