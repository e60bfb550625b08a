#include "encode/encode.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <fstream>
#include <numbers>

#include "core/error.hpp"
#include "encode/encode_parts.hpp"
#include "encode/sound_file.hpp"

namespace nearfield {
namespace {

/// True for a sound file that only libsndfile reads, such as FLAC or a WAV file of mu-law; the readers of time data
/// take precedence.
bool is_for_libsndfile(const std::filesystem::path& path) {
  constexpr std::array<char, 8> kSignature = {'\x89', 'H', 'D', 'F', '\r', '\n', '\x1a', '\n'};
  std::array<char, 8> start{};
  std::ifstream file(path, std::ios::binary);
  const bool is_hdf5 = file.read(start.data(), start.size()) && start == kSignature;
  return !is_hdf5 && (!is_time_data_of_others(path) || is_wav_of_other_samples(path));
}

void require(bool fits, std::string_view name, std::string_view expected, double found) {
  if (!fits) {
    throw ConfigError(fmt::format("{}: expected {}, found {:g}", name, expected, found));
  }
}

void check(const EncodeOptions& options) {
  require(options.level_dbfs <= 0 && options.level_dbfs >= -120, "level-dbfs", "-120 to 0 dBFS", options.level_dbfs);
  require(options.segment_samples >= 1, "segment-samples", "1 or more", options.segment_samples);
  require(options.window_samples >= 1, "window-samples", "1 or more", options.window_samples);
  require(options.duration_s > 0 && options.duration_s <= 3600, "duration-s", "more than 0 and at most 3600 s",
          options.duration_s);
  require(options.pascal_per_unit.value_or(1.0) > 0, "pascal-per-unit", "a number > 0",
          options.pascal_per_unit.value_or(1.0));
}

}  // namespace

CaptureTarget::CaptureTarget(const std::filesystem::path& output, const EncodeOptions& options,
                             const MeasurementGeometry& measurement, double rms_pa, std::vector<int> dead_channels)
    : scale_(std::pow(10.0, options.level_dbfs / 20) / std::numbers::sqrt2 / rms_pa),
      sensitivity_dbfs_(20 * std::log10(std::numbers::sqrt2 * scale_)),
      dead_channels_(std::move(dead_channels)),
      channel_of_input_(measurement.geometry.placement ? measurement.geometry.placement->channel_of_input
                                                       : std::vector<int>()),
      // Its channels are in the input's order.
      synthesizer_({.layout = default_layout(measurement.geometry),
                    .geometry = measurement.geometry.in_channel_order(),
                    .sample_rate_hz = options.clock_hz,
                    .order = options.order,
                    .seed = options.seed,
                    .dead_channels = dead_channels_,
                    .noise_rms = 0.0,
                    .dc_offset_range = 0.0}),
      writer_(output, {.measurement = {.geometry = measurement.geometry,
                                       .standoff_m = measurement.standoff_m,
                                       .sensitivity_dbfs = sensitivity_dbfs_,
                                       .correctable = measurement.correctable},
                       .layout = default_layout(measurement.geometry),
                       .sample_rate_hz = options.clock_hz,
                       .start_time_ns = options.start_time_ns,
                       .bit_times = 0,
                       .words_per_bit_time = synthesizer_.words_per_bit_time()}) {}

void CaptureTarget::append(std::uint64_t bit_times, std::span<const ArrayTone> tones, std::span<const float> samples) {
  constexpr std::uint64_t kBlockBitTimes = 4096;
  const std::size_t channels = bit_times == 0 ? 0 : samples.size() / bit_times;
  for (std::uint64_t begin = 0; begin < bit_times; begin += kBlockBitTimes) {
    const auto count = static_cast<std::size_t>(std::min(kBlockBitTimes, bit_times - begin));
    words_.resize(count * static_cast<std::size_t>(synthesizer_.words_per_bit_time()));
    synthesizer_.generate(bit_times_, tones,
                          samples.empty() ? samples : samples.subspan(begin * channels, count * channels), words_);
    writer_.append(words_);
    bit_times_ += count;
  }
}

EncodeReport CaptureTarget::finish() {
  writer_.finish();
  EncodeReport report;
  report.bit_times = bit_times_;
  report.sensitivity_dbfs = sensitivity_dbfs_;
  report.dead_channels = dead_channels_;
  if (!channel_of_input_.empty()) {
    std::transform(dead_channels_.begin(), dead_channels_.end(), report.dead_channels.begin(),
                   [&](int channel) { return channel_of_input_[static_cast<std::size_t>(channel)]; });
    std::sort(report.dead_channels.begin(), report.dead_channels.end());
  }
  report.overload = synthesizer_.report();
  if (!dead_channels_.empty()) {
    report.warnings.push_back(
        fmt::format("{} microphones held values that are not finite and were encoded as dead; replay with --set "
                    "array.dead_channels=[{}]",
                    dead_channels_.size(), fmt::join(report.dead_channels, ", ")));
  }
  if (const std::string overload = describe(report.overload); !overload.empty()) {
    report.warnings.push_back(overload);
  }
  return report;
}

std::vector<int> few_or_throw(const std::string& place, const std::vector<bool>& not_finite) {
  std::vector<int> channels;
  for (std::size_t channel = 0; channel < not_finite.size(); ++channel) {
    if (not_finite[channel]) {
      channels.push_back(static_cast<int>(channel));
    }
  }
  if (channels.size() * 10 > not_finite.size()) {
    throw DataError(
        fmt::format("{}: expected finite values in at least nine tenths of the {} channels, found {} with NaN "
                    "or infinity",
                    place, not_finite.size(), channels.size()));
  }
  return channels;
}

void require_sound(const std::string& place, double rms_pa) {
  if (!(rms_pa > 0) || !std::isfinite(rms_pa)) {
    throw DataError(fmt::format("{}: expected a sound to scale to the level, found an rms of {:g} Pa", place, rms_pa));
  }
}

namespace {

/// One frame of a spectra file, with channels that are not finite set to zero.
struct SpectraFrame {
  std::vector<double> frequencies_hz;
  std::vector<std::complex<float>> spectra;  // [frequency][channel], Pa peak
  std::vector<int> dead_channels;
  std::size_t channels;

