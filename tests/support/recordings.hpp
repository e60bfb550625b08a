#pragma once
#include <cmath>
#include <cstdint>
#include <numbers>
#include <random>
#include <string>
#include <vector>

#include "files/files.hpp"
#include "support/fields.hpp"

/// Small recordings of every kind, for tests of the commands.
namespace nearfield::test {

inline ArrayGeometry small_array() { return {.rows = 8, .columns = 8, .pitch_x_m = 0.02, .pitch_y_m = 0.02}; }

/// The same as options, for time data, which do not carry it; at a standoff of 3 cm.
inline const std::string kSmallArrayOptions =
    " --set array.rows=8 --set array.columns=8 --set array.pitch_x_m=0.02 --set array.pitch_y_m=0.02 "
    "--set holography.standoff_m=0.03 ";

/// 8 x 8 microphones of random bits.
inline void write_random_capture(const std::string& path, std::uint64_t bit_times, unsigned seed = 1U,
                                 std::span<const MissingRun> missing = {}) {
  CaptureInfo info;
  info.measurement = {.geometry = small_array(), .standoff_m = 0.03, .sensitivity_dbfs = -26.0};
  info.layout = WireLayout::kRowMajor;
  info.start_time_ns = 1'700'000'000'000'000'000;
  info.words_per_bit_time = words_per_bit_time(info.layout, info.measurement.geometry);
  std::mt19937 generator(seed);
  std::vector<std::uint32_t> words(bit_times * static_cast<std::uint64_t>(info.words_per_bit_time));
  for (std::uint32_t& word : words) {
    word = static_cast<std::uint32_t>(generator());
  }
  CaptureWriter writer(path, info);
  writer.append(words);
  writer.write_missing(missing);
  writer.finish();
}

/// Bits of a tone whose level changes by more and by less than 6 dB, and of noise; 8 x 8 microphones.
inline std::vector<std::uint32_t> unsteady_bits(std::uint64_t bit_times, std::uint64_t hop_bits) {
  std::mt19937 generator(9U);
  std::uniform_real_distribution<double> threshold(-1.0, 1.0);
  std::vector<std::uint32_t> words(2 * bit_times);
  for (std::uint64_t t = 0; t < bit_times; ++t) {
    const double hops = static_cast<double>(t) / static_cast<double>(hop_bits);
    const double level = 0.12 * std::exp(1.3 * std::sin(0.17 * hops) + 0.4 * std::sin(0.9 * hops));
    const double turns = static_cast<double>(t) * 1464.84375 / kBitRateHz;
    for (int channel = 0; channel < 64; ++channel) {
      const double x = channel % 8 - 3.2;
      const int row = channel / 8;
      const double y = row - 4.1;
      const double gain = 1.0 / (1.0 + 0.2 * (x * x + y * y));
      const double value = level * gain * std::sin(2.0 * std::numbers::pi * turns - 0.1 * std::hypot(x, y));
      words[2 * t + static_cast<std::uint64_t>(channel / 32)] |=
          value > threshold(generator) ? 1U << (channel % 32) : 0U;
    }
  }
  return words;
}

/// Spectra of a monopole behind 8 x 8 microphones, the same in every frame.
inline SpectraFile monopole_spectra(std::uint64_t frames, const std::vector<double>& frequencies_hz) {
  SpectraFile file;
  file.measurement = {.geometry = small_array(), .standoff_m = 0.03, .sensitivity_dbfs = 0.0};
  file.frames = frames;
  file.frequencies_hz = frequencies_hz;
  for (std::uint64_t frame = 0; frame < frames; ++frame) {
    for (const double frequency_hz : frequencies_hz) {
      const double k = 2.0 * std::numbers::pi * frequency_hz / 343.0;
      for (const Complex& value : monopole_field({.x_m = 0.03, .y_m = -0.01}, k, small_array(), 0.03)) {
        file.spectra.emplace_back(static_cast<float>(value.real()), static_cast<float>(value.imag()));
      }
    }
  }
  return file;
}

/// A tone of `frequency_hz` with the monopole's spatial phasors, 64 channels at 46.875 kHz.
inline std::vector<float> monopole_samples(std::uint64_t samples, double frequency_hz) {
  const double rate_hz = kBitRateHz / kBitsPerWord;
  const double k = 2.0 * std::numbers::pi * frequency_hz / 343.0;
  const auto field = monopole_field({.x_m = 0.03, .y_m = -0.01}, k, small_array(), 0.03);
  std::vector<float> values;
  for (std::uint64_t n = 0; n < samples; ++n) {
    const Complex turn = std::polar(1.0, 2.0 * std::numbers::pi * frequency_hz * static_cast<double>(n) / rate_hz);
    for (const Complex& value : field) {
      values.push_back(static_cast<float>((value * turn).real()));
    }
  }
  return values;
}

}  // namespace nearfield::test
