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
#include "nearfield/settings.hpp"
#include "simulate/bit_synthesizer.hpp"
#include "simulate/fields.hpp"

namespace nearfield {

/// A source that sounds at one frequency.
struct ToneSource {
  double frequency_hz = 0.0;
  std::variant<Monopole, Piston, Plate> shape;
};

/// A recording played by a point source in the free field: p(t) = pressure_at_1m_pa * recording(t - r/c) / r.
struct TrackSource {
  std::string path;  ///< any file libsndfile reads; its first channel counts, full scale 1
  Point position;
  double pressure_at_1m_pa = 1.0;
};

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
};

/// Reads a scene. Paths of tracks count from the scene's folder. Throws NoInputError when the file can't be read and
/// one ConfigError that lists everything wrong in it.
Scene load_scene(const std::filesystem::path& path);

/// The true fields of a scene's tones at the microphones' x and y, one entry for each distinct frequency, ascending:
/// pressure and normal velocity at z = 0, pressure at the standoff, phasors referred to bit-time 0. A point source on
/// z = 0 exactly under a microphone gives NaN there.
Truth truth_of(const Scene& scene);

/// What each microphone makes of a tone, [channel]: 1 without spread.
std::vector<std::complex<double>> microphone_responses(const Scene& scene);

/// What `simulate` has to say besides its file.
struct SimulationReport {
  std::uint64_t bit_times = 0;
  OverloadReport overload;
  std::vector<std::string> warnings;  ///< sentences for the user: overload, strong noise, ...
};

/// Called now and then with the share that is done, 0 .. 1.
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

}  // namespace nearfield
