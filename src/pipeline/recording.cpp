#include "pipeline/recording.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "config/config.hpp"
#include "nearfield/error.hpp"

namespace nearfield {
namespace {

/// Which samples a window still needs: from the end of what was fed, or from the window's history after a gap.
struct Feed {
  std::uint64_t first;
  std::uint64_t end;
};

class FeedPlanner {
 public:
  explicit FeedPlanner(const FrontEndSettings& settings)
      : window_samples_(static_cast<std::uint64_t>(settings.window_samples)),
        hop_samples_(static_cast<std::uint64_t>(settings.hop_samples)) {}
  Feed next(std::uint64_t first_sample, std::size_t windows, std::uint64_t history) {
    const std::uint64_t needed = first_sample > history ? first_sample - history : 0;
    const std::uint64_t end = first_sample + (windows - 1) * hop_samples_ + window_samples_;
    const Feed feed{.first = std::max(needed, std::min(fed_, end)), .end = end};
    fed_ = end;
    return feed;
  }

 private:
  std::uint64_t window_samples_;
  std::uint64_t hop_samples_;
  std::uint64_t fed_ = 0;
};

class BitRecording : public Recording {
 public:
  BitRecording(const std::filesystem::path& path, const Settings& settings) : reader_(path), feed_(settings.front_end) {
    const CaptureInfo& capture = reader_.info();
    if (std::abs(capture.sample_rate_hz - kBitRateHz) > 1e-6 * kBitRateHz) {
      throw DataError(fmt::format("{}: /bitstream attribute sample_rate_hz: expected {}, found {}", path.string(),
                                  kBitRateHz, capture.sample_rate_hz));
    }
    info_ = {.kind = FileKind::kCapture,
             .name = path.string(),
             .sample_rate_hz = capture.sample_rate_hz / kBitsPerWord,
             .samples = capture.bit_times / kBitsPerWord,
             .bits_per_sample = kBitsPerWord,
             .start_time_ns = capture.start_time_ns,
             .start_rate_hz = capture.sample_rate_hz};
    plan_ = {.settings = reconcile(settings, capture.measurement, &capture.layout, info_.name),
             .input = InputForm::kBits,
             .sample_rate_hz = info_.sample_rate_hz,
             .spectra_hz = {}};
    validate(plan_.settings, info_.sample_rate_hz);
    words_per_sample_ = static_cast<std::uint64_t>(capture.words_per_bit_time) * kBitsPerWord;
  }
  [[nodiscard]] const InputInfo& info() const override { return info_; }
  [[nodiscard]] const EnginePlan& plan() const override { return plan_; }
  std::span<const WindowStatus> compute(std::uint64_t first_sample, std::size_t windows, Engine& engine) override {
    const Feed feed = feed_.next(first_sample, windows, engine.history_samples());
    const std::span<std::uint32_t> room = engine.room_for_bits((feed.end - feed.first) * words_per_sample_);
    reader_.read(feed.first * kBitsPerWord, room);
    engine.push_bits(feed.first, room);
    return engine.compute_windows(first_sample, windows);
  }

