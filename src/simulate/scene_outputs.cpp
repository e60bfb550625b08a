#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numbers>

#include "core/error.hpp"
#include "core/numerics.hpp"
#include "files/files.hpp"
#include "simulate/points/point_player.hpp"
#include "simulate/points/signal.hpp"
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
  write_spectra(output, file, truth);
  SimulationReport report;
  add_mesh_errors(scene, report);
  if (scene.noise_pa > 0.0) {
    report.warnings.emplace_back("spectra hold the sources alone, without the microphones' noise");
  }
  return report;
}

namespace {

constexpr int kFirstThirdOctave = -17;  // 20 Hz, n in 1000 10^(n/10)
constexpr int kLastThirdOctave = 13;    // 20 kHz
constexpr double kTrackStepS = 0.005;
constexpr double kMostTrackRows = 20000;

struct Centre {
  Point operator()(const Monopole& monopole) const { return monopole.position; }
  Point operator()(const Piston& piston) const { return {piston.x_m, piston.y_m, 0.0}; }
  Point operator()(const Plate& plate) const { return {plate.x_m, plate.y_m, 0.0}; }
  Point operator()(const Mesh& mesh) const { return mesh.centre; }
};

struct ShapeName {
  const char* operator()(const Monopole& /*shape*/) const { return "monopole"; }
  const char* operator()(const Piston& /*shape*/) const { return "piston"; }
  const char* operator()(const Plate& /*shape*/) const { return "plate"; }
  const char* operator()(const Mesh& /*shape*/) const { return "mesh"; }
};

/// Mean square pressure at 1 m; NaN for anything but a point source in the free field.
double mean_square_at_1m(const ToneSource& tone, const MediumSettings& medium, const Band& band) {
  const auto* monopole = std::get_if<Monopole>(&tone.shape);
  if (monopole == nullptr || monopole->baffled) {
    return std::numeric_limits<double>::quiet_NaN();
  }
  if (tone.frequency_hz < band.low_hz || tone.frequency_hz >= band.high_hz) {
    return 0.0;
  }
  const double amplitude = tone.frequency_hz * medium.density_kg_m3 * std::abs(monopole->volume_velocity_m3_s) / 2;
  return amplitude * amplitude / 2;
}

double mean_square_at_1m(const NoiseSource& noise, double duration_s, const Band& band) {
  return noise.rms_at_1m_pa * noise.rms_at_1m_pa * noise_lines(noise.band_hz, noise_period_s(duration_s)).share(band);
}

std::vector<Path> paths_of(const Scene& scene) {
  std::vector<Path> paths;
  for (const ToneSource& tone : scene.tones) {
    paths.push_back(tone.motion.empty() ? Path{{.t_s = 0.0, .position = std::visit(Centre{}, tone.shape)}}
                                        : tone.motion);
  }
  for (const TrackSource& track : scene.tracks) {
    paths.push_back(path_of(track));
  }
  for (const NoiseSource& noise : scene.noises) {
    paths.push_back(path_of(noise));
  }
  return paths;
}

std::string names_of(const Scene& scene) {
  std::string names;
  const auto add = [&](const std::string& name) { names += (names.empty() ? "" : ", ") + name; };
  for (const ToneSource& tone : scene.tones) {
    add(fmt::format("{} {:.6g} Hz", std::visit(ShapeName{}, tone.shape), tone.frequency_hz));
  }
  for (std::size_t i = 0; i < scene.tracks.size(); ++i) {
    add("track");
  }
  for (const NoiseSource& noise : scene.noises) {
    add(fmt::format("noise {:.6g} to {:.6g} Hz", noise.band_hz.low_hz, noise.band_hz.high_hz));
  }
  return names;
}

/// The mean over microphones and images of factor^2/r^2, for a source at that position.
double mean_spreading(const Scene& scene, const std::vector<Image>& images, const Point& place) {
  double sum = 0.0;
  const std::vector<Point> microphones = microphones_of(scene);
  for (const Point& microphone : microphones) {
    for (const Image& image : images) {
      const Point from = image.of(place);
      const double r = std::hypot(microphone.x_m - from.x_m, microphone.y_m - from.y_m, microphone.z_m - from.z_m);
      sum += image.factor * image.factor / (r * r);
    }
  }
  return sum / static_cast<double>(microphones.size());
}

double mean_spreading(const Scene& scene, const std::vector<Image>& images, const Path& path) {
  constexpr int kMoments = 32;
  const int moments = path.size() == 1 ? 1 : kMoments;
  double sum = 0.0;
  for (int i = 0; i < moments; ++i) {
    sum += mean_spreading(scene, images, position_at(path, scene.duration_s * (i + 0.5) / moments));
  }
  return sum / moments;
}

}  // namespace

SourceTruth source_truth_of(const Scene& scene) {
  SourceTruth truth;
  const std::vector<Path> paths = paths_of(scene);
  const double rows = std::min(kMostTrackRows, std::ceil(scene.duration_s / kTrackStepS));
  for (int row = 0; row <= static_cast<int>(rows); ++row) {
    truth.times_s.push_back(scene.duration_s * row / rows);
    for (const Path& path : paths) {
      const Point place = position_at(path, truth.times_s.back());
      truth.positions_m.insert(truth.positions_m.end(), {place.x_m, place.y_m, place.z_m});
    }
  }
  for (int n = kFirstThirdOctave; n <= kLastThirdOctave; ++n) {
    truth.band_centres_hz.push_back(1000.0 * std::pow(10.0, n / 10.0));
  }
  std::vector<double>& power = truth.band_mean_square_pa2;
  const auto for_bands = [&](const auto& of) {
    for (const double centre_hz : truth.band_centres_hz) {
      power.push_back(of(octave_band(OctavePart::kThird, centre_hz)));
    }
  };
  for (const ToneSource& tone : scene.tones) {
    for_bands([&](const Band& band) { return mean_square_at_1m(tone, scene.medium, band); });
  }
  for (std::size_t i = 0; i < scene.tracks.size(); ++i) {
    for_bands([](const Band& /*band*/) { return std::numeric_limits<double>::quiet_NaN(); });
  }
  for (const NoiseSource& noise : scene.noises) {
    for_bands([&](const Band& band) { return mean_square_at_1m(noise, scene.duration_s, band); });
  }
  truth.names = names_of(scene);
  return truth;
}

double noise_for_snr(const Scene& scene, double snr_db, const Band& band) {
  const std::vector<Image> images = images_of(scene.room);
  double power = 0.0;
  Scene resting = scene;
  std::erase_if(resting.tones, [&](const ToneSource& tone) {
    return !tone.motion.empty() || tone.frequency_hz < band.low_hz || tone.frequency_hz >= band.high_hz;
  });
  for (const std::complex<float>& value : aperture_pressure_of(resting)) {
    power += std::norm(std::complex<double>(value)) / 2 / scene.measurement.geometry.channels();
  }
  for (const ToneSource& tone : scene.tones) {
    if (!tone.motion.empty()) {
      power += mean_square_at_1m(tone, scene.medium, band) * mean_spreading(scene, images, tone.motion);
    }
  }
  for (const NoiseSource& noise : scene.noises) {
    power += mean_square_at_1m(noise, scene.duration_s, band) * mean_spreading(scene, images, path_of(noise));
  }
  const double share = (band.high_hz - band.low_hz) / kNoiseBandHz;
  return std::sqrt(power * std::pow(10.0, -snr_db / 10.0) / share);
}

}  // namespace nearfield
