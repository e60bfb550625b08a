#include "pipeline/calibration/calibrate.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>
#include <numeric>
#include <set>

#include "core/error.hpp"

namespace nearfield {
namespace {

using Complex = std::complex<double>;

constexpr int kRounds = 30;
constexpr double kSmallestResponse = 0.1;
constexpr std::size_t kFailedShare = 4;

/// Fit at one frequency.
struct Fit {
  std::vector<Complex> response;  ///< [channel], h
  std::vector<Complex> factor;    ///< [frame], a
};

/// Factor that turns `expected` into `measured`, both functions of an index, where `measured` is finite.
template <class Expected, class Measured>
Complex least_squares(std::size_t count, const Expected& expected, const Measured& measured) {
  Complex sum = 0.0;
  double power = 0.0;
  for (std::size_t i = 0; i < count; ++i) {
    const Complex wanted = expected(i);
    const Complex found = measured(i);
    if (is_finite(found)) {
      sum += std::conj(wanted) * found;
      power += std::norm(wanted);
    }
  }
  return power > 0.0 ? sum / power : 0.0;
}

/// measured [frame][channel].
Fit fit_responses(const std::vector<std::vector<Complex>>& measured, const std::vector<Complex>& field) {
  Fit fit{.response = std::vector<Complex>(field.size(), 1.0), .factor = std::vector<Complex>(measured.size())};
  for (int round = 0; round < kRounds; ++round) {
    for (std::size_t t = 0; t < measured.size(); ++t) {
      fit.factor[t] = least_squares(
          field.size(), [&](std::size_t i) { return fit.response[i] * field[i]; },
          [&](std::size_t i) { return measured[t][i]; });
    }
    for (std::size_t i = 0; i < field.size(); ++i) {
      fit.response[i] = least_squares(
          measured.size(), [&](std::size_t t) { return fit.factor[t] * field[i]; },
          [&](std::size_t t) { return measured[t][i]; });
    }
  }
  // Fix the factor that h and a can exchange: the median magnitude is 1, the mean phase 0.
  std::vector<double> magnitudes;
  Complex direction = 0.0;
  for (const Complex h : fit.response) {
    magnitudes.push_back(std::abs(h));
    direction += std::abs(h) > 0.0 ? h / std::abs(h) : 0.0;
  }
  const Complex common = std::polar(median(magnitudes), std::arg(direction));
  for (Complex& h : fit.response) {
    h = std::abs(common) > 0.0 ? h / common : 0.0;
  }
  for (Complex& a : fit.factor) {
    a *= common;
  }
  return fit;
}

ChannelQuality quality_of(const std::vector<std::vector<Complex>>& measured, const Fit& fit, Complex field,
                          std::size_t channel) {
  double all = 0.0;
  double expected = 0.0;
  double rest = 0.0;
  Complex cross = 0.0;
  std::size_t frames = 0;
  for (std::size_t t = 0; t < measured.size(); ++t) {
    if (!is_finite(measured[t][channel])) {
      continue;
    }
    ++frames;
    const Complex s = fit.factor[t] * field;
    all += std::norm(measured[t][channel]);
    expected += std::norm(s);
    cross += std::conj(s) * measured[t][channel];
    rest += std::norm(measured[t][channel] - fit.response[channel] * s);
  }
  const double infinite = std::numeric_limits<double>::infinity();
  const double magnitude = std::abs(fit.response[channel]);
  if (frames < kFewestCalibrationFrames) {
    return {.relative_error = infinite, .coherence = 0.0};
  }
  const double error = std::sqrt(rest / static_cast<double>(frames - 1) / expected) / magnitude;
  return {.relative_error = std::isfinite(error) ? error : infinite,
          .coherence = all > 0.0 && expected > 0.0 ? std::norm(cross) / (all * expected) : 0.0};
}

/// Removes settings that a calibration must not depend on: an earlier calibration, masked microphones.
Settings bare(Settings settings) {
  settings.array.calibration_path.clear();
  settings.array.dead_channels.clear();
  settings.device.batch = 1;
  return settings;
}

/// Appends the spectra of whole, non-overlapping windows; the engine's frequencies are taken in `order`. Returns the
/// number of windows.
std::size_t append_frames(Recording& recording, Engine& engine, const std::vector<std::size_t>& order,
                          CalibrationFrames& result) {
  const EnginePlan& plan = recording.plan();
  const bool is_spectra = plan.input == InputForm::kSpectra;
  const auto hop = is_spectra ? 1 : static_cast<std::uint64_t>(plan.settings.front_end.hop_samples);
  const auto window = is_spectra ? 1 : static_cast<std::uint64_t>(plan.settings.front_end.window_samples);
  const std::uint64_t step = (window + hop - 1) / hop;
  const auto channels = static_cast<std::size_t>(plan.settings.array.geometry.channels());
  std::vector<std::complex<float>> spectra(order.size() * channels);
  std::size_t appended = 0;
  for (std::uint64_t frame = 0; frame < count_frames(recording.info(), plan.settings.front_end); frame += step) {
    const FinishedBatch batch = recording.compute(frame * hop, 1, engine);
    if (batch.statuses().front().missing_bits > 0) {
      continue;
    }
    engine.read_spectra(batch, 0, spectra);
    std::vector<bool> lacks_value(channels, false);
    for (std::size_t f = 0; f < order.size(); ++f) {
      std::vector<Complex>& values = result.measured[f].emplace_back();
      for (std::size_t i = 0; i < channels; ++i) {
        values.emplace_back(spectra[order[f] * channels + i]);
        lacks_value[i] = lacks_value[i] || !is_finite(values.back());
      }
    }
    for (std::size_t i = 0; i < channels; ++i) {
      result.left_out[i] += lacks_value[i] ? 1U : 0U;
    }
    ++appended;
  }
  return appended;
}

/// Indices that sort the frequencies in ascending order, as in files.
std::vector<std::size_t> ascending(const std::vector<double>& frequencies_hz) {
  std::vector<std::size_t> order(frequencies_hz.size());
  std::iota(order.begin(), order.end(), 0U);
  std::sort(order.begin(), order.end(),
            [&](std::size_t a, std::size_t b) { return frequencies_hz[a] < frequencies_hz[b]; });
  return order;
}

bool is_same_array(const ArrayGeometry& a, const ArrayGeometry& b) {
  return a.in_channel_order() == b.in_channel_order();
}

/// Names of the inputs for messages.
std::string names_of(const std::vector<std::filesystem::path>& inputs) {
  return inputs.size() == 1 ? inputs.front().string()
                            : fmt::format("{} and {} more", inputs.front().string(), inputs.size() - 1);
}

}  // namespace

double median(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

std::vector<Complex> known_pressure(const KnownField& field, const ArrayGeometry& geometry, double standoff_m,
                                    double wavenumber_rad_per_m) {
  constexpr double kDegree = std::numbers::pi / 180.0;
  const double along_x = std::sin(field.azimuth_deg * kDegree);
  const double along_y = std::sin(field.elevation_deg * kDegree);
  const double along_z = std::sqrt(std::max(1.0 - along_x * along_x - along_y * along_y, 0.0));
  std::vector<Complex> pressure;
  for (int channel = 0; channel < geometry.channels(); ++channel) {
    const auto [x_m, y_m, z_m] = geometry.position_m(channel);
    if (field.source) {
      const double r_m =
          std::hypot(x_m - field.source->x_m, y_m - field.source->y_m, standoff_m + z_m - field.source->z_m);
      pressure.push_back(std::polar(1.0 / r_m, -wavenumber_rad_per_m * r_m));
    } else {
      // The wave is ahead on the side that it comes from.
      const double ahead_m = x_m * along_x + y_m * along_y - z_m * along_z;
      pressure.push_back(std::polar(1.0, wavenumber_rad_per_m * ahead_m));
    }
  }
  return pressure;
}

CalibrationFrames read_calibration_frames(const CalibrateOptions& options) {
  CalibrationFrames result;
  for (std::size_t input = 0; input < options.inputs.size(); ++input) {
    const std::unique_ptr<Recording> recording = open_recording(options.inputs[input], bare(options.settings));
    EnginePlan plan = recording->plan();
    plan.has_processor = false;
    const std::unique_ptr<Engine> engine = make_engine(options.engine, plan);
    const std::vector<std::size_t> order = ascending(engine->frequencies_hz());
    std::vector<double> frequencies_hz;
    std::vector<double> wavenumbers_rad_per_m;
    for (const std::size_t f : order) {
      frequencies_hz.push_back(engine->frequencies_hz()[f]);
      wavenumbers_rad_per_m.push_back(engine->array_plan().wavenumber(f));
    }
    if (input == 0) {
      result.plan = recording->plan();
      result.frequencies_hz = frequencies_hz;
      result.wavenumbers_rad_per_m = wavenumbers_rad_per_m;
      result.measured.resize(frequencies_hz.size());
      result.left_out.resize(static_cast<std::size_t>(result.plan.settings.array.geometry.channels()), 0);
    }
    if (frequencies_hz != result.frequencies_hz ||
        !is_same_array(recording->plan().settings.array.geometry, result.plan.settings.array.geometry)) {
      throw DataError(fmt::format("{}: expected the array and the frequencies of {}", options.inputs[input].string(),
                                  options.inputs.front().string()));
    }
    const std::size_t frames = append_frames(*recording, *engine, order, result);
    result.inputs.insert(result.inputs.end(), frames, input);
  }
  if (result.frames() < kFewestCalibrationFrames) {
    throw DataError(fmt::format("{}: expected at least {} whole windows that do not overlap, found {}",
                                names_of(options.inputs), kFewestCalibrationFrames, result.frames()));
  }
  return result;
}

std::vector<std::string> remarks_on_left_out(const std::vector<std::size_t>& left_out, std::size_t frames) {
  std::vector<std::string> remarks;
  for (std::size_t i = 0; i < left_out.size(); ++i) {
    if (left_out[i] > 0 && left_out[i] < frames) {
      remarks.push_back(fmt::format("microphone {}: {} of {} windows hold values that are not finite and are left out",
                                    i, left_out[i], frames));
    }
  }
  return remarks;
}

void add_channel(CalibrationResult& result, Complex gain, const ChannelQuality& quality, bool is_good) {
  const float none = std::numeric_limits<float>::quiet_NaN();
  Calibration& calibration = result.calibration;
  calibration.gains.push_back(is_good ? std::complex<float>(gain) : std::complex<float>(none, none));
  calibration.relative_error.push_back(static_cast<float>(quality.relative_error));
  calibration.coherence.push_back(static_cast<float>(quality.coherence));
  result.quality.push_back(quality);
  result.largest_error = is_good ? std::max(result.largest_error, quality.relative_error) : result.largest_error;
}

CalibrationResult calibrate(const CalibrateOptions& options) {
  if (options.calibrator) {
    return calibrate_by_calibrator(options);
  }
  const CalibrationFrames frames = read_calibration_frames(options);
  const ArrayGeometry& geometry = frames.plan.settings.array.geometry;
  const auto channels = static_cast<std::size_t>(geometry.channels());
  CalibrationResult result;
  result.frames = frames.frames();
  result.remarks = remarks_on_left_out(frames.left_out, frames.frames());
  result.calibration.geometry = geometry;
  result.calibration.frequencies_hz = frames.frequencies_hz;
  std::set<int> failed;
  for (std::size_t f = 0; f < frames.frequencies_hz.size(); ++f) {
    const std::vector<Complex> field = known_pressure(
        options.field, geometry, frames.plan.settings.holography.standoff_m, frames.wavenumbers_rad_per_m[f]);
    const Fit fit = fit_responses(frames.measured[f], field);
    for (std::size_t i = 0; i < channels; ++i) {
      const ChannelQuality quality = quality_of(frames.measured[f], fit, field[i], i);
      const bool is_good = quality.coherence >= kLowestCoherence && quality.relative_error <= kLargestError &&
                           std::abs(fit.response[i]) >= kSmallestResponse && std::abs(fit.response[i]) <= kLargestGain;
      add_channel(result, 1.0 / fit.response[i], quality, is_good);
      if (!is_good) {
        failed.insert(static_cast<int>(i));
      }
    }
  }
  result.failed.assign(failed.begin(), failed.end());
  if (failed.size() * kFailedShare > channels) {
    throw DataError(fmt::format(
        "{}: {} of {} microphones do not follow the field that was given; expected at most a quarter. Is the source "
        "where it was said to be, and loud enough at every frequency?",
        names_of(options.inputs), failed.size(), channels));
  }
  return result;
}

}  // namespace nearfield
