#pragma once
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "core/settings.hpp"
#include "files/files.hpp"

namespace nearfield {

/// Kind and length of a recording.
struct InputInfo {
  FileKind kind = FileKind::kCapture;
  std::string name;             ///< name in messages
  double sample_rate_hz = 0.0;  ///< rate of decimated samples; 0 for spectra
  std::uint64_t samples = 0;    ///< decimated samples, or frames of spectra
  int bits_per_sample = 1;      ///< bit-times per sample of `samples`: 32 for bits, else 1
  std::int64_t start_time_ns = 0;
  double start_rate_hz = 0.0;        ///< rate that /first_sample counts; 0 for spectra
  std::uint64_t first_bit_time = 0;  ///< bit-time of the first sample in the recorded stream
  std::uint64_t first_hop = 0;       ///< hop of the first window, counted from the stream's bit-time 0
};

/// Settings of a run: the recording's description of its array replaces defaults and must agree with the user's
/// settings, except for correctable values. Throws ConfigError on a disagreement.
Settings reconcile(Settings settings, const MeasurementGeometry& measurement, const WireLayout* layout,
                   const std::string& name);

/// The settings with the clock of a recording's bits, checked likewise. Throws DataError where no microphone has such a
/// clock, else as reconcile().
Settings with_clock(Settings settings, double clock_hz, const std::string& name);

/// One message for each correctable length of a recording that the user's settings replace.
std::vector<std::string> corrections(const Settings& given, const MeasurementGeometry& measurement,
                                     const std::string& name);

/// Positions of the microphones of time data, on the axes of images by array.axes, to be used with these settings:
/// empty where the file states none, or where its statement is flawed and the settings give rows, columns and pitches,
/// or array.positions. Throws DataError where it is flawed and they do not.
std::vector<MicrophonePosition> positions_beside(const Settings& settings, const StatedPositions& stated,
                                                 const std::string& name);

/// The settings with the array of time data whose file states microphone positions, [channel]; unchanged if there are
/// none. The user's values must agree to 1 % of a pitch, as positions are taken for a grid. Throws ConfigError where
/// they do not, and DataError where the positions form no array.
Settings with_positions(Settings settings, const std::vector<MicrophonePosition>& positions_m, const std::string& name);

/// Settings for samples of `channels` channels with microphones at `positions_m`, [channel]; empty: at the settings'
/// positions. Combines with_positions(), require_channels() and take_samples(). Throws ConfigError.
Settings with_samples(const Settings& settings, const std::vector<MicrophonePosition>& positions_m, int channels,
                      const std::string& name);

/// Indices of the frequencies to image: all, or those that the user requested, matched to 0.5 Hz. Throws ConfigError.
std::vector<std::size_t> select_frequencies(const Settings& settings, const std::vector<double>& available_hz,
                                            const std::string& name);

/// Number of windows of `window_samples` every `hop_samples` that fit. Throws DataError if it is zero.
std::uint64_t count_frames(const InputInfo& input, const FrontEndSettings& front_end);

}  // namespace nearfield
