#include "pipeline/microphones/microphone_statistics.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <complex>
#include <limits>
#include <numbers>
#include <unsupported/Eigen/FFT>

#include "core/band.hpp"
#include "frontend/samples/decimator.hpp"
#include "pipeline/microphones/signal_input.hpp"

namespace nearfield {
namespace {

constexpr std::uint64_t kMostValuesOfBits = std::uint64_t{1} << 23U;
constexpr std::uint64_t kMostValuesOfSamples = std::uint64_t{1} << 25U;
constexpr std::uint64_t kMostPieces = 16;
/// Bins are at most this far apart where a piece is long enough.
constexpr double kBin_hz = 12.5;
constexpr std::uint64_t kFewestWindowSamples = 64;
/// Share of the rate up to which the decimator's response can be undone: -0.2 dB there.
constexpr double kBandwidthOfBits = 0.4;
constexpr double kHuge_pa = 1000.0;
constexpr double kReference_pa = 20e-6;

/// Power spectra of all channels, summed over Hann windows that follow each other within each piece that is read.
class SpectraOfSignals {
 public:
  SpectraOfSignals(int channels, std::uint64_t window)
      : channels_(static_cast<std::size_t>(channels)),
        window_(window),
        pending_(window * channels_),
        counts_(channels_),
        powers_(channels_ * (window / 2 + 1)) {
    for (std::size_t n = 0; n < window_; ++n) {
      const double turns = static_cast<double>(n) / static_cast<double>(window_);
      taper_.push_back(0.5 - 0.5 * std::cos(2.0 * std::numbers::pi * turns));
    }
  }
  void add(std::uint64_t first, std::span<const float> values) {
    filled_ = first == next_ ? filled_ : 0;
    next_ = first + values.size() / channels_;
    for (std::size_t at = 0; at < values.size(); at += channels_) {
      for (std::size_t channel = 0; channel < channels_; ++channel) {
        pending_[channel * window_ + filled_] = values[at + channel];
      }
      if (++filled_ == window_) {
        filled_ = 0;
        transform();
      }
    }
  }
  /// Mean square of each bin; empty where no window of the channel was finite.
  [[nodiscard]] std::vector<double> mean_squares(std::size_t channel) const {
    if (counts_[channel] == 0) {
      return {};
    }
    const auto first = powers_.begin() + static_cast<std::ptrdiff_t>(channel * (window_ / 2 + 1));
    std::vector<double> bins(first, first + static_cast<std::ptrdiff_t>(window_ / 2 + 1));
    // Parseval: the mean of the squared taper is 3/8; bins at negative frequencies count too.
    const auto length = static_cast<double>(window_);
    const double scale = 2.0 / (length * length * 0.375 * static_cast<double>(counts_[channel]));
    for (double& bin : bins) {
      bin *= scale;
    }
    return bins;
  }

 private:
  void transform() {
    for (std::size_t channel = 0; channel < channels_; ++channel) {
      const std::span<const float> signal = std::span(pending_).subspan(channel * window_, window_);
      double weighted = 0.0;
      for (std::size_t n = 0; n < window_; ++n) {
        weighted += taper_[n] * static_cast<double>(signal[n]);
      }
      if (!std::isfinite(weighted)) {
        continue;
      }
      const double offset = weighted / (0.5 * static_cast<double>(window_));
      tapered_.resize(window_);
      for (std::size_t n = 0; n < window_; ++n) {
        tapered_[n] = taper_[n] * (static_cast<double>(signal[n]) - offset);
      }
      fft_.fwd(spectrum_, tapered_);
      ++counts_[channel];
      for (std::size_t bin = 0; bin <= window_ / 2; ++bin) {
        powers_[channel * (window_ / 2 + 1) + bin] += std::norm(spectrum_[bin]);
      }
    }
  }

