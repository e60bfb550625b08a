#include "pipeline/microphones/signal_input.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "core/error.hpp"
#include "files/files.hpp"
#include "files/nfr/nfr_reader.hpp"
#include "frontend/common/bit_ring.hpp"
#include "frontend/samples/decimated_samples.hpp"

namespace nearfield {
namespace {

/// Share of full scale that is the limit of integers of 16 bits or more.
constexpr double kLimitOfIntegers = 1.0 - 1.0 / 32768.0 - 2e-7;

using ReadWords = std::function<void(std::uint64_t first, std::span<std::uint32_t> words, std::vector<MissingRun>&)>;

/// The decimated samples of bits, by a device, NaN where they depend on missing ones. Sample 0 is the first one of
/// which all bits are in the file.
class DecimatedBits {
 public:
  DecimatedBits(const CaptureInfo& info, std::vector<MissingRun> missing, ReadWords read, const DeviceSettings& device)
      : plan_({.geometry = info.measurement.geometry, .layout = info.layout, .settings = {}, .dead_channels = {}}),
        full_scale_pa_(full_scale_pa(info.measurement.sensitivity_dbfs)),
        words_a_sample_(kBitsPerWord * static_cast<std::size_t>(info.words_per_bit_time)),
        missing_(std::move(missing)),
        read_(std::move(read)),
        device_(ocl::Device::open(device)) {}
  [[nodiscard]] double full_scale() const { return full_scale_pa_; }

  void read(std::uint64_t first, std::span<float> values) {
    const auto channels = static_cast<std::size_t>(plan_.geometry.channels());
    const std::size_t samples = values.size() / channels;
    const bool continues = first == next_ && samples <= most_samples_;
    if (samples > most_samples_) {
      decimated_.emplace(device_, plan_, samples);
      most_samples_ = samples;
    }
    const std::size_t skipped = continues ? 0 : kDecimatorHistoryWords;
    next_ = first + samples;
    words_.resize((skipped + samples) * words_a_sample_);
    const std::uint64_t first_word = first + kDecimatorHistoryWords - skipped;
    read_(first_word * kBitsPerWord, words_, missing_);
    decimated_->enqueue_bits(first_word, words_);
    const std::vector<float> ring = device_.download(decimated_->ring().samples(), "inspect/samples");
    for (std::size_t sample = 0; sample < samples; ++sample) {
      const std::uint32_t slot = decimated_->ring().span().slot_of(first + kDecimatorHistoryWords + sample);
      for (std::size_t channel = 0; channel < channels; ++channel) {
        const auto value = static_cast<double>(ring[slot * channels + channel]);
        values[sample * channels + channel] = static_cast<float>(value * full_scale_pa_);
      }
    }
    remove_missing(first, samples, values);
  }
  /// Number of samples read so far that are NaN.
  [[nodiscard]] std::uint64_t removed() const { return removed_; }

 private:
  void remove_missing(std::uint64_t first, std::size_t samples, std::span<float> values) {
    const std::size_t channels = values.size() / samples;
    for (const MissingRun& run : missing_) {
      const std::uint64_t begin =
          std::max(run.first_bit_time / kBitsPerWord, first + kDecimatorHistoryWords) - kDecimatorHistoryWords;
      const std::uint64_t end = std::min((run.first_bit_time + run.bit_times - 1) / kBitsPerWord + 1, first + samples);
      for (std::uint64_t sample = begin; sample < end; ++sample) {
        const std::span<float> row = values.subspan((sample - first) * channels, channels);
        removed_ += std::isnan(row.front()) ? 0U : 1U;
        std::fill(row.begin(), row.end(), std::numeric_limits<float>::quiet_NaN());
      }
    }
  }

