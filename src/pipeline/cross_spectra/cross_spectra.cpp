#include "pipeline/cross_spectra/cross_spectra.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <numeric>

#include "core/error.hpp"
#include "core/numerics.hpp"
#include "core/system/host.hpp"
#include "files/files.hpp"
#include "pipeline/recording.hpp"

namespace nearfield {
namespace {

constexpr std::size_t kMostCrossSpectra = 1000;  // for a front end
constexpr double kGibibyte = 1024.0 * 1024.0 * 1024.0;

std::vector<double> cross_spectra_bins(const Band& band, const EnginePlan& plan) {
  if (plan.input == InputForm::kSpectra) {
    throw ConfigError("bins: expected a recording with windows, found spectra, which have their own frequencies");
  }
  const int window = plan.settings.front_end.window_samples;
  const double width_hz = plan.sample_rate_hz / window;
  std::vector<double> bins;
  for (int bin = 1; bin < window / 2; ++bin) {
    if (bin * width_hz >= band.low_hz && bin * width_hz < band.high_hz) {
      bins.push_back(bin * width_hz);
    }
  }
  if (bins.empty() || bins.size() > kMostCrossSpectra) {
    throw ConfigError(
        fmt::format("bins: expected 1 to {} multiples of {:.6g} Hz (sample rate / front_end.window_samples) "
                    "from {:.6g} to below {:.6g} Hz, found {}",
                    kMostCrossSpectra, width_hz, band.low_hz, band.high_hz, bins.size()));
  }
  return bins;
}

void require_memory_for(std::size_t frequencies, std::size_t channels, double most_bytes) {
  const double needed = CrossSpectraSums::bytes(frequencies, channels);
  const double available = std::min(most_bytes, available_memory_bytes());
  if (needed > available) {
    throw ConfigError(
        fmt::format("front_end.frequencies_hz: expected cross-spectra of at most {:.0f} frequencies of {} microphones, "
                    "which fit the "
                    "{:.3g} GiB that are left for them, found {} ({:.3g} GiB)",
                    std::floor(available / CrossSpectraSums::bytes(1, channels)), channels, available / kGibibyte,
                    frequencies, needed / kGibibyte));
  }
}

/// Applies gains and masks to a window's spectra, and notes which microphones had a value. `order` is the order of the
/// frequencies.
class Corrections {
 public:
  Corrections(const ArrayPlan& plan, std::vector<std::size_t> order)
      : channels_(static_cast<std::size_t>(plan.geometry.channels())),
        order_(std::move(order)),
        gains_(plan.gains),
        has_values_(channels_, false),
        lacks_values_(channels_, false),
        is_masked_(channels_, false) {
    for (const int channel : plan.dead_channels) {
      is_masked_[static_cast<std::size_t>(channel)] = true;
    }
  }

  void apply(std::span<const std::complex<float>> spectra, std::vector<std::complex<float>>& corrected) {
    corrected.resize(spectra.size());
    for (std::size_t f = 0; f < order_.size(); ++f) {
      for (std::size_t i = 0; i < channels_; ++i) {
        const std::size_t from = order_[f] * channels_ + i;
        const std::complex<float> value = gains_.empty() ? spectra[from] : gains_[from] * spectra[from];
        const bool is_good = !is_masked_[i] && is_finite(value);
        // Without a gain a microphone is silent there; without a value it is left out of this window.
        const bool is_silent = is_masked_[i] || (!gains_.empty() && !is_finite(gains_[from]));
        corrected[f * channels_ + i] = is_silent ? 0.0F : value;
        has_values_[i] = has_values_[i] || is_good;
        lacks_values_[i] = lacks_values_[i] || !is_good;
      }
    }
  }

  /// Microphones without a value in any window.
  [[nodiscard]] std::vector<int> silent() const {
    return where([&](std::size_t i) { return !has_values_[i]; });
  }
  /// Microphones that lack a value in some windows only.
  [[nodiscard]] std::vector<int> incomplete() const {
    return where([&](std::size_t i) { return has_values_[i] && lacks_values_[i]; });
  }

