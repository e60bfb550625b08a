#pragma once
#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "files/files.hpp"

/// Levels of the microphones of time data, which reveal a wrong unit, cable or amplifier at a glance.
namespace nearfield {

/// Figures of one channel's finite samples, in the reader's unit.
struct ChannelLevel {
  double rms = 0.0;  ///< about its mean
  double mean = 0.0;
  double peak = 0.0;              ///< largest magnitude
  std::uint64_t clipped = 0;      ///< samples in runs of kClippedRun or more at its extreme, if that is a limit
  std::uint64_t at_limit = 0;     ///< number of samples with SampledChannels::limit or a larger magnitude
  std::uint64_t non_finite = 0;   ///< number of NaN and infinite samples
  std::uint64_t peak_sample = 0;  ///< position of the peak
  std::uint64_t samples = 0;      ///< number of examined samples
  int channel_of_file = 0;        ///< its number in the file, from 0
};

struct SampleLevels {
  std::vector<ChannelLevel> channels;
  std::uint64_t samples = 0;  ///< examined per channel
  bool is_whole = true;       ///< false: some pieces, evenly spread

  /// Channel with the largest rms, of those with finite samples; 0 where there is none.
  [[nodiscard]] std::size_t loudest() const;
  [[nodiscard]] double median_rms() const;
};

/// Fewer equal samples at the extreme may be the top of a slow wave. Runs count only near full scale for integers, and
/// only if there are several for floats.
inline constexpr std::uint64_t kClippedRun = 4;
/// Levels outside these limits are implausible in pascal: louder ones break microphones, softer ones are below their
/// noise.
inline constexpr double kLoudest_db = 200.0;
inline constexpr double kSoftest_db = 0.0;

/// Samples of some channels from any source.
struct SampledChannels {
  int channels = 0;
  std::uint64_t samples = 0;
  /// Reads [sample][channel] from a sample on.
  std::function<void(std::uint64_t first_sample, std::span<float> values)> read;
  std::vector<int> channels_of_file = {};                  ///< [channel] number in the file; empty: same as the index
  std::optional<double> full_scale = {};                   ///< set for integers
  double limit = std::numeric_limits<double>::infinity();  ///< magnitude from which on a sample counts as at_limit
};

/// Reads all of a recording of up to `most_values` samples over all channels, else `pieces` evenly spread pieces of
/// about that many together, each in one go.
SampleLevels levels_of(const SampledChannels& source, std::uint64_t most_values, std::uint64_t pieces = 16);
SampleLevels levels_of(const TimeDataReader& reader, std::uint64_t most_values);

/// "each sample is 0", for silent channels; if only pieces were read, the text says so.
std::string text_of_silence(const SampleLevels& levels);
/// Level of an rms in pascal, dB re 20 uPa.
double level_db(double rms_pa);
/// "loudest channel 12 of the file: 93.1 dB re 20 uPa rms, peak 3.1 Pa; median 90.0 dB"; `is_pascal` false: in the
/// file's unit.
std::string text_of(const SampleLevels& levels, bool is_pascal);
/// Text on implausible levels for a recording in pascal; empty if none.
std::string doubt_about(const SampleLevels& levels);

}  // namespace nearfield
