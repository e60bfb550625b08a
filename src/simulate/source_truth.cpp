#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numbers>

#include "simulate/points/signal.hpp"
#include "simulate/scene.hpp"

namespace nearfield {
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

Band third_octave(double centre_hz) {
  return {.low_hz = centre_hz * std::pow(10.0, -0.05), .high_hz = centre_hz * std::pow(10.0, 0.05)};
}

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
      power.push_back(of(third_octave(centre_hz)));
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