  [[nodiscard]] std::span<const std::complex<float>> at(std::size_t frequency) const {
    return std::span(spectra).subspan(frequency * channels, channels);
  }
};

SpectraFrame take_frame(const std::string& place, const SpectraFile& file, std::uint64_t index) {
  if (index >= file.frames) {
    throw DataError(fmt::format("{}: expected a frame 0 to {}, found {}", place, file.frames - 1, index));
  }
  SpectraFrame frame;
  frame.channels = static_cast<std::size_t>(file.measurement.geometry.channels());
  frame.frequencies_hz = file.frequencies_hz;
  const std::size_t values = frame.channels * file.frequencies_hz.size();
  const auto begin = file.spectra.begin() + static_cast<std::ptrdiff_t>(index * values);
  frame.spectra.assign(begin, begin + static_cast<std::ptrdiff_t>(values));
  std::vector<bool> not_finite(frame.channels, false);
  for (std::size_t i = 0; i < values; ++i) {
    if (!std::isfinite(frame.spectra[i].real()) || !std::isfinite(frame.spectra[i].imag())) {
      not_finite[i % frame.channels] = true;
    }
  }
  frame.dead_channels = few_or_throw(place, not_finite);
  for (std::size_t i = 0; i < values; ++i) {
    frame.spectra[i] = not_finite[i % frame.channels] ? 0.0F : frame.spectra[i];
  }
  return frame;
}

/// Returns the largest shift of a frequency.
double snap(std::vector<double>& frequencies_hz, int window_samples, double clock_hz) {
  const double bin_hz = clock_hz / kBitsPerWord / window_samples;
  double largest = 0.0;
  for (double& frequency_hz : frequencies_hz) {
    const double snapped = std::max(1.0, std::round(frequency_hz / bin_hz)) * bin_hz;
    largest = std::max(largest, std::abs(snapped - frequency_hz));
    frequency_hz = snapped;
  }
  return largest;
}

void check_frequencies(const std::string& place, const std::vector<double>& frequencies_hz, double clock_hz) {
  for (const double frequency_hz : frequencies_hz) {
    if (!(frequency_hz > 0) || !(frequency_hz < clock_hz / 2)) {
      throw DataError(fmt::format("{}: /frequencies_hz: expected more than 0 and less than {:g} Hz, found {:g} Hz",
                                  place, clock_hz / 2, frequency_hz));
    }
  }
}

/// Mean square of each frequency's tone over the live microphones and over time.
std::vector<double> powers_of(const SpectraFrame& frame) {
  std::vector<double> powers;
  for (std::size_t i = 0; i < frame.frequencies_hz.size(); ++i) {
    double sum = 0.0;
    for (const std::complex<float> value : frame.at(i)) {
      sum += std::norm(std::complex<double>(value)) / 2;
    }
    powers.push_back(sum / static_cast<double>(frame.channels - frame.dead_channels.size()));
  }
  return powers;
}

double rms_of_loudest(const SpectraFrame& frame, bool segment_per_frequency) {
  double sum = 0.0;
  double largest = 0.0;
  for (const double power : powers_of(frame)) {
    sum += power;
    largest = std::max(largest, power);
  }
  return std::sqrt(segment_per_frequency ? largest : sum);
}

std::vector<ArrayTone> scaled_tones(const SpectraFrame& frame, double scale) {
  std::vector<ArrayTone> tones;
  for (std::size_t i = 0; i < frame.frequencies_hz.size(); ++i) {
    ArrayTone tone{frame.frequencies_hz[i], {}};
    for (const std::complex<float> value : frame.at(i)) {
      tone.phasors.push_back(scale * std::complex<double>(value));
    }
    tones.push_back(std::move(tone));
  }
  return tones;
}

void encode_segments(CaptureTarget& target, std::span<const ArrayTone> tones, int segment_samples,
                     const ProgressCallback& progress) {
  const std::uint64_t length = static_cast<std::uint64_t>(segment_samples) * kBitsPerWord;
  Segments segments;
  for (std::size_t i = 0; i < tones.size(); ++i) {
    segments.first_bit_time.push_back(target.bit_times());
    segments.bit_times.push_back(length);
    segments.frequencies_hz.push_back(tones[i].frequency_hz);
    target.append(length, tones.subspan(i, 1), {});
    if (progress) {
      progress(static_cast<double>(i + 1) / static_cast<double>(tones.size()));
    }
  }
  target.write_segments(segments);
}

void encode_sum(CaptureTarget& target, std::span<const ArrayTone> tones, std::uint64_t bit_times,
                const ProgressCallback& progress) {
  constexpr std::uint64_t kBlockBitTimes = 8192;
  while (target.bit_times() < bit_times) {
    target.append(std::min(kBlockBitTimes, bit_times - target.bit_times()), tones, {});
    if (progress) {
      progress(static_cast<double>(target.bit_times()) / static_cast<double>(bit_times));
    }
  }
}

EncodeReport encode_spectra(const std::filesystem::path& input, const std::filesystem::path& output,
                            const EncodeOptions& options, const ProgressCallback& progress) {
  const std::string place = input.string();
  const SpectraFile file = read_spectra(input);
  SpectraFrame frame = take_frame(place + ": /spectra", file, options.frame);
  check_frequencies(place, frame.frequencies_hz, options.clock_hz);
  const double moved_hz = options.bin_grid ? snap(frame.frequencies_hz, options.window_samples, options.clock_hz) : 0.0;
  const double rms_pa = rms_of_loudest(frame, options.segment_per_frequency);
  require_sound(place + ": /spectra", rms_pa);
  CaptureTarget target(output, options, file.measurement, rms_pa, frame.dead_channels);
  const std::vector<ArrayTone> tones = scaled_tones(frame, target.scale());
  if (options.segment_per_frequency) {
    encode_segments(target, tones, options.segment_samples, progress);
  } else {
    const auto bit_times = static_cast<std::uint64_t>(std::llround(options.duration_s * options.clock_hz));
    encode_sum(target, tones, std::max<std::uint64_t>(1, bit_times), progress);
  }
  target.write_truth({frame.frequencies_hz, {}, {}, frame.spectra});
  EncodeReport report = target.finish();
  report.frequencies_hz = frame.frequencies_hz;
  if (moved_hz > 0.5) {
    report.warnings.push_back(fmt::format("frequencies were moved to the bin grid, by up to {:.2f} Hz", moved_hz));
  }
  if (file.frames > 1) {
    report.warnings.push_back(fmt::format("only frame {} of {} was encoded", options.frame, file.frames));
  }
  return report;
}

}  // namespace

std::optional<BareInput> bare_input(const std::filesystem::path& input, const std::vector<int>& channels) {
  if (is_for_libsndfile(input)) {
    const ChannelChoice choice(channels, SoundFile(input).channels(), input.string());
    return BareInput{.channels = choice.count(), .states_pascal = false};
  }
  if (detect_file_kind(input) != FileKind::kTimeData) {
    return std::nullopt;
  }
  const TimeDataReader reader(input, channels);
  return BareInput{
      .channels = reader.channels(), .states_pascal = reader.states_pascal(), .positions = reader.positions()};
}

EncodeReport encode_capture(const std::filesystem::path& input, const std::filesystem::path& output,
                            const EncodeOptions& options, const ProgressCallback& progress) {
  check(options);
  if (is_for_libsndfile(input)) {
    return encode_sound_file(input, output, options, progress);
  }
  const FileKind kind = detect_file_kind(input);
  switch (kind) {
    case FileKind::kTimeData:
      return encode_time_data(input, output, options, progress);
    case FileKind::kSpectra:
      return encode_spectra(input, output, options, progress);
    default:
      throw DataError(
          fmt::format("{}: expected time data, spectra or a sound file, found {}", input.string(), name_of(kind)));
  }
}

}  // namespace nearfield
