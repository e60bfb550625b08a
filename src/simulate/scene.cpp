#include "simulate/scene.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numbers>
#include <set>

#include "simulate/random.hpp"
#include "simulate/tracks.hpp"

namespace nearfield {
namespace {

/// Random streams of the seed that give the microphones' responses; the synthesizer's lie below.
constexpr std::uint64_t kResponseStream = std::uint64_t{3} << 20U;

constexpr std::size_t kBlockBitTimes = 4096;
constexpr std::uint64_t kUsualWindowBits = 32768;

/// Both values at z = 0, the pressure elsewhere; the velocity of a plate is known at z = 0 only.
struct ShapeField {
  const Tonal& tonal;
  const Point& point;

  FieldValue operator()(const Monopole& monopole) const { return monopole_field(monopole, tonal, point); }
  FieldValue operator()(const Piston& piston) const { return piston_field(piston, tonal, point); }
  FieldValue operator()(const Plate& plate) const {
    return {plate_pressure(plate, tonal, point), plate_velocity(plate, point.x_m, point.y_m)};
  }
};

std::vector<double> distinct_frequencies(const Scene& scene) {
  std::set<double> frequencies;
  for (const ToneSource& tone : scene.tones) {
    frequencies.insert(tone.frequency_hz);
  }
  return {frequencies.begin(), frequencies.end()};
}

/// The sum of all tones of one frequency at every microphone's x and y, [row][column].
std::vector<FieldValue> field_on_plane(const Scene& scene, double frequency_hz, double z_m) {
  const ArrayGeometry& geometry = scene.measurement.geometry;
  const Tonal tonal{frequency_hz, scene.medium};
  std::vector<FieldValue> values;
  for (int row = 0; row < geometry.rows; ++row) {
    for (int column = 0; column < geometry.columns; ++column) {
      const Point point{geometry.x_m(column), geometry.y_m(row), z_m};
      FieldValue sum{};
      for (const ToneSource& tone : scene.tones) {
        if (tone.frequency_hz == frequency_hz) {
          const FieldValue value = std::visit(ShapeField{tonal, point}, tone.shape);
          sum.pressure_pa += value.pressure_pa;
          sum.velocity_m_s += value.velocity_m_s;
        }
      }
      values.push_back(sum);
    }
  }
  return values;
}

std::vector<ArrayTone> tones_in_full_scale(const Truth& truth, const Scene& scene, double full_scale) {
  const std::vector<std::complex<double>> responses = microphone_responses(scene);
  std::vector<ArrayTone> tones;
  const std::size_t channels =
      truth.frequencies_hz.empty() ? 0 : truth.aperture_pressure.size() / truth.frequencies_hz.size();
  for (std::size_t i = 0; i < truth.frequencies_hz.size(); ++i) {
    ArrayTone tone{truth.frequencies_hz[i], {}};
    for (std::size_t channel = 0; channel < channels; ++channel) {
      tone.phasors.push_back(responses[channel] *
                             std::complex<double>(truth.aperture_pressure[i * channels + channel]) / full_scale);
    }
    tones.push_back(std::move(tone));
  }
  return tones;
}

BitSynthesizerSettings synthesizer_settings(const Scene& scene, double full_scale) {
  return {.layout = scene.layout,
          .geometry = scene.measurement.geometry,
          .sample_rate_hz = kBitRateHz,
          .order = scene.order,
          .seed = scene.seed,
          .dead_channels = scene.dead_channels,
          .noise_rms = scene.noise_pa / full_scale,
          .dc_offset_range = scene.dc_offset_fs};
}

std::vector<std::string> warnings_of(const SimulationReport& report) {
  std::vector<std::string> warnings;
  if (const std::string overload = describe(report.overload); !overload.empty()) {
    warnings.push_back(overload);
  }
  if (report.bit_times < kUsualWindowBits) {
    warnings.push_back(fmt::format("the capture's {} bit-times are fewer than the {} of one window of 1024 samples",
                                   report.bit_times, kUsualWindowBits));
  }
  return warnings;
}

}  // namespace

std::vector<std::complex<double>> microphone_responses(const Scene& scene) {
  constexpr double kDegree = std::numbers::pi / 180.0;
  std::vector<std::complex<double>> responses;
  for (int channel = 0; channel < scene.measurement.geometry.channels(); ++channel) {
    RandomStream random(scene.seed, kResponseStream + static_cast<std::uint64_t>(channel));
    const double level_db = scene.gain_spread_db * random.uniform();
    responses.push_back(
        std::polar(std::pow(10.0, level_db / 20.0), scene.phase_spread_deg * kDegree * random.uniform()));
  }
  return responses;
}

Truth truth_of(const Scene& scene) {
  Truth truth;
  truth.frequencies_hz = distinct_frequencies(scene);
  for (const double frequency_hz : truth.frequencies_hz) {
    for (const FieldValue& value : field_on_plane(scene, frequency_hz, 0.0)) {
      truth.pressure.emplace_back(value.pressure_pa);
      truth.normal_velocity.emplace_back(value.velocity_m_s);
    }
    for (const FieldValue& value : field_on_plane(scene, frequency_hz, scene.measurement.standoff_m)) {
      truth.aperture_pressure.emplace_back(value.pressure_pa);
    }
  }
  return truth;
}

namespace {

SimulationReport synthesize(const Scene& scene, const Truth& truth, std::uint64_t bit_times, const WordsCallback& take,
                            const TrackLoader& load_track, const ProgressCallback& progress) {
  const double full_scale = full_scale_pa(scene.measurement.sensitivity_dbfs);
  const std::vector<ArrayTone> tones = tones_in_full_scale(truth, scene, full_scale);
  const TrackPlayer tracks(scene, full_scale, load_track);
  BitSynthesizer synthesizer(synthesizer_settings(scene, full_scale));
  std::vector<std::uint32_t> words;
  std::vector<float> samples;
  for (std::uint64_t begin = 0; begin < bit_times; begin += kBlockBitTimes) {
    const auto count = static_cast<std::size_t>(std::min<std::uint64_t>(kBlockBitTimes, bit_times - begin));
    words.resize(count * static_cast<std::size_t>(synthesizer.words_per_bit_time()));
    tracks.play(begin, count, samples);
    synthesizer.generate(begin, tones, samples, words);
    take(words);
    if (progress) {
      progress(static_cast<double>(begin + count) / static_cast<double>(bit_times));
    }
  }
  SimulationReport report;
  report.bit_times = bit_times;
  report.overload = synthesizer.report();
  report.warnings = warnings_of(report);
  return report;
}

}  // namespace

SimulationReport synthesize_scene(const Scene& scene, std::uint64_t bit_times, const WordsCallback& take,
                                  const TrackLoader& load_track, const ProgressCallback& progress) {
  return synthesize(scene, truth_of(scene), bit_times, take, load_track, progress);
}

SimulationReport simulate_capture(const Scene& scene, const std::filesystem::path& output,
                                  const TrackLoader& load_track, const ProgressCallback& progress) {
  const Truth truth = truth_of(scene);
  const std::uint64_t bit_times =
      std::max<std::uint64_t>(1, static_cast<std::uint64_t>(std::llround(scene.duration_s * kBitRateHz)));
  CaptureWriter writer(output, {.measurement = scene.measurement,
                                .layout = scene.layout,
                                .sample_rate_hz = kBitRateHz,
                                .start_time_ns = scene.start_time_ns,
                                .bit_times = bit_times,
                                .words_per_bit_time = words_per_bit_time(scene.layout, scene.measurement.geometry)});
  const WordsCallback append = [&writer](std::span<const std::uint32_t> words) { writer.append(words); };
  SimulationReport report = synthesize(scene, truth, bit_times, append, load_track, progress);
  if (!truth.frequencies_hz.empty()) {  // tracks have no truth
    writer.write_truth(truth);
  }
  writer.finish();
  return report;
}

}  // namespace nearfield
