#include "pipeline/recording.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <iterator>
#include <optional>
#include <set>

#include "config/config.hpp"
#include "config/words.hpp"
#include "core/error.hpp"
#include "core/system/clocks.hpp"
#include "engine/feeder.hpp"
#include "engine/sample_input.hpp"
#include "files/files.hpp"
#include "files/nfr/nfr_reader.hpp"
#include "pipeline/missing_bits.hpp"

namespace nearfield {
namespace {

/// Bits or samples of a live stream in a file from the first on, with silence where they are missing. What is said of
/// bit-times holds of samples where there are samples.
class StreamFile {
 public:
  virtual ~StreamFile() = default;
  [[nodiscard]] virtual CaptureInfo info() const = 0;
  [[nodiscard]] virtual bool holds_samples() const { return false; }
  /// Unit of samples; none where the file does not state it.
  [[nodiscard]] virtual std::optional<double> pascal_per_unit() const { return std::nullopt; }
  virtual void read(std::uint64_t first_bit_time, std::span<std::uint32_t> words) = 0;
  [[nodiscard]] virtual const std::vector<MaskChange>* masks() const { return nullptr; }
  /// Missing bits of the part that was read.
  MissingBits missing;
};

class CaptureBits : public StreamFile {
 public:
  explicit CaptureBits(const std::filesystem::path& path) : reader_(path) { missing.runs() = reader_.missing(); }
  [[nodiscard]] CaptureInfo info() const override { return reader_.info(); }
  void read(std::uint64_t first_bit_time, std::span<std::uint32_t> words) override {
    reader_.read(first_bit_time, words);
  }

 private:
  CaptureReader reader_;
};

class RecordedStream : public StreamFile {
 public:
  explicit RecordedStream(const std::filesystem::path& path) : reader_(path) {
    if (reader_.summary().bits.records == 0) {
      throw DataError(fmt::format("{}: expected bits, found a recording of {} images without any", path.string(),
                                  reader_.summary().frames));
    }
    reader_.require_plausible_span(reader_.summary().bits.first_bit_time, reader_.summary().bits.end_bit_time);
  }
  [[nodiscard]] CaptureInfo info() const override { return reader_.capture_info(); }
  [[nodiscard]] bool holds_samples() const override { return reader_.info().holds_samples; }
  [[nodiscard]] std::optional<double> pascal_per_unit() const override { return reader_.info().pascal_per_unit; }
  [[nodiscard]] const std::vector<MaskChange>* masks() const override {
    return reader_.masks().empty() ? nullptr : &reader_.masks();
  }
  void read(std::uint64_t first_bit_time, std::span<std::uint32_t> words) override {
    const std::uint64_t origin = reader_.summary().bits.first_bit_time;
    std::vector<MissingRun>& runs = missing.runs();
    const std::size_t known = runs.size();
    reader_.read_bits(origin + first_bit_time, words, fresh_);
    runs.insert(runs.end(), fresh_.begin(), fresh_.end());
    for (std::size_t i = known; i < runs.size(); ++i) {
      runs[i].first_bit_time -= origin;
    }
    fresh_.clear();
  }

