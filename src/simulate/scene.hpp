#pragma once
#include <complex>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "core/band.hpp"
#include "core/settings.hpp"
#include "files/files.hpp"
#include "simulate/bit_synthesizer.hpp"
#include "simulate/fields.hpp"
#include "simulate/mesh/mesh.hpp"
#include "simulate/points/paths.hpp"

namespace nearfield {

/// A source that radiates one frequency.
struct ToneSource {
  double frequency_hz = 0.0;
  std::variant<Monopole, Piston, Plate, Mesh> shape;
  Path motion{};  ///< path of a monopole, replaces its position; empty: at rest
};

/// A recording played by a point source: p(t) = pressure_at_1m_pa * recording(t - r/c) / r.
struct TrackSource {
  std::string path;  ///< any file that libsndfile reads; its first channel is used, full scale 1
  Point position;
  double pressure_at_1m_pa = 1.0;
  Path motion{};  ///< replaces the position; empty: at rest
};

/// A point source of noise, with the same power in each hertz of its band.
struct NoiseSource {
  Point position;
  double rms_at_1m_pa = 1.0;
  Band band_hz{0.0, 20000.0};
  Path motion{};  ///< replaces the position; empty: at rest
};

/// Path of a source of a recording or of noise.
template <typename Source>
Path path_of(const Source& source) {
  return source.motion.empty() ? Path{{.t_s = 0.0, .position = source.position}} : source.motion;
}

/// Input of `simulate`. config/scenes/ has annotated examples of the file it is read from.
struct Scene {
  MeasurementGeometry measurement{ArrayGeometry{}, 0.03, -26.0};
  WireLayout layout = WireLayout::kSoramaCam;
  MediumSettings medium;
  double duration_s = 0.1;
  std::int64_t start_time_ns = 0;
  std::uint64_t seed = 1;
  SigmaDeltaOrder order = SigmaDeltaOrder::kSecond;
  double noise_pa = 0.0;          ///< rms in 0 .. 20 kHz
  double dc_offset_fs = 0.0;      ///< each channel's own offset is within +- this, full scale 1
  double gain_spread_db = 0.0;    ///< each microphone's level for tones deviates by up to this much either way
  double phase_spread_deg = 0.0;  ///< and its phase likewise
  std::vector<int> dead_channels;
  std::vector<ToneSource> tones;
  std::vector<TrackSource> tracks;
  std::vector<NoiseSource> noises;
  Room room;

  /// True if it has moving sources, noise, or recordings: anything beyond a sum of constant tones.
  [[nodiscard]] bool changes() const;
  [[nodiscard]] std::size_t moving_sources() const;
};

/// Positions of its microphones, [channel].
std::vector<Point> microphones_of(const Scene& scene);

/// Reads a scene. Paths of tracks are relative to the scene's folder. Throws NoInputError when the file cannot be read
/// and one ConfigError that lists all errors in it.
Scene load_scene(const std::filesystem::path& path);

/// The true fields of a scene's tones, one entry for each distinct frequency, ascending: pressure and normal velocity
/// at z = 0 on the grid of the array's images (core/images.hpp), pressure at the microphones, phasors referred to
/// bit-time 0. A point source on z = 0 exactly at a pixel gives NaN there. Moving tones are excluded. Also holds the
/// positions and levels of all sources.
Truth truth_of(const Scene& scene);

/// Only the pressure at the microphones of these tones, [frequency][row][column], Pa.
std::vector<std::complex<float>> aperture_pressure_of(const Scene& scene);

/// Positions and levels of all sources: tones, then recordings, then noise, each in the scene's order.
SourceTruth source_truth_of(const Scene& scene);

/// The rms of a microphone's noise in 0 .. 20 kHz at which the sources are `snr_db` louder in a band, both by their
/// power there: the mean over the microphones and, for moving sources, over the duration; reflections add their power.
/// The scene must have no recordings, whose level is not known before they are played.
double noise_for_snr(const Scene& scene, double snr_db, const Band& band);

/// Response of each microphone to a tone, [channel]: 1 without spread.
std::vector<std::complex<double>> microphone_responses(const Scene& scene);

/// Information from `simulate` besides its file.
struct SimulationReport {
  std::uint64_t bit_times = 0;  ///< captures only
  std::uint64_t samples = 0;    ///< time data only
  OverloadReport overload;
  std::vector<std::string> notes;     ///< sentences for the user: accuracy of meshes
  std::vector<std::string> warnings;  ///< sentences for the user: overload, strong noise, ...
};

/// Adds the error of each mesh at the microphones, the deviation of its sum over points from the integral: a note,
/// above 1 % a warning.
void add_mesh_errors(const Scene& scene, SimulationReport& report);

/// Called at intervals with the completed share, 0 .. 1.
using ProgressCallback = std::function<void(double)>;

/// Takes the next bit-times, words [bit-time][word].
using WordsCallback = std::function<void(std::span<const std::uint32_t>)>;

/// Returns the first channel of the sound file at `path` at the bit rate, full scale 1. Programs that read sound files
/// pass load_track() of encode/sound_file.hpp; without a loader a scene must have no tracks.
using TrackLoader = std::function<std::vector<float>(const std::string& path)>;

/// Generates the scene's first `bit_times` bit-times, block by block. Throws ConfigError for tracks without a loader,
/// and rethrows the loader's exceptions.
SimulationReport synthesize_scene(const Scene& scene, std::uint64_t bit_times, const WordsCallback& take,
                                  const TrackLoader& load_track = {}, const ProgressCallback& progress = {});

/// Writes the scene's capture with /truth. Memory does not grow with the duration (but tracks are held whole). Throws
/// IoError when the file cannot be written, and everything that synthesize_scene() throws.
SimulationReport simulate_capture(const Scene& scene, const std::filesystem::path& output,
                                  const TrackLoader& load_track = {}, const ProgressCallback& progress = {});

/// Writes the microphones' signals as Acoular's time data with /truth: the sources, each microphone's gain, noise and
/// offset, dead ones; no modulator. Throws ConfigError when a source has frequencies above half the sample rate or is a
/// recording, whose highest frequency is not known; IoError.
SimulationReport simulate_time_data(const Scene& scene, const std::filesystem::path& output, double sample_rate_hz,
                                    const ProgressCallback& progress = {});

/// Writes spectra of one frame with /truth: the tones at rest, with each microphone's gain and phase, without noise;
/// dead ones are 0. Throws ConfigError when a source is not such a tone; IoError.
SimulationReport simulate_spectra(const Scene& scene, const std::filesystem::path& output);

}  // namespace nearfield