  std::size_t channels_;
  std::size_t window_;
  std::vector<double> taper_;
  std::vector<float> pending_;         ///< [channel][sample]
  std::vector<std::uint64_t> counts_;  ///< [channel] of windows
  std::vector<double> powers_;         ///< [channel][bin]
  std::uint64_t next_ = 0;
  std::size_t filled_ = 0;
  std::vector<double> tapered_;
  std::vector<std::complex<double>> spectrum_;
  Eigen::FFT<double> fft_;
};

/// Scales of the spectra of a recording.
struct SpectrumScale {
  double bin_hz = 0.0;
  double highest_hz = 0.0;
  std::vector<double> gains;  ///< [bin] power of the decimator's response; empty for samples
  std::vector<int> centres;   ///< number of each third octave
  std::vector<std::vector<BinShare>> bands;
};

SpectrumScale scale_of(const SignalInput& input, std::uint64_t window) {
  const double rate_hz = input.sample_rate_hz;
  SpectrumScale scale{.bin_hz = rate_hz / static_cast<double>(window),
                      .highest_hz = (input.is_bits ? kBandwidthOfBits : 0.5) * rate_hz,
                      .gains = {},
                      .centres = {},
                      .bands = {}};
  if (input.is_bits) {
    const DecimatorDesign design = design_decimator();
    for (double at_hz = 0.0; at_hz <= scale.highest_hz; at_hz += scale.bin_hz) {
      scale.gains.push_back(std::norm(design.response(at_hz, rate_hz * kBitsPerWord)));
    }
  }
  FrontEndSettings front_end;
  front_end.window_samples = static_cast<int>(window);
  constexpr int kLowest = -60;  // 1 mHz
  constexpr int kHighest = 60;  // 1 GHz
  for (int number = kLowest; number <= kHighest; ++number) {
    const Band band = octave_band(OctavePart::kThird, nominal_centre_hz(number));
    if (band.high_hz - band.low_hz >= scale.bin_hz && band.high_hz <= scale.highest_hz) {
      scale.centres.push_back(number);
      scale.bands.push_back(bin_shares(band, front_end, rate_hz));
    }
  }
  return scale;
}

/// Adds the loudest line and the third octaves of a spectrum of mean squares.
void add_spectrum(MicrophoneStatistic& statistic, std::vector<double> bins, const SpectrumScale& scale) {
  constexpr std::size_t kMainLobe = 2;  // a Hann window's, to either side
  const auto end = std::min(bins.size() - kMainLobe, static_cast<std::size_t>(scale.highest_hz / scale.bin_hz));
  for (std::size_t bin = 0; bin < scale.gains.size(); ++bin) {
    bins[bin] /= scale.gains[bin];
  }
  const auto loudest = std::max_element(bins.begin() + kMainLobe, bins.begin() + static_cast<std::ptrdiff_t>(end));
  const auto at = static_cast<std::size_t>(loudest - bins.begin());
  if (*loudest > 0.0) {
    const bool is_above = bins[at + 1] > bins[at - 1];
    const double ratio = std::sqrt(std::max(bins[at + 1], bins[at - 1]) / *loudest);
    const double shift = (2.0 * ratio - 1.0) / (1.0 + ratio);  // exact for a line between two bins
    statistic.line_hz = (static_cast<double>(at) + (is_above ? shift : -shift)) * scale.bin_hz;
    statistic.line_rms = std::sqrt(bins[at - 2] + bins[at - 1] + *loudest + bins[at + 1] + bins[at + 2]);
  }
  for (const std::vector<BinShare>& band : scale.bands) {
    double sum = 0.0;
    for (const BinShare& share : band) {
      sum += share.share * bins[share.bin];
    }
    statistic.bands_rms.push_back(std::sqrt(sum));
  }
}

std::vector<SignalRemark> remarks_on(const MicrophoneStatistic& statistic, const SignalInput& input,
                                     double median_rms) {
  constexpr double kOffsetToRms = 10.0;
  constexpr double kOffsetToFullScale = 0.1;
  const ChannelLevel& level = statistic.level;
  std::vector<SignalRemark> remarks;
  const auto add = [&](SignalRemark remark, bool is_true) {
    if (is_true) {
      remarks.push_back(remark);
    }
  };
  add(SignalRemark::kNotFinite, level.non_finite > 0);
  if (level.non_finite == level.samples) {
    return remarks;
  }
  add(SignalRemark::kSilent, level.peak == 0.0);
  add(SignalRemark::kConstant, level.rms == 0.0 && level.peak > 0.0);
  add(SignalRemark::kHuge, input.unit == SignalUnit::kPascal && level.peak > kHuge_pa);
  if (level.rms == 0.0) {
    return remarks;
  }
  const double offset = std::abs(level.mean);
  const double full_scale = input.channels.full_scale.value_or(std::numeric_limits<double>::infinity());
  add(SignalRemark::kOverloaded, statistic.overloaded > 0);
  add(SignalRemark::kOffset, offset > kOffsetToRms * level.rms || offset > kOffsetToFullScale * full_scale);
  const double above_db = 20.0 * std::log10(level.rms / median_rms);
  add(SignalRemark::kLoud, above_db > kOutlier_db);
  add(SignalRemark::kSoft, above_db < -kOutlier_db);
  return remarks;
}

/// Median rms of the microphones with a signal; 0 where there is none.
double median_of_signals(const std::vector<MicrophoneStatistic>& microphones) {
  std::vector<double> rms;
  for (const MicrophoneStatistic& one : microphones) {
    if (one.level.rms > 0.0) {
      rms.push_back(one.level.rms);
    }
  }
  std::sort(rms.begin(), rms.end());
  return rms.empty() ? 0.0 : rms[rms.size() / 2];
}

}  // namespace

int MicrophoneStatistics::microphone(std::size_t index) const {
  const bool is_placed =
      !is_bits && geometry && geometry->placement && index < geometry->placement->channel_of_input.size();
  return is_placed ? geometry->placement->channel_of_input[index] : static_cast<int>(index);
}

double MicrophoneStatistics::level_db(double rms) const {
  return 20.0 * std::log10(rms / (unit == SignalUnit::kPascal ? kReference_pa : 1.0));
}

double nominal_centre_hz(int number) {
  constexpr std::array kDigits = {1.0, 1.25, 1.6, 2.0, 2.5, 3.15, 4.0, 5.0, 6.3, 8.0};
  constexpr int kPerDecade = static_cast<int>(kDigits.size());
  const int decade = (number + 100 * kPerDecade) / kPerDecade - 100;
  return 1000.0 * std::pow(10.0, decade) * kDigits.at(static_cast<std::size_t>(number - decade * kPerDecade));
}

std::optional<MicrophoneStatistics> statistics_of_file(const std::filesystem::path& path, const Settings& settings) {
  const SignalInput input = open_signals(path, settings);
  const auto channels = static_cast<std::uint64_t>(input.channels.channels);
  if (channels == 0 || input.channels.samples == 0) {
    return std::nullopt;
  }
  const std::uint64_t most_values = input.is_bits ? kMostValuesOfBits : kMostValuesOfSamples;
  const std::uint64_t examined = std::min(input.channels.samples, std::max<std::uint64_t>(1, most_values / channels));
  std::uint64_t window = std::bit_ceil(static_cast<std::uint64_t>(std::ceil(input.sample_rate_hz / kBin_hz)));
  window = std::clamp(std::bit_floor(examined), kFewestWindowSamples, std::max(window, kFewestWindowSamples));
  const std::uint64_t pieces = std::clamp<std::uint64_t>(examined / window, 1, kMostPieces);

  std::optional<SpectraOfSignals> spectra;
  if (window <= examined) {
    spectra.emplace(input.channels.channels, window);
  }
  SampledChannels tapped = input.channels;
  tapped.read = [&](std::uint64_t first, std::span<float> values) {
    input.channels.read(first, values);
    if (spectra) {
      spectra->add(first, values);
    }
  };
  const SampleLevels levels = levels_of(tapped, most_values, pieces);

  const SpectrumScale scale = scale_of(input, window);
  MicrophoneStatistics result{.unit = input.unit,
                              .is_bits = input.is_bits,
                              .is_whole = levels.is_whole,
                              .pieces = levels.is_whole ? 1 : pieces,
                              .examined_s = static_cast<double>(levels.samples) / input.sample_rate_hz,
                              .recorded_s = static_cast<double>(input.channels.samples) / input.sample_rate_hz,
                              .missing = input.missing(),
                              .bin_hz = scale.bin_hz,
                              .centres = scale.centres,
                              .geometry = input.geometry,
                              .microphones = {}};
  for (std::size_t channel = 0; channel < channels; ++channel) {
    MicrophoneStatistic statistic;
    statistic.level = levels.channels[channel];
    statistic.level.samples -= result.missing;
    statistic.level.non_finite -= result.missing;
    if (statistic.level.rms > 0.0) {
      statistic.overloaded = std::max(statistic.level.at_limit, statistic.level.clipped);
      if (std::vector<double> bins = spectra ? spectra->mean_squares(channel) : std::vector<double>(); !bins.empty()) {
        add_spectrum(statistic, std::move(bins), scale);
      }
    }
    result.microphones.push_back(std::move(statistic));
  }
  result.median_rms = median_of_signals(result.microphones);
  for (MicrophoneStatistic& one : result.microphones) {
    one.remarks = remarks_on(one, input, result.median_rms);
  }
  return result;
}

}  // namespace nearfield
