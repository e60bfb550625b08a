#include "imaging/sonah/sonah_reference.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <map>
#include <numbers>
#include <utility>

#include "core/error.hpp"
#include "imaging/priors/sonah_model.hpp"
#include "imaging/shared/image_surface.hpp"
#include "imaging/shared/search.hpp"
#include "imaging/sonah/prior_finder.hpp"
#include "imaging/sonah/prior_reference.hpp"

namespace nearfield::reference {
namespace {

constexpr double kHold = 3.0;  ///< largest excess of -ln likelihood at which the held step of noise is kept

/// Factor from pressure to the plan's quantity; displacement is velocity over j omega.
Complex factor_of(Complex kz, double k, const ImagePlan& plan) {
  const Complex velocity = kz / (plan.medium.density_kg_m3 * plan.medium.sound_speed_m_s * k);
  if (plan.holography.quantity == Quantity::kDisplacement) {
    return velocity / (Complex(0.0, 1.0) * plan.medium.sound_speed_m_s * k);
  }
  return plan.holography.quantity == Quantity::kNormalVelocity ? velocity : Complex(1.0);
}

/// Factor from pressure to the plan's quantity along the normal, for a plane wave e^{j (kx x + ky y - kz z)}: velocity
/// is -grad p / (j omega rho0).
Complex factor_along(const Eigen::Vector3d& normal, double kx, double ky, Complex kz, double k, const ImagePlan& plan) {
  const double omega = plan.medium.sound_speed_m_s * k;
  const Complex velocity = (normal.z() * kz - normal.x() * kx - normal.y() * ky) / (plan.medium.density_kg_m3 * omega);
  switch (plan.holography.quantity) {
    case Quantity::kNormalVelocity:
      return velocity;
    case Quantity::kDisplacement:
      return velocity / Complex(0.0, omega);
    case Quantity::kPressure:
    case Quantity::kActiveIntensity:  // rejected before
      return 1.0;
  }
  return 1.0;
}

/// The derivative of mean_over_directions() by the distance.
double mean_slope_over_directions(double kr, double distance_m) {
  const int count = 24 + static_cast<int>(kr * distance_m);
  double sum = 0.0;
  for (int i = 0; i < count; ++i) {
    const double along = std::cos(std::numbers::pi * (i + 0.5) / count);
    sum -= kr * along * std::sin(kr * distance_m * along);
  }
  return sum / count;
}

/// Means over all directions of every wave at a distance along the array.
struct DirectionMeans {
  Eigen::VectorXd values;  ///< [wave]
  Eigen::VectorXd slopes;  ///< [wave], by the distance
};

DirectionMeans direction_means(double distance_m, const std::vector<Wave>& waves) {
  const auto count = static_cast<Eigen::Index>(waves.size());
  DirectionMeans means{.values = Eigen::VectorXd(count), .slopes = Eigen::VectorXd(count)};
  for (Eigen::Index i = 0; i < count; ++i) {
    const Wave& wave = waves[static_cast<std::size_t>(i)];
    means.values(i) = mean_over_directions(wave.kr, distance_m);
    means.slopes(i) = mean_slope_over_directions(wave.kr, distance_m);
  }
  return means;
}

/// Covariances of the quantity along the normal at each place of the surface with the pressure at the microphones.
Eigen::MatrixXcd surface_covariances(const std::vector<Wave>& waves, double k, const ImagePlan& plan) {
  const ImageSurface& surface = *plan.surface;
  const Eigen::Vector3d up(0.0, 0.0, 1.0);
  const Eigen::Vector3d aside(1.0, 0.0, 0.0);
  const bool is_pressure = plan.holography.quantity == Quantity::kPressure;
  std::map<long long, DirectionMeans> of_distance;
  Eigen::MatrixXcd covariances =
      Eigen::MatrixXcd::Zero(static_cast<Eigen::Index>(surface.pixels()), plan.geometry.channels());
  for (std::size_t pixel = 0; pixel < surface.pixels(); ++pixel) {
    if (!surface.has(pixel)) {
      continue;
    }
    const Eigen::Vector3d& place = surface.places_m[pixel];
    const Eigen::Vector3d& normal = surface.normals[pixel];
    Eigen::VectorXcd along_z(static_cast<Eigen::Index>(waves.size()));
    Eigen::VectorXcd along_array(along_z.size());
    for (Eigen::Index i = 0; i < along_z.size(); ++i) {
      const Wave& wave = waves[static_cast<std::size_t>(i)];
      const Complex power = wave.power * std::exp(Complex(0.0, -1.0) * wave.kz * place.z()) *
                            std::conj(std::exp(Complex(0.0, -1.0) * wave.kz * plan.standoff_m));
      along_z(i) = power * factor_along(up, 0.0, 0.0, wave.kz, k, plan);
      // d/dx of a wave is j kx, so a factor of kx becomes -j d/dx.
      along_array(i) =
          is_pressure ? Complex() : power * Complex(0.0, -1.0) * factor_along(aside, 1.0, 0.0, 0.0, k, plan);
    }
    for (int channel = 0; channel < plan.geometry.channels(); ++channel) {
      const MicrophonePosition at = plan.geometry.position_m(channel);
      const double x_m = place.x() - at.x_m;
      const double y_m = place.y() - at.y_m;
      const double distance_m = std::hypot(x_m, y_m);
      DirectionMeans& means = of_distance[std::llround(1e10 * distance_m)];
      if (means.values.size() == 0) {
        means = direction_means(distance_m, waves);
      }
      const Complex upwards = along_z.cwiseProduct(means.values.cast<Complex>()).sum();
      const Complex away = along_array.cwiseProduct(means.slopes.cast<Complex>()).sum();
      const double lean = distance_m > 0.0 ? (normal.x() * x_m + normal.y() * y_m) / distance_m : 0.0;
      covariances(static_cast<Eigen::Index>(pixel), channel) =
          is_pressure ? upwards : normal.z() * upwards + lean * away;
    }
  }
  return covariances;
}

/// The prior's variance summed over the surface, by the mean over directions of each wave.
double surface_prior_power(const std::vector<Wave>& waves, double k, const ImagePlan& plan) {
  constexpr int kDirections = 8;  // exact for squares
  double sum = 0.0;
  for (std::size_t pixel = 0; pixel < plan.surface->pixels(); ++pixel) {
    for (std::size_t i = 0; plan.surface->has(pixel) && i < waves.size(); ++i) {
      const Wave& wave = waves[i];
      double shape = 0.0;
      for (int direction = 0; direction < kDirections; ++direction) {
        const double angle = 2.0 * std::numbers::pi * direction / kDirections;
        shape += std::norm(factor_along(plan.surface->normals[pixel], wave.kr * std::cos(angle),
                                        wave.kr * std::sin(angle), wave.kz, k, plan)) /
                 kDirections;
      }
      sum += wave.power * shape * std::exp(2.0 * wave.kz.imag() * plan.surface->places_m[pixel].z());
    }
  }
  return sum;
}

/// A plane wave of amplitude 1 at the microphones, on the surface.
Eigen::VectorXcd wave_over_surface(const PlaneWave& wave, Complex kz, double k, const ImagePlan& plan) {
  const ImageSurface& surface = *plan.surface;
  Eigen::VectorXcd values = Eigen::VectorXcd::Zero(static_cast<Eigen::Index>(surface.pixels()));
  for (std::size_t pixel = 0; pixel < surface.pixels(); ++pixel) {
    const Eigen::Vector3d& place = surface.places_m[pixel];
    if (surface.has(pixel)) {
      const Complex phase(0.0, wave.kx_rad_per_m * place.x() + wave.ky_rad_per_m * place.y());
      values(static_cast<Eigen::Index>(pixel)) =
          factor_along(surface.normals[pixel], wave.kx_rad_per_m, wave.ky_rad_per_m, kz, k, plan) *
          std::exp(phase + Complex(0.0, 1.0) * kz * (plan.standoff_m - place.z()));
    }
  }
  return values;
}

/// Covariance of microphones and, for each plane, of an image with them, at a distance along the array.
std::vector<Complex> covariances(double distance_m, const std::vector<Wave>& waves, double k, const ImagePlan& plan) {
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

double image_prior(const std::vector<Wave>& waves, double k, const ImagePlan& plan) {
  double sum = 0.0;
  for (const Wave& wave : waves) {
    sum += wave.power * std::norm(factor_of(wave.kz, k, plan)) *
           std::exp(2.0 * wave.kz.imag() * plan.holography.planes_m.front());
  }
  return sum;
}

/// Largest wavenumber at which the prior's density at the microphones reaches that of the noise, in steps of 0.01 rad/m
/// of decay.
double equivalent_cutoff(double noise, double microphone, double k, const ImagePlan& plan) {
  const double white = noise * plan.geometry.pitch_x_m * plan.geometry.pitch_y_m / (2.0 * std::numbers::pi);
  double last = -1.0;
  for (double decay = 0.0; decay < 10.0 / plan.standoff_m; decay += 0.01) {
    if (prior_density(Complex(0.0, -decay), k, plan) * std::exp(-2.0 * decay * plan.standoff_m) >= white * microphone) {
      last = decay;
    }
  }
  return last >= 0.0 ? std::hypot(k, last + 0.01) : 0.0;
}

int step_of_least(const std::vector<double>& costs) {
  return static_cast<int>(std::min_element(costs.begin(), costs.end()) - costs.begin());
}

/// Memory 0 (begins in even halves) or 1 (in odd ones), after a frame in the half number `half`.
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

}  // namespace

Sonah::Sonah(const ImagePlan& plan)
    : plan_(plan),
      priors_(plan.frequencies_hz.size(),
              plan.holography.prior == FieldPrior::kAuto ? FieldPrior::kLayer : plan.holography.prior) {
  for (std::size_t f = 0; f < plan.frequencies_hz.size(); ++f) {
    frequencies_.push_back(make_frequency(f, plan));
  }
}

Sonah::Frequency Sonah::make_frequency(std::size_t frequency, const ImagePlan& plan) {
  const ArrayGeometry& geometry = plan.geometry;
  const double k = plan.wavenumber(frequency);
  const std::vector<Wave> waves = prior_waves(k, plan);
  const int upsample = plan.holography.upsample;
  const std::size_t planes = plan.surface ? 0 : plan.holography.planes_m.size();
  const Eigen::Index microphones = geometry.channels();
  const Eigen::Index pixels = static_cast<Eigen::Index>(plan.image_rows()) * plan.image_columns();
  std::map<std::pair<int, int>, std::vector<Complex>> of_lag;
  const auto covariance_of = [&](int rows, int columns) -> const std::vector<Complex>& {
    std::vector<Complex>& found = of_lag[{std::abs(rows), std::abs(columns)}];
    if (found.empty()) {
      found =
          covariances(std::hypot(rows * geometry.pitch_y_m, columns * geometry.pitch_x_m) / upsample, waves, k, plan);
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
      const int pixel_row = static_cast<int>(pixel) / plan.image_columns();
      const int pixel_column = static_cast<int>(pixel) % plan.image_columns();
      for (std::size_t plane = 0; plane < planes; ++plane) {
        to_images[plane](pixel, m) = covariance_of(row - pixel_row, column - pixel_column)[plane + 1] / microphone;
      }
    }
  }
  if (plan.surface) {
    to_images.emplace_back(surface_covariances(waves, k, plan) / microphone);
  }
  const double prior =
      plan.surface ? surface_prior_power(waves, k, plan) : image_prior(waves, k, plan) * static_cast<double>(pixels);
  const Eigen::SelfAdjointEigenSolver<Eigen::MatrixXd> solver(covariance);
  Frequency found{.powers = solver.eigenvalues().cwiseMax(0.0),
                  .modes = solver.eigenvectors(),
                  .images = {},
                  .prior = prior / microphone,
                  .cutoffs_rad_per_m = {},
                  .memories = {},
                  .found = {}};
  for (int step = 0; step < kReferenceNoiseSteps; ++step) {
    found.cutoffs_rad_per_m.push_back(equivalent_cutoff(noise_of(step), microphone, k, plan));
  }
  for (const Eigen::MatrixXcd& image : to_images) {
    found.images.emplace_back(image * found.modes.cast<Complex>());
  }
  return found;
}

void Sonah::use(const WaveFindings& findings) {
  for (const FoundWaves& found : findings.waves) {
    if (found.amplitudes.size() != found.waves.size() + found.points.size()) {
      throw Error(ExitCode::kInternal, "expected an amplitude for each wave and point that was found");
    }
  }
  for (std::size_t f = 0; f < frequencies_.size() && f < findings.waves.size(); ++f) {
    const FieldPrior prior = findings.waves[f].prior.value();
    if (prior != std::exchange(priors_[f], prior)) {
      const std::array<NoiseMemory, 2> memories = frequencies_[f].memories;
      ImagePlan plan = plan_;
      plan.holography.prior = prior;
      frequencies_[f] = make_frequency(f, plan);
      frequencies_[f].memories = memories;
    }
    frequencies_[f].found = findings.waves[f];
  }
  fill_.is_made = false;
}

Eigen::VectorXcd Sonah::at_microphones(std::size_t frequency, const Source& source) const {
  const auto* wave = std::get_if<PlaneWave>(&source);
  Eigen::VectorXcd field = wave != nullptr
                               ? wave_over(*wave, plan_, 1)
                               : point_over(std::get<PointSource>(source), plan_.wavenumber(frequency), plan_);
  fill(field, frequency);
  return field;
}

Eigen::VectorXcd Sonah::on_plane(std::size_t frequency, const Source& source, std::size_t plane) const {
  const double k = plan_.wavenumber(frequency);
  if (const auto* point = std::get_if<PointSource>(&source)) {
    return point_image(*point, k, plan_.holography.planes_m[plane], plan_);
  }
  const PlaneWave& wave = std::get<PlaneWave>(source);
  const Complex kz =
      std::conj(std::sqrt(Complex(k * k - std::pow(wave.kx_rad_per_m, 2) - std::pow(wave.ky_rad_per_m, 2), 0.0)));
  if (plan_.surface) {
    return wave_over_surface(wave, kz, k, plan_);
  }
  const double distance_m = plan_.standoff_m - plan_.holography.planes_m[plane];
  return factor_of(kz, k, plan_) * std::exp(Complex(0.0, 1.0) * kz * distance_m) *
         wave_over(wave, plan_, plan_.holography.upsample);
}

SourceShare Sonah::fit_waves(std::size_t frequency, const Eigen::VectorXcd& field) const {
  const Frequency& f = frequencies_[frequency];
  const bool is_residual = fills_residual(frequency);
  const std::vector<std::int32_t>& left_out = is_residual ? f.found.filling.masked : f.found.left_out;
  const double noise = is_residual ? f.found.filling.noise : f.found.noise;
  std::vector<Eigen::Index> fitted;
  for (int channel = 0; channel < plan_.geometry.channels(); ++channel) {
    if (std::find(left_out.begin(), left_out.end(), channel) == left_out.end()) {
      fitted.push_back(channel);
    }
  }
  const Eigen::MatrixXd whole = f.modes * (f.powers.array() + noise).matrix().asDiagonal() * f.modes.transpose();
  const Eigen::MatrixXd between = whole(fitted, fitted);
  const Eigen::MatrixXcd of_fitted =
      between.ldlt().solve(Eigen::MatrixXd::Identity(between.rows(), between.cols())).cast<Complex>();
  Eigen::MatrixXcd inverse = Eigen::MatrixXcd::Zero(field.size(), field.size());
  inverse(fitted, fitted) = of_fitted;
  return fit_sources(
      f.found, field,
      {.at_microphones = [&](const Source& source) { return at_microphones(frequency, source); },
       .on_plane = [&](const Source& source, std::size_t plane) { return on_plane(frequency, source, plane); },
       .planes = f.images.size(),
       .inverse = inverse,
       .image_by_prior = [&](const Eigen::VectorXcd& white) -> Eigen::VectorXcd {
         return f.images[0] * (f.modes.transpose() * white);
       },
       .k = plan_.wavenumber(frequency)});
}

bool Sonah::fills_residual(std::size_t frequency) const {
  const FoundWaves& found = frequencies_[frequency].found;
  return found.has_sources() && found.filling.is_for(fill_.masked);
}

void Sonah::make_fill(const std::vector<int>& masked) {
  constexpr double kNoise = 1e-4;  // relative to the field's power at a microphone
  if (fill_.is_made && masked == fill_.masked) {
    return;
  }
  fill_ = {.is_made = true, .masked = masked, .of_frequency = {}};
  if (masked.empty()) {
    return;
  }
  std::vector<int> usable;
  for (int channel = 0; channel < plan_.geometry.channels(); ++channel) {
    if (std::find(masked.begin(), masked.end(), channel) == masked.end()) {
      usable.push_back(channel);
    }
  }
  for (std::size_t f = 0; f < frequencies_.size(); ++f) {
    const bool is_residual = fills_residual(f);
    ImagePlan plan = plan_;
    plan.holography.prior = is_residual ? priors_[f] : FieldPrior::kLayer;
    const Eigen::MatrixXd covariance = microphone_covariance(plan, f);
    Eigen::MatrixXd between = covariance(usable, usable);
    between.diagonal().array() += is_residual ? frequencies_[f].found.filling.noise : kNoise;
    Eigen::MatrixXd from_all = Eigen::MatrixXd::Zero(static_cast<Eigen::Index>(masked.size()), covariance.cols());
    from_all(Eigen::all, usable) = between.ldlt().solve(covariance(usable, masked)).transpose();
    fill_.of_frequency.push_back(from_all);
  }
}

void Sonah::fill(Eigen::Ref<Eigen::VectorXcd> field, std::size_t frequency) const {
  if (!fill_.masked.empty()) {
    for (const int channel : fill_.masked) {
      field(channel) = 0.0;
    }
    const Eigen::VectorXcd predicted = fill_.of_frequency[frequency].cast<Complex>() * field;
    field(fill_.masked) = predicted;
  }
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

Images Sonah::image(std::span<const Complex> spectra, const ImagePlan& masked, const FrameHop& hop) {
  const ConditionedSpectra conditioned = condition_microphones(spectra, masked);
  const std::size_t planes = plan_.holography.planes_m.size();
  const std::size_t pixels = static_cast<std::size_t>(plan_.image_rows() * plan_.image_columns());
  Images frame;
  frame.flags = conditioned.flags;
  frame.non_finite_channels = conditioned.non_finite_channels;
  frame.images.resize(planes * frequencies_.size() * pixels);
  std::vector<int> to_fill = masked.fills_from_all ? masked.dead_channels : std::vector<int>();
  std::sort(to_fill.begin(), to_fill.end());
  make_fill(to_fill);
  for (std::size_t f = 0; f < frequencies_.size(); ++f) {
    Frequency& frequency = frequencies_[f];
    const std::vector<Complex>& values = conditioned.fields[f].values;
    Eigen::VectorXcd field =
        Eigen::Map<const Eigen::VectorXcd>(values.data(), static_cast<Eigen::Index>(values.size()));
    fill(field, f);
    const bool has_waves = frequency.found.has_sources();
    const SourceShare waves =
        has_waves ? fit_waves(f, field) : SourceShare{.residual = field, .images = {}, .error = 0.0};
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
      for (Eigen::Index pixel = 0; plan_.surface && pixel < image.size(); ++pixel) {
        if (!plan_.surface->has(static_cast<std::size_t>(pixel))) {
          image(pixel) = Complex(std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::quiet_NaN());
        }
      }
      std::copy(image.begin(), image.end(),
                frame.images.begin() + static_cast<std::ptrdiff_t>((plane * frequencies_.size() + f) * pixels));
    }
    const Eigen::ArrayXd factors = frequency.images.front().cwiseAbs2().colwise().sum().transpose().array();
    const double left = frequency.prior - (factors / (frequency.powers.array() + noise)).sum();
    const double error = prior * (std::pow(plan_.error_calibration(), 2) * left + waves.error) + waves.error_of_sides;
    const bool fits_used = fills_residual(f) && !frequency.found.left_out.empty();
    const double of_waves = has_waves ? waves.images.front().squaredNorm() : 0.0;
    const double whole = (factors * z.cwiseAbs2().array()).sum() + of_waves + error;
    const double share = whole > 0.0 ? 1.0 / whole : 0.0;
    FilterReport report{
        .cutoff_rad_per_m = static_cast<float>(frequency.cutoffs_rad_per_m[static_cast<std::size_t>(step)]),
        .slope = static_cast<float>(fits_used ? -of_waves * share : -0.0),
        .noise_pa = static_cast<float>(std::sqrt(noise * prior)),
        .error_estimate = static_cast<float>(std::sqrt(std::max(error, 0.0) * share))};
    frame.reports.push_back(report);
  }
  return frame;
}

namespace {

class SonahImager : public Imager {
 public:
  explicit SonahImager(const ImagePlan& plan) : plan_(plan), masked_plan_(plan), sonah_(plan) {}
  Images image(std::span<const Complex> spectra) override { return sonah_.image(spectra, masked_plan_, take_hop()); }
  void use(const MicrophoneMask& mask) override {
    masked_plan_.dead_channels.assign(mask.channels.begin(), mask.channels.end());
  }
  void forget() override { sonah_.forget(); }
  void adopt(const std::shared_ptr<const Findings>& findings) override {
    sonah_.use(findings_as<WaveFindings>(findings));
  }
  [[nodiscard]] std::unique_ptr<Search> make_search() const override {
    if (plan_.holography.search_every_frames == 0) {
      return nullptr;
    }
    return defer_search([plan = plan_] {
      return std::make_unique<WaveSearch>(
          plan, std::make_shared<const std::vector<PriorModels>>(make_candidate_models(plan)));
    });
  }

 private:
  ImagePlan plan_;
  ImagePlan masked_plan_;  ///< plan_ with the mask in effect
  Sonah sonah_;
};

}  // namespace

std::unique_ptr<Imager> make_sonah(const ImagePlan& plan) { return std::make_unique<SonahImager>(plan); }

}  // namespace nearfield::reference