  FrontEndPlan plan_;
  double full_scale_pa_;
  std::size_t words_a_sample_;
  std::vector<MissingRun> missing_;
  ReadWords read_;
  ocl::Device device_;
  std::optional<DecimatedSamples> decimated_;  ///< for up to most_samples_ samples at a time
  std::size_t most_samples_ = 0;
  std::vector<std::uint32_t> words_;  ///< [bit-time][word]
  std::uint64_t next_ = 0;            ///< sample that continues the last ones
  std::uint64_t removed_ = 0;
};

SignalInput input_of_bits(const CaptureInfo& info, std::vector<MissingRun> missing, ReadWords read,
                          const DeviceSettings& device) {
  const std::uint64_t words = info.bit_times / kBitsPerWord;
  if (words <= kDecimatorHistoryWords) {
    throw DataError(fmt::format("expected at least {} bit-times, found {}", (kDecimatorHistoryWords + 1) * kBitsPerWord,
                                info.bit_times));
  }
  const auto bits = std::make_shared<DecimatedBits>(info, std::move(missing), std::move(read), device);
  return {.channels = {.channels = info.measurement.geometry.channels(),
                       .samples = words - kDecimatorHistoryWords,
                       .read = [bits](std::uint64_t first, std::span<float> values) { bits->read(first, values); },
                       .full_scale = bits->full_scale(),
                       .limit = kClipLevel * bits->full_scale()},
          .sample_rate_hz = info.sample_rate_hz / kBitsPerWord,
          .is_bits = true,
          .geometry = info.measurement.geometry,
          .missing = [bits] { return bits->removed(); }};
}

SignalInput input_of_recording(const std::filesystem::path& path, const Settings& settings) {
  const auto reader = std::make_shared<nfr::Reader>(path);
  const nfr::BitsSummary& bits = reader->summary().bits;
  if (bits.records == 0) {
    return {};
  }
  reader->require_plausible_span(bits.first_bit_time, bits.end_bit_time);
  const std::uint64_t origin = bits.first_bit_time;
  const ReadWords read = [reader, origin](std::uint64_t first, std::span<std::uint32_t> words,
                                          std::vector<MissingRun>& missing) {
    std::vector<MissingRun> fresh;
    reader->read_bits(origin + first, words, fresh);
    for (const MissingRun& run : fresh) {
      append_run(&missing, run.first_bit_time - origin, run.bit_times);
    }
  };
  const CaptureInfo info = reader->capture_info();
  if (!reader->info().holds_samples) {
    return input_of_bits(info, {}, read, settings.device);
  }
  const std::optional<double> stated_pa = reader->info().pascal_per_unit;
  const std::optional<double> unit_pa = stated_pa ? stated_pa : settings.array.pascal_per_unit;
  const auto channels = static_cast<std::size_t>(info.measurement.geometry.channels());
  const double scale = unit_pa.value_or(1.0);
  const auto removed = std::make_shared<std::uint64_t>(0);
  const auto read_samples = [read, channels, scale, removed](std::uint64_t first, std::span<float> values) {
    std::vector<std::uint32_t> words(values.size());
    std::vector<MissingRun> missing;
    read(first, words, missing);
    std::transform(words.begin(), words.end(), values.begin(), [scale](std::uint32_t word) {
      return static_cast<float>(static_cast<double>(std::bit_cast<float>(word)) * scale);
    });
    for (const MissingRun& run : missing) {
      const auto at = values.begin() + static_cast<std::ptrdiff_t>((run.first_bit_time - first) * channels);
      std::fill_n(at, run.bit_times * channels, std::numeric_limits<float>::quiet_NaN());
      *removed += run.bit_times;
    }
  };
  return {
      .channels = {.channels = info.measurement.geometry.channels(), .samples = info.bit_times, .read = read_samples},
      .sample_rate_hz = info.sample_rate_hz,
      .unit = unit_pa ? SignalUnit::kPascal : SignalUnit::kOwn,
      .geometry = info.measurement.geometry,
      .missing = [removed] { return *removed; }};
}

SignalInput input_of_time_data(const std::filesystem::path& path, const ArraySettings& array) {
  const auto reader = std::make_shared<TimeDataReader>(path, array.channels);
  const bool is_pascal = reader->states_pascal() || array.pascal_per_unit.has_value();
  if (!reader->states_pascal() && array.pascal_per_unit) {
    reader->set_pascal_per_unit(*array.pascal_per_unit);
  }
  SignalInput input{
      .channels = {.channels = reader->channels(),
                   .samples = reader->samples(),
                   .read = [reader](std::uint64_t first, std::span<float> values) { reader->read(first, values); },
                   .full_scale = reader->full_scale()},
      .sample_rate_hz = reader->sample_rate_hz(),
      .unit = is_pascal              ? SignalUnit::kPascal
              : reader->full_scale() ? SignalUnit::kFullScale
                                     : SignalUnit::kOwn};
  for (int channel = 0; channel < reader->channels(); ++channel) {
    input.channels.channels_of_file.push_back(reader->channel_of_file(channel));
  }
  if (reader->full_scale()) {
    input.channels.limit = kLimitOfIntegers * *reader->full_scale();
  }
  return input;
}

}  // namespace

SignalInput open_signals(const std::filesystem::path& path, const Settings& settings) {
  switch (detect_file_kind(path)) {
    case FileKind::kCapture: {
      const auto reader = std::make_shared<CaptureReader>(path);
      return input_of_bits(
          reader->info(), reader->missing(),
          [reader](std::uint64_t first, std::span<std::uint32_t> words, std::vector<MissingRun>&) {
            reader->read(first, words);
          },
          settings.device);
    }
    case FileKind::kRecording:
      return input_of_recording(path, settings);
    case FileKind::kTimeData:
      return input_of_time_data(path, settings.array);
    default:
      return {};
  }
}

}  // namespace nearfield
