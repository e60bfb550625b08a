#include "imaging/sonah/sonah_reference.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <map>
#include <numbers>

namespace nearfield::reference {
namespace {

constexpr int kSteps = 48;
constexpr double kHold = 3.0;

double noise_of(int step) { return 1e-7 * std::pow(1.5, step); }

/// A wave of the prior: kz, kr, its power on the surface with the quadrature's weight.
struct Wave {
  Complex kz;
  double kr;
  double power;
};

double density(Complex kz, double k, const PnahPlan& plan) {
  const ArrayGeometry& g = plan.geometry;
  const double side_m = std::sqrt(g.rows * g.pitch_y_m * g.columns * g.pitch_x_m);
  const double rounding = 0.3 * k + 2.0 * std::numbers::pi / side_m;
  return std::exp(2.0 * kz.imag() * plan.standoff_m) / (std::norm(kz) + rounding * rounding);
}

/// Simpson's rule over the angle inside the radiation circle, over the decay outside.
std::vector<Wave> make_waves(double k, const PnahPlan& plan) {
  constexpr int kIntervals = 800;
  const double deepest = 10.0 / plan.standoff_m;
  std::vector<Wave> waves;
  for (int i = 0; i <= kIntervals; ++i) {
    const double simpson = (i == 0 || i == kIntervals ? 1.0 : i % 2 == 1 ? 4.0 : 2.0) / (3.0 * kIntervals);
    const double angle = std::numbers::pi / 2.0 * i / kIntervals;
    const double kz = k * std::cos(angle);
    const double kr = k * std::sin(angle);
    waves.push_back({kz, kr, density(kz, k, plan) * kr * kz * simpson * std::numbers::pi / 2.0});
    const double decay = deepest * i / kIntervals;
    waves.push_back({Complex(0.0, -decay), std::hypot(k, decay),
                     density(Complex(0.0, -decay), k, plan) * decay * simpson * deepest});
  }
  return waves;
}

/// From pressure to the plan's quantity; displacement is velocity over j omega.
Complex factor_of(Complex kz, double k, const PnahPlan& plan) {
  const Complex velocity = kz / (plan.medium.density_kg_m3 * plan.medium.sound_speed_m_s * k);
  if (plan.holography.quantity == Quantity::kDisplacement) {
    return velocity / (Complex(0.0, 1.0) * plan.medium.sound_speed_m_s * k);
  }
  return plan.holography.quantity == Quantity::kNormalVelocity ? velocity : Complex(1.0);
}

/// The mean of cos(kr x) over all directions, by the trapezoidal rule, which is exact to rounding here.
double mean_over_directions(double kr, double distance_m) {
  const int count = 24 + static_cast<int>(kr * distance_m);
  double sum = 0.0;
  for (int i = 0; i < count; ++i) {
    sum += std::cos(kr * distance_m * std::cos(std::numbers::pi * (i + 0.5) / count));
  }
  return sum / count;
}

/// Covariance of microphones and, for each plane, of an image with them, at a distance along the array.
std::vector<Complex> covariances(double distance_m, const std::vector<Wave>& waves, double k, const PnahPlan& plan) {
  const HolographySettings& holography = plan.holography;
  std::vector<Complex> sums(1 + holography.planes_m.size());
  for (const Wave& wave : waves) {
    const double shape = wave.power * mean_over_directions(wave.kr, distance_m);
    const Complex to_array = std::exp(Complex(0.0, -1.0) * wave.kz * plan.standoff_m);
    sums[0] += shape * std::norm(to_array);
    for (std::size_t plane = 0; plane < holography.planes_m.size(); ++plane) {
      const Complex factor = factor_of(wave.kz, k, plan);
      sums[plane + 1] +=
          shape * factor * std::exp(Complex(0.0, -1.0) * wave.kz * holography.planes_m[plane]) * std::conj(to_array);
    }
  }
  return sums;
}

double image_prior(const std::vector<Wave>& waves, double k, const PnahPlan& plan) {
  double sum = 0.0;
  for (const Wave& wave : waves) {
    sum += wave.power * std::norm(factor_of(wave.kz, k, plan)) *
           std::exp(2.0 * wave.kz.imag() * plan.holography.planes_m.front());
  }
  return sum;
}

/// Where the prior's density at the microphones falls to that of the noise, in steps of 0.01 rad/m of decay.
double equivalent_cutoff(double noise, double microphone, double k, const PnahPlan& plan) {
  const double white = noise * plan.geometry.pitch_x_m * plan.geometry.pitch_y_m / (2.0 * std::numbers::pi);
  double decay = 0.0;
  while (density(Complex(0.0, -decay), k, plan) * std::exp(-2.0 * decay * plan.standoff_m) >= white * microphone) {
    decay += 0.01;
  }
  return decay > 0.0 ? std::hypot(k, decay) : 0.0;
}

/// How probable each step of noise is: minus the logarithm, but for a constant, and the prior's power.
struct Evidence {
  std::vector<double> costs;
  std::vector<double> priors;
};

Evidence weigh_noises(const Eigen::VectorXd& powers, const Eigen::VectorXcd& y) {
  Evidence found;
  for (int step = 0; step < kSteps; ++step) {
    const Eigen::ArrayXd variances = powers.array() + noise_of(step);
    found.priors.push_back((y.cwiseAbs2().array() / variances).mean());
    found.costs.push_back(variances.log().sum() +
                          static_cast<double>(y.size()) * std::log(std::max(found.priors.back(), 1e-40)));
  }
  return found;
}

int step_of_least(const std::vector<double>& costs) {
  return static_cast<int>(std::min_element(costs.begin(), costs.end()) - costs.begin());
}

/// Memory number `which` with this frame in it.
Sonah::NoiseMemory noise_remembered(Sonah::NoiseMemory memory, int which, std::int64_t half,
                                    const std::vector<double>& costs) {
  const std::int64_t begun_half = half % 2 == which ? half : half - 1;
  if (memory.begun_half != begun_half || memory.frames == 0) {
    memory = {.begun_half = begun_half, .frames = 0, .held = -1, .sums = std::vector<double>(costs.size(), 0.0)};
  }
  const int best = step_of_least(costs);
  ++memory.frames;
  if (begun_half == half) {
    std::transform(costs.begin(), costs.end(), memory.sums.begin(), memory.sums.begin(), std::plus<>());
    return memory;
  }
  if (memory.held < 0) {
    memory.held = memory.frames > 1 ? step_of_least(memory.sums) : best;
  }
  const bool holds = costs[static_cast<std::size_t>(memory.held)] < costs[static_cast<std::size_t>(best)] + kHold;
  memory.held = holds ? memory.held : best;
  return memory;
}

/// e^{j (kx x + ky y)} over the microphones, or over an image's pixels.
Eigen::VectorXcd wave_over(const PlaneWave& wave, const PnahPlan& plan, int upsample) {
  const ArrayGeometry& geometry = plan.geometry;
  const int columns = upsample * geometry.columns;
  Eigen::VectorXcd values(Eigen::Index{upsample} * geometry.rows * columns);
  for (Eigen::Index i = 0; i < values.size(); ++i) {
    const Eigen::Index row = i / columns;
    const Eigen::Index column = i % columns;
    const double x_m = (static_cast<double>(column) / upsample - (geometry.columns - 1) / 2.0) * geometry.pitch_x_m;
    const double y_m = (static_cast<double>(row) / upsample - (geometry.rows - 1) / 2.0) * geometry.pitch_y_m;
    values(i) = std::polar(1.0, wave.kx_rad_per_m * x_m + wave.ky_rad_per_m * y_m);
  }
  return values;
}

}  // namespace

Sonah::Sonah(const PnahPlan& plan) : plan_(plan) {
  for (std::size_t f = 0; f < plan.frequencies_hz.size(); ++f) {
    frequencies_.push_back(make_frequency(f));
  }
}

Sonah::Frequency Sonah::make_frequency(std::size_t frequency) const {
  const ArrayGeometry& geometry = plan_.geometry;
  const double k = plan_.wavenumber(frequency);
  const std::vector<Wave> waves = make_waves(k, plan_);
  const int upsample = plan_.holography.upsample;
  const std::size_t planes = plan_.holography.planes_m.size();
  const Eigen::Index microphones = geometry.channels();
  const Eigen::Index pixels = static_cast<Eigen::Index>(plan_.image_rows()) * plan_.image_columns();
  std::map<std::pair<int, int>, std::vector<Complex>> of_lag;
  const auto covariance_of = [&](int rows, int columns) -> const std::vector<Complex>& {
    std::vector<Complex>& found = of_lag[{std::abs(rows), std::abs(columns)}];
    if (found.empty()) {
      found =
          covariances(std::hypot(rows * geometry.pitch_y_m, columns * geometry.pitch_x_m) / upsample, waves, k, plan_);
    }
    return found;
  };
  const double microphone = covariance_of(0, 0)[0].real();
  Eigen::MatrixXd covariance(microphones, microphones);
  std::vector<Eigen::MatrixXcd> to_images(planes, Eigen::MatrixXcd(pixels, microphones));
  for (int m = 0; m < geometry.channels(); ++m) {
    const int row = upsample * (m / geometry.columns);
    const int column = upsample * (m % geometry.columns);
    for (int n = 0; n < geometry.channels(); ++n) {
      covariance(m, n) =
          covariance_of(row - upsample * (n / geometry.columns), column - upsample * (n % geometry.columns))[0].real() /
          microphone;
    }
    for (Eigen::Index pixel = 0; pixel < pixels; ++pixel) {
      const int pixel_row = static_cast<int>(pixel) / plan_.image_columns();
      const int pixel_column = static_cast<int>(pixel) % plan_.image_columns();
      for (std::size_t plane = 0; plane < planes; ++plane) {
        to_images[plane](pixel, m) = covariance_of(row - pixel_row, column - pixel_column)[plane + 1] / microphone;
      }
    }
  }
  const Eigen::SelfAdjointEigenSolver<Eigen::MatrixXd> solver(covariance);
  Frequency found{.powers = solver.eigenvalues().cwiseMax(0.0),
                  .modes = solver.eigenvectors(),
                  .images = {},
                  .prior = image_prior(waves, k, plan_) / microphone * static_cast<double>(pixels),
                  .cutoffs_rad_per_m = {},
                  .memories = {},
                  .found = {}};
  for (int step = 0; step < kSteps; ++step) {
    found.cutoffs_rad_per_m.push_back(equivalent_cutoff(noise_of(step), microphone, k, plan_));
  }
  for (const Eigen::MatrixXcd& image : to_images) {
    found.images.emplace_back(image * found.modes.cast<Complex>());
  }
  return found;
}

void Sonah::use(const WaveFindings& findings) {
  for (std::size_t f = 0; f < frequencies_.size() && f < findings.waves.size(); ++f) {
    frequencies_[f].found = findings.waves[f];
  }
}

Sonah::WaveFit Sonah::fit_waves(std::size_t frequency, const Eigen::VectorXcd& field) const {
  const Frequency& f = frequencies_[frequency];
  const std::vector<PlaneWave>& waves = f.found.waves;
  const Eigen::Index count = static_cast<Eigen::Index>(waves.size());
  Eigen::MatrixXcd at_microphones(field.size(), count);
  for (Eigen::Index wave = 0; wave < count; ++wave) {
    at_microphones.col(wave) = wave_over(waves[static_cast<std::size_t>(wave)], plan_, 1);
  }
  // Generalised least squares: (F^H C^-1 F)^-1 F^H C^-1 p.
  const Eigen::MatrixXd inverse =
      f.modes * (f.powers.array() + f.found.noise).inverse().matrix().asDiagonal() * f.modes.transpose();
  const Eigen::MatrixXcd white = inverse.cast<Complex>() * at_microphones;
  const Eigen::MatrixXcd covariance = (at_microphones.adjoint() * white).inverse();
  const Eigen::VectorXcd amplitudes = covariance * white.adjoint() * field;
  WaveFit fit{.residual = field - at_microphones * amplitudes, .images = {}, .error = 0.0};
  const double k = plan_.wavenumber(frequency);
  for (std::size_t plane = 0; plane < f.images.size(); ++plane) {
    Eigen::MatrixXcd on_plane(f.images[plane].rows(), count);
    for (Eigen::Index wave = 0; wave < count; ++wave) {
      const PlaneWave& of = waves[static_cast<std::size_t>(wave)];
      const Complex kz =
          std::conj(std::sqrt(Complex(k * k - std::pow(of.kx_rad_per_m, 2) - std::pow(of.ky_rad_per_m, 2), 0.0)));
      const double distance_m = plan_.standoff_m - plan_.holography.planes_m[plane];
      on_plane.col(wave) = factor_of(kz, k, plan_) * std::exp(Complex(0.0, 1.0) * kz * distance_m) *
                           wave_over(of, plan_, plan_.holography.upsample);
    }
    fit.images.emplace_back(on_plane * amplitudes);
    if (plane == 0) {
      const Eigen::MatrixXcd missed = on_plane - f.images[0] * (f.modes.transpose() * white);
      fit.error = (missed * covariance * missed.adjoint()).trace().real();
    }
  }
  return fit;
}

void Sonah::forget() {
  for (Frequency& frequency : frequencies_) {
    frequency.memories = {};
  }
}

int Sonah::noise_of_frame(Frequency& frequency, const std::vector<double>& costs, const FrameHop& hop) {
  const auto half = static_cast<std::int64_t>(hop.hop / kMemoryHalf);
  int step = -1;
  for (int which = 0; which < 2; ++which) {
    NoiseMemory& memory = frequency.memories.at(static_cast<std::size_t>(which));
    const NoiseMemory with_frame = noise_remembered(memory, which, half, costs);
    step = half % 2 != which ? with_frame.held : step;
    memory = hop.is_whole ? with_frame : memory;
  }
  return step;
}

PnahImages Sonah::image(std::span<const Complex> spectra, const PnahPlan& masked, const FrameHop& hop) {
  const ConditionedSpectra conditioned = condition_microphones(spectra, masked);
  const std::size_t planes = plan_.holography.planes_m.size();
  const std::size_t pixels = static_cast<std::size_t>(plan_.image_rows() * plan_.image_columns());
  PnahImages frame;
  frame.flags = conditioned.flags;
  frame.non_finite_channels = conditioned.non_finite_channels;
  frame.images.resize(planes * frequencies_.size() * pixels);
  for (std::size_t f = 0; f < frequencies_.size(); ++f) {
    Frequency& frequency = frequencies_[f];
    const std::vector<Complex>& values = conditioned.fields[f].values;
    const Eigen::VectorXcd field =
        Eigen::Map<const Eigen::VectorXcd>(values.data(), static_cast<Eigen::Index>(values.size()));
    const bool has_waves = !frequency.found.waves.empty();
    const WaveFit waves = has_waves ? fit_waves(f, field) : WaveFit{.residual = field, .images = {}, .error = 0.0};
    const Eigen::VectorXcd y = frequency.modes.transpose() * waves.residual;
    const Evidence evidence = weigh_noises(frequency.powers, y);
    const bool is_silent = !(y.squaredNorm() > 0.0);
    const int step = is_silent ? step_of_least(evidence.costs) : noise_of_frame(frequency, evidence.costs, hop);
    const double noise = noise_of(step);
    const double prior = evidence.priors[static_cast<std::size_t>(step)];
    const Eigen::VectorXcd z = (y.array() / (frequency.powers.array() + noise)).matrix();
    for (std::size_t plane = 0; plane < planes; ++plane) {
      Eigen::VectorXcd image = frequency.images[plane] * z;
      if (has_waves) {
        image += waves.images[plane];
      }
      std::copy(image.begin(), image.end(),
                frame.images.begin() + static_cast<std::ptrdiff_t>((plane * frequencies_.size() + f) * pixels));
    }
    const Eigen::ArrayXd factors = frequency.images.front().cwiseAbs2().colwise().sum().transpose().array();
    const double error = prior * (frequency.prior - (factors / (frequency.powers.array() + noise)).sum() + waves.error);
    const double energy =
        (factors * z.cwiseAbs2().array()).sum() + (has_waves ? waves.images.front().squaredNorm() : 0.0);
    FilterReport report{
        .cutoff_rad_per_m = static_cast<float>(frequency.cutoffs_rad_per_m[static_cast<std::size_t>(step)]),
        .slope = std::numeric_limits<float>::quiet_NaN(),
        .noise_pa = static_cast<float>(std::sqrt(noise * prior))};
    report.error_estimate =
        energy + error > 0.0 ? static_cast<float>(std::sqrt(std::max(error, 0.0) / (energy + error))) : 0.0F;
    frame.reports.push_back(report);
  }
  return frame;
}

}  // namespace nearfield::reference