 private:
  nfr::Reader reader_;
  std::vector<MissingRun> fresh_;
};

/// Windows start at multiples of the hop in the stream, wherever the file was begun.
std::uint64_t before_first_window(const CaptureInfo& capture, std::uint64_t hop_elements) {
  return (hop_elements - capture.first_bit_time % hop_elements) % hop_elements;
}

/// A capture, or the bits or samples of a live stream.
class StreamRecording : public Recording {
 public:
  StreamRecording(std::unique_ptr<StreamFile> file, const std::filesystem::path& path, const Settings& settings)
      : file_(std::move(file)),
        holds_samples_(file_->holds_samples()),
        per_sample_(holds_samples_ ? 1 : kBitsPerWord),
        capture_(file_->info()),
        plan_(plan_of(settings, path.string())),
        feed_(plan_.settings.front_end) {
    const auto hop_samples = static_cast<std::uint64_t>(plan_.settings.front_end.hop_samples);
    skipped_ = before_first_window(capture_, hop_samples * per_sample_);
    stream_samples_ = (capture_.first_bit_time + skipped_) / per_sample_;
    feed_.begin(stream_samples_);
    info_ = {
        .kind = FileKind::kCapture,
        .name = path.string(),
        .sample_rate_hz = plan_.sample_rate_hz,
        .samples = (capture_.bit_times - std::min(capture_.bit_times, skipped_)) / per_sample_,
        .bits_per_sample = static_cast<int>(per_sample_),
        .start_time_ns = capture_.start_time_ns + std::llround(static_cast<double>(skipped_) / capture_.sample_rate_hz *
                                                               static_cast<double>(kNsPerSecond)),
        .start_rate_hz = capture_.sample_rate_hz,
        .first_bit_time = capture_.first_bit_time + skipped_,
        .first_hop = stream_samples_ / hop_samples};
    words_per_sample_ = static_cast<std::uint64_t>(capture_.words_per_bit_time) * per_sample_;
  }
  [[nodiscard]] const InputInfo& info() const override { return info_; }
  [[nodiscard]] const EnginePlan& plan() const override { return plan_; }
  [[nodiscard]] std::vector<std::string> notes() const override { return notes_; }
  [[nodiscard]] const std::vector<MaskChange>* masks() const override { return file_->masks(); }
  Batch begin(std::uint64_t first_sample, std::size_t windows, Engine& engine) override {
    const std::uint64_t first_window = stream_samples_ + first_sample;
    feed(feed_.next(first_window, windows, engine), engine);
    const std::uint64_t needed = feed_.begin_of(first_window, engine) - stream_samples_;
    file_->missing.forget_before(bit_time_of(std::min(needed, std::exchange(needed_before_, needed))));
    const StreamClock clock(plan_.settings.front_end);
    WindowRange range{.first_sample = first_window,
                      .windows = windows,
                      .first_hop = info_.first_hop + first_sample / clock.hop_samples()};
    for (std::size_t i = 0; i < windows; ++i) {
      const std::uint64_t first = clock.later(first_sample, i);
      range.missing_bits.push_back(missing_bits({.first = first, .end = clock.end_of(first)}));
    }
    return engine.begin(range);
  }
  [[nodiscard]] std::uint64_t missing_bits(const SampleSpan& span) const override {
    return file_->missing.count(bit_time_of(span.first), bit_time_of(span.end));
  }
  void read_bits(std::uint64_t first_sample, std::span<std::uint32_t> words) override {
    file_->read(bit_time_of(first_sample), words);
  }

 private:
  /// Bit-time in the file of a sample counted from its first window. The engine counts samples from the stream's
  /// bit-time 0, so that frames equal the live stream's to the last bit.
  [[nodiscard]] std::uint64_t bit_time_of(std::uint64_t sample) const { return sample * per_sample_ + skipped_; }

  EnginePlan plan_of(const Settings& settings, const std::string& name) {
    const std::optional<double> stated_pa = file_->pascal_per_unit();
    const std::optional<double> given_pa = pascal_per_unit_for(settings, name, !holds_samples_ || stated_pa);
    unit_pa_ = stated_pa.value_or(given_pa.value_or(1.0));
    notes_ = corrections(settings, capture_.measurement, name);
    const double rate_hz = capture_.sample_rate_hz / static_cast<double>(per_sample_);
    const WireLayout* const layout = holds_samples_ ? nullptr : &capture_.layout;
    Settings used = reconcile(settings, capture_.measurement, layout, name);
    if (holds_samples_) {
      (void)take_samples(used);
      validate(used, rate_hz);
    } else {
      used = with_clock(used, capture_.sample_rate_hz, name);
      validate(used, capture_.sample_rate_hz / used.front_end.decimation);
      used = in_words(used);
    }
    return {.settings = used,
            .input = holds_samples_ ? InputForm::kSamples : InputForm::kBits,
            .sample_rate_hz = rate_hz,
            .spectra_hz = {},
            .files = array_files_on_disk()};
  }

  void feed(const SampleSpan& span, Engine& engine) {
    const std::uint64_t words = span.size() * words_per_sample_;
    if (!holds_samples_) {
      const std::span<std::uint32_t> room = engine.room_for_bits(words);
      file_->read(bit_time_of(span.first - stream_samples_), room);
      engine.push_bits(span.first, room);
      return;
    }
    turn_ = 1 - turn_;
    std::vector<float>& values = values_.at(turn_);
    words_.resize(words);
    values.resize(words);
    file_->read(bit_time_of(span.first - stream_samples_), words_);
    std::transform(words_.begin(), words_.end(), values.begin(), [this](std::uint32_t word) {
      return static_cast<float>(static_cast<double>(std::bit_cast<float>(word)) * unit_pa_);
    });
    engine.push_samples(span.first, values);
  }

