#pragma once
#include <algorithm>
#include <cmath>
#include <complex>
#include <map>
#include <numbers>
#include <random>
#include <span>
#include <vector>

#include "core/geometry.hpp"

/// Spectra of a simulated array: known fields, white noise, microphones that are bad in known ways.
namespace nearfield::test {

using Complex = std::complex<double>;
using ComplexF = std::complex<float>;

inline constexpr double kSoundSpeed = 343.0;
inline constexpr double kStandoff_m = 0.03;

inline double wavenumber(double frequency_hz) { return 2.0 * std::numbers::pi * frequency_hz / kSoundSpeed; }

/// e^{-jkr}/r of a point source.
inline std::vector<Complex> point_field(double frequency_hz, double x_m, double y_m, double z_m,
                                        const ArrayGeometry& geometry) {
  std::vector<Complex> field;
  for (int row = 0; row < geometry.rows; ++row) {
    for (int column = 0; column < geometry.columns; ++column) {
      const double r = std::hypot(geometry.x_m(column) - x_m, geometry.y_m(row) - y_m, kStandoff_m - z_m);
      field.push_back(std::polar(1.0 / r, -wavenumber(frequency_hz) * r));
    }
  }
  return field;
}

/// sin(kx x) sin(ky y) on the surface, as it is at the microphones but for a factor.
inline std::vector<Complex> sine_field(double wavelength_x_m, double wavelength_y_m, const ArrayGeometry& geometry) {
  std::vector<Complex> field;
  for (int row = 0; row < geometry.rows; ++row) {
    for (int column = 0; column < geometry.columns; ++column) {
      field.emplace_back(std::sin(2.0 * std::numbers::pi * geometry.x_m(column) / wavelength_x_m) *
                         std::sin(2.0 * std::numbers::pi * geometry.y_m(row) / wavelength_y_m));
    }
  }
  return field;
}

/// The fields of research-notes.md: monopoles 3 cm behind the surface, centred and near the edge, and an infinite
/// pattern of sines, number 0 to 2.
inline std::vector<Complex> case_field(double frequency_hz, int number, const ArrayGeometry& geometry) {
  switch (number) {
    case 0:
      return point_field(frequency_hz, 0.013, -0.021, -0.03, geometry);
    case 1:
      return point_field(frequency_hz, 0.26, 0.19, -0.03, geometry);
    default:
      return sine_field(0.27, 0.35, geometry);
  }
}

enum class Fault { kDead, kStuck, kNoisy, kWeak };

inline double mean_power(const std::vector<Complex>& field) {
  double sum = 0.0;
  for (const Complex& value : field) {
    sum += std::norm(value);
  }
  return sum / static_cast<double>(field.size());
}

/// An array before steady tones, one field a frequency, with noise of a given level below the aperture's mean power.
class SimulatedArray {
 public:
  SimulatedArray(std::vector<std::vector<Complex>> fields, double snr_db, unsigned seed)
      : fields_(std::move(fields)), random_(seed), gains_(fields_.front().size(), 1.0) {
    for (const std::vector<Complex>& field : fields_) {
      noise_.push_back(std::sqrt(mean_power(field) * std::pow(10.0, -snr_db / 10.0) / 2.0));
    }
  }
  /// Healthy microphones differ: gains and phases up to so much either way.
  void spread(double gain_db, double phase_rad) {
    std::uniform_real_distribution<double> either(-1.0, 1.0);
    for (Complex& gain : gains_) {
      const double level_db = gain_db * either(random_);
      gain *= std::polar(std::pow(10.0, level_db / 20.0), phase_rad * either(random_));
    }
  }
  void set_fields(const std::vector<std::vector<Complex>>& fields) { fields_ = fields; }
  /// `count` microphones drawn at random, each with a fault drawn at random; weak ones lose 6 to 20 dB, noisy ones have
  /// from a third to three times the aperture's rms pressure of their own, stuck ones give nothing, dead ones noise.
  void spoil(std::size_t count) {
    std::vector<int> channels(gains_.size());
    for (std::size_t i = 0; i < channels.size(); ++i) {
      channels[i] = static_cast<int>(i);
    }
    std::shuffle(channels.begin(), channels.end(), random_);
    for (std::size_t i = 0; i < count; ++i) {
      faults_[channels[i]] = static_cast<Fault>(random_() % 4);
      amounts_[channels[i]] = std::uniform_real_distribution<double>(0.0, 1.0)(random_);
    }
  }
  void fail(int channel, Fault fault, double amount) {
    faults_[channel] = fault;
    amounts_[channel] = amount;
  }
  void heal() { faults_.clear(); }
  void swap(int one, int other) { swapped_.emplace_back(one, other); }
  [[nodiscard]] const std::map<int, Fault>& faults() const { return faults_; }

  /// Spectra of the next window, [frequency][channel]; phases turn from window to window.
  std::vector<ComplexF> next(double level = 1.0) {
    std::vector<ComplexF> spectra;
    for (std::size_t f = 0; f < fields_.size(); ++f) {
      const Complex turn = std::polar(level, std::uniform_real_distribution<double>(0.0, 6.283)(random_));
      std::vector<Complex> values;
      for (std::size_t i = 0; i < gains_.size(); ++i) {
        values.push_back(value(f, static_cast<int>(i), turn * gains_[i] * fields_[f][i]));
      }
      for (const auto& [one, other] : swapped_) {
        std::swap(values[static_cast<std::size_t>(one)], values[static_cast<std::size_t>(other)]);
      }
      for (const Complex& one : values) {
        spectra.emplace_back(one);
      }
    }
    return spectra;
  }

 private:
  Complex noise(double sigma) {
    const double real = sigma * normal_(random_);
    return {real, sigma * normal_(random_)};
  }
  Complex value(std::size_t f, int channel, Complex clean) {
    const auto fault = faults_.find(channel);
    const Complex own = noise(noise_[f]);
    if (fault == faults_.end()) {
      return clean + own;
    }
    const double amount = amounts_[channel];
    switch (fault->second) {
      case Fault::kDead:
        return own;
      case Fault::kStuck:
        return 0.0;
      case Fault::kWeak:
        return clean * std::pow(10.0, -(6.0 + 14.0 * amount) / 20.0) + own;
      case Fault::kNoisy:
        break;
    }
    const double rms = std::sqrt(mean_power(fields_[f]) / 2.0);
    return clean + noise(rms * std::pow(10.0, amount - 0.5)) + own;
  }

  std::vector<std::vector<Complex>> fields_;  ///< [frequency][channel]
  std::mt19937 random_;
  std::normal_distribution<double> normal_;
  std::vector<Complex> gains_;
  std::vector<double> noise_;
  std::map<int, Fault> faults_;
  std::map<int, double> amounts_;
  std::vector<std::pair<int, int>> swapped_;
};

}  // namespace nearfield::test
