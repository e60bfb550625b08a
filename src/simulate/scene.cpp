#include "simulate/scene.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numbers>
#include <set>

#include "core/images.hpp"
#include "core/numerics.hpp"
#include "simulate/points/point_player.hpp"
#include "simulate/points/signal.hpp"

namespace nearfield {
namespace {

/// First random stream for the microphones' responses; the synthesizer's streams are below.
constexpr std::uint64_t kResponseStream = std::uint64_t{3} << 20U;

constexpr std::size_t kBlockBitTimes = 4096;
constexpr std::uint64_t kUsualWindowBits = 32768;

/// The field of a shape: both values at z = 0, the pressure elsewhere; the velocity of a plate is known at z = 0 only.
struct ShapeField {
  const Tonal& tonal;
  const Point& point;

  const std::vector<Image>& images;

  FieldValue operator()(const Monopole& monopole) const {
    FieldValue sum{};
    for (const Image& image : images) {
      const Monopole mirrored{image.of(monopole.position), image.factor * monopole.volume_velocity_m3_s,
                              monopole.baffled};
      const FieldValue value = monopole_field(mirrored, tonal, point);
      sum.pressure_pa += value.pressure_pa;
      sum.velocity_m_s += value.velocity_m_s;
    }
    return sum;
  }
  FieldValue operator()(const Mesh& mesh) const {
    FieldValue sum{};
    for (const Image& image : images) {  // an image's distance equals the source's from a mirrored point
      const FieldValue value = mesh_field(mesh, tonal, image.seen_from(point));
      sum.pressure_pa += image.factor * value.pressure_pa;
      sum.velocity_m_s += image.factor * image.sign[2] * value.velocity_m_s;
    }
    return sum;
  }
  FieldValue operator()(const Piston& piston) const { return piston_field(piston, tonal, point); }
  FieldValue operator()(const Plate& plate) const {
    return {plate_pressure(plate, tonal, point), plate_velocity(plate, point.x_m, point.y_m)};
  }
};

std::vector<double> distinct_frequencies(const Scene& scene) {
  std::set<double> frequencies;
  for (const ToneSource& tone : scene.tones) {
    if (tone.motion.empty()) {
      frequencies.insert(tone.frequency_hz);
    }
  }
  return {frequencies.begin(), frequencies.end()};
}

/// The pixels of the images of the scene's array on z = 0, [row][column].
std::vector<Point> pixels_of(const Scene& scene) {
  const ImageGrid grid = image_grid(scene.measurement.geometry);
  std::vector<Point> points;
  for (int row = 0; row < grid.rows(); ++row) {
    for (int column = 0; column < grid.columns(); ++column) {
      points.push_back({grid.x_m(column), grid.y_m(row), 0.0});
    }
  }
  return points;
}

/// The scene without what sounds behind the array, whose waves are no part of the surface's field.
Scene of_surface(Scene scene) {
  std::erase_if(scene.tones, [](const ToneSource& tone) {
    const auto* const monopole = std::get_if<Monopole>(&tone.shape);
    return monopole != nullptr && monopole->position.z_m > 0.0;
  });
  return scene;
}

/// The sum of all tones of one frequency, [point].
std::vector<FieldValue> field_at(const Scene& scene, double frequency_hz, const std::vector<Point>& points) {
  const Tonal tonal{frequency_hz, scene.medium};
  const std::vector<Image> images = images_of(scene.room);
  std::vector<FieldValue> values;
  for (const Point& point : points) {
    FieldValue sum{};
    for (const ToneSource& tone : scene.tones) {
      if (tone.frequency_hz == frequency_hz && tone.motion.empty()) {
        const FieldValue value = std::visit(ShapeField{tonal, point, images}, tone.shape);
        sum.pressure_pa += value.pressure_pa;
        sum.velocity_m_s += value.velocity_m_s;
      }
    }
    values.push_back(sum);
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

std::vector<Point> microphones_of(const Scene& scene) {
  const ArrayGeometry& geometry = scene.measurement.geometry;
  std::vector<Point> places;
  for (int channel = 0; channel < geometry.channels(); ++channel) {
    const MicrophonePosition at = geometry.position_m(channel);
    places.push_back({at.x_m, at.y_m, scene.measurement.standoff_m + at.z_m});
  }
  return places;
}

void add_mesh_errors(const Scene& scene, SimulationReport& report) {
  constexpr double kLargeError = 0.01;
  const std::vector<Point> places = microphones_of(scene);
  for (const ToneSource& tone : scene.tones) {
    if (const auto* mesh = std::get_if<Mesh>(&tone.shape)) {
      const double error = mesh_error(*mesh, {tone.frequency_hz, scene.medium}, places);
      std::string note =
          fmt::format("{} at {:.6g} Hz: {} x {} points, standard error {:.2g} % of its pressure", mesh->name,
                      tone.frequency_hz, Mesh::kScrambles, mesh->points.size() / Mesh::kScrambles, 100 * error);
      (error < kLargeError ? report.notes : report.warnings).push_back(std::move(note));
    }
  }
}

bool Scene::changes() const { return !tracks.empty() || !noises.empty() || moving_sources() > 0; }

std::size_t Scene::moving_sources() const {
  const auto count = [](const auto& sources) {
    return static_cast<std::size_t>(
        std::count_if(sources.begin(), sources.end(), [](const auto& source) { return !source.motion.empty(); }));
  };
  return count(tones) + count(tracks) + count(noises);
}

std::vector<std::complex<float>> aperture_pressure_of(const Scene& scene) {
  std::vector<std::complex<float>> pressure;
  const std::vector<Point> places = microphones_of(scene);
  for (const double frequency_hz : distinct_frequencies(scene)) {
    for (const FieldValue& value : field_at(scene, frequency_hz, places)) {
      pressure.emplace_back(value.pressure_pa);
    }
  }
  return pressure;
}

Truth truth_of(const Scene& scene) {
  Truth truth;
  truth.frequencies_hz = distinct_frequencies(scene);
  truth.aperture_pressure = aperture_pressure_of(scene);
  if (!scene.tones.empty() || scene.changes()) {
    truth.sources = source_truth_of(scene);
  }
  const std::vector<Point> pixels = pixels_of(scene);
  const Scene surface = of_surface(scene);
  for (const double frequency_hz : truth.frequencies_hz) {
    for (const FieldValue& value : field_at(surface, frequency_hz, pixels)) {
      truth.pressure.emplace_back(value.pressure_pa);
      truth.normal_velocity.emplace_back(value.velocity_m_s);
    }
  }
  return truth;
}

namespace {

/// Signals of point sources at the microphones, sample by sample at the bit rate.
class PointSamples {
 public:
  PointSamples(const Scene& scene, double full_scale, const TrackLoader& load_track)
      : player_(scene, load_track),
        channels_(static_cast<std::size_t>(scene.measurement.geometry.channels())),
        full_scale_(full_scale),
        interpolator_(channels_) {}

  /// samples [bit-time][channel], full scale 1, of the next `count` bit-times; empty if there are no such sources.
  void next(std::size_t count, std::vector<float>& samples) {
    samples.clear();
    if (player_.empty()) {
      return;
    }
    while (ready_.size() < (count + to_drop_) * channels_) {
      played_.resize(kPlayedAtOnce * channels_);
      player_.play(next_, kPlayedRateHz, played_);
      next_ += static_cast<std::int64_t>(kPlayedAtOnce);
      std::transform(played_.begin(), played_.end(), played_.begin(),
                     [&](float value) { return static_cast<float>(static_cast<double>(value) / full_scale_); });
      interpolator_.process(played_, ready_);
    }
    const auto begin = ready_.begin() + static_cast<std::ptrdiff_t>(to_drop_ * channels_);
    const auto end = begin + static_cast<std::ptrdiff_t>(count * channels_);
    samples.assign(begin, end);
    ready_.erase(ready_.begin(), end);
    to_drop_ = 0;
  }

 private:
  static constexpr double kPlayedRateHz = kBitRateHz / Interpolator::kFactor;
  static constexpr std::size_t kPlayedAtOnce = 512;
  /// More than the reach of the interpolator's filter, which starts from silence.
  static constexpr std::int64_t kBefore = 32;

  PointPlayer player_;
  std::size_t channels_;
  double full_scale_;
  Interpolator interpolator_;
  std::int64_t next_ = -kBefore;
  std::size_t to_drop_ = kBefore * Interpolator::kFactor;
  std::vector<float> played_;
  std::vector<float> ready_;
};

SimulationReport synthesize(const Scene& scene, const Truth& truth, std::uint64_t bit_times, const WordsCallback& take,
                            const TrackLoader& load_track, const ProgressCallback& progress) {
  const double full_scale = full_scale_pa(scene.measurement.sensitivity_dbfs);
  const std::vector<ArrayTone> tones = tones_in_full_scale(truth, scene, full_scale);
  PointSamples points(scene, full_scale, load_track);
  BitSynthesizer synthesizer(synthesizer_settings(scene, full_scale));
  std::vector<std::uint32_t> words;
  std::vector<float> samples;
  for (std::uint64_t begin = 0; begin < bit_times; begin += kBlockBitTimes) {
    const auto count = static_cast<std::size_t>(std::min<std::uint64_t>(kBlockBitTimes, bit_times - begin));
    words.resize(count * static_cast<std::size_t>(synthesizer.words_per_bit_time()));
    points.next(count, samples);
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
  add_mesh_errors(scene, report);
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
  if (truth.sources) {
    writer.write_truth(truth);
  }
  writer.finish();
  return report;
}

}  // namespace nearfield
