#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "core/error.hpp"
#include "encode/encode_parts.hpp"

namespace nearfield {
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

}  // namespace

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

}  // namespace nearfield
