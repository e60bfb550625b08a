#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numbers>

#include "core/error.hpp"
#include "files/spectra_truth.hpp"
#include "simulate/points/point_player.hpp"
#include "simulate/random.hpp"
#include "simulate/scene.hpp"

namespace nearfield {
namespace {

/// First random streams for the samples' noise and offsets; those of meshes are below.
constexpr std::uint64_t kSampleNoiseStream = std::uint64_t{6} << 20U;
constexpr std::uint64_t kSampleOffsetStream = std::uint64_t{7} << 20U;
constexpr std::size_t kBlockSamples = 256;

double highest_heard_hz(double frequency_hz, const Path& motion, double sound_speed_m_s) {
  return frequency_hz / (1 - highest_speed(motion) / sound_speed_m_s);
}

void require_below_half(const Scene& scene, double sample_rate_hz) {
  if (!scene.tracks.empty()) {
    throw ConfigError(fmt::format(
        "sources: expected none of kind track for samples, since their highest frequency is not known; found {}",
        scene.tracks.size()));
  }
  double highest_hz = 0.0;
  const double c = scene.medium.sound_speed_m_s;
  for (const ToneSource& tone : scene.tones) {
    highest_hz = std::max(highest_hz, highest_heard_hz(tone.frequency_hz, tone.motion, c));
  }
  for (const NoiseSource& noise : scene.noises) {
    highest_hz = std::max(highest_hz, highest_heard_hz(noise.band_hz.high_hz, noise.motion, c));
  }
  if (!(highest_hz < sample_rate_hz / 2)) {
    throw ConfigError(
        fmt::format("sample rate: expected more than twice {:.6g} Hz, which microphones hear; found {:.6g} Hz",
                    highest_hz, sample_rate_hz));
  }
}

/// Noise and offsets of the microphones, sample by sample.
class MicrophoneNoise {
 public:
  MicrophoneNoise(const Scene& scene, double sample_rate_hz)
      : is_dead_(static_cast<std::size_t>(scene.measurement.geometry.channels()), false),
        // A uniform deviate on [-1, 1) has a variance of 1/3.
        scale_(scene.noise_pa * std::sqrt(3 * sample_rate_hz / 2 / kNoiseBandHz)) {
    for (const int channel : scene.dead_channels) {
      is_dead_[static_cast<std::size_t>(channel)] = true;
    }
    const double full_scale = full_scale_pa(scene.measurement.sensitivity_dbfs);
    for (std::size_t channel = 0; channel < is_dead_.size(); ++channel) {
      streams_.emplace_back(scene.seed, kSampleNoiseStream + channel);
      offsets_pa_.push_back(full_scale * scene.dc_offset_fs *
                            RandomStream(scene.seed, kSampleOffsetStream + channel).uniform());
    }
  }

  /// values [sample][channel]
  void add(std::span<float> values) {
    for (std::size_t i = 0; i < values.size(); ++i) {
      const std::size_t channel = i % is_dead_.size();
      const double noise = scale_ > 0 ? scale_ * streams_[channel].uniform() : 0.0;
      values[i] = is_dead_[channel] ? 0.0F : values[i] + static_cast<float>(noise + offsets_pa_[channel]);
    }
  }

 private:
  std::vector<bool> is_dead_;
  double scale_;
  std::vector<RandomStream> streams_;
  std::vector<double> offsets_pa_;
};

/// Adds the tones at rest, [sample][channel].
void add_tones(const Truth& truth, const std::vector<std::complex<double>>& responses, std::uint64_t first,
               double sample_rate_hz, std::span<float> values) {
  const std::size_t channels = responses.size();
  for (std::size_t f = 0; f < truth.frequencies_hz.size(); ++f) {
    for (std::size_t i = 0; i < values.size() / channels; ++i) {
      const double cycles = truth.frequencies_hz[f] * (static_cast<double>(first + i) / sample_rate_hz);
      const std::complex<double> turn = std::polar(1.0, 2 * std::numbers::pi * (cycles - std::floor(cycles)));
      for (std::size_t channel = 0; channel < channels; ++channel) {
        const std::complex<double> phasor =
            responses[channel] * std::complex<double>(truth.aperture_pressure[f * channels + channel]);
        values[i * channels + channel] += static_cast<float>(phasor.real() * turn.real() - phasor.imag() * turn.imag());
      }
    }
  }
}

}  // namespace

SimulationReport simulate_time_data(const Scene& scene, const std::filesystem::path& output, double sample_rate_hz,
                                    const ProgressCallback& progress) {
  require_below_half(scene, sample_rate_hz);
  const Truth truth = truth_of(scene);
  const std::vector<std::complex<double>> responses = microphone_responses(scene);
  const PointPlayer points(scene, {});
  MicrophoneNoise noise(scene, sample_rate_hz);
  const ArrayGeometry& geometry = scene.measurement.geometry;
  SimulationReport report;
  report.samples =
      std::max<std::uint64_t>(1, static_cast<std::uint64_t>(std::llround(scene.duration_s * sample_rate_hz)));
  TimeDataWriter writer(output, sample_rate_hz, geometry);
  std::vector<float> values;
  for (std::uint64_t begin = 0; begin < report.samples; begin += kBlockSamples) {
    const auto count = static_cast<std::size_t>(std::min<std::uint64_t>(kBlockSamples, report.samples - begin));
    values.assign(count * static_cast<std::size_t>(geometry.channels()), 0.0F);
    if (!points.empty()) {
      points.play(static_cast<std::int64_t>(begin), sample_rate_hz, values);
    }
    add_tones(truth, responses, begin, sample_rate_hz, values);
    noise.add(values);
    writer.append(values);
    if (progress) {
      progress(static_cast<double>(begin + count) / static_cast<double>(report.samples));
    }
  }
  if (truth.sources) {
    writer.write_truth(truth);
  }
  writer.finish();
  add_mesh_errors(scene, report);
  return report;
}

SimulationReport simulate_spectra(const Scene& scene, const std::filesystem::path& output) {
  if (scene.changes() || scene.tones.empty()) {
    throw ConfigError(
        "sources: expected tones that rest, for spectra of one frame; found sources that move, of noise, or of "
        "recordings, or none");
  }
  const Truth truth = truth_of(scene);
  const std::vector<std::complex<double>> responses = microphone_responses(scene);
  SpectraFile file{
      .measurement = scene.measurement, .frames = 1, .frequencies_hz = truth.frequencies_hz, .spectra = {}};
  for (std::size_t i = 0; i < truth.aperture_pressure.size(); ++i) {
    file.spectra.emplace_back(responses[i % responses.size()] * std::complex<double>(truth.aperture_pressure[i]));
  }
  for (const int channel : scene.dead_channels) {
    for (std::size_t i = static_cast<std::size_t>(channel); i < file.spectra.size(); i += responses.size()) {
      file.spectra[i] = 0.0F;
    }
  }
  write_spectra_with_truth(output, file, truth);
  SimulationReport report;
  add_mesh_errors(scene, report);
  if (scene.noise_pa > 0.0) {
    report.warnings.emplace_back("spectra hold the sources alone, without the microphones' noise");
  }
  return report;
}

}  // namespace nearfield
