#include "imaging/sonah/wave_table.hpp"

#include <array>
#include <cmath>

#include "imaging/sonah/surface_model.hpp"

namespace nearfield {
namespace {

using Complex = std::complex<double>;
using Eigen::Index;

constexpr Index kWaveBlock = 32;

/// Of each pixel along an axis.
std::vector<Complex> phases(double k_rad_per_m, int microphones, int upsample, double pitch_m) {
  std::vector<Complex> along;
  for (int pixel = 0; pixel < upsample * microphones; ++pixel) {
    const double place_m = (static_cast<double>(pixel) / upsample - (microphones - 1) / 2.0) * pitch_m;
    along.push_back(std::polar(1.0, k_rad_per_m * place_m));
  }
  return along;
}

/// A wave over an image.
struct Pixels {
  Pixels(const PnahPlan& plan, const PlaneWave& wave)
      : columns(phases(wave.kx_rad_per_m, plan.geometry.columns, plan.holography.upsample, plan.geometry.pitch_x_m)),
        rows(phases(wave.ky_rad_per_m, plan.geometry.rows, plan.holography.upsample, plan.geometry.pitch_y_m)) {}
  /// Of a surface, on which nothing separates into rows and columns.
  explicit Pixels(const Eigen::VectorXcd& on_surface) : columns(on_surface.begin(), on_surface.end()) {}
  std::vector<Complex> columns;
  std::vector<Complex> rows;
};

Pixels pixels_of(const PnahPlan& plan, double k, const PlaneWave& wave) {
  return plan.surface ? Pixels(wave_on_surface(plan, k, wave)) : Pixels(plan, wave);
}

Complex product(const std::vector<Complex>& a, const std::vector<Complex>& b) {
  Complex sum;
  for (std::size_t i = 0; i < a.size(); ++i) {
    sum += std::conj(a[i]) * b[i];
  }
  return sum;
}

/// What two waves share of the energy of an image, for amplitudes 1 there.
Complex shared_energy(const Pixels& a, const Pixels& b) {
  return product(a.columns, b.columns) * (a.rows.empty() ? Complex(1.0) : product(a.rows, b.rows));
}

/// Expected squared error of an image of the first plane, because of the amplitudes' errors, which are imaged both by
/// the waves and, with the other sign, by the prior.
double expected_error(const PnahPlan& plan, double k, const SonahModel& model, const std::vector<PlaneWave>& waves,
                      const WaveModes& found) {
  const int upsample = plan.holography.upsample;
  const auto place_m = [&](Index half_pixel, int microphones, double pitch_m) {
    return (static_cast<double>(half_pixel) - (upsample * (microphones + 1) - 2) / 2.0) * pitch_m / upsample;
  };
  const Index count = static_cast<Index>(waves.size());
  Eigen::MatrixXd shared = Eigen::MatrixXd::Zero(count, count);
  for (std::size_t c = 0; c < kParities; ++c) {
    const Index first = static_cast<Index>(c) * model.samples;
    const Eigen::MatrixXd white = found.weights.segment(first, model.samples).matrix().asDiagonal() *
                                  found.modes.middleRows(first, model.samples);
    Eigen::MatrixXcd missed = -(model.images.front()[c] * white.cast<Complex>());
    for (Index wave = 0; wave < count; ++wave) {
      const PlaneWave& of = waves[static_cast<std::size_t>(wave)];
      const Complex gain = 0.25 * wave_gain(plan, k, of, plan.holography.planes_m.front());
      for (Index pixel = 0; pixel < missed.rows(); ++pixel) {
        const double y_m = place_m(pixel / model.pixel_columns, plan.geometry.rows, plan.geometry.pitch_y_m);
        const double x_m = place_m(pixel % model.pixel_columns, plan.geometry.columns, plan.geometry.pitch_x_m);
        missed(pixel, wave) += gain * mirrored_pair(of.ky_rad_per_m, y_m, (c & 2U) != 0) *
                               mirrored_pair(of.kx_rad_per_m, x_m, (c & 1U) != 0);
      }
    }
    shared += (missed.adjoint() * model.shown.cast<Complex>().asDiagonal() * missed).real();
  }
  return (found.covariance.array() * shared.array()).sum();
}

/// The same on a surface, whose pixels do not mirror.
double expected_error_on_surface(const PnahPlan& plan, double k, const SonahModel& model,
                                 const std::vector<PlaneWave>& waves, const WaveModes& found) {
  const std::array<Complex, kParities> phases = {Complex(1.0), Complex(0.0, 1.0), Complex(0.0, 1.0), Complex(-1.0)};
  Eigen::MatrixXcd missed(model.images.front().front().rows(), static_cast<Index>(waves.size()));
  for (std::size_t wave = 0; wave < waves.size(); ++wave) {
    missed.col(static_cast<Index>(wave)) = wave_on_surface(plan, k, waves[wave]);
  }
  for (std::size_t c = 0; c < kParities; ++c) {
    const Index first = static_cast<Index>(c) * model.samples;
    const Eigen::MatrixXd white = found.weights.segment(first, model.samples).matrix().asDiagonal() *
                                  found.modes.middleRows(first, model.samples);
    missed -= phases[c] * (model.images.front()[c] * white.cast<Complex>());
  }
  return (found.covariance.array() * (missed.adjoint() * missed).real().array()).sum();
}

}  // namespace

double mirrored_pair(double k_rad_per_m, double x_m, bool is_odd) {
  return 2.0 * (is_odd ? std::sin(k_rad_per_m * x_m) : std::cos(k_rad_per_m * x_m));
}

double mirrored_slope(double k_rad_per_m, double x_m, bool is_odd) {
  return 2.0 * x_m * (is_odd ? std::cos(k_rad_per_m * x_m) : -std::sin(k_rad_per_m * x_m));
}

Complex wave_gain(const PnahPlan& plan, double k, const PlaneWave& wave, double plane_m) {
  const double kr2 = wave.kx_rad_per_m * wave.kx_rad_per_m + wave.ky_rad_per_m * wave.ky_rad_per_m;
  const Complex kz = kr2 <= k * k ? Complex(std::sqrt(k * k - kr2)) : Complex(0.0, -std::sqrt(kr2 - k * k));
  return quantity_factor(plan, kz, k) * std::exp(Complex(0.0, 1.0) * kz * (plan.standoff_m - plane_m));
}

std::vector<float> make_wave_table(const PnahPlan& plan, double k, const SonahModel& model,
                                   const std::vector<PlaneWave>& waves, const WaveModes& found) {
  std::vector<float> values(WaveTable::kHeader, 0.0F);
  if (waves.empty()) {
    return values;
  }
  values[0] = static_cast<float>(waves.size());
  values[1] = static_cast<float>(plan.surface ? expected_error_on_surface(plan, k, model, waves, found)
                                              : expected_error(plan, k, model, waves, found));
  const Eigen::MatrixXd amplitudes = found.weights.matrix().asDiagonal() * found.modes * found.covariance;
  const Index padded = (model.samples + kWaveBlock - 1) / kWaveBlock * kWaveBlock;
  const auto put_modes = [&](const auto& of_wave) {
    for (int c = 0; c < kParities; ++c) {
      for (Index mode = 0; mode < padded; ++mode) {
        values.push_back(mode < model.samples ? static_cast<float>(of_wave(Index{c} * model.samples + mode)) : 0.0F);
      }
    }
  };
  const auto put = [&](Complex value) {
    values.push_back(static_cast<float>(value.real()));
    values.push_back(static_cast<float>(value.imag()));
  };
  std::vector<Pixels> pixels;
  for (const PlaneWave& wave : waves) {
    pixels.push_back(pixels_of(plan, k, wave));
  }
  for (std::size_t wave = 0; wave < waves.size(); ++wave) {
    put_modes(amplitudes.col(static_cast<Index>(wave)));
    put_modes(found.modes.col(static_cast<Index>(wave)));
    for (const double plane_m : plan.holography.planes_m) {
      put(plan.surface ? Complex(1.0) : wave_gain(plan, k, waves[wave], plane_m));
    }
    for (const std::vector<Complex>* along : {&pixels[wave].columns, &pixels[wave].rows}) {
      for (const Complex phase : *along) {
        put(phase);
      }
    }
    for (std::size_t other = 0; other < static_cast<std::size_t>(kMostWaves); ++other) {
      put(other < waves.size() ? shared_energy(pixels[wave], pixels[other]) : Complex());
    }
  }
  return values;
}

}  // namespace nearfield