 private:
  CaptureReader reader_;
  FeedPlanner feed_;
  InputInfo info_;
  EnginePlan plan_;
  std::uint64_t words_per_sample_ = 0;
};

class SampleRecording : public Recording {
 public:
  SampleRecording(const std::filesystem::path& path, const Settings& settings)
      : reader_(path), feed_(settings.front_end) {
    info_ = {.kind = FileKind::kTimeData,
             .name = path.string(),
             .sample_rate_hz = reader_.sample_rate_hz(),
             .samples = reader_.samples(),
             .bits_per_sample = 1,
             .start_time_ns = 0,
             .start_rate_hz = reader_.sample_rate_hz()};
    plan_ = {
        .settings = settings, .input = InputForm::kSamples, .sample_rate_hz = info_.sample_rate_hz, .spectra_hz = {}};
    if (!settings.explicit_keys.contains("array.layout")) {
      plan_.settings.array.layout = WireLayout::kRowMajor;
    }
    require_channels(settings, reader_.channels(), info_.name);
    replace_default_front_end();
    validate(plan_.settings, info_.sample_rate_hz);
  }
  [[nodiscard]] const InputInfo& info() const override { return info_; }
  [[nodiscard]] const EnginePlan& plan() const override { return plan_; }
  [[nodiscard]] std::vector<std::string> notes() const override { return notes_; }
  std::span<const WindowStatus> compute(std::uint64_t first_sample, std::size_t windows, Engine& engine) override {
    const Feed feed = feed_.next(first_sample, windows, engine.history_samples());
    buffer_.resize((feed.end - feed.first) * static_cast<std::uint64_t>(reader_.channels()));
    reader_.read(feed.first, buffer_);
    engine.push_samples(feed.first, buffer_);
    return engine.compute_windows(first_sample, windows);
  }

 private:
  /// Samples have no bits to count: the nominal chain does what the default can't. A kind that was asked for stays, and
  /// is refused where the front end is planned.
  void replace_default_front_end() {
    FrontEndKind& kind = plan_.settings.front_end.kind;
    if (takes_samples(kind) || plan_.settings.explicit_keys.contains("front_end.kind")) {
      return;
    }
    notes_.push_back(fmt::format("{} holds samples, which {}, the default front end, can't count; {} takes them",
                                 info_.name, name_of(kind), name_of(FrontEndKind::kDecimatedFft)));
    kind = FrontEndKind::kDecimatedFft;
  }
  TimeDataReader reader_;
  FeedPlanner feed_;
  InputInfo info_;
  EnginePlan plan_;
  std::vector<std::string> notes_;
  std::vector<float> buffer_;
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
    plan_.settings = reconcile(settings, file_.measurement, nullptr, info_.name);
    plan_.input = InputForm::kSpectra;
    chosen_ = select_frequencies(settings, file_.frequencies_hz, info_.name);
    for (const std::size_t index : chosen_) {
      plan_.spectra_hz.push_back(file_.frequencies_hz[index]);
    }
    plan_.settings.front_end.frequencies_hz = plan_.spectra_hz;
    validate(plan_.settings, 0.0);
  }
  [[nodiscard]] const InputInfo& info() const override { return info_; }
  [[nodiscard]] const EnginePlan& plan() const override { return plan_; }
  std::span<const WindowStatus> compute(std::uint64_t first_sample, std::size_t windows, Engine& engine) override {
    const auto channels = static_cast<std::size_t>(file_.measurement.geometry.channels());
    buffer_.clear();
    for (std::uint64_t frame = first_sample; frame < first_sample + windows; ++frame) {
      for (const std::size_t index : chosen_) {
        const auto first = file_.spectra.begin() +
                           static_cast<std::ptrdiff_t>((frame * file_.frequencies_hz.size() + index) * channels);
        buffer_.insert(buffer_.end(), first, first + static_cast<std::ptrdiff_t>(channels));
      }
    }
    return engine.compute_spectra(buffer_);
  }

 private:
  SpectraFile file_;
  InputInfo info_;
  EnginePlan plan_;
  std::vector<std::size_t> chosen_;
  std::vector<std::complex<float>> buffer_;
};

}  // namespace

std::unique_ptr<Recording> open_recording(const std::filesystem::path& path, const Settings& settings) {
  const FileKind kind = detect_file_kind(path);
  switch (kind) {
    case FileKind::kCapture:
      return std::make_unique<BitRecording>(path, settings);
    case FileKind::kTimeData:
      return std::make_unique<SampleRecording>(path, settings);
    case FileKind::kSpectra:
      return std::make_unique<SpectraRecording>(path, settings);
    case FileKind::kImages:
    case FileKind::kCalibration:
      break;
  }
  throw DataError(fmt::format("{}: expected a capture, time data or spectra, found {}", path.string(), name_of(kind)));
}

}  // namespace nearfield
