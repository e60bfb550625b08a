#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "core/error.hpp"
#include "encode/encode_parts.hpp"
#include "encode/sound_file.hpp"
#include "files/sample_levels.hpp"

namespace nearfield {
namespace {

/// Length of the segments, of which the loudest sets the level: one default window at the nominal clock.
constexpr double kSegmentSeconds = 1024 * kBitsPerWord / kBitRateHz;

constexpr std::uint64_t kReadSamples = 1024;

/// Time data or a sound file, in pascal.
struct Recording {
  std::string place;
  double sample_rate_hz;
  std::uint64_t samples;
  int channels;
  std::function<void(std::uint64_t first_sample, std::span<float> values)> read;  // [sample][channel]
};

/// Calls use(first_sample, values) on blocks of at most `most` samples.
template <typename Use>
void for_blocks(const Recording& recording, std::uint64_t most, Use use) {
  std::vector<float> values;
  for (std::uint64_t first = 0; first < recording.samples; first += most) {
    const std::uint64_t count = std::min(most, recording.samples - first);
    values.resize(static_cast<std::size_t>(count) * static_cast<std::size_t>(recording.channels));
    recording.read(first, values);
    use(first, std::span<float>(values));
  }
}

std::vector<int> find_dead(const Recording& recording) {
  const auto channels = static_cast<std::size_t>(recording.channels);
  std::vector<bool> not_finite(channels, false);
  for_blocks(recording, kReadSamples, [&](std::uint64_t, std::span<float> values) {
    for (std::size_t i = 0; i < values.size(); ++i) {
      if (!std::isfinite(values[i])) {
        not_finite[i % channels] = true;
      }
    }
  });
  return few_or_throw(recording.place, not_finite);
}

/// A remainder after the last whole segment is ignored, unless it is everything.
double rms_of_loudest_segment(const Recording& recording, const std::vector<int>& dead) {
  const auto channels = static_cast<std::size_t>(recording.channels);
  std::vector<double> live(channels, 1.0);
  for (const int channel : dead) {
    live[static_cast<std::size_t>(channel)] = 0.0;
  }
  const auto whole = static_cast<std::uint64_t>(std::max(1.0, std::round(kSegmentSeconds * recording.sample_rate_hz)));
  double loudest = 0.0;
  for_blocks(recording, whole, [&](std::uint64_t first, std::span<float> values) {
    const std::uint64_t samples = values.size() / channels;
    if (first > 0 && samples < whole) {
      return;
    }
    double energy = 0.0;
    for (std::size_t i = 0; i < values.size(); ++i) {
      const double value = live[i % channels] > 0 ? static_cast<double>(values[i]) : 0.0;
      energy += value * value;
    }
    loudest = std::max(loudest, energy / static_cast<double>(samples * (channels - dead.size())));
  });
  return std::sqrt(loudest);
}

void scale_and_silence(std::span<float> values, std::size_t channels, double scale, const std::vector<int>& dead) {
  for (float& value : values) {
    value = static_cast<float>(scale * static_cast<double>(value));
  }
  for (const int channel : dead) {
    for (std::size_t i = static_cast<std::size_t>(channel); i < values.size(); i += channels) {
      values[i] = 0.0F;
    }
  }
}

double needed_pascal_per_unit(const std::filesystem::path& input, const EncodeOptions& options) {
  if (!options.pascal_per_unit) {
    throw ConfigError(
        fmt::format("{}: pascal-per-unit: expected the pascal of full scale, found none", input.string()));
  }
  return *options.pascal_per_unit;
}

EncodeReport encode_recording(const Recording& recording, const std::filesystem::path& output,
                              const EncodeOptions& options, const ProgressCallback& progress) {
  if (recording.channels != options.geometry.channels()) {
    throw DataError(fmt::format("{}: expected {} channels for {} microphones, found {}", recording.place,
                                options.geometry.channels(), text_of_size(options.geometry), recording.channels));
  }
  if (!(options.standoff_m > 0)) {
    throw ConfigError(fmt::format("standoff_m: expected a length > 0 m, found {:g}", options.standoff_m));
  }
  const auto channels = static_cast<std::size_t>(recording.channels);
  const std::vector<int> dead = find_dead(recording);
  const double rms_pa = rms_of_loudest_segment(recording, dead);
  require_sound(recording.place, rms_pa);
  constexpr std::uint64_t kMostValues = std::uint64_t{1} << 24U;
  const SampleLevels levels = levels_of(SampledChannels{.channels = recording.channels,
                                                        .samples = recording.samples,
                                                        .read = recording.read,
                                                        .channels_of_file = options.channels},
                                        kMostValues);
  Resampler resampler(recording.channels, recording.sample_rate_hz, options.clock_hz);
  const MeasurementGeometry measurement{
      .geometry = options.geometry, .standoff_m = options.standoff_m, .sensitivity_dbfs = 0.0, .correctable = true};
  CaptureTarget target(output, options, measurement, rms_pa, dead);
  constexpr double kBlockBitTimes = 4096;
  const auto block =
      static_cast<std::uint64_t>(std::max(1.0, kBlockBitTimes * recording.sample_rate_hz / options.clock_hz));
  std::vector<float> resampled;
  for_blocks(recording, block, [&](std::uint64_t first, std::span<float> values) {
    const std::uint64_t end = first + values.size() / channels;
    scale_and_silence(values, channels, target.scale(), dead);
    resampled.clear();
    resampler.process(values, end == recording.samples, resampled);
    target.append(resampled.size() / channels, {}, resampled);
    if (progress) {
      progress(static_cast<double>(end) / static_cast<double>(recording.samples));
    }
  });
  EncodeReport report = target.finish();
  report.levels = text_of(levels, true);
  if (const std::string doubt = doubt_about(levels); !doubt.empty()) {
    report.warnings.push_back(fmt::format("{}: {}", recording.place, doubt));
  }
  return report;
}

}  // namespace

EncodeReport encode_time_data(const std::filesystem::path& input, const std::filesystem::path& output,
                              const EncodeOptions& options, const ProgressCallback& progress) {
  TimeDataReader reader(input, options.channels);
  if (!reader.states_pascal()) {
    reader.set_pascal_per_unit(needed_pascal_per_unit(input, options));
  }
  const Recording recording{input.string(), reader.sample_rate_hz(), reader.samples(), reader.channels(),
                            [&](std::uint64_t first, std::span<float> values) { reader.read(first, values); }};
  EncodeReport report = encode_recording(recording, output, options, progress);
  if (!reader.note().empty()) {
    report.warnings.push_back(fmt::format("{}: {}", input.string(), reader.note()));
  }
  return report;
}

EncodeReport encode_sound_file(const std::filesystem::path& input, const std::filesystem::path& output,
                               const EncodeOptions& options, const ProgressCallback& progress) {
  const SoundFile file(input);
  const double pascal_per_unit = needed_pascal_per_unit(input, options);
  const ChannelChoice choice(options.channels, file.channels(), input.string());
  const auto read_pascal = [&](std::uint64_t first, std::span<float> values) {
    choice.read(first, values, [&](std::uint64_t at, std::span<float> all) { file.read(at, all); });
    for (float& value : values) {
      value = static_cast<float>(pascal_per_unit * static_cast<double>(value));
    }
  };
  const Recording recording{input.string(), file.sample_rate_hz(), file.samples(), choice.count(), read_pascal};
  return encode_recording(recording, output, options, progress);
}

}  // namespace nearfield
