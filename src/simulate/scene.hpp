#pragma once
#include <complex>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "files/files.hpp"
#include "nearfield/band.hpp"
#include "nearfield/settings.hpp"
#include "simulate/bit_synthesizer.hpp"
#include "simulate/fields.hpp"
#include "simulate/mesh/mesh.hpp"
#include "simulate/points/motion.hpp"
#include "simulate/points/room.hpp"

namespace nearfield {

/// A source that sounds at one frequency.
struct ToneSource {
  double frequency_hz = 0.0;
  std::variant<Monopole, Piston, Plate, Mesh> shape;
  Path motion{};  ///< of a monopole, instead of its position; empty: it rests
};

/// A recording played by a point source: p(t) = pressure_at_1m_pa * recording(t - r/c) / r.
struct TrackSource {
  std::string path;  ///< any file libsndfile reads; its first channel counts, full scale 1
  Point position;
  double pressure_at_1m_pa = 1.0;
  Path motion{};  ///< instead of the position; empty: it rests
};

/// A point source of noise, the same power in each hertz of its band.
struct NoiseSource {
  Point position;
  double rms_at_1m_pa = 1.0;
  Band band_hz{0.0, 20000.0};
  Path motion{};  ///< instead of the position; empty: it rests
};

/// Where a source of a recording or of noise is.
template <typename Source>
Path path_of(const Source& source) {
  return source.motion.empty() ? Path{{.t_s = 0.0, .position = source.position}} : source.motion;
}

/// What `simulate` makes a capture of. config/scenes/ has annotated examples of the file it is read from.
struct Scene {
  MeasurementGeometry measurement{ArrayGeometry{}, 0.03, -26.0};
  WireLayout layout = WireLayout::kSoramaCam;
  MediumSettings medium;
  double duration_s = 0.1;
  std::int64_t start_time_ns = 0;
  std::uint64_t seed = 1;
  SigmaDeltaOrder order = SigmaDeltaOrder::kSecond;
  double noise_pa = 0.0;          ///< rms in 0 .. 20 kHz
  double dc_offset_fs = 0.0;      ///< each channel's own offset lies within +- this, full scale 1
  double gain_spread_db = 0.0;    ///< each microphone's level for tones is off by up to so much either way
  double phase_spread_deg = 0.0;  ///< and its phase
  std::vector<int> dead_channels;
  std::vector<ToneSource> tones;
  std::vector<TrackSource> tracks;
  std::vector<NoiseSource> noises;
  Room room;

  /// Whether it has sources that move, of noise, or of recordings: what is not a sum of tones that never change.
  [[nodiscard]] bool changes() const;
  [[nodiscard]] std::size_t moving_sources() const;
};

/// Where its microphones are, [channel].
std::vector<Point> microphones_of(const Scene& scene);

/// Reads a scene. Paths of tracks count from the scene's folder. Throws NoInputError when the file can't be read and
/// one ConfigError that lists everything wrong in it.
Scene load_scene(const std::filesystem::path& path);

/// The true fields of a scene's tones, one entry for each distinct frequency, ascending: pressure and normal velocity
/// at z = 0 on the grid of the array's images (image_grid.hpp), pressure at the microphones, phasors referred to
/// bit-time 0. A point source on z = 0 exactly at a pixel gives NaN there. Tones that move are not among them. Of all
/// sources their places and levels.
Truth truth_of(const Scene& scene);

/// Only the pressure at the microphones of those tones, [frequency][row][column], Pa.
std::vector<std::complex<float>> aperture_pressure_of(const Scene& scene);

/// Where all sources are and how loud: those of tones, then recordings, then noise, each in the scene's order.
SourceTruth source_truth_of(const Scene& scene);

/// The rms of a microphone's noise in 0 .. 20 kHz at which the sources are `snr_db` louder in a band, both by their
/// power there: the mean over the microphones and, of sources that move, over the duration; reflections add their
/// power. The scene must have no recordings, whose level is not known before they are played.
double noise_for_snr(const Scene& scene, double snr_db, const Band& band);

/// What each microphone makes of a tone, [channel]: 1 without spread.
std::vector<std::complex<double>> microphone_responses(const Scene& scene);

/// What `simulate` has to say besides its file.
struct SimulationReport {
  std::uint64_t bit_times = 0;  ///< of captures
  std::uint64_t samples = 0;    ///< of time data
  OverloadReport overload;
  std::vector<std::string> notes;     ///< sentences for the user: how exact meshes are
  std::vector<std::string> warnings;  ///< likewise: overload, strong noise, ...
};

/// Adds the error of each mesh at the microphones, what its sum over points misses of the integral: a note, above 1 % a
/// warning.
void add_mesh_errors(const Scene& scene, SimulationReport& report);

/// Called at intervals with the share that is done, 0 .. 1.
using ProgressCallback = std::function<void(double)>;

/// Takes the next bit-times, words [bit-time][word].
using WordsCallback = std::function<void(std::span<const std::uint32_t>)>;

/// Gives the first channel of the sound file at `path` at the bit rate, full scale 1. Programs that read sound files
/// pass load_track() of encode/sound_file.hpp; without a loader a scene must have no tracks.
using TrackLoader = std::function<std::vector<float>(const std::string& path)>;

/// Makes the scene's first `bit_times` bit-times, block by block. Throws ConfigError for tracks without a loader, and
/// what the loader throws.
SimulationReport synthesize_scene(const Scene& scene, std::uint64_t bit_times, const WordsCallback& take,
                                  const TrackLoader& load_track = {}, const ProgressCallback& progress = {});

/// Writes the scene's capture with /truth. Memory does not grow with the duration (but tracks are held whole). Throws
/// IoError when the file can't be written, and what synthesize_scene() throws.
SimulationReport simulate_capture(const Scene& scene, const std::filesystem::path& output,
                                  const TrackLoader& load_track = {}, const ProgressCallback& progress = {});

/// Writes what the microphones get as Acoular's time data with /truth: the sources, each microphone's gain, noise and
/// offset, dead ones; no modulator. Throws ConfigError when a source sounds above half the sample rate or is a
/// recording, whose highest frequency is not known; IoError.
SimulationReport simulate_time_data(const Scene& scene, const std::filesystem::path& output, double sample_rate_hz,
                                    const ProgressCallback& progress = {});

/// Writes spectra of one frame with /truth: the tones that rest, with each microphone's gain and phase, without noise;
/// dead ones are 0. Throws ConfigError when a source is none; IoError.
SimulationReport simulate_spectra(const Scene& scene, const std::filesystem::path& output);

}  // namespace nearfield
