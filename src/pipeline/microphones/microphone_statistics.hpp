#pragma once
#include <cstdint>
#include <filesystem>
#include <optional>
#include <vector>

#include "core/settings.hpp"
#include "files/sample_levels.hpp"
#include "pipeline/microphones/signal_input.hpp"

namespace nearfield {

/// Reasons why a microphone's signal stands out.
enum class SignalRemark {
  kOverloaded,  ///< has samples at its limit
  kNotFinite,   ///< has samples that are NaN or infinite
  kSilent,      ///< each sample is 0
  kConstant,    ///< all samples are equal
  kHuge,        ///< reaches 1000 Pa: probably integers, or of another unit
  kOffset,      ///< its offset is ten times its rms, or a tenth of full scale
  kLoud,        ///< its level is more than kOutlier_db above the median
  kSoft,        ///< likewise below
};
inline constexpr int kSignalRemarks = 8;
inline constexpr double kOutlier_db = 30.0;

/// Statistic of one microphone's signal.
struct MicrophoneStatistic {
  ChannelLevel level;            ///< without missing samples
  std::uint64_t overloaded = 0;  ///< samples at the limit: docs/use/health.md
  double line_hz = 0.0;          ///< frequency of the loudest line of its spectrum; 0: it has no spectrum
  double line_rms = 0.0;
  std::vector<double> bands_rms;  ///< [third octave]; empty: it has no spectrum
  std::vector<SignalRemark> remarks;
};

/// Statistics of all microphones of a recording.
struct MicrophoneStatistics {
  SignalUnit unit = SignalUnit::kPascal;
  bool is_bits = false;
  bool is_whole = true;                   ///< false: from pieces spread over the recording
  std::uint64_t pieces = 1;               ///< their number
  double examined_s = 0.0;                ///< duration of the examined samples
  double recorded_s = 0.0;                ///< duration of the recording
  std::uint64_t missing = 0;              ///< samples among the examined ones that were not received, and are left out
  double bin_hz = 0.0;                    ///< distance of the spectra's bins
  std::vector<int> centres;               ///< [third octave] number n of the band around 1000 Hz * 10^(n/10)
  double median_rms = 0.0;                ///< median over the microphones with a signal; 0: there is none
  std::optional<ArrayGeometry> geometry;  ///< geometry of the array, where the recording states one
  std::vector<MicrophoneStatistic> microphones;  ///< [channel of bits, or of the input of samples]

  /// Microphone of an index of `microphones`, row * columns + column where there is a geometry.
  [[nodiscard]] int microphone(std::size_t index) const;
  /// Level of an rms: dB re 20 uPa, full scale or 1, by the unit.
  [[nodiscard]] double level_db(double rms) const;
};

/// Nominal centre of a third octave of IEC 61260-1 by its number, in Hz: 0 is 1000, 1 is 1250, -1 is 800.
double nominal_centre_hz(int number);

/// Levels, overloads, offsets and spectra of the microphones of a recording of bits or samples over time; nothing for
/// other files. Examines all of the recording, or pieces spread over it: at most 2^23 decimated samples of bits and
/// 2^25 samples, of all microphones together. Bits become pascal by the recording's sensitivity and the device's
/// decimator; samples whose unit is not stated by array.pascal_per_unit. Throws as the readers of files.hpp,
/// DeviceError, and DataError where bits are shorter than the decimator.
std::optional<MicrophoneStatistics> statistics_of_file(const std::filesystem::path& path, const Settings& settings);

}  // namespace nearfield
