#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

#include "config/schema/front_end_kinds.hpp"
#include "core/error.hpp"
#include "engine/calibration_gains.hpp"
#include "files/files.hpp"
#include "pipeline/calibration/calibrate.hpp"

namespace nearfield {
namespace {

/// 10 dB in power: least excess of the microphone under the calibrator over all others.
constexpr double kLouder = 10.0;
/// 1 dB: excludes windows in which a calibrator is being put on or taken off.
constexpr double kSteady = 1.122;
/// Channel that is louder than all others at every frequency; none if there is no such channel.
std::optional<std::size_t> driven(const CalibrationFrames& frames, std::size_t frame) {
  std::optional<std::size_t> found;
  for (const auto& measured : frames.measured) {
    std::size_t loudest = 0;
    double most = 0.0;
    double second = 0.0;
    for (std::size_t i = 0; i < measured[frame].size(); ++i) {
      const double power = std::norm(measured[frame][i]);
      if (power > most) {
        second = most;
        most = power;
        loudest = i;
      } else {
        second = std::max(second, power);
      }
    }
    if (!(most > kLouder * second) || (found && *found != loudest)) {
      return std::nullopt;
    }
    found = loudest;
  }
  return found;
}

/// [channel], frames in which the calibrator is over it.
std::vector<std::vector<std::size_t>> frames_of_channels(const CalibrationFrames& frames,
                                                         const std::vector<int>& channels) {
  std::vector<std::vector<std::size_t>> of_channels(frames.measured.front().front().size());
  for (std::size_t t = 0; t < frames.frames(); ++t) {
    const auto over =
        channels.empty() ? driven(frames, t) : std::optional(static_cast<std::size_t>(channels[frames.inputs[t]]));
    if (over) {
      of_channels[*over].push_back(t);
    }
  }
  return of_channels;
}

struct Level {
  double magnitude = 0.0;  ///< magnitude of the phasor, Pa
  ChannelQuality quality{.relative_error = std::numeric_limits<double>::infinity(), .coherence = 0.0};
};

/// Level of one channel in some frames of measured [frame][channel]; quality() rates it.
Level level_of(const std::vector<std::vector<std::complex<double>>>& measured, const std::vector<std::size_t>& frames,
               std::size_t channel) {
  std::vector<double> magnitudes;
  for (const std::size_t t : frames) {
    if (is_finite(measured[t][channel])) {
      magnitudes.push_back(std::abs(measured[t][channel]));
    }
  }
  const auto finite = static_cast<double>(magnitudes.size());
  if (magnitudes.size() < kFewestCalibrationFrames) {
    return {};
  }
  const double middle = median(magnitudes);
  std::erase_if(magnitudes, [middle](double value) { return value > middle * kSteady || value * kSteady < middle; });
  const auto count = static_cast<double>(magnitudes.size());
  if (magnitudes.size() < kFewestCalibrationFrames || middle <= 0.0) {
    return {};
  }
  double sum = 0.0;
  double squares = 0.0;
  for (const double value : magnitudes) {
    sum += value;
    squares += value * value;
  }
  const double mean = sum / count;
  const double variance = std::max(0.0, squares / count - mean * mean) * count / (count - 1.0);
  // Windows left out lower the coherence as much as scattered ones.
  const double steady = count / finite;
  return {.magnitude = median(magnitudes),  // robust to windows in which it is put on or taken off
          .quality = {.relative_error = std::sqrt(variance / count) / mean,
                      .coherence = steady > 0.5 ? mean * mean / (squares / count) : steady}};
}

bool is_steady(const Level& level) {
  return level.quality.coherence >= kLowestCoherence && level.quality.relative_error <= kLargestError;
}

bool is_possible(double gain) { return gain >= 1.0 / kLargestGain && gain <= kLargestGain; }

std::string remark_on_gain(std::size_t channel, double frequency_hz, double gain) {
  return fmt::format(
      "microphone {}: a gain of {:.4g} ({:.1f} dB) at {:.6g} Hz is beyond 40 dB and is left out: is the sensitivity or "
      "the unit wrong (array.sensitivity_dbfs, array.pascal_per_unit)?",
      channel, gain, 20.0 * std::log10(gain), frequency_hz);
}

/// Gains at the calibrator's frequencies, [frequency][channel].
CalibrationResult measured_gains(const CalibrationFrames& frames, const Calibrator& calibrator) {
  const auto of_channels = frames_of_channels(frames, calibrator.channels);
  const double peak_pa = calibrator.pressure_pa * std::numbers::sqrt2;
  CalibrationResult result;
  result.frames = frames.frames();
  result.remarks = remarks_on_left_out(frames.left_out, frames.frames());
  result.calibration.geometry = frames.plan.settings.array.geometry;
  result.calibration.frequencies_hz = frames.frequencies_hz;
  std::vector<std::uint8_t> has_all(of_channels.size(), 1);
  for (std::size_t f = 0; f < frames.measured.size(); ++f) {
    for (std::size_t i = 0; i < of_channels.size(); ++i) {
      const Level level = level_of(frames.measured[f], of_channels[i], i);
      const double gain = peak_pa / level.magnitude;
      const bool has_gain = is_steady(level) && is_possible(gain);
      if (is_steady(level) && !has_gain) {
        result.remarks.push_back(remark_on_gain(i, frames.frequencies_hz[f], gain));
      }
      add_channel(result, gain, level.quality, has_gain);
      has_all[i] = static_cast<std::uint8_t>(has_all[i] != 0 && has_gain);
    }
  }
  for (std::size_t i = 0; i < has_all.size(); ++i) {
    if (has_all[i] == 0) {
      result.failed.push_back(static_cast<int>(i));
    }
  }
  result.reached = has_all.size() - result.failed.size();
  return result;
}

/// Scales the earlier calibration to the measured levels: one scale per microphone, the geometric mean over the
/// calibrator's frequencies.
void scale_start(CalibrationResult& found, const CalibrationFrames& frames, const Calibrator& calibrator) {
  ArraySettings array = frames.plan.settings.array;
  array.calibration_path = calibrator.start.string();
  const std::vector<std::complex<float>> before =
      calibration_gains(array, frames.frequencies_hz, array_files_on_disk().get());
  const auto channels = static_cast<std::size_t>(array.geometry.channels());
  std::vector<double> scales(channels, std::numeric_limits<double>::quiet_NaN());
  std::vector<double> known;
  for (std::size_t i = 0; i < channels; ++i) {
    double exponent = 0.0;
    for (std::size_t f = 0; f < frames.frequencies_hz.size(); ++f) {
      const double gain = std::abs(std::complex<double>(found.calibration.gains[f * channels + i]));
      exponent += std::log(gain / std::abs(std::complex<double>(before[f * channels + i])));
    }
    scales[i] = std::exp(exponent / static_cast<double>(frames.frequencies_hz.size()));
    if (std::isfinite(scales[i])) {
      known.push_back(scales[i]);
    }
  }
  if (known.empty()) {
    throw DataError(
        fmt::format("{}: has no gain for any microphone that the calibrator reached", calibrator.start.string()));
  }
  const double common = median(known);
  Calibration scaled = read_calibration(calibrator.start);
  found.failed.clear();
  for (std::size_t i = 0; i < channels; ++i) {
    bool has_gain = true;
    for (std::size_t f = 0; f < scaled.frequencies_hz.size(); ++f) {
      std::complex<float>& gain = scaled.gains[f * channels + i];
      gain *= static_cast<float>(std::isfinite(scales[i]) ? scales[i] : common);
      const double magnitude = std::abs(std::complex<double>(gain));
      if (std::isfinite(magnitude) && !is_possible(magnitude)) {
        found.remarks.push_back(remark_on_gain(i, scaled.frequencies_hz[f], magnitude));
      }
      if (!is_possible(magnitude)) {
        gain = {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::quiet_NaN()};
        has_gain = false;
      }
    }
    if (!has_gain) {
      found.failed.push_back(static_cast<int>(i));
    }
  }
  found.calibration = std::move(scaled);
}

}  // namespace

CalibrationResult calibrate_by_calibrator(const CalibrateOptions& options) {
  const Calibrator& calibrator = *options.calibrator;
  if (!calibrator.channels.empty() && calibrator.channels.size() != options.inputs.size()) {
    throw UsageError(fmt::format("calibrator: expected a microphone for each of {} recordings, found {}",
                                 options.inputs.size(), calibrator.channels.size()));
  }
  CalibrateOptions exact = options;
  FrontEndSettings& front_end = exact.settings.front_end;
  if (!exact.settings.explicit_keys.contains("front_end.kind")) {  // a calibrator's tone lies between bins
    front_end.kind = schema::front_end_of_any_frequency(front_end).name;
  }
  const CalibrationFrames frames = read_calibration_frames(exact);
  const int microphones = frames.plan.settings.array.geometry.channels();
  for (const int channel : calibrator.channels) {
    if (channel < 0 || channel >= microphones) {
      throw UsageError(
          fmt::format("calibrator: expected microphones from 0 to {}, found {}", microphones - 1, channel));
    }
  }
  CalibrationResult result = measured_gains(frames, calibrator);
  if (result.reached == 0) {
    throw DataError(fmt::format(
        "{}: no microphone has the steady tone of a calibrator at every frequency, in at least {} windows{}{}",
        options.inputs.front().string(), kFewestCalibrationFrames,
        calibrator.channels.empty() ? " in which it is 10 dB louder than all others" : "",
        result.remarks.empty() ? "" : "; " + result.remarks.back()));
  }
  if (!calibrator.start.empty()) {
    scale_start(result, frames, calibrator);
  }
  return result;
}

}  // namespace nearfield
