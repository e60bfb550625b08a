#include "imaging/operators/operators_reference.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <numbers>
#include <utility>

#include "imaging/operators/folded_places.hpp"
#include "imaging/operators/operator_space.hpp"
#include "imaging/operators/prior.hpp"
#include "imaging/shared/imager_reference.hpp"
#include "imaging/shared/search.hpp"

namespace nearfield::reference {
namespace {

using Eigen::Index;
using Eigen::Vector3d;

constexpr int kNoises = 48;
constexpr double kKeeps = 3.0;     ///< nats
constexpr double kInside = 1e-12;  ///< least power of a mode in the factor's range

double noise_ratio(int step) { return 1e-7 * std::pow(1.5, step); }

/// Pressure of a source of strength 1.
Complex source_pressure(const Vector3d& at_m, const Vector3d& source_m, double k) {
  const double r_m = std::sqrt(std::pow(at_m.x() - source_m.x(), 2) + std::pow(at_m.y() - source_m.y(), 2) +
                               std::pow(at_m.z() - source_m.z(), 2));
  return std::exp(Complex(0.0, -k * r_m)) / (4.0 * std::numbers::pi * r_m);
}

/// The plan's quantity of a source: velocity along a normal is -(1 / (j omega rho)) N grad p, displacement is that over
/// j omega. grad e^{-jkr}/r = -(jk + 1/r) e^{-jkr}/r times the direction away from the source.
Complex source_quantity(const Vector3d& at_m, const Vector3d& normal, const Vector3d& source_m, double k,
                        const ImagePlan& plan) {
  const Complex pressure = source_pressure(at_m, source_m, k);
  const double omega = k * plan.medium.sound_speed_m_s;
  const Vector3d away_m = at_m - source_m;
  const double r_m = away_m.norm();
  const Complex slope = -(Complex(0.0, k) + 1.0 / r_m) * pressure * normal.dot(away_m / r_m);
  const Complex velocity = -slope / Complex(0.0, omega * plan.medium.density_kg_m3);
  switch (plan.holography.quantity) {
    case Quantity::kNormalVelocity:
      return velocity;
    case Quantity::kDisplacement:
      return velocity / Complex(0.0, omega);
    case Quantity::kPressure:
    case Quantity::kActiveIntensity:  // rejected before
      return pressure;
  }
  return pressure;
}

/// L L^H of the pivoted Cholesky factor that leaves at most `enough` of the trace, written element by element. The
/// pivot has the largest variance times `counts`; of those with a relative difference below 1e-6 the first is taken.
Eigen::MatrixXcd within_factor(Eigen::MatrixXcd rest, double enough, const std::vector<double>& counts) {
  Eigen::MatrixXcd within = Eigen::MatrixXcd::Zero(rest.rows(), rest.cols());
  const auto variance = [&](Index i) { return counts[static_cast<std::size_t>(i)] * rest(i, i).real(); };
  for (Index rank = 0; rank < rest.rows() && rest.trace().real() > enough; ++rank) {
    double largest = 0.0;
    for (Index i = 0; i < rest.rows(); ++i) {
      largest = std::max(largest, variance(i));
    }
    Index pivot = 0;
    while (variance(pivot) < largest * (1.0 - 1e-6)) {
      ++pivot;
    }
    const Eigen::VectorXcd column = rest.col(pivot) / std::sqrt(rest(pivot, pivot).real());
    within += column * column.adjoint();
    rest -= column * column.adjoint();
    rest.row(pivot).setZero();
    rest.col(pivot).setZero();
  }
  return within;
}

/// within_factor() of the parts of a covariance that are even or odd along x and along y, each with an equal part of
/// what all may leave: the projections (1 +- mirror along x) (1 +- mirror along y) / 4 of its rows, as the mirrors do
/// not change it.
Eigen::MatrixXcd within_parities(const Eigen::MatrixXcd& covariance, double tolerance,
                                 const std::vector<Vector3d>& places_m) {
  const auto mirrored = [&](const Vector3d& sides) {
    std::vector<Index> found;
    for (const Vector3d& place_m : places_m) {
      const auto nearest = std::min_element(places_m.begin(), places_m.end(), [&](const auto& a, const auto& b) {
        return (a - place_m.cwiseProduct(sides)).norm() < (b - place_m.cwiseProduct(sides)).norm();
      });
      found.push_back(nearest - places_m.begin());
    }
    return found;
  };
  const std::vector<Index> along_x = mirrored({-1.0, 1.0, 1.0});
  const std::vector<Index> along_y = mirrored({1.0, -1.0, 1.0});
  std::vector<double> counts;
  for (std::size_t i = 0; i < places_m.size(); ++i) {
    const auto own = static_cast<Index>(i);
    counts.push_back((along_x[i] == own ? 1.0 : 2.0) * (along_y[i] == own ? 1.0 : 2.0));
  }
  const double enough = tolerance * covariance.trace().real() / 4.0;
  Eigen::MatrixXcd within = Eigen::MatrixXcd::Zero(covariance.rows(), covariance.cols());
  for (const double side_x : {1.0, -1.0}) {
    for (const double side_y : {1.0, -1.0}) {
      const Eigen::MatrixXcd of_x = (covariance + side_x * covariance(along_x, Eigen::all)) / 2.0;
      within += within_factor((of_x + side_y * of_x(along_y, Eigen::all)) / 2.0, enough, counts);
    }
  }
  return within;
}

/// Expected squared errors of an image, summed over pixels.
struct ExpectedError {
  double of_noise = 0.0;    ///< for noise of 1 at a microphone
  double unresolved = 0.0;  ///< fields that the image lacks, for prior power 1 at a microphone
};

/// images: from microphones, within the factor's range; its columns in modes are independent.
ExpectedError expected_error(const Eigen::MatrixXcd& images, const Eigen::MatrixXcd& modes,
                             const Eigen::ArrayXd& powers, double noise, double prior) {
  const Eigen::ArrayXd of_modes = (images * modes).cwiseAbs2().colwise().sum().transpose().array();
  ExpectedError found;
  double explained = 0.0;
  for (Index mode = 0; mode < powers.size(); ++mode) {
    found.of_noise += of_modes(mode) / std::pow(powers(mode) + noise, 2);
    explained += of_modes(mode) / (powers(mode) + noise);
  }
  found.unresolved = std::max(0.0, prior - explained - noise * found.of_noise);
  return found;
}

/// Power of the prior in the unresolved fields: at least that of the modes which are weakest above the noise, and at
/// most 5 times that; between these it is `whole`, that of all modes. energies: |y|^2, each of variance whole' powers +
/// whole noise.
double scale_of_unresolved(const Eigen::ArrayXd& energies, const Eigen::ArrayXd& powers, double noise, double whole) {
  double weights = 0.0;
  double mean = 0.0;
  const auto weight = [&](double power) { return std::pow(power * noise, 2) / std::pow(power + noise, 4); };
  for (Index mode = 0; mode < powers.size(); ++mode) {
    if (powers(mode) > 0.0) {
      weights += weight(powers(mode));
      mean += weight(powers(mode)) * (energies(mode) - whole * noise) / powers(mode);
    }
  }
  if (weights == 0.0) {
    return whole;
  }
  mean = std::max(0.0, mean / weights);
  double variance = 0.0;
  for (Index mode = 0; mode < powers.size(); ++mode) {
    if (powers(mode) > 0.0) {
      const double deviation = mean + whole * noise / powers(mode);
      variance += std::pow(weight(powers(mode)) / weights * deviation, 2);
    }
  }
  const double weakest = mean + std::sqrt(variance);
  return std::clamp(whole, weakest, 5.0 * weakest);
}

int most_probable(const std::vector<double>& costs) {
  return static_cast<int>(std::min_element(costs.begin(), costs.end()) - costs.begin());
}

}  // namespace

Operators::Operators(const ImagePlan& plan) : plan_(plan), masked_plan_(plan), used_(used_microphones(plan)) {
  for (std::size_t f = 0; f < plan.frequencies_hz.size(); ++f) {
    frequencies_.push_back(make_frequency(f));
  }
}

Operators::Frequency Operators::make_frequency(std::size_t frequency) const {
  const double k = plan_.wavenumber(frequency);
  const std::vector<Vector3d> sources = prior_sources(plan_);
  const std::vector<Vector3d> all = microphone_places(plan_);
  const ImagePlaces images = image_places(plan_);
  const WallSettings& wall = plan_.holography.operators.wall;
  const auto microphones = static_cast<Index>(used_.size());
  const auto count = static_cast<Index>(sources.size());
  const auto pixels = static_cast<Index>(images.pixels);
  Eigen::MatrixXcd g(microphones, count);
  std::vector<Eigen::MatrixXcd> h(images.planes(), Eigen::MatrixXcd::Zero(pixels, count));
  for (Index s = 0; s < count; ++s) {
    const Vector3d& source = sources[static_cast<std::size_t>(s)];
    Vector3d image = source;
    image.y() = 2.0 * wall.y_m.value_or(0.0) - source.y();
    const double reflection = wall.y_m ? wall.reflection : 0.0;
    for (Index m = 0; m < microphones; ++m) {
      const auto channel = static_cast<std::size_t>(used_[static_cast<std::size_t>(m)]);
      if (plan_.sources && !plan_.sources->templates.empty()) {
        g(m, s) = source_pressure(Vector3d(0.0, 0.0, plan_.standoff_m), source, k) *
                  plan_.sources->templates.at((frequency * sources.size() + static_cast<std::size_t>(s)) * all.size() +
                                              channel);
      } else {
        g(m, s) = source_pressure(all[channel], source, k);
        g(m, s) += reflection != 0.0 ? reflection * source_pressure(all[channel], image, k) : Complex();
      }
    }
    for (std::size_t i = 0; i < images.places_m.size(); ++i) {
      Complex& value = h[i / images.pixels](static_cast<Index>(i % images.pixels), s);
      if (images.normals[i].norm() > 0.0) {
        value = source_quantity(images.places_m[i], images.normals[i], source, k, plan_);
        value += reflection != 0.0
                     ? reflection * source_quantity(images.places_m[i], images.normals[i], image, k, plan_)
                     : Complex();
      }
    }
  }
  const Eigen::MatrixXcd covariance = g * g.adjoint();
  const double mean = covariance.trace().real() / static_cast<double>(microphones);
  Frequency found;
  found.prior = h.front().squaredNorm() / mean;
  Eigen::MatrixXcd g_behind = Eigen::MatrixXcd::Zero(microphones, 1);
  std::vector<Eigen::MatrixXcd> h_behind;
  if (plan_.separates()) {
    make_behind(frequency, g_behind, h_behind);
  }
  std::vector<Vector3d> used_m;
  for (const int channel : used_) {
    used_m.push_back(all[static_cast<std::size_t>(channel)]);
  }
  for (const double share : shares_behind(plan_)) {
    Model model;
    const Eigen::MatrixXcd whole = covariance / mean + share * g_behind * g_behind.adjoint();
    constexpr double kTolerance = OperatorSettings::kModesTolerance;
    model.covariance = folding_of(plan_).classes() == 1 ? within_factor(whole, kTolerance * whole.trace().real(),
                                                                        std::vector<double>(used_m.size(), 1.0))
                                                        : within_parities(whole, kTolerance, used_m);
    const Eigen::SelfAdjointEigenSolver<Eigen::MatrixXcd> solver(model.covariance);
    model.powers = solver.eigenvalues().cwiseMax(0.0);
    model.modes = solver.eigenvectors();
    for (const Eigen::MatrixXcd& of_plane : h) {
      model.images.emplace_back(of_plane * g.adjoint() / mean);
    }
    for (const Eigen::MatrixXcd& of_plane : h_behind) {
      model.images.emplace_back(share * of_plane * g_behind.adjoint());
    }
    found.models.push_back(std::move(model));
  }
  return found;
}

void Operators::make_behind(std::size_t frequency, Eigen::MatrixXcd& g, std::vector<Eigen::MatrixXcd>& h) const {
  const double k = plan_.wavenumber(frequency);
  const SourcesBehind behind = sources_behind(plan_, frequency);
  const std::vector<Vector3d> all = microphone_places(plan_);
  const ImagePlaces images = image_places(plan_);
  const std::size_t places = behind.places_m.size();
  const auto count = static_cast<Index>(places + behind.directions.size());
  const auto microphones = static_cast<Index>(used_.size());
  g.resize(microphones, count);
  h.assign(images.planes(), Eigen::MatrixXcd::Zero(static_cast<Index>(images.pixels), count));
  // A plane wave is a monopole so far away that its distance is the same everywhere but in the phase: its pressure is
  // e^{jk r.d}, and its velocity that over rho c, along the way that it goes.
  const auto wave = [&](const Vector3d& at_m, const Vector3d& from) {
    return std::exp(Complex(0.0, k * at_m.dot(from)));
  };
  const double omega = k * plan_.medium.sound_speed_m_s;
  for (Index s = 0; s < count; ++s) {
    const bool is_wave = static_cast<std::size_t>(s) >= places;
    const Vector3d of = is_wave ? behind.directions[static_cast<std::size_t>(s) - places]
                                : behind.places_m[static_cast<std::size_t>(s)];
    for (Index m = 0; m < microphones; ++m) {
      const Vector3d& at_m = all[static_cast<std::size_t>(used_[static_cast<std::size_t>(m)])];
      g(m, s) = is_wave ? wave(at_m, of) : source_pressure(at_m, of, k);
    }
    for (std::size_t i = 0; i < images.places_m.size(); ++i) {
      const Vector3d& normal = images.normals[i];
      if (normal.norm() == 0.0) {
        continue;
      }
      Complex& value = h[i / images.pixels](static_cast<Index>(i % images.pixels), s);
      value = is_wave ? wave(images.places_m[i], of) : source_quantity(images.places_m[i], normal, of, k, plan_);
      if (is_wave && plan_.holography.quantity != Quantity::kPressure) {
        value *= -normal.dot(of) / (plan_.medium.density_kg_m3 * plan_.medium.sound_speed_m_s);
        value /= plan_.holography.quantity == Quantity::kDisplacement ? Complex(0.0, omega) : Complex(1.0, 0.0);
      }
    }
  }
  const auto first = static_cast<Index>(places);
  const auto power = [&](const auto& of) { return of.squaredNorm() / static_cast<double>(microphones); };
  const double of_places = std::sqrt((1.0 - kWavesBehind) / power(g.leftCols(first)));
  const double of_waves = std::sqrt(kWavesBehind / power(g.rightCols(count - first)));
  g.leftCols(first) *= of_places;
  g.rightCols(count - first) *= of_waves;
  for (Eigen::MatrixXcd& of_plane : h) {
    of_plane.leftCols(first) *= of_places;
    of_plane.rightCols(count - first) *= of_waves;
  }
}

void Operators::forget() {
  for (Frequency& frequency : frequencies_) {
    frequency.memories = {};
  }
}

void Operators::use(const WaveFindings& findings) {
  for (std::size_t f = 0; f < frequencies_.size(); ++f) {
    frequencies_[f].found = findings.waves.at(f);
  }
}

Eigen::VectorXcd Operators::at_microphones(std::size_t frequency, const PointSource& point) const {
  ImagePlan pressure = plan_;
  pressure.holography.quantity = Quantity::kPressure;
  const double k = plan_.wavenumber(frequency);
  const WallSettings& wall = plan_.holography.operators.wall;
  std::vector<Complex> field;
  for (const Vector3d& place_m : microphone_places(plan_)) {
    const Vector3d up(0.0, 0.0, 1.0);
    field.push_back(point_at(place_m, up, point, k, pressure));
    if (wall.y_m) {
      PointSource image = point;
      image.y_m = 2.0 * *wall.y_m - point.y_m;
      field.back() += wall.reflection * point_at(place_m, up, image, k, pressure);
    }
  }
  if (masked_plan_.dead_channels != plan_.dead_channels) {
    ImagePlan unit_gains = masked_plan_;
    unit_gains.gains.clear();
    std::vector<Complex> spectra(frequencies_.size() * field.size());
    std::copy(field.begin(), field.end(), spectra.begin() + static_cast<std::ptrdiff_t>(frequency * field.size()));
    field = condition_microphones(spectra, unit_gains).fields[frequency].values;
  }
  Eigen::VectorXcd of_used(static_cast<Index>(used_.size()));
  for (Index m = 0; m < of_used.size(); ++m) {
    of_used(m) = field[static_cast<std::size_t>(used_[static_cast<std::size_t>(m)])];
  }
  return of_used;
}

Eigen::VectorXcd Operators::on_plane(std::size_t frequency, const PointSource& point, std::size_t plane) const {
  const double k = plan_.wavenumber(frequency);
  const WallSettings& wall = plan_.holography.operators.wall;
  const ImagePlaces places = image_places(plan_);
  Eigen::VectorXcd image = Eigen::VectorXcd::Zero(static_cast<Index>(places.pixels));
  // Images of what comes from behind follow those of the surface.
  const bool is_behind = plan_.separates() && point.z_m >= plan_.standoff_m;
  if (is_behind != (plane >= places.planes())) {
    return image;
  }
  for (std::size_t pixel = 0; pixel < places.pixels; ++pixel) {
    const Vector3d& place_m = places.places_m[plane % places.planes() * places.pixels + pixel];
    const Vector3d& normal = places.normals[plane % places.planes() * places.pixels + pixel];
    if (normal.norm() > 0.0) {
      Complex& value = image(static_cast<Index>(pixel));
      value = point_at(place_m, normal, point, k, plan_);
      if (wall.y_m) {
        PointSource mirrored = point;
        mirrored.y_m = 2.0 * *wall.y_m - point.y_m;
        value += wall.reflection * point_at(place_m, normal, mirrored, k, plan_);
      }
    }
  }
  return image;
}

SourceShare Operators::share_of_sources(std::size_t frequency, const Eigen::VectorXcd& field) const {
  const FoundWaves& found = frequencies_[frequency].found;
  const Model& f = frequencies_[frequency].models.at(found.share);
  const Eigen::MatrixXcd with_noise =
      f.covariance + found.noise * Eigen::MatrixXcd::Identity(field.size(), field.size());
  const auto point_of = [](const SourceProblem::Source& source) { return std::get<PointSource>(source); };
  const Eigen::ArrayXd inside = (f.powers.array() > kInside).cast<double>();
  return fit_sources(
      found, field,
      {.at_microphones = [&](const auto& source) { return at_microphones(frequency, point_of(source)); },
       .on_plane = [&](const auto& source, std::size_t plane) { return on_plane(frequency, point_of(source), plane); },
       .planes = plan_.images_per_frequency(),
       .inverse = with_noise.inverse(),
       .image_by_prior = [&](const Eigen::VectorXcd& white) -> Eigen::VectorXcd {
         const Eigen::VectorXcd in_modes = (f.modes.adjoint() * white).array() * inside;
         return f.images.front() * (f.modes * in_modes);
       }});
}

int Operators::noise_of_frame(Frequency& frequency, const std::vector<double>& costs, const FrameHop& hop) {
  const auto half = static_cast<std::int64_t>(hop.hop / kMemoryHalf);
  const int best = most_probable(costs);
  int step = best;
  for (std::int64_t which = 0; which < 2; ++which) {
    Memory memory = frequency.memories.at(static_cast<std::size_t>(which));
    const bool settles = half % 2 == which;
    const std::int64_t begun_half = settles ? half : half - 1;
    if (memory.begun_half != begun_half) {
      memory = {.begun_half = begun_half, .held = -1, .settled = 0, .sums = std::vector<double>(costs.size(), 0.0)};
    }
    if (settles) {
      ++memory.settled;
      std::transform(costs.begin(), costs.end(), memory.sums.begin(), memory.sums.begin(), std::plus<>());
    } else {
      if (memory.held < 0) {
        memory.held = memory.settled > 0 ? most_probable(memory.sums) : best;
      }
      const double worse = costs[static_cast<std::size_t>(memory.held)] - costs[static_cast<std::size_t>(best)];
      memory.held = worse < kKeeps ? memory.held : best;
      step = memory.held;
    }
    if (hop.is_whole) {
      frequency.memories.at(static_cast<std::size_t>(which)) = memory;
    }
  }
  return step;
}

Images Operators::image(std::span<const Complex> spectra, const ImagePlan& masked, const FrameHop& hop) {
  const ConditionedSpectra conditioned = condition_microphones(spectra, masked);
  masked_plan_ = masked;
  const std::size_t planes = plan_.images_per_frequency();
  Images frame;
  frame.flags = conditioned.flags;
  frame.non_finite_channels = conditioned.non_finite_channels;
  const ImagePlaces places = image_places(plan_);
  frame.images.resize(planes * frequencies_.size() * places.pixels);
  for (std::size_t f = 0; f < frequencies_.size(); ++f) {
    Frequency& frequency = frequencies_[f];
    Eigen::VectorXcd field(static_cast<Index>(used_.size()));
    for (Index m = 0; m < field.size(); ++m) {
      field(m) = conditioned.fields[f].values[static_cast<std::size_t>(used_[static_cast<std::size_t>(m)])];
    }
    const bool has_sources = frequency.found.has_sources();
    const SourceShare sources =
        has_sources ? share_of_sources(f, field) : SourceShare{.residual = field, .images = {}, .error = 0.0};
    field = sources.residual;
    std::vector<double> costs;
    std::vector<double> priors;
    for (const Model& of_share : frequency.models) {
      const Eigen::ArrayXd of_modes = (of_share.modes.adjoint() * field).cwiseAbs2().array();
      for (int step = 0; step < kNoises; ++step) {
        const Eigen::ArrayXd variances = of_share.powers.array() + noise_ratio(step);
        priors.push_back((of_modes / variances).mean());
        costs.push_back(variances.log().sum() +
                        static_cast<double>(field.size()) * std::log(std::max(priors.back(), 1e-40)));
      }
    }
    const bool is_silent = !(field.squaredNorm() > 0.0);
    const int step = is_silent ? most_probable(costs) : noise_of_frame(frequency, costs, hop);
    const double noise = noise_ratio(step % kNoises);
    const double prior = priors[static_cast<std::size_t>(step)];
    const Model& model = frequency.models[static_cast<std::size_t>(step / kNoises)];
    const Eigen::ArrayXd energies = (model.modes.adjoint() * field).cwiseAbs2().array();
    // Use only the factor's range: fields outside it are noise.
    const Eigen::MatrixXcd with_noise =
        model.covariance + noise * Eigen::MatrixXcd::Identity(field.size(), field.size());
    const Eigen::ArrayXd inside = (model.powers.array() > kInside).cast<double>();
    const Eigen::MatrixXcd range = model.modes * inside.matrix().cast<Complex>().asDiagonal() * model.modes.adjoint();
    const Eigen::LLT<Eigen::MatrixXcd> solver(with_noise);
    for (std::size_t plane = 0; plane < planes; ++plane) {
      Eigen::VectorXcd image = model.images[plane] * (range * solver.solve(field));
      if (has_sources) {
        image += sources.images[plane];
      }
      for (std::size_t pixel = 0; pixel < places.pixels; ++pixel) {
        const bool has = places.normals[(plane % places.planes()) * places.pixels + pixel].norm() > 0.0;
        const double nowhere = std::numeric_limits<double>::quiet_NaN();
        frame.images[(plane * frequencies_.size() + f) * places.pixels + pixel] =
            has ? image(static_cast<Index>(pixel)) : Complex(nowhere, nowhere);
      }
      if (plane == 0) {
        const Eigen::MatrixXcd reduced = model.images[0] * range;
        const Eigen::ArrayXd powers = model.powers.array() * inside;
        const ExpectedError expected = expected_error(reduced, model.modes, powers, noise, frequency.prior);
        const double error = prior * (noise * expected.of_noise + sources.error) +
                             scale_of_unresolved(energies, powers, noise, prior) * expected.unresolved;
        // Treat modes as independent.
        const Eigen::ArrayXd factors = (reduced * model.modes).cwiseAbs2().colwise().sum().transpose().array();
        const double of_sources = has_sources ? sources.images.front().squaredNorm() : 0.0;
        const double whole = (factors * energies / (model.powers.array() + noise).square()).sum() + of_sources + error;
        const double share = whole > 0.0 ? 1.0 / whole : 0.0;
        frame.reports.push_back({.cutoff_rad_per_m = std::numeric_limits<float>::quiet_NaN(),
                                 .slope = std::numeric_limits<float>::quiet_NaN(),
                                 .noise_pa = static_cast<float>(std::sqrt(noise * prior)),
                                 .error_estimate = static_cast<float>(std::sqrt(error * share))});
      }
    }
  }
  return frame;
}

namespace {

class OperatorsProcessor : public Imager {
 public:
  explicit OperatorsProcessor(const ImagePlan& plan) : plan_(plan), masked_plan_(plan), operators_(plan) {}
  Images image(std::span<const Complex> spectra) override {
    return operators_.image(spectra, masked_plan_, take_hop());
  }
  void use(const MicrophoneMask& mask) override {
    masked_plan_.dead_channels.assign(mask.channels.begin(), mask.channels.end());
  }
  void forget() override { operators_.forget(); }
  void adopt(const std::shared_ptr<const Findings>& findings) override {
    operators_.use(findings_as<WaveFindings>(findings));
  }
  [[nodiscard]] std::unique_ptr<Search> make_search() const override {
    if (!searches_points(masked_plan_)) {
      return nullptr;
    }
    return defer_search([plan = plan_] {
      return std::make_unique<PointSearch>(plan, std::make_shared<const std::vector<OperatorTables>>(tables_of_search(
                                                     make_operator_tables(plan, OperatorCache::of_user()))));
    });
  }

 private:
  ImagePlan plan_;
  ImagePlan masked_plan_;  ///< plan_ with the mask in effect
  Operators operators_;
};

}  // namespace

std::unique_ptr<Imager> make_operators(const ImagePlan& plan) { return std::make_unique<OperatorsProcessor>(plan); }

}  // namespace nearfield::reference
