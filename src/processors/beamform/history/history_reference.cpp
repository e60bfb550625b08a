#include <Eigen/Cholesky>
#include <Eigen/Eigenvalues>
#include <algorithm>
#include <cmath>
#include <deque>
#include <limits>

#include "imaging/priors/make_mask.hpp"
#include "processors/beamform/history/decomposition.hpp"
#include "processors/beamform/history/history.hpp"
#include "processors/beamform/published_reference.hpp"
#include "processors/beamform/snapshots.hpp"

/// The methods computed from the matrix of cross-spectra C of the microphones, as in the original papers, which are
/// cited in kernels/processors/beamform/history.cl.
namespace nearfield::history {
namespace {

using reference::Array;
using reference::Complex;
using Vector = Eigen::VectorXcd;
using Matrix = Eigen::MatrixXcd;

constexpr double kNoModeOfMatrix = 1e-6;  // fraction of the largest eigenvalue
constexpr double kLeastRest = 1e-6;       // for 1 minus a sum that is at most 1

/// Microphones weighted by the square roots of their shading, so that products of vectors are weighted by the shading.
struct Scene {
  Matrix cross_spectra;
  std::vector<Vector> steering;  ///< a, [pixel]
  std::vector<double> lengths;   ///< |a|^2; NaN without a pixel
  std::vector<double> levels;    ///< factor from a^H C a / |a|^2 to a mean square pressure
  double weight_sum = 0.0;
  std::size_t snapshots = 0;
  bool has_noise = true;
};

/// Eigenvalues in descending order, with their vectors.
struct ModesOfMatrix {
  std::vector<double> values;
  std::vector<Vector> vectors;
  double noise = 0.0;  ///< mean of the eigenvalues beyond the sources
};

ModesOfMatrix modes_of_matrix(const Scene& scene, std::size_t sources) {
  const Eigen::SelfAdjointEigenSolver<Matrix> solver(scene.cross_spectra);
  ModesOfMatrix modes;
  for (Eigen::Index i = scene.cross_spectra.rows() - 1; i >= 0; --i) {
    modes.values.push_back(solver.eigenvalues()[i]);
    modes.vectors.emplace_back(solver.eigenvectors().col(i));
  }
  const std::size_t rank = std::min(scene.snapshots, modes.values.size());
  double sum = 0.0;
  for (std::size_t i = sources; i < rank; ++i) {
    sum += modes.values[i];
  }
  modes.noise = scene.has_noise && rank > sources ? sum / static_cast<double>(rank - sources) : 0.0;
  while (!(modes.values.back() > kNoModeOfMatrix * modes.values.front()) && modes.values.size() > 1) {
    modes.values.pop_back();
    modes.vectors.pop_back();
  }
  return modes;
}

/// |a^H u|^2 / |a|^2
double share_of(const Scene& scene, std::size_t pixel, const Vector& mode) {
  return std::norm(scene.steering[pixel].dot(mode)) / scene.lengths[pixel];
}

/// Matrix of cross-spectra minus the microphones' own noise, by factor analysis of the matrix itself.
Matrix without_own_noise(const Matrix& cross_spectra, std::size_t snapshots) {
  const Eigen::VectorXd powers = cross_spectra.diagonal().real();
  const Eigen::Index heard = (powers.array() > 0.0).count();
  const NoiseRule rule(heard, static_cast<Eigen::Index>(snapshots));
  Eigen::VectorXd noises = powers;
  Matrix signals;
  for (int turn = 0; turn <= kNoiseTurns; ++turn) {
    const Eigen::VectorXd roots = noises.cwiseSqrt();
    const Vector whitening = roots.unaryExpr([](double root) { return root > 0.0 ? 1.0 / root : 0.0; }).cast<Complex>();
    const Eigen::SelfAdjointEigenSolver<Matrix> solver(whitening.asDiagonal() * cross_spectra * whitening.asDiagonal());
    const Eigen::VectorXd values = solver.eigenvalues().reverse().cwiseMax(0.0);
    const NoiseRule::Split split =
        rule.split(values, turn == kNoiseTurns ? static_cast<Eigen::Index>(snapshots) : turn + 1);
    signals = Matrix::Zero(powers.size(), powers.size());
    for (Eigen::Index i = 0; i < split.signals; ++i) {
      const Vector factor = roots.cast<Complex>().asDiagonal() * solver.eigenvectors().col(powers.size() - 1 - i);
      signals += (values[i] - split.noise) * factor * factor.adjoint();
    }
    noises = (powers - signals.diagonal().real()).cwiseMax(kLeastNoiseShare * powers);
  }
  return signals;
}

double functional_at(const Scene& scene, const ModesOfMatrix& modes, std::size_t pixel, double exponent) {
  double sum = 0.0;
  for (std::size_t i = 0; i < modes.values.size(); ++i) {
    sum += std::pow(std::max(modes.values[i] - modes.noise, 0.0), 1.0 / exponent) *
           share_of(scene, pixel, modes.vectors[i]);
  }
  return scene.levels[pixel] * std::pow(sum, exponent);
}

double music_at(const Scene& scene, const ModesOfMatrix& modes, std::size_t pixel, std::size_t sources) {
  double sum = 0.0;
  for (std::size_t i = 0; i < std::min(sources, modes.values.size()); ++i) {
    sum += share_of(scene, pixel, modes.vectors[i]);
  }
  return 1.0 / (1.0 - sum < kLeastRest ? kLeastRest : 1.0 - sum);
}

std::vector<double> capon_map(const Scene& scene, double loading) {
  const double added = loading * scene.cross_spectra.trace().real() / scene.weight_sum;
  const auto size = scene.cross_spectra.rows();
  const Eigen::LDLT<Matrix> solver(scene.cross_spectra + added * Matrix::Identity(size, size));
  std::vector<double> map;
  for (std::size_t q = 0; q < scene.steering.size(); ++q) {
    const Vector& a = scene.steering[q];
    const bool is_pixel = !std::isnan(scene.lengths[q]);
    const double power = is_pixel ? a.dot(solver.solve(a)).real() : std::nan("");
    map.push_back(scene.levels[q] * scene.lengths[q] / power);
  }
  return map;
}

std::vector<double> nothing(const Scene& scene) {
  std::vector<double> map;
  for (const double length : scene.lengths) {
    map.push_back(std::isnan(length) ? length : 0.0);
  }
  return map;
}

std::vector<double> orthogonal_map(const Scene& scene, const ModesOfMatrix& modes, std::size_t sources) {
  std::vector<double> map = nothing(scene);
  for (std::size_t i = 0; i < std::min(sources, modes.values.size()); ++i) {
    std::size_t place = 0;
    double largest = -1.0;
    for (std::size_t q = 0; q < map.size(); ++q) {
      if (share_of(scene, q, modes.vectors[i]) > largest) {
        largest = share_of(scene, q, modes.vectors[i]);
        place = q;
      }
    }
    map[place] += scene.levels[place] * std::max(modes.values[i] - modes.noise, 0.0);
  }
  return map;
}

std::vector<double> clean_map(Scene scene, const CleanSettings& clean) {
  std::vector<double> map = nothing(scene);
  std::vector<double> found;  // powers, one per iteration
  while (found.size() < static_cast<std::size_t>(clean.iterations)) {
    std::size_t place = 0;
    double largest = 0.0;
    for (std::size_t q = 0; q < map.size(); ++q) {
      const Vector& a = scene.steering[q];
      const double power = scene.levels[q] * a.dot(scene.cross_spectra * a).real() / scene.lengths[q];
      if (power > largest) {
        largest = power;
        place = q;
      }
    }
    const std::size_t count = found.size();
    found.push_back(largest);
    if (!(largest > 0.0) || largest <= std::pow(10.0, -clean.stop_db / 10.0) * found.front() ||
        (count >= 3 && largest > found[count - 3])) {
      break;
    }
    map[place] += clean.loop_gain * largest;
    const Vector coherent = scene.cross_spectra * scene.steering[place];
    const double power = scene.steering[place].dot(coherent).real();
    scene.cross_spectra -= clean.loop_gain / power * coherent * coherent.adjoint();
  }
  return map;
}

std::vector<double> map_of(const Scene& scene, const BeamformSettings& settings) {
  const auto sources = static_cast<std::size_t>(settings.sources);
  switch (settings.method) {
    case Method::kCapon:
      return capon_map(scene, settings.loading);
    case Method::kOrthogonal:
      return orthogonal_map(scene, modes_of_matrix(scene, sources), sources);
    case Method::kCleanSc:
      return clean_map(scene, settings.clean);
    case Method::kFunctional:
    case Method::kMusic:
    case Method::kDas:
      break;
  }
  const ModesOfMatrix modes = modes_of_matrix(scene, sources);
  std::vector<double> map;
  for (std::size_t q = 0; q < scene.steering.size(); ++q) {
    map.push_back(settings.method == Method::kMusic ? music_at(scene, modes, q, sources)
                                                    : functional_at(scene, modes, q, settings.functional_exponent));
  }
  return map;
}

class HistoryReference : public reference::Processor {
 public:
  explicit HistoryReference(const BeamformPlan& plan)
      : reference::Processor(header_of(plan)),
        plan_(plan),
        array_(plan_),
        losses_(LossesOfHistory(plan_.history)),
        of_maps_(plan_) {
    use(make_mask(plan_.array, {}));
    forget();
  }
  std::uint64_t complete(const WindowToRead& of, reference::OwnedProducts& products) override {
    losses_.stamp(of);
    if (of.is_last && plan_.history.has_enough()) {
      const double effective = plan_.snapshots.effective_of(static_cast<int>(snapshots_.size()));
      products = of_maps_.products(map_of_snapshots(), static_cast<float>(effective));
      losses_.publish_held(of.window);
    }
    return losses_.missing_bit_times(of.window);
  }
  void use(const MicrophoneMask& mask) final {
    array_.use(mask);
    of_maps_.use(array_, mask);
    drop_snapshots();
  }
  void forget() final {
    drop_snapshots();
    losses_.held().forget();
    published_.assign(plan_.frequencies() * plan_.pixels(), std::numeric_limits<float>::quiet_NaN());
    effective_ = 0.0F;
  }
  reference::WindowResult compute(const reference::WindowInput& window) override {
    if (window.window == 0) {
      losses_.begin();
    }
    const reference::Outcome outcome = array_.choose(window.spectra);
    const HistorySchedule::Step step = plan_.history.next();
    losses_.next(step);
    if (step.publishes && plan_.history.lag() > 0) {
      publish();
    }
    if (step.is_snapshot) {
      take(window.spectra);
    }
    if (step.begins) {
      begun_ = map_of_snapshots();
      begun_effective_ = static_cast<float>(plan_.snapshots.effective_of(static_cast<int>(snapshots_.size())));
    }
    if (step.publishes && plan_.history.lag() == 0) {
      publish();
    }
    return {.products = of_maps_.products(published_, effective_), .outcome = outcome};
  }

