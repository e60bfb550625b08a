#include "pipeline/calibrate.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>
#include <set>

#include "nearfield/error.hpp"
#include "pipeline/recording.hpp"

namespace nearfield {
namespace {

using Complex = std::complex<double>;

constexpr std::uint64_t kFewestFrames = 4;
constexpr int kRounds = 30;
constexpr double kLowestCoherence = 0.9;
constexpr double kLargestError = 0.1;
constexpr double kSmallestResponse = 0.1;
constexpr std::size_t kFailedShare = 4;

/// Of one frequency.
struct Fit {
  std::vector<Complex> response;  ///< [channel], h
  std::vector<Complex> factor;    ///< [frame], a
};

double median(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

/// measured [frame][channel].
Fit fit_responses(const std::vector<std::vector<Complex>>& measured, const std::vector<Complex>& field) {
  Fit fit{.response = std::vector<Complex>(field.size(), 1.0), .factor = std::vector<Complex>(measured.size())};
  for (int round = 0; round < kRounds; ++round) {
    for (std::size_t t = 0; t < measured.size(); ++t) {
      Complex sum = 0.0;
      double power = 0.0;
      for (std::size_t i = 0; i < field.size(); ++i) {
        const Complex expected = fit.response[i] * field[i];
        sum += std::conj(expected) * measured[t][i];
        power += std::norm(expected);
      }
      fit.factor[t] = power > 0.0 ? sum / power : 0.0;
    }
    for (std::size_t i = 0; i < field.size(); ++i) {
      Complex sum = 0.0;
      double power = 0.0;
      for (std::size_t t = 0; t < measured.size(); ++t) {
        const Complex expected = fit.factor[t] * field[i];
        sum += std::conj(expected) * measured[t][i];
        power += std::norm(expected);
      }
      fit.response[i] = power > 0.0 ? sum / power : 0.0;
    }
  }
  // What h and a can exchange: the median magnitude is 1, the mean phase 0.
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
  for (std::size_t t = 0; t < measured.size(); ++t) {
    const Complex s = fit.factor[t] * field;
    all += std::norm(measured[t][channel]);
    expected += std::norm(s);
    cross += std::conj(s) * measured[t][channel];
    rest += std::norm(measured[t][channel] - fit.response[channel] * s);
  }
  const double infinite = std::numeric_limits<double>::infinity();
  const double magnitude = std::abs(fit.response[channel]);
  const double error = std::sqrt(rest / static_cast<double>(measured.size() - 1) / expected) / magnitude;
  return {.relative_error = std::isfinite(error) ? error : infinite,
          .coherence = all > 0.0 && expected > 0.0 ? std::norm(cross) / (all * expected) : 0.0};
}

/// What no calibration must depend on: an earlier one, microphones that are masked.
Settings bare(Settings settings) {
  settings.array.calibration_path.clear();
  settings.array.dead_channels.clear();
  settings.device.batch = 1;
  return settings;
}

/// Spectra of all windows that do not overlap, [frame][frequency][channel].
std::vector<std::vector<std::complex<float>>> read_frames(Recording& recording, Engine& engine) {
  const EnginePlan& plan = recording.plan();
  const bool is_spectra = plan.input == InputForm::kSpectra;
  const auto hop = is_spectra ? 1 : static_cast<std::uint64_t>(plan.settings.front_end.hop_samples);
  const auto window = is_spectra ? 1 : static_cast<std::uint64_t>(plan.settings.front_end.window_samples);
  const std::uint64_t step = (window + hop - 1) / hop;
  const std::size_t values =
      engine.frequencies_hz().size() * static_cast<std::size_t>(plan.settings.array.geometry.channels());
  std::vector<std::vector<std::complex<float>>> frames;
  for (std::uint64_t frame = 0; frame < count_frames(recording.info(), plan.settings.front_end); frame += step) {
    if (recording.compute(frame * hop, 1, engine).front().missing_bits == 0) {
      frames.emplace_back(values);
      engine.read_spectra(0, frames.back());
    }
  }
  if (frames.size() < kFewestFrames) {
    throw DataError(fmt::format("{}: expected at least {} whole windows that do not overlap, found {}",
                                recording.info().name, kFewestFrames, frames.size()));
  }
  return frames;
}

}  // namespace

std::vector<Complex> known_pressure(const KnownField& field, const ArrayGeometry& geometry, double standoff_m,
                                    double wavenumber_rad_per_m) {
  constexpr double kDegree = std::numbers::pi / 180.0;
  const double along_x = std::sin(field.azimuth_deg * kDegree);
  const double along_y = std::sin(field.elevation_deg * kDegree);
  std::vector<Complex> pressure;
  for (int channel = 0; channel < geometry.channels(); ++channel) {
    const int row = channel / geometry.columns;
    const double x_m = geometry.x_m(channel % geometry.columns);
    const double y_m = geometry.y_m(row);
    if (field.source) {
      const double r_m = std::hypot(x_m - field.source->x_m, y_m - field.source->y_m, standoff_m - field.source->z_m);
      pressure.push_back(std::polar(1.0 / r_m, -wavenumber_rad_per_m * r_m));
    } else {
      // From the side it comes from, the wave is ahead.
      pressure.push_back(std::polar(1.0, wavenumber_rad_per_m * (x_m * along_x + y_m * along_y)));
    }
  }
  return pressure;
}

CalibrationResult calibrate(const CalibrateOptions& options) {
  const std::unique_ptr<Recording> recording = open_recording(options.input, bare(options.settings));
  const EnginePlan& plan = recording->plan();
  const std::unique_ptr<Engine> engine = make_engine(options.engine, plan);
  const ArrayGeometry& geometry = plan.settings.array.geometry;
  const auto channels = static_cast<std::size_t>(geometry.channels());
  const auto frames = read_frames(*recording, *engine);

  // Files want ascending frequencies.
  std::vector<std::size_t> order(engine->frequencies_hz().size());
  for (std::size_t f = 0; f < order.size(); ++f) {
    order[f] = f;
  }
  std::sort(order.begin(), order.end(),
            [&](std::size_t a, std::size_t b) { return engine->frequencies_hz()[a] < engine->frequencies_hz()[b]; });
  CalibrationResult result;
  result.frames = frames.size();
  result.calibration.geometry = geometry;
  std::set<int> failed;
  for (const std::size_t f : order) {
    result.calibration.frequencies_hz.push_back(engine->frequencies_hz()[f]);
    const std::vector<Complex> field = known_pressure(options.field, geometry, plan.settings.holography.standoff_m,
                                                      engine->imager_plan().wavenumber(f));
    std::vector<std::vector<Complex>> measured(frames.size(), std::vector<Complex>(channels));
    for (std::size_t t = 0; t < frames.size(); ++t) {
      for (std::size_t i = 0; i < channels; ++i) {
        const Complex value = Complex(frames[t][f * channels + i]);
        measured[t][i] = std::isfinite(value.real()) && std::isfinite(value.imag()) ? value : 0.0;
      }
    }
    const Fit fit = fit_responses(measured, field);
    for (std::size_t i = 0; i < channels; ++i) {
      const ChannelQuality quality = quality_of(measured, fit, field[i], i);
      const bool is_good = quality.coherence >= kLowestCoherence && quality.relative_error <= kLargestError &&
                           std::abs(fit.response[i]) >= kSmallestResponse;
      const float none = std::numeric_limits<float>::quiet_NaN();
      result.calibration.gains.push_back(is_good ? std::complex<float>(1.0 / fit.response[i])
                                                 : std::complex<float>(none, none));
      result.calibration.relative_error.push_back(static_cast<float>(quality.relative_error));
      result.calibration.coherence.push_back(static_cast<float>(quality.coherence));
      result.quality.push_back(quality);
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
        options.input.string(), failed.size(), channels));
  }
  return result;
}

}  // namespace nearfield
