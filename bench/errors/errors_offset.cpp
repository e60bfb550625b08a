#include "bench/errors/errors_offset.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "bench/common/scenes.hpp"
#include "bench/errors/errors_bits.hpp"
#include "config/schema/front_end_kinds.hpp"
#include "nearfield/error.hpp"

namespace nearfield::bench {
namespace {

const ArrayGeometry kArray{.rows = 4, .columns = 4};
constexpr std::uint64_t kSeed = 11;
constexpr int kLastBin = 8;
constexpr int kStepsPerBin = 8;
/// The grid's bins, or steps between them, with the one that the thesis looks at.
std::vector<double> frequencies_of(std::string_view kind) {
  std::vector<double> frequencies_hz;
  const int steps = takes_any_frequency(kind) ? kStepsPerBin : 1;
  for (int step = steps; step <= kLastBin * steps; ++step) {
    frequencies_hz.push_back(step * kBin_hz / steps);
  }
  if (takes_any_frequency(kind)) {
    frequencies_hz.push_back(kOffsetFrequency_hz);
    std::sort(frequencies_hz.begin(), frequencies_hz.end());
  }
  return frequencies_hz;
}

double tone_frequency(std::string_view kind) {
  return takes_any_frequency(kind) ? kOffsetFrequency_hz : std::round(kOffsetFrequency_hz / kBin_hz) * kBin_hz;
}

FrontEndPlan plan_of(const OffsetLeakage& leakage, std::vector<double> frequencies_hz) {
  FrontEndPlan plan{.geometry = kArray,
                    .layout = default_layout(kArray),
                    .settings = settings_of(leakage.variant, {}),
                    .dead_channels = {}};
  plan.settings.remove_dc = leakage.remove_dc;
  plan.settings.frequencies_hz = std::move(frequencies_hz);
  return plan;
}

/// The same offsets whatever else there is to hear: they come from the seed.
KnownBits bits_with_offset(const ArrayTone* tone) {
  return known_bits(
      {.layout = default_layout(kArray), .geometry = kArray, .seed = kSeed, .dc_offset_range = kLargestOffset}, tone,
      FrontEndSettings{}.window_samples);
}

KnownBits tone_with_offset(double frequency_hz) {
  ArrayTone tone{frequency_hz, {}};
  for (int channel = 0; channel < kArray.channels(); ++channel) {
    tone.phasors.push_back(std::polar(std::pow(10.0, kOffsetTone_db / 20.0), 0.7 * channel));
  }
  return bits_with_offset(&tone);
}

double mean_square(std::span<const std::complex<double>> values) {
  double sum = 0.0;
  for (const std::complex<double>& value : values) {
    sum += std::norm(value);
  }
  return sum / static_cast<double>(values.size());
}

/// Of the microphones' constants, each the mean of its bits.
double rms_offset(const KnownBits& bits) {
  const std::vector<int> places = wire_bit_of_channel(default_layout(kArray), kArray);
  const std::size_t wire_words = bits.group_words / kBitsPerWord;
  const std::size_t times = bits.words.size() / wire_words;
  double squares = 0.0;
  for (const int place : places) {
    const auto bit = static_cast<std::size_t>(place);
    double sum = 0.0;
    for (std::size_t t = 0; t < times; ++t) {
      sum += ((bits.words[t * wire_words + bit / kBitsPerWord] >> (bit % kBitsPerWord)) & 1U) != 0 ? 1.0 : -1.0;
    }
    squares += std::pow(sum / static_cast<double>(times), 2.0);
  }
  return std::sqrt(squares / static_cast<double>(places.size()));
}

void measure(const ocl::Device& device, const KnownBits& offset, OffsetLeakage& leakage) {
  const std::string_view kind = leakage.variant.kind;
  FrontEndOnBits spectrum(device, plan_of(leakage, frequencies_of(kind)));
  leakage.frequencies_hz = spectrum.frequencies_hz();
  const std::vector<std::complex<double>> values = spectrum.spectra(offset);
  const auto channels = static_cast<std::size_t>(kArray.channels());
  for (std::size_t f = 0; f < leakage.frequencies_hz.size(); ++f) {
    leakage.leakage.push_back(std::sqrt(mean_square(std::span(values).subspan(f * channels, channels))) /
                              rms_offset(offset));
  }
  leakage.tone_frequency_hz = tone_frequency(kind);
  const KnownBits tone = tone_with_offset(leakage.tone_frequency_hz);
  FrontEndOnBits one(device, plan_of(leakage, {leakage.tone_frequency_hz}));
  leakage.tone_error = relative_error(one.spectra(tone), tone.truth);
}

/// Leakage at the frequency next to this one.
double leakage_at(const OffsetLeakage& leakage, double frequency_hz) {
  const auto next =
      std::min_element(leakage.frequencies_hz.begin(), leakage.frequencies_hz.end(),
                       [&](double a, double b) { return std::abs(a - frequency_hz) < std::abs(b - frequency_hz); });
  return leakage.leakage[static_cast<std::size_t>(next - leakage.frequencies_hz.begin())];
}

std::string decibels(double ratio) {
  // + 0.0: no minus sign before nothing.
  return ratio > 0.0 ? fmt::format("{:.1f}", std::round(200.0 * std::log10(ratio)) / 10.0 + 0.0) : "-";
}

}  // namespace

bool takes_any_frequency(std::string_view kind) { return !schema::front_end_kind(kind).any_frequency.empty(); }

std::vector<OffsetLeakage> offset_leakages(const ocl::Device& device,
                                           const std::function<void(const std::string&)>& progress) {
  if (progress) {
    progress("leakage of offsets at low frequencies");
  }
  const KnownBits offset = bits_with_offset(nullptr);
  std::vector<OffsetLeakage> leakages;
  for (const Variant& variant : variants()) {
    for (const bool remove_dc : {false, true}) {
      if (!variant.measures_offset) {
        continue;
      }
      OffsetLeakage leakage{.variant = variant, .remove_dc = remove_dc};
      try {
        measure(device, offset, leakage);
      } catch (const ConfigError& error) {
        leakage.problem = error.what();
      } catch (const DeviceError& error) {
        leakage.problem = error.what();
      }
      leakages.push_back(std::move(leakage));
    }
  }
  return leakages;
}

std::string to_table(const std::vector<OffsetLeakage>& leakages) {
  if (leakages.empty()) {
    return "";
  }
  std::string text = fmt::format(
      "\nOffsets of up to {:.0f} % of full scale (fig. 7.9): what leaks into low frequencies [dB re offset], and the "
      "error of a tone of {:.0f} dBFS beside them\n{:<20}{:>10}{:>10}{:>13}{:>10}{:>10}{:>12}{:>12}\n",
      100.0 * kLargestOffset, kOffsetTone_db, "", "remove_dc", "bin 1", "next to 55", "bin 2", "bin 3", "tone [Hz]",
      "error [%]");
  for (const OffsetLeakage& leakage : leakages) {
    if (!leakage.problem.empty()) {
      text += fmt::format("{:<20}  {}\n", leakage.variant.name, leakage.problem.substr(0, leakage.problem.find('\n')));
      continue;
    }
    text += fmt::format("{:<20}{:>10}{:>10}{:>13}{:>10}{:>10}{:>12.2f}{:>12.2g}\n", leakage.variant.name,
                        leakage.remove_dc ? "true" : "false", decibels(leakage_at(leakage, kBin_hz)),
                        decibels(leakage_at(leakage, kOffsetFrequency_hz)),
                        decibels(leakage_at(leakage, 2.0 * kBin_hz)), decibels(leakage_at(leakage, 3.0 * kBin_hz)),
                        leakage.tone_frequency_hz, 100.0 * leakage.tone_error);
  }
  return text;
}

}  // namespace nearfield::bench
