#include <cmath>
#include <numbers>

#include "bench/fidelity/fidelity.hpp"
#include "engine/recording_search.hpp"
#include "simulate/bit_synthesizer.hpp"

namespace nearfield::bench {
namespace {

/// Rms over the microphones of each tone's peak amplitude, re full scale: the highest microphone then stays below what
/// fourth-order modulators take, with three tones and noise at 30 dB.
constexpr double kLevel = 0.025;
constexpr std::uint64_t kSeed = 100;
/// Words before the window.
constexpr std::uint64_t kFirstWord = 64;

/// Mean square of a hann-windowed spectrum of white noise whose rms in kNoiseBandHz is 1: twice its density times the
/// window's bandwidth of 1.5 bins.
double noise_power(const FrontEndSettings& front_end) {
  const double bin_hz = kBitRateHz / kBitsPerWord / front_end.window_samples;
  return 2.0 / kNoiseBandHz * 1.5 * bin_hz;
}

/// What brings a phasor of the field to full scale 1.
double scale_of(const TrueField& field, std::size_t frequency) {
  return kLevel / std::sqrt(mean_power(field, frequency));
}

std::vector<std::uint32_t> window_of_bits(const TrueField& field, double snr_db, int draw,
                                          const FrontEndSettings& front_end) {
  std::vector<ArrayTone> tones;
  for (std::size_t f = 0; f < field.frequencies_hz.size(); ++f) {
    ArrayTone tone{field.frequencies_hz[f], {}};
    for (const std::complex<float>& value : field.aperture_of(f)) {
      tone.phasors.push_back(scale_of(field, f) * std::complex<double>(value));
    }
    tones.push_back(std::move(tone));
  }
  const double noise = kLevel * std::pow(10.0, -snr_db / 20.0) / std::sqrt(noise_power(front_end));
  BitSynthesizer synthesizer({.layout = default_layout(field.geometry),
                              .geometry = field.geometry,
                              .order = SigmaDeltaOrder::kFourth,
                              .seed = kSeed + static_cast<std::uint64_t>(draw),
                              .noise_rms = noise});
  const std::size_t words = kFirstWord + static_cast<std::size_t>(front_end.window_samples);
  std::vector<std::uint32_t> wire(words * static_cast<std::size_t>(synthesizer.words_per_bit_time() * kBitsPerWord));
  synthesizer.generate(0, tones, {}, wire);
  return wire;
}

/// Images of one window, back in the field's own unit and at bit-time 0.
Imaged image_bits(const ocl::Device& device, const EnginePlan& plan, const TrueField& field,
                  std::span<const std::uint32_t> wire) {
  const std::unique_ptr<Engine> engine = make_engine(device, plan);
  const std::size_t words = kFirstWord + static_cast<std::size_t>(plan.settings.front_end.window_samples);
  const std::size_t history = wire.size() / words * kFirstWord;
  if (engine->history_samples() > 0) {
    engine->push_bits(0, wire.first(history));
  }
  engine->push_bits(kFirstWord, wire.subspan(history));
  RecordingSearch(*engine).look(0, engine->compute_windows(kFirstWord, 1));
  Imaged imaged;
  take_images(*engine, 1, imaged);
  const double start_s = static_cast<double>(kFirstWord * kBitsPerWord) / kBitRateHz;
  for (std::size_t f = 0; f < field.frequencies_hz.size(); ++f) {
    const double unit = 1.0 / (full_scale_pa(plan.settings.array.sensitivity_dbfs) * scale_of(field, f));
    const std::complex<double> turn = std::polar(unit, -2.0 * std::numbers::pi * engine->frequencies_hz()[f] * start_s);
    for (std::complex<float>& value : imaged.images[f]) {
      value = std::complex<float>(std::complex<double>(value) * turn);
    }
  }
  return imaged;
}

void append(Imaged& all, const Imaged& one) {
  all.images.insert(all.images.end(), one.images.begin(), one.images.end());
  all.cutoff_rad_per_m.insert(all.cutoff_rad_per_m.end(), one.cutoff_rad_per_m.begin(), one.cutoff_rad_per_m.end());
  all.slope.insert(all.slope.end(), one.slope.begin(), one.slope.end());
  all.error_estimate.insert(all.error_estimate.end(), one.error_estimate.begin(), one.error_estimate.end());
}

}  // namespace

FieldResult from_bits(const ocl::Device& device, const FieldResult& from_spectra, int draws) {
  const TrueField& field = from_spectra.field;
  FieldResult result{.part = std::string(kBitsPart),
                     .field = field,
                     .snr_db = from_spectra.snr_db,
                     .draws = draws,
                     .rows = {},
                     .scan = {}};
  std::vector<std::vector<std::uint32_t>> wires;
  for (int draw = 0; draw < draws; ++draw) {
    wires.push_back(window_of_bits(field, from_spectra.snr_db, draw, {}));
  }
  for (const FidelityRow& known : from_spectra.rows) {
    if (known.filter == kAutomaticImager || !known.is_main() || (known.knows_truth && known.filter != kBestCutoff)) {
      continue;
    }
    const EnginePlan plan = plan_for(field, known.settings, InputForm::kBits, 1);
    Imaged imaged;
    for (const std::vector<std::uint32_t>& wire : wires) {
      append(imaged, image_bits(device, plan, field, wire));
    }
    FidelityRow row{.extrapolation = known.extrapolation,
                    .filter = known.filter,
                    .is_default = known.is_default,
                    .knows_truth = known.knows_truth,
                    .settings = known.settings};
    fill_row(field, std::move(imaged), row);
    result.rows.push_back(std::move(row));
  }
  add_automatic(result);
  return result;
}

}  // namespace nearfield::bench