  std::unique_ptr<StreamFile> file_;
  bool holds_samples_;
  std::uint64_t per_sample_;  ///< bit-times
  CaptureInfo capture_;
  double unit_pa_ = 1.0;  ///< unit of samples
  std::vector<std::string> notes_;
  EnginePlan plan_;
  Feeder feed_;
  std::uint64_t needed_before_ = 0;  ///< first sample that the batch begun last, with its history, needs
  InputInfo info_;
  std::uint64_t words_per_sample_ = 0;
  std::uint64_t skipped_ = 0;         ///< bit-times before the first window
  std::uint64_t stream_samples_ = 0;  ///< stream samples before the first window
  std::vector<std::uint32_t> words_;
  std::array<std::vector<float>, 2> values_;  ///< alternating: each must stay until the batch after its own is begun
  std::size_t turn_ = 0;
};

class SampleRecording : public Recording {
 public:
  SampleRecording(const std::filesystem::path& path, const Settings& settings)
      : reader_(path, settings.array.channels), feed_(settings.front_end) {
    info_ = {.kind = FileKind::kTimeData,
             .name = path.string(),
             .sample_rate_hz = reader_.sample_rate_hz(),
             .samples = reader_.samples(),
             .bits_per_sample = 1,
             .start_time_ns = 0,
             .start_rate_hz = reader_.sample_rate_hz()};
    plan_ = {
        .settings = with_positions(settings, positions_beside(settings, reader_.positions(), info_.name), info_.name),
        .input = InputForm::kSamples,
        .sample_rate_hz = info_.sample_rate_hz,
        .spectra_hz = {},
        .files = array_files_on_disk()};
    require_channels(plan_.settings, reader_.channels(), info_.name, reader_.samples());
    if (!reader_.note().empty()) {
      notes_.push_back(fmt::format("{}: {}", info_.name, reader_.note()));
    }
    if (const std::optional<double> unit_pa = pascal_per_unit_for(settings, info_.name, reader_.states_pascal())) {
      reader_.set_pascal_per_unit(*unit_pa);
    }
    if (take_samples(plan_.settings)) {
      notes_.push_back(fmt::format("{} holds samples, which {}, the default front end, can't count; {} takes them",
                                   info_.name, settings.front_end.kind, plan_.settings.front_end.kind));
    }
    validate(plan_.settings, info_.sample_rate_hz);
  }
  [[nodiscard]] const InputInfo& info() const override { return info_; }
  [[nodiscard]] const EnginePlan& plan() const override { return plan_; }
  [[nodiscard]] std::vector<std::string> notes() const override { return notes_; }
  Batch begin(std::uint64_t first_sample, std::size_t windows, Engine& engine) override {
    const SampleSpan feed = feed_.next(first_sample, windows, engine);
    turn_ = 1 - turn_;
    std::vector<float>& buffer = buffers_.at(turn_);
    buffer.resize((feed.end - feed.first) * static_cast<std::uint64_t>(reader_.channels()));
    reader_.read(feed.first, buffer);
    engine.push_samples(feed.first, buffer);
    return engine.begin({.first_sample = first_sample, .windows = windows});
  }
  [[nodiscard]] std::optional<SampleLevels> levels() const override {
    constexpr std::uint64_t kMostValues = std::uint64_t{1} << 24U;  // 64 MiB of floats: limits the duration
    return levels_of(reader_, kMostValues);
  }

