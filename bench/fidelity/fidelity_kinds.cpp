#include "bench/fidelity/fidelity_kinds.hpp"

#include <Eigen/Dense>
#include <cmath>
#include <functional>
#include <numbers>

#include "core/quadrature.hpp"
#include "core/random.hpp"
#include "simulate/fields.hpp"

namespace nearfield::bench {
namespace {

using Complex = std::complex<double>;

constexpr double kTwoPi = 2.0 * std::numbers::pi;
constexpr std::uint64_t kSceneSeed = 27;
/// Where the spectrum of a packet has fallen to e^{-24}.
constexpr double kPacketReach = 7.0;
constexpr double kDipoleHalf_m = 5e-5;
constexpr double kVolumeVelocity = 1e-4;  // m³/s

double between(RandomStream& random, double low, double high) {
  return low + (high - low) * 0.5 * (1.0 + random.uniform());
}

/// Phase anywhere, magnitude from 0.5 to 1.5.
Complex amplitude(RandomStream& random) {
  const double magnitude = between(random, 0.5, 1.5);
  return std::polar(magnitude, between(random, 0.0, kTwoPi));
}

/// What is drawn of a scene.
struct Sources {
  std::vector<Monopole> monopoles;
  std::vector<WavePacket> packets;
  double disturbance = 0.0;  ///< of a plane wave from behind the array: rms over the field's
  double disturbance_polar_rad = 0.0;
  double disturbance_azimuth_rad = 0.0;
};

Monopole monopole(RandomStream& random, double reach_m, double least_m, double most_m) {
  const double x_m = between(random, -reach_m, reach_m);
  const double y_m = between(random, -reach_m, reach_m);
  const double depth_m = between(random, least_m, most_m);
  return {.position = {x_m, y_m, -depth_m}, .volume_velocity_m3_s = kVolumeVelocity * amplitude(random)};
}

Sources monopoles(RandomStream& random, int count) {
  Sources sources;
  for (int i = 0; i < count; ++i) {
    sources.monopoles.push_back(monopole(random, 0.3, 0.015, 0.06));
  }
  return sources;
}

/// Two opposite monopoles 0.1 mm apart, along any direction.
Sources dipoles(RandomStream& random, int count) {
  Sources sources;
  for (int i = 0; i < count; ++i) {
    const Monopole centre = monopole(random, 0.25, 0.03, 0.03);
    const double cosine = between(random, -1.0, 1.0);
    const double azimuth_rad = between(random, 0.0, kTwoPi);
    const double sine = std::sqrt(1.0 - cosine * cosine);
    for (const double side : {kDipoleHalf_m, -kDipoleHalf_m}) {
      Monopole one = centre;
      one.position.x_m += side * sine * std::cos(azimuth_rad);
      one.position.y_m += side * sine * std::sin(azimuth_rad);
      one.position.z_m += side * cosine;
      one.volume_velocity_m3_s *= side > 0.0 ? 1.0 : -1.0;
      sources.monopoles.push_back(one);
    }
  }
  return sources;
}

/// Bending waves of 9 to 21 cm.
Sources packets(RandomStream& random, int count, double width_m) {
  Sources sources;
  for (int i = 0; i < count; ++i) {
    const double x_m = between(random, -0.22, 0.22);
    const double y_m = between(random, -0.22, 0.22);
    const double wavenumber = between(random, 30.0, 70.0);
    const double direction_rad = between(random, 0.0, kTwoPi);
    sources.packets.push_back({.x_m = x_m,
                               .y_m = y_m,
                               .width_m = width_m,
                               .kx_rad_per_m = wavenumber * std::cos(direction_rad),
                               .ky_rad_per_m = wavenumber * std::sin(direction_rad),
                               .velocity_m_s = 1e-3 * amplitude(random)});
  }
  return sources;
}

Sources with_disturbance(Sources sources, RandomStream& random) {
  sources.disturbance = 0.05;
  sources.disturbance_polar_rad = between(random, 0.0, 1.2);
  sources.disturbance_azimuth_rad = between(random, 0.0, kTwoPi);
  return sources;
}

/// Adds the fields at a height.
PacketFields fields_at(const Sources& sources, double frequency_hz, const TrueField& array, double z_m) {
  PacketFields sum = packet_fields(sources.packets, frequency_hz, array.medium, array.geometry, z_m);
  const Tonal tonal{frequency_hz, array.medium};
  for (int channel = 0; channel < array.geometry.channels(); ++channel) {
    const MicrophonePosition at = array.geometry.position_m(channel);
    for (const Monopole& source : sources.monopoles) {
      const FieldValue value = monopole_field(source, tonal, {at.x_m, at.y_m, z_m});
      sum.pressure_pa[static_cast<std::size_t>(channel)] += value.pressure_pa;
      sum.velocity_m_s[static_cast<std::size_t>(channel)] += value.velocity_m_s;
    }
  }
  return sum;
}

double rms_of(const std::vector<Complex>& values) {
  double sum = 0.0;
  for (const Complex& value : values) {
    sum += std::norm(value);
  }
  return std::sqrt(sum / static_cast<double>(values.size()));
}

/// A plane wave over the plane of the microphones; which way it passes through them makes no difference there.
void disturb(const Sources& sources, double frequency_hz, const TrueField& array, std::vector<Complex>& aperture) {
  const double along =
      Tonal{frequency_hz, array.medium}.wavenumber_rad_per_m() * std::sin(sources.disturbance_polar_rad);
  const double rms_pa = rms_of(aperture);
  for (int channel = 0; channel < array.geometry.channels(); ++channel) {
    const MicrophonePosition at = array.geometry.position_m(channel);
    const double phase_rad = along * (std::cos(sources.disturbance_azimuth_rad) * at.x_m +
                                      std::sin(sources.disturbance_azimuth_rad) * at.y_m);
    aperture[static_cast<std::size_t>(channel)] += std::polar(sources.disturbance * rms_pa, -phase_rad);
  }
}

TrueField array_of(const SceneKind& kind) {
  TrueField field;
  field.name = kind.name;
  field.standoff_m = kind.standoff_m;
  field.frequencies_hz = kind.frequencies_hz;
  return field;
}

KindScene scene_of(const SceneKind& kind, const Sources& sources) {
  const TrueField array = array_of(kind);
  KindScene scene;
  const auto append = [](Values& to, const std::vector<Complex>& values) {
    to.insert(to.end(), values.begin(), values.end());
  };
  for (const double frequency_hz : kind.frequencies_hz) {
    PacketFields at_microphones = fields_at(sources, frequency_hz, array, kind.standoff_m);
    const PacketFields at_surface = fields_at(sources, frequency_hz, array, 0.0);
    if (sources.disturbance > 0.0) {
      disturb(sources, frequency_hz, array, at_microphones.pressure_pa);
    }
    append(scene.aperture, at_microphones.pressure_pa);
    append(scene.pressure, at_surface.pressure_pa);
    append(scene.velocity, at_surface.velocity_m_s);
  }
  return scene;
}

/// A kind before its scenes are drawn.
struct KindRules {
  std::string name;
  bool is_fitted;
  double standoff_m;
  std::function<Sources(RandomStream&)> draw;
};

std::vector<KindRules> kind_rules() {
  const auto several = [](int count) { return [count](RandomStream& random) { return monopoles(random, count); }; };
  const auto waves = [](int count, double width_m) {
    return [count, width_m](RandomStream& random) { return packets(random, count, width_m); };
  };
  return {{"one monopole, 3 cm", true, 0.03, several(1)},
          {"three monopoles, 2 cm", true, 0.02, several(3)},
          {"three monopoles, 5 cm", true, 0.05, several(3)},
          {"two packets of 6 cm, 3 cm", true, 0.03, waves(2, 0.06)},
          {"packets of 3 cm, 3 cm", false, 0.03, waves(3, 0.03)},
          {"two dipoles, 3 cm", false, 0.03, [](RandomStream& random) { return dipoles(random, 2); }},
          {"seven monopoles, 3 cm", false, 0.03, several(7)},
          {"seven monopoles, 1.5 cm", false, 0.015, several(7)},
          {"seven monopoles, 6 cm", false, 0.06, several(7)},
          {"seven and a wave from behind, 3 cm", false, 0.03,
           [](RandomStream& random) { return with_disturbance(monopoles(random, 7), random); }}};
}

/// A wave of the packets' spectrum: its kz, kr, and what one step of direction of it counts in K-space.
struct SpectrumRing {
  Complex kz;
  double kr;
  double area;
};

/// Over the angle inside the radiation circle and the decay outside: kr dkr = kz dkz takes the pole of 1/kz away.
std::vector<SpectrumRing> spectrum_rings(double k, double most_rad_per_m, double turns_rad) {
  std::vector<SpectrumRing> rings;
  for (const GaussNode& node : gauss_rule(std::min(k * turns_rad, kMaxGaussPhase))) {
    const double angle = node.position * std::numbers::pi / 2.0;
    rings.push_back({k * std::cos(angle), k * std::sin(angle),
                     node.weight * std::numbers::pi / 2.0 * k * k * std::sin(angle) * std::cos(angle)});
  }
  for (const GaussNode& node : gauss_rule(std::min(most_rad_per_m * turns_rad, kMaxGaussPhase))) {
    const double decay = node.position * most_rad_per_m;
    rings.push_back({Complex(0.0, -decay), std::hypot(k, decay), node.weight * most_rad_per_m * decay});
  }
  return rings;
}

/// The plane waves that a packet is made of: velocity at z = 0 of each.
struct PlaneWaves {
  std::vector<double> kx_rad_per_m;
  std::vector<double> ky_rad_per_m;
  std::vector<Complex> kz_rad_per_m;
  std::vector<Complex> velocity_m_s;
};

PlaneWaves waves_of(const WavePacket& packet, double k, double longest_m) {
  const double most = std::hypot(packet.kx_rad_per_m, packet.ky_rad_per_m) + kPacketReach / packet.width_m;
  PlaneWaves waves;
  for (const SpectrumRing& ring : spectrum_rings(k, most, longest_m)) {
    const int directions = 64 + static_cast<int>(1.1 * ring.kr * longest_m);
    for (int direction = 0; direction < directions; ++direction) {
      const double angle = kTwoPi * direction / directions;
      const double kx = ring.kr * std::cos(angle);
      const double ky = ring.kr * std::sin(angle);
      const double off = packet.width_m * std::hypot(kx - packet.kx_rad_per_m, ky - packet.ky_rad_per_m);
      if (off < kPacketReach) {
        waves.kx_rad_per_m.push_back(kx);
        waves.ky_rad_per_m.push_back(ky);
        waves.kz_rad_per_m.push_back(ring.kz);
        waves.velocity_m_s.push_back(packet.velocity_m_s * packet.width_m * packet.width_m *
                                     std::exp(-0.5 * off * off) * ring.area / static_cast<double>(directions));
      }
    }
  }
  return waves;
}

/// e^{-j kx (x - x0)}. (place, wave)
Eigen::MatrixXcd ramps(const std::vector<double>& places_m, const std::vector<double>& wavenumbers) {
  Eigen::MatrixXcd matrix(static_cast<Eigen::Index>(places_m.size()), static_cast<Eigen::Index>(wavenumbers.size()));
  for (Eigen::Index wave = 0; wave < matrix.cols(); ++wave) {
    for (Eigen::Index place = 0; place < matrix.rows(); ++place) {
      matrix(place, wave) =
          std::polar(1.0, -wavenumbers[static_cast<std::size_t>(wave)] * places_m[static_cast<std::size_t>(place)]);
    }
  }
  return matrix;
}

/// Adds the sum of waves with these amplitudes to a field. [row][column]
void add_waves(const Eigen::MatrixXcd& along_y, const Eigen::VectorXcd& amplitudes, const Eigen::MatrixXcd& along_x,
               std::vector<Complex>& field) {
  const Eigen::MatrixXcd sum = along_y * amplitudes.asDiagonal() * along_x.transpose();
  for (std::size_t i = 0; i < field.size(); ++i) {
    const auto row = static_cast<Eigen::Index>(i) / sum.cols();
    field[i] += sum(row, static_cast<Eigen::Index>(i) % sum.cols());
  }
}

}  // namespace

TrueField SceneKind::field(std::size_t scene, Quantity quantity) const {
  TrueField field = array_of(*this);
  field.quantity = quantity;
  const KindScene& of = scenes.at(scene);
  field.aperture = of.aperture;
  for (std::size_t i = 0; i < of.pressure.size(); ++i) {
    const Complex pressure(of.pressure[i]);
    const Complex velocity(of.velocity[i]);
    const Complex jw(0.0, kTwoPi * frequencies_hz[i / field.channels()]);
    switch (quantity) {
      case Quantity::kPressure:
        field.truth.emplace_back(pressure);
        break;
      case Quantity::kNormalVelocity:
        field.truth.emplace_back(velocity);
        break;
      case Quantity::kDisplacement:
        field.truth.emplace_back(velocity / jw);
        break;
      case Quantity::kActiveIntensity:
        field.truth.emplace_back(0.5 * (pressure * std::conj(velocity)).real());
        break;
    }
  }
  return field;
}

PacketFields packet_fields(const std::vector<WavePacket>& packets, double frequency_hz, const MediumSettings& medium,
                           const ArrayGeometry& geometry, double z_m) {
  const double k = Tonal{frequency_hz, medium}.wavenumber_rad_per_m();
  const auto channels = static_cast<std::size_t>(geometry.channels());
  PacketFields sum{.pressure_pa = std::vector<Complex>(channels), .velocity_m_s = std::vector<Complex>(channels)};
  const double longest_m = std::hypot(geometry.rows * geometry.pitch_y_m, geometry.columns * geometry.pitch_x_m);
  for (const WavePacket& packet : packets) {
    std::vector<double> x_m;
    std::vector<double> y_m;
    for (int column = 0; column < geometry.columns; ++column) {
      x_m.push_back(geometry.x_m(column) - packet.x_m);
    }
    for (int row = 0; row < geometry.rows; ++row) {
      y_m.push_back(geometry.y_m(row) - packet.y_m);
    }
    const PlaneWaves waves = waves_of(packet, k, longest_m);
    const Eigen::MatrixXcd along_x = ramps(x_m, waves.kx_rad_per_m);
    const Eigen::MatrixXcd along_y = ramps(y_m, waves.ky_rad_per_m);
    Eigen::VectorXcd velocities(along_x.cols());
    Eigen::VectorXcd pressures(along_x.cols());
    for (Eigen::Index wave = 0; wave < velocities.size(); ++wave) {
      const Complex kz = waves.kz_rad_per_m[static_cast<std::size_t>(wave)];
      velocities(wave) = waves.velocity_m_s[static_cast<std::size_t>(wave)] * std::exp(Complex(0.0, -1.0) * kz * z_m);
      pressures(wave) = velocities(wave) * medium.density_kg_m3 * medium.sound_speed_m_s * k / kz;
    }
    add_waves(along_y, velocities, along_x, sum.velocity_m_s);
    add_waves(along_y, pressures, along_x, sum.pressure_pa);
  }
  return sum;
}

std::vector<SceneKind> scene_kinds(int scenes) {
  std::vector<SceneKind> kinds;
  for (const KindRules& rules : kind_rules()) {
    SceneKind kind{.name = rules.name,
                   .is_fitted = rules.is_fitted,
                   .standoff_m = rules.standoff_m,
                   .frequencies_hz = {500.0, 2000.0, 4000.0},
                   .scenes = {}};
    for (int scene = 0; scene < scenes; ++scene) {
      RandomStream random(kSceneSeed, 1000U * kinds.size() + static_cast<std::uint64_t>(scene));
      kind.scenes.push_back(scene_of(kind, rules.draw(random)));
    }
    kinds.push_back(std::move(kind));
  }
  return kinds;
}

}  // namespace nearfield::bench