 private:
  template <class Holds>
  [[nodiscard]] std::vector<int> where(const Holds& holds) const {
    std::vector<int> channels;
    for (std::size_t i = 0; i < channels_; ++i) {
      if (holds(i)) {
        channels.push_back(static_cast<int>(i));
      }
    }
    return channels;
  }
  std::size_t channels_;
  std::vector<std::size_t> order_;
  std::vector<std::complex<float>> gains_;  ///< [frequency][channel], the engine's order; empty: none
  std::vector<bool> has_values_;            ///< in any window
  std::vector<bool> lacks_values_;          ///< in any window
  std::vector<bool> is_masked_;
};

}  // namespace

CrossSpectraSums::CrossSpectraSums(std::size_t frequencies, std::size_t channels)
    : frequencies_(frequencies),
      channels_(channels),
      real_(frequencies * kBlock * channels),
      imaginary_(frequencies * kBlock * channels),
      sum_real_(frequencies * (channels * (channels + 1) / 2)),
      sum_imaginary_(sum_real_.size()),
      lacking_(channels * (channels + 1) / 2) {}

double CrossSpectraSums::bytes(std::size_t frequencies, std::size_t channels) {
  const auto m = static_cast<double>(channels);
  return static_cast<double>(frequencies) * (m * (m + 1) / 2 + kBlock * m) * 2 * sizeof(double);
}

/// Leaves channels out of the snapshot that was added last.
void CrossSpectraSums::leave_out(const std::vector<bool>& is_absent) {
  std::size_t at = 0;
  for (std::size_t m = 0; m < channels_; ++m) {
    for (std::size_t f = 0; is_absent[m] && f < frequencies_; ++f) {
      real_[(f * kBlock + waiting_) * channels_ + m] = 0.0;
      imaginary_[(f * kBlock + waiting_) * channels_ + m] = 0.0;
    }
    for (std::size_t n = m; n < channels_; ++n, ++at) {
      lacking_[at] += is_absent[m] || is_absent[n] ? 1U : 0U;
    }
  }
}

void CrossSpectraSums::add(std::span<const std::complex<float>> spectra) {
  std::vector<bool> is_absent(channels_, false);
  bool is_whole = true;
  for (std::size_t f = 0; f < frequencies_; ++f) {
    for (std::size_t i = 0; i < channels_; ++i) {
      const std::complex<float> value = spectra[f * channels_ + i];
      if (!is_finite(value)) {
        is_absent[i] = true;
        is_whole = false;
      }
      real_[(f * kBlock + waiting_) * channels_ + i] = static_cast<double>(value.real());
      imaginary_[(f * kBlock + waiting_) * channels_ + i] = static_cast<double>(value.imag());
    }
  }
  if (!is_whole) {
    leave_out(is_absent);
  }
  ++snapshots_;
  if (++waiting_ == kBlock) {
    flush();
  }
}

void CrossSpectraSums::flush() {
  for (std::size_t f = 0; f < frequencies_; ++f) {
    double* row_real = sum_real_.data() + f * (channels_ * (channels_ + 1) / 2);
    double* row_imaginary = sum_imaginary_.data() + f * (channels_ * (channels_ + 1) / 2);
    for (std::size_t m = 0; m < channels_; ++m) {
      const std::size_t length = channels_ - m;
      for (std::size_t t = 0; t < waiting_; ++t) {
        const double* real = real_.data() + (f * kBlock + t) * channels_ + m;
        const double* imaginary = imaginary_.data() + (f * kBlock + t) * channels_ + m;
        const double a = real[0];
        const double b = imaginary[0];
        for (std::size_t n = 0; n < length; ++n) {
          row_real[n] += a * real[n] + b * imaginary[n];
          row_imaginary[n] += b * real[n] - a * imaginary[n];
        }
      }
      row_real += length;
      row_imaginary += length;
    }
  }
  waiting_ = 0;
}

std::vector<std::complex<float>> CrossSpectraSums::matrix(std::size_t frequency) {
  flush();
  std::vector<std::complex<float>> matrix(channels_ * channels_);
  const std::size_t first = frequency * lacking_.size();
  std::size_t pair = 0;
  for (std::size_t m = 0; m < channels_; ++m) {
    for (std::size_t n = m; n < channels_; ++n, ++pair) {
      const double scale = 0.5 / static_cast<double>(std::max<std::uint64_t>(snapshots_ - lacking_[pair], 1));
      const std::complex<double> sum(sum_real_[first + pair], sum_imaginary_[first + pair]);
      const std::complex<float> value(scale * sum);
      matrix[m * channels_ + n] = value;
      matrix[n * channels_ + m] = std::conj(value);
    }
  }
  return matrix;
}

CrossSpectraResult write_cross_spectra_of(const CrossSpectraOptions& options, const std::filesystem::path& output) {
  Settings settings = options.settings;
  settings.processors.clear();
  settings.holography.imager = ImagerKind::kNone;  // no imaging: accept any array
  const std::unique_ptr<Recording> recording = open_recording(options.input, settings);
  EnginePlan plan = recording->plan();
  plan.has_processor = false;
  FrontEndSettings& front_end = plan.settings.front_end;
  clear_bands(front_end);
  if (options.bins_hz) {
    front_end.frequencies_hz = cross_spectra_bins(*options.bins_hz, plan);
  }
  const std::uint64_t frames = count_frames(recording->info(), front_end);
  const auto channels = static_cast<std::size_t>(plan.settings.array.geometry.channels());
  require_memory_for(front_end.frequencies_hz.size(), channels, options.memory_bytes);

  const std::unique_ptr<Engine> engine = make_engine(options.engine, plan);
  const std::vector<double>& computed_hz = engine->frequencies_hz();
  std::vector<std::size_t> order(computed_hz.size());
  std::iota(order.begin(), order.end(), 0U);
  std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return computed_hz[a] < computed_hz[b]; });

  const bool is_spectra = plan.input == InputForm::kSpectra;
  const auto hop = is_spectra ? std::uint64_t{1} : static_cast<std::uint64_t>(front_end.hop_samples);
  const double wanted = is_spectra ? 1.0 : (1.0 - options.overlap) * front_end.window_samples;
  const auto step = static_cast<std::uint64_t>(std::max(1.0, std::round(wanted / static_cast<double>(hop))));
  CrossSpectraSums sums(order.size(), channels);
  Corrections corrections(engine->array_plan(), order);
  CrossSpectraResult result{.snapshots = 0, .frequencies = order.size(), .silent = {}, .incomplete = {}, .skipped = 0};
  std::vector<std::complex<float>> spectra(order.size() * channels);
  std::vector<std::complex<float>> corrected;
  for (std::uint64_t frame = 0; frame < frames; frame += step) {
    const FinishedBatch batch = recording->compute(frame * hop, 1, *engine);
    if (batch.statuses().front().missing_bits > 0) {
      ++result.skipped;
      continue;
    }
    engine->read_spectra(batch, 0, spectra);
    corrections.apply(spectra, corrected);
    sums.add(corrected);
    if (options.progress) {
      options.progress(static_cast<double>(frame + 1) / static_cast<double>(frames));
    }
  }
  if (sums.snapshots() == 0) {
    throw DataError(
        fmt::format("{}: expected at least one whole window without missing bits, found none", options.input.string()));
  }
  result.snapshots = sums.snapshots();
  result.silent = corrections.silent();
  result.incomplete = corrections.incomplete();

  CrossSpectraInfo info{.geometry = plan.settings.array.geometry,
                        .frequencies_hz = {},
                        .snapshots = result.snapshots,
                        .sample_rate_hz = is_spectra ? 1.0 : plan.sample_rate_hz,
                        .window_samples = is_spectra ? 1 : front_end.window_samples,
                        .step_samples = static_cast<std::int64_t>(step * hop)};
  for (const std::size_t f : order) {
    info.frequencies_hz.push_back(computed_hz[f]);
  }
  CrossSpectraWriter writer(output, info);
  for (std::size_t f = 0; f < order.size(); ++f) {
    writer.append(sums.matrix(f));
  }
  writer.finish();
  return result;
}

}  // namespace nearfield