 private:
  void drop_snapshots() {
    plan_.history.forget();
    losses_.held().drop_snapshots();
    snapshots_.clear();
  }
  void publish() {
    published_ = begun_;
    effective_ = begun_effective_;
  }
  /// Sets microphones that are not finite in a window to silence.
  void take(std::span<const Complex> spectra) {
    std::vector<Complex> snapshot(spectra.size());
    for (std::size_t f = 0; f < plan_.frequencies(); ++f) {
      for (const std::size_t m : array_.used()) {
        snapshot[f * plan_.channels() + m] = std::sqrt(plan_.shading[m]) * array_.pressure(spectra, f, m);
      }
    }
    snapshots_.push_back(std::move(snapshot));
    if (snapshots_.size() > static_cast<std::size_t>(plan_.history.snapshots_of_map())) {
      snapshots_.pop_front();
    }
  }
  [[nodiscard]] Scene scene_of(std::size_t f) const {
    const std::vector<std::size_t> channels = array_.unmasked();
    const auto size = static_cast<Eigen::Index>(channels.size());
    Scene scene;
    scene.cross_spectra = Matrix::Zero(size, size);
    scene.snapshots = snapshots_.size();
    scene.has_noise = !plan_.settings.removes_own_noise();
    for (const std::vector<Complex>& snapshot : snapshots_) {
      Vector pressures(size);
      for (Eigen::Index i = 0; i < size; ++i) {
        pressures[i] = snapshot[f * plan_.channels() + channels[static_cast<std::size_t>(i)]];
      }
      scene.cross_spectra += pressures * pressures.adjoint() / static_cast<double>(snapshots_.size());
    }
    if (plan_.settings.removes_own_noise() && size > 0) {
      scene.cross_spectra = without_own_noise(scene.cross_spectra, snapshots_.size());
    }
    for (const std::size_t m : channels) {
      scene.weight_sum += plan_.shading[m];
    }
    const bool has_true_level = plan_.settings.steering.formulation == far_field::Formulation::kTrueLevel;
    for (std::size_t pixel = 0; pixel < plan_.pixels(); ++pixel) {
      const std::vector<Complex> a = array_.steer(channels, pixel, f);
      Vector steering(size);
      for (Eigen::Index i = 0; i < size; ++i) {
        const auto at = static_cast<std::size_t>(i);
        steering[i] = std::sqrt(plan_.shading[channels[at]]) * a[at];
      }
      const double length = steering.squaredNorm();
      scene.lengths.push_back(length);
      scene.levels.push_back(0.5 / (has_true_level ? length : scene.weight_sum) + 0.0 * length);
      scene.steering.push_back(std::move(steering));
    }
    return scene;
  }
  [[nodiscard]] std::vector<float> map_of_snapshots() const {
    std::vector<float> maps;
    for (std::size_t f = 0; f < plan_.frequencies(); ++f) {
      const Scene scene = scene_of(f);
      const std::vector<double> map =
          scene.cross_spectra.rows() == 0
              ? std::vector<double>(plan_.pixels(), std::numeric_limits<double>::quiet_NaN())
              : map_of(scene, plan_.settings);
      std::transform(map.begin(), map.end(), std::back_inserter(maps),
                     [](double value) { return static_cast<float>(value); });
    }
    return maps;
  }

  BeamformPlan plan_;
  Array array_;
  std::deque<std::vector<Complex>> snapshots_;  ///< [snapshot][frequency][channel], oldest first
  std::vector<float> begun_;                    ///< [frequency][pixel]; same for the next two
  std::vector<float> published_;
  StampedLosses<LossesOfHistory> losses_;
  reference::Published<float> of_maps_;
  float begun_effective_ = 0.0F;
  float effective_ = 0.0F;
};

}  // namespace

std::unique_ptr<reference::Processor> make_reference(const BeamformPlan& plan) {
  return std::make_unique<HistoryReference>(plan);
}

}  // namespace nearfield::history
