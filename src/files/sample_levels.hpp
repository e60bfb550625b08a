#pragma once
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "files/files.hpp"

/// Levels of the microphones of time data: what shows at a glance that a unit, a cable or an amplifier is wrong.
namespace nearfield {

/// Figures of one channel, of its finite samples, in the reader's unit.
struct ChannelLevel {
  double rms = 0.0;  ///< about its mean
  double mean = 0.0;
  double peak = 0.0;              ///< largest magnitude
  std::uint64_t clipped = 0;      ///< samples in runs of kClippedRun or more at its extreme, where that limits it
  std::uint64_t non_finite = 0;   ///< NaN and infinite ones
  std::uint64_t peak_sample = 0;  ///< where the peak is
  std::uint64_t samples = 0;      ///< that were looked at
  int channel_of_file = 0;        ///< what the file counts it as, from 0 on
};

struct SampleLevels {
  std::vector<ChannelLevel> channels;
  std::uint64_t samples = 0;  ///< that were looked at, of each channel
  bool is_whole = true;       ///< else some pieces, evenly spread

  /// Channels by their rms, of those with finite samples; 0 where there is none.
  [[nodiscard]] std::size_t loudest() const;
  [[nodiscard]] double median_rms() const;
};

/// Fewer equal samples at the extreme are as well the top of a slow wave; and of integers they count near full scale,
/// of floats where there are several such runs.
inline constexpr std::uint64_t kClippedRun = 4;
/// Beyond these a recording is hardly one in pascal: what is louder breaks microphones, what is softer is below their
/// noise.
inline constexpr double kLoudest_db = 200.0;
inline constexpr double kSoftest_db = 0.0;

/// Samples of some channels, wherever they come from.
struct SampleSource {
  int channels = 0;
  std::uint64_t samples = 0;
  /// [sample][channel] from a sample on.
  std::function<void(std::uint64_t first_sample, std::span<float> values)> read;
  std::vector<int> channels_of_file = {};  ///< [channel], what the file counts it as; empty: the same
  std::optional<double> full_scale = {};   ///< of integers
};

/// Reads a recording of at most `most_values` samples of all channels; of a longer one evenly spread pieces of about so
/// many.
SampleLevels levels_of(const SampleSource& source, std::uint64_t most_values);
SampleLevels levels_of(const TimeDataReader& reader, std::uint64_t most_values);

/// "each sample is 0", of silent channels; of a recording of which pieces were read, that it is so there.
std::string text_of_silence(const SampleLevels& levels);
/// dB re 20 uPa of an rms in pascal.
double level_db(double rms_pa);
/// "loudest channel 12 of the file: 93.1 dB re 20 uPa rms, peak 3.1 Pa; median 90.0 dB"; `is_pascal` false: of the
/// file's values.
std::string text_of(const SampleLevels& levels, bool is_pascal);
/// What cannot be as a recording in pascal; empty where nothing is odd.
std::string doubt_about(const SampleLevels& levels);

}  // namespace nearfield