 private:
  TimeDataReader reader_;
  Feeder feed_;
  InputInfo info_;
  EnginePlan plan_;
  std::vector<std::string> notes_;
  std::array<std::vector<float>, 2> buffers_;  ///< alternating: each must stay until the batch after its own is begun
  std::size_t turn_ = 0;
};

class SpectraRecording : public Recording {
 public:
  SpectraRecording(const std::filesystem::path& path, const Settings& settings) : file_(read_spectra(path)) {
    info_ = {.kind = FileKind::kSpectra,
             .name = path.string(),
             .sample_rate_hz = 0.0,
             .samples = file_.frames,
             .bits_per_sample = 1,
             .start_time_ns = 0,
             .start_rate_hz = 0.0};
    (void)pascal_per_unit_for(settings, info_.name, true);
    plan_.settings = reconcile(settings, file_.measurement, nullptr, info_.name);
    plan_.input = InputForm::kSpectra;
    plan_.files = array_files_on_disk();
    chosen_ = select_frequencies(settings, file_.frequencies_hz, info_.name);
    for (const std::size_t index : chosen_) {
      plan_.spectra_hz.push_back(file_.frequencies_hz[index]);
    }
    plan_.settings.front_end.frequencies_hz = plan_.spectra_hz;
    validate(plan_.settings, 0.0);
  }
  [[nodiscard]] const InputInfo& info() const override { return info_; }
  [[nodiscard]] const EnginePlan& plan() const override { return plan_; }
  Batch begin(std::uint64_t first_sample, std::size_t windows, Engine& engine) override {
    const auto channels = static_cast<std::size_t>(file_.measurement.geometry.channels());
    buffer_.clear();
    for (std::uint64_t frame = first_sample; frame < first_sample + windows; ++frame) {
      for (const std::size_t index : chosen_) {
        const auto first = file_.spectra.begin() +
                           static_cast<std::ptrdiff_t>((frame * file_.frequencies_hz.size() + index) * channels);
        buffer_.insert(buffer_.end(), first, first + static_cast<std::ptrdiff_t>(channels));
      }
    }
    return engine.begin_spectra(buffer_, first_sample);
  }
  /// The rms of a microphone covers all its frames, summed over frequencies.
  [[nodiscard]] std::optional<SampleLevels> levels() const override {
    SampleLevels levels;
    levels.samples = file_.frames * file_.frequencies_hz.size();
    levels.channels.resize(static_cast<std::size_t>(file_.measurement.geometry.channels()));
    for (std::size_t i = 0; i < levels.channels.size(); ++i) {
      levels.channels[i].channel_of_file = static_cast<int>(i);
    }
    for (std::size_t i = 0; i < file_.spectra.size(); ++i) {
      ChannelLevel& channel = levels.channels[i % levels.channels.size()];
      const auto magnitude = static_cast<double>(std::abs(file_.spectra[i]));
      ++channel.samples;
      if (!std::isfinite(magnitude)) {
        ++channel.non_finite;
        continue;
      }
      channel.rms += magnitude * magnitude;
      if (magnitude > channel.peak) {
        channel.peak = magnitude;
        channel.peak_sample = i / levels.channels.size();
      }
    }
    for (ChannelLevel& channel : levels.channels) {
      channel.rms = std::sqrt(channel.rms / 2.0 / static_cast<double>(file_.frames));
    }
    return levels;
  }

 private:
  SpectraFile file_;
  InputInfo info_;
  EnginePlan plan_;
  std::vector<std::size_t> chosen_;
  std::vector<std::complex<float>> buffer_;  ///< spectra of the batch in flight
};

}  // namespace

std::unique_ptr<Recording> open_recording(const std::filesystem::path& path, const Settings& settings) {
  const FileKind kind = detect_file_kind(path);
  switch (kind) {
    case FileKind::kCapture:
      return std::make_unique<StreamRecording>(std::make_unique<CaptureBits>(path), path, settings);
    case FileKind::kRecording:
      return std::make_unique<StreamRecording>(std::make_unique<RecordedStream>(path), path, settings);
    case FileKind::kTimeData:
      return std::make_unique<SampleRecording>(path, settings);
    case FileKind::kSpectra:
      return std::make_unique<SpectraRecording>(path, settings);
    case FileKind::kImages:
    case FileKind::kCalibration:
    case FileKind::kCrossSpectra:
    case FileKind::kTemplates:
      break;
  }
  throw DataError(fmt::format("{}: expected a capture, time data or spectra, found {}", path.string(), name_of(kind)));
}

std::vector<int> silent_microphones(const Recording& recording, const std::optional<SampleLevels>& levels) {
  const ArraySettings& array = recording.plan().settings.array;
  const std::size_t channels = levels ? levels->channels.size() : 0;
  std::set<int> silent;
  for (std::size_t channel = 0; channel < channels; ++channel) {
    const ChannelLevel& level = levels->channels[channel];
    if (level.samples > level.non_finite && level.peak == 0.0) {
      silent.insert(array.geometry.is_reordered() ? array.geometry.placement->channel_of_input[channel]
                                                  : static_cast<int>(channel));
    }
  }
  if (silent.empty() || silent.size() == channels) {
    return {};
  }
  std::set<int> unusable = silent;
  unusable.insert(array.dead_channels.begin(), array.dead_channels.end());
  const std::string flaw = flaw_of_valid(array, array.geometry.channels() - static_cast<int>(unusable.size()));
  if (!flaw.empty()) {
    throw DataError(fmt::format("{}: {} microphones are silent, {}: {}", recording.info().name, silent.size(),
                                text_of_silence(*levels), flaw));
  }
  return {silent.begin(), silent.end()};
}

}  // namespace nearfield
