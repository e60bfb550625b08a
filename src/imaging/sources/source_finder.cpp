#include "imaging/sources/source_finder.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numeric>
#include <optional>
#include <utility>

#include "core/error.hpp"
#include "core/system/threads.hpp"
#include "imaging/shared/noise_steps.hpp"

namespace nearfield {
namespace {

using Complex = std::complex<double>;
using Eigen::Index;

/// Least |amplitude|^2 over its variance for a source to be tried: small, as others not found yet count as the prior's;
/// to remain among them; and to be accepted in the end. Half of the last suffices for a source that was accepted
/// before.
struct Thresholds {
  double candidate;
  double tried;
  double taken;
};
constexpr Thresholds kOfManyMicrophones = {.candidate = 20.0, .tried = 40.0, .taken = 300.0};
constexpr double kManyMicrophones = 1024.0;
/// Noise alone exceeds the first of these at one position of a grid in 3000, e^8, and the others at none.
constexpr Thresholds kLeast = {.candidate = 8.0, .tried = 20.0, .taken = 60.0};
/// Below this share of a measurement's energy, the residual is rounding.
constexpr double kRounding = 1e-10;
constexpr int kMostSteps = 12;
/// Sources have settled when they move by less than this part of their grid's step.
constexpr double kSettled = 1e-7;
/// Damping after the first step that is taken back, and its ratio from step to step (Marquardt).
constexpr double kLeastDamping = 1e-3;
constexpr double kDampingRatio = 10.0;
/// Costs that differ by less, in nepers, count as equal.
constexpr double kRoundingOfCost = 1e-6;
/// Least gain in log-likelihood per point source, in nepers, averaged over all that are found: on the measured plates,
/// whose images they make worse, points gain up to 90, and several hundred for pistons, dipoles and single monopoles.
/// Less suffices if nothing but noise remains, which points of no such plate achieved.
constexpr double kGainOfPoint = 100.0;
constexpr double kGainOfLastPoint = 25.0;
/// Evidence of points behind the array, which no plate is mistaken for: at 25, fields of a room behind it gained some.
constexpr double kGainBehind = 50.0;
/// Noise over the prior's power above which the residual is noise alone.
constexpr double kNoiseAlone = 3.0;
/// Least gains in log-likelihood, in nepers, for a point source to be tried as a disc: small, as others that are not
/// yet discs hide how much better it is; and to remain one when all have been tried.
constexpr double kDiscTried = 10.0;
constexpr double kDiscGain = 60.0;
/// Radii from which a disc is fitted, over that of PointBounds::disc_of(): far from its true radius the fit ends where
/// the prior explains the field with less noise.
constexpr std::array kDiscStarts = {1.0, 0.5};

std::size_t at(Index index) { return static_cast<std::size_t>(index); }

/// A point source's variance is mostly the prior's, which explains as much of it as it has modes above the noise: fewer
/// microphones make the same source less significant. A false plane wave costs most, as it is amplified by propagation.
Thresholds thresholds_of(const FieldSource& source, const UsableWeights& weights) {
  if (std::holds_alternative<PlaneWave>(source)) {
    return kOfManyMicrophones;
  }
  const double part = static_cast<double>(weights.channels()) / kManyMicrophones;
  const auto scaled = [&](double Thresholds::*of) {
    return std::clamp(part * kOfManyMicrophones.*of, kLeast.*of, kOfManyMicrophones.*of);
  };
  return {.candidate = scaled(&Thresholds::candidate),
          .tried = scaled(&Thresholds::tried),
          .taken = scaled(&Thresholds::taken)};
}

/// True for a point below the disc whose x and y are within its radius.
bool is_behind(const FieldSource& source, const PointSource& disc) {
  const auto* point = std::get_if<PointSource>(&source);
  return point != nullptr && !point->is_disc() && point->z_m < disc.z_m &&
         std::hypot(point->x_m - disc.x_m, point->y_m - disc.y_m) <= disc.radius_m;
}

/// Sources of one frequency, of which one point has been replaced by a disc.
struct Discs {
  Sources sources;
  std::vector<double> least;  ///< [source]
  std::size_t place = 0;      ///< index of the disc
  SourceFit fit;
  void drop(std::size_t which) {
    sources.erase(sources.begin() + static_cast<std::ptrdiff_t>(which));
    least.erase(least.begin() + static_cast<std::ptrdiff_t>(which));
    place -= which < place ? 1U : 0U;
  }
};

/// Puts a disc in the place of a point, without the points from index `first` on behind the disc: they stood for parts
/// of it, and one behind it may absorb its field.
Discs with_disc(const Sources& sources, std::size_t point, const PointSource& disc, const std::vector<double>& least,
                std::size_t first) {
  Discs discs{.sources = sources, .least = least, .place = point, .fit = {}};
  discs.sources[point] = disc;
  for (std::size_t other = sources.size(); other-- > first;) {
    if (other != point && is_behind(sources[other], disc)) {
      discs.drop(other);
    }
  }
  return discs;
}

}  // namespace

Eigen::MatrixXd SourceSpace::unit_fields(const std::vector<std::int32_t>& channels) const {
  if (!channels.empty()) {
    throw Error(ExitCode::kInternal, "masked microphones are left out of modes that are real alone");
  }
  return Eigen::MatrixXd(powers().size(), 0);
}

Eigen::ArrayXd SourceFit::significance() const {
  return amplitudes.cwiseAbs2().array() / (std::max(prior, 1e-300) * covariance.diagonal().real().array());
}

SourceFinder::SourceFinder(std::unique_ptr<SourceSpace> space)
    : space_(std::move(space)), weights_(space_->powers(), space_->missing()) {}

/// Leaves masked microphones out of fits. Predicted values are no measurement: fits that counted them as one had ten
/// times the least error possible behind a hole of 8 x 8 microphones, as the prediction follows the noise round the
/// hole.
void SourceFinder::use(const MicrophoneMask* mask) {
  space_->use(mask);
  std::vector<std::int32_t> left_out = space_->left_out();
  if (left_out == left_out_) {
    return;
  }
  left_out_ = std::move(left_out);
  weights_.leave_out(space_->unit_fields(left_out_));
}

/// Finds the most probable noise of the residual, and the prior's power with it.
void SourceFinder::weigh_residual(SourceFit& fit) const {
  const auto channels = static_cast<double>(weights_.channels());
  const Eigen::ArrayXd energies = weights_.energies(fit.residual);
  double least = std::numeric_limits<double>::infinity();
  for (int step = 0; step < kNoiseSteps; ++step) {
    const double prior = energies(step) / channels;
    const double cost = weights_.log_determinant(step) + channels * std::log(std::max(prior, 1e-300));
    if (cost < least) {
      least = cost;
      fit.residual_noise = noise_step(step);
      fit.prior = prior;
    }
  }
  fit.cost = least;
}

SourceFit SourceFinder::fit_of(Eigen::MatrixXcd modes, const Eigen::VectorXcd& y, double noise) const {
  SourceFit fit{
      .noise = noise, .modes = std::move(modes), .white = {}, .amplitudes = {}, .covariance = {}, .residual = y};
  if (fit.modes.cols() > 0) {
    fit.white = weights_.weigh(step_of_noise(noise), fit.modes);
    const Eigen::MatrixXcd precision = fit.modes.adjoint() * fit.white;
    fit.covariance = precision.ldlt().solve(Eigen::MatrixXcd::Identity(precision.rows(), precision.cols()));
    fit.amplitudes = fit.covariance * (fit.white.adjoint() * y);
    fit.residual -= fit.modes * fit.amplitudes;
  }
  weigh_residual(fit);
  return fit;
}

/// Derivatives of the modes by each unknown: real and imaginary part of each amplitude, then each source's coordinates.
/// (mode, unknown)
Eigen::MatrixXcd SourceFinder::tangents(const Sources& sources, const SourceFit& fit) const {
  const Index count = static_cast<Index>(sources.size());
  const std::vector<Eigen::MatrixXcd> slopes = space_->slopes(sources);
  const Index unknowns = std::accumulate(sources.begin(), sources.end(), 2 * count,
                                         [](Index sum, const auto& source) { return sum + coordinates_of(source); });
  Eigen::MatrixXcd columns(space_->powers().size(), unknowns);
  columns.leftCols(count) = fit.modes;
  columns.middleCols(count, count) = Complex(0.0, 1.0) * fit.modes;
  Index next = 2 * count;
  for (Index source = 0; source < count; ++source) {
    for (int coordinate = 0; coordinate < coordinates_of(sources[at(source)]); ++coordinate) {
      columns.col(next++) = fit.amplitudes(source) * slopes[at(coordinate)].col(source);
    }
  }
  return columns;
}

/// One Gauss-Newton step in all coordinates and amplitudes, each unknown damped by `damping` parts of its own curvature
/// (Marquardt); returns the largest change in steps of the grids.
double SourceFinder::step(Sources& sources, const SourceFit& fit, double damping) const {
  const Eigen::MatrixXcd columns = tangents(sources, fit);
  const Eigen::MatrixXcd weighed = weights_.weigh(step_of_noise(fit.noise), columns);
  Eigen::MatrixXd normal = (columns.adjoint() * weighed).real();
  normal.diagonal() *= 1.0 + damping;
  const Eigen::VectorXd right = (weighed.adjoint() * fit.residual).real();
  const Eigen::VectorXd change = normal.ldlt().solve(right);
  if (!change.allFinite()) {
    return 0.0;
  }
  double largest = 0.0;
  Index first = 2 * static_cast<Index>(sources.size());
  for (FieldSource& source : sources) {
    const auto by = change.segment(first, coordinates_of(source));
    largest = std::max(largest, space_->move(source, by));
    first += coordinates_of(source);
  }
  return largest;
}

/// Moves the sources to their best fit, while the noise follows the residual. A step that makes the measurement less
/// probable is taken back and tried shorter: sources close to one another, such as the two of a dipole, have almost the
/// same field, and full steps from there end anywhere.
SourceFit SourceFinder::settle(Sources& sources, const Eigen::VectorXcd& y, double noise) const {
  SourceFit found = fit_of(space_->fields(sources), y, noise);
  double damping = 0.0;
  for (int i = 0; i < kMostSteps && !sources.empty(); ++i) {
    Stoppable::end_if_stopped();
    if (found.residual_noise != found.noise) {
      found = fit_of(found.modes, y, found.residual_noise);
    }
    Sources next = sources;
    const double moved = step(next, found, damping);
    SourceFit fit = fit_of(space_->fields(next), y, found.noise);
    const bool is_better = fit.cost <= found.cost + kRoundingOfCost;
    if (is_better) {
      sources = std::move(next);
      found = std::move(fit);
    }
    damping = is_better ? damping / kDampingRatio : std::max(damping * kDampingRatio, kLeastDamping);
    if (moved < kSettled) {
      break;
    }
  }
  return found;
}

/// Least significance of each source to remain among the others. [source]
std::vector<double> SourceFinder::tried_of(const Sources& sources) const {
  std::vector<double> tried;
  for (const FieldSource& source : sources) {
    tried.push_back(thresholds_of(source, weights_).tried);
  }
  return tried;
}

bool SourceFinder::are_tried(const Sources& sources, const SourceFit& fit) const {
  const std::vector<double> tried = tried_of(sources);
  const Eigen::Map<const Eigen::ArrayXd> limits(tried.data(), static_cast<Index>(tried.size()));
  return (fit.significance() >= limits).all();
}

/// Adds candidates until none is strong enough.
void SourceFinder::grow(Sources& sources, SourceFit& fit, const Eigen::VectorXcd& y, std::vector<double>& least,
                        bool takes_points) {
  bool grows = true;
  while (grows && sources.size() < space_->most_sources() && fit.residual.squaredNorm() > kRounding * y.squaredNorm()) {
    grows = false;
    for (const Candidate& candidate : candidates(fit)) {
      if (!takes_points && std::holds_alternative<PointSource>(candidate.source)) {
        continue;
      }
      Sources more = sources;
      more.push_back(candidate.source);
      SourceFit next = settle(more, y, fit.residual_noise);
      if (are_tried(more, next)) {
        least.push_back(thresholds_of(candidate.source, weights_).taken);
        sources = std::move(more);
        fit = std::move(next);
        grows = true;
        break;
      }
    }
  }
}

/// The weakest point source from index `first` on, except `kept`, that is below its threshold; nullopt if there is
/// none.
std::optional<std::size_t> SourceFinder::weakest_point(const Sources& sources, const SourceFit& fit, std::size_t first,
                                                       std::size_t kept) const {
  const Eigen::ArrayXd significance = fit.significance();
  std::optional<std::size_t> weakest;
  for (std::size_t i = first; i < sources.size(); ++i) {
    const double of_source = significance(static_cast<Index>(i));
    const bool is_weak = i != kept && std::holds_alternative<PointSource>(sources[i]) &&
                         of_source < thresholds_of(sources[i], weights_).tried;
    if (is_weak && (!weakest || of_source < significance(static_cast<Index>(*weakest)))) {
      weakest = i;
    }
  }
  return weakest;
}

/// Replaces point sources from index `first` on by discs if these are more probable for as many parameters. Returns
/// true if there is one.
bool SourceFinder::spread(Sources& sources, SourceFit& fit, const Eigen::VectorXcd& y, std::size_t first,
                          std::vector<double>& least) const {
  bool is_any = false;
  for (std::size_t i = first; i < sources.size(); ++i) {
    const auto* point = std::get_if<PointSource>(&sources[i]);
    if (point == nullptr || fit.residual.squaredNorm() <= kRounding * y.squaredNorm()) {
      continue;
    }
    const std::optional<PointSource> disc = space_->disc_of(*point);
    if (!disc) {
      continue;
    }
    for (const double part : kDiscStarts) {
      PointSource start = *disc;
      start.radius_m *= part;
      Discs tried = with_disc(sources, i, start, least, first);
      tried.fit = settle(tried.sources, y, fit.residual_noise);
      while (const std::optional<std::size_t> weak = weakest_point(tried.sources, tried.fit, first, tried.place)) {
        tried.drop(*weak);
        tried.fit = settle(tried.sources, y, tried.fit.residual_noise);
      }
      if (criterion_of(tried.sources, tried.fit) < criterion_of(sources, fit) - kDiscTried &&
          are_tried(tried.sources, tried.fit)) {
        i = tried.place;
        least = std::move(tried.least);
        sources = std::move(tried.sources);
        fit = std::move(tried.fit);
        is_any = true;
        break;
      }
    }
  }
  return is_any;
}

/// Turns discs from index `first` on that are not clearly more probable back into points: for a field of neither kind,
/// such as a smooth mode of a plate, a disc would show a rim.
void SourceFinder::gather(Sources& sources, SourceFit& fit, const Eigen::VectorXcd& y, std::size_t first) const {
  for (std::size_t i = first; i < sources.size(); ++i) {
    const auto* disc = std::get_if<PointSource>(&sources[i]);
    if (disc == nullptr || !disc->is_disc()) {
      continue;
    }
    Sources changed = sources;
    changed[i] = space_->point_of(*disc);
    SourceFit next = settle(changed, y, fit.residual_noise);
    if (next.cost < fit.cost + kDiscGain) {
      sources = std::move(changed);
      fit = std::move(next);
    }
  }
}

/// Removes the weakest source until each has at least `least`, [source].
void SourceFinder::drop_weak(Sources& sources, SourceFit& fit, const Eigen::VectorXcd& y,
                             std::vector<double>& least) const {
  while (!sources.empty()) {
    Index weakest = 0;
    const Eigen::Map<const Eigen::ArrayXd> limits(least.data(), static_cast<Index>(least.size()));
    const Eigen::ArrayXd part = fit.significance() / limits;
    if (part.isNaN().select(0.0, part).minCoeff(&weakest) >= 1.0) {
      return;
    }
    sources.erase(sources.begin() + weakest);
    least.erase(least.begin() + weakest);
    fit = settle(sources, y, fit.residual_noise);
  }
}

/// Removes all point sources on one side of the array unless they make the measurement so much more probable that they
/// must be its cause; one that was known before needs half as much. Returns true if it removed them.
bool SourceFinder::drop_points(Sources& sources, SourceFit& fit, const Eigen::VectorXcd& y, std::vector<double>& least,
                               bool behind) const {
  Sources others;
  std::vector<double> least_of_others;
  double points = 0.0;
  for (std::size_t i = 0; i < sources.size(); ++i) {
    if (std::holds_alternative<PlaneWave>(sources[i]) || space_->is_behind(sources[i]) != behind) {
      others.push_back(sources[i]);
      least_of_others.push_back(least[i]);
    } else {
      points += least[i] / thresholds_of(sources[i], weights_).taken;  // 1/2 for one that was known
    }
  }
  if (others.size() == sources.size()) {
    return false;
  }
  SourceFit without = settle(others, y, fit.residual_noise);
  without = settle(others, y, without.residual_noise);
  const double of_side = behind ? kGainBehind : kGainOfPoint;
  const double needed = fit.residual_noise >= kNoiseAlone ? kGainOfLastPoint : of_side;
  const double cost = others.empty() ? std::min(without.cost, rival_cost_) : without.cost;
  if (cost - fit.cost >= needed * points) {
    return false;
  }
  sources = std::move(others);
  least = std::move(least_of_others);
  fit = std::move(without);
  return true;
}

/// Strongest candidates of each kind above the threshold, the stronger one first.
std::vector<Candidate> SourceFinder::candidates(const SourceFit& fit) {
  Stoppable::end_if_stopped();
  const int noise = step_of_noise(fit.noise);
  std::vector<Candidate> found = space_->strongest(weights_.weigh(noise, fit.residual), noise, fit.prior);
  std::erase_if(found, [&](const Candidate& candidate) {
    return candidate.strength < thresholds_of(candidate.source, weights_).candidate;
  });
  std::stable_sort(found.begin(), found.end(),
                   [](const Candidate& a, const Candidate& b) { return a.strength > b.strength; });
  return found;
}

double SourceFinder::cost_without(std::span<const Complex> field, const MicrophoneMask* mask) {
  use(mask);
  return fit_of(space_->fields({}), space_->of_field(field), noise_step(0)).cost;
}

void SourceFinder::find(std::span<const Complex> field, std::uint64_t number, const MicrophoneMask* mask,
                        double rival_cost) {
  use(mask);
  rival_cost_ = rival_cost;
  const SearchMemory<Sources>::Pair before = before_.at(number);
  if (*before.settling != *before.serving) {
    search_from(*before.settling, field);
    *before.settling = sources_;
    search_from(*before.serving, field);
    *before.serving = sources_;
    return;
  }
  search_from(*before.serving, field);
  *before.settling = sources_;
  *before.serving = sources_;
}

void SourceFinder::find_from(Sources sources, std::span<const Complex> field, const MicrophoneMask* mask) {
  use(mask);
  search_from(std::move(sources), field);
}

double SourceFinder::criterion() const { return criterion_of(sources_, fit_); }

double SourceFinder::criterion_of(const Sources& sources, const SourceFit& fit) const {
  constexpr int kOfAmplitude = 2;
  double parameters = 0.0;
  for (const FieldSource& source : sources) {
    parameters += kOfAmplitude + coordinates_of(source);
  }
  return fit.cost + 0.5 * parameters * std::log(2.0 * static_cast<double>(weights_.channels()));
}

void SourceFinder::search_from(Sources sources, std::span<const Complex> field) {
  const Eigen::VectorXcd y = space_->of_field(field);
  if (space_->most_sources() == 0 || !(y.squaredNorm() > 0.0)) {
    sources_.clear();
    fit_ = fit_of(space_->fields({}), y, noise_step(0));
    return;
  }
  if (sources.size() > space_->most_sources()) {  // found before more microphones were masked
    sources.clear();
  }
  SourceFit best = settle(sources, y, fit_of(space_->fields({}), y, noise_step(0)).residual_noise);
  std::vector<double> tried = tried_of(sources);
  drop_weak(sources, best, y, tried);
  std::vector<double> least;
  for (const FieldSource& source : sources) {
    least.push_back(thresholds_of(source, weights_).taken / 2.0);
  }
  const std::size_t known = sources.size();
  grow(sources, best, y, least, true);
  if (spread(sources, best, y, known, least)) {
    grow(sources, best, y, least, true);
    gather(sources, best, y, known);
  }
  drop_weak(sources, best, y, least);
  if (drop_points(sources, best, y, least, false)) {
    grow(sources, best, y, least, false);  // for a wave that points had been taken for
    drop_weak(sources, best, y, least);
  }
  (void)drop_points(sources, best, y, least, true);
  sources_ = std::move(sources);
  fit_ = std::move(best);
}

FoundWaves SourceFinder::found() const {
  FoundWaves found;
  std::vector<Complex> of_points;
  for (std::size_t i = 0; i < sources_.size(); ++i) {
    const Complex amplitude = fit_.amplitudes(static_cast<Index>(i));
    if (const auto* wave = std::get_if<PlaneWave>(&sources_[i])) {
      found.waves.push_back(*wave);
      found.amplitudes.push_back(amplitude);
    } else {
      found.points.push_back(std::get<PointSource>(sources_[i]));
      of_points.push_back(amplitude);
    }
  }
  found.amplitudes.insert(found.amplitudes.end(), of_points.begin(), of_points.end());
  found.noise = fit_.noise;
  found.left_out = left_out_;
  return found;
}

/// Derivatives of the first plane's image by each unknown of tangents(), by central differences over the coordinates;
/// the step in wavenumber is about its uncertainty, as the slope is unbounded where a wave turns from propagating to
/// evanescent. (pixel, unknown)
Eigen::MatrixXcd SourceFinder::image_tangents(const Eigen::MatrixXcd& images) const {
  constexpr double kStep_m = 1e-6;
  constexpr double kStep_rad_per_m = 0.05;
  const Index count = images.cols();
  std::vector<Eigen::VectorXcd> of_coordinates;
  for (Index i = 0; i < count; ++i) {
    const FieldSource& source = sources_[at(i)];
    const double step = std::holds_alternative<PlaneWave>(source) ? kStep_rad_per_m : kStep_m;
    for (int coordinate = 0; coordinate < coordinates_of(source); ++coordinate) {
      of_coordinates.emplace_back(fit_.amplitudes(i) / (2.0 * step) *
                                  (space_->image_of(moved(source, coordinate, step), 0) -
                                   space_->image_of(moved(source, coordinate, -step), 0)));
    }
  }
  Eigen::MatrixXcd columns(images.rows(), 2 * count + static_cast<Index>(of_coordinates.size()));
  columns.leftCols(count) = images;
  columns.middleCols(count, count) = Complex(0.0, 1.0) * images;
  for (std::size_t i = 0; i < of_coordinates.size(); ++i) {
    columns.col(2 * count + static_cast<Index>(i)) = of_coordinates[i];
  }
  return columns;
}

/// Errors of the unknowns are imaged both by the sources and, with the other sign, by the prior: half of trace(N^-1
/// Re(M^H M)), with N = Re(T^H W T) the normal matrix of the unknowns, T their tangents, W the weights and M the
/// tangents' images minus the prior's images of the tangents. Half, as each unknown is real.
double SourceFinder::expected_error(const Eigen::MatrixXcd& images) const {
  if (sources_.empty()) {
    return 0.0;
  }
  const Eigen::MatrixXcd unknowns = tangents(sources_, fit_);
  const Eigen::MatrixXcd weighed = weights_.weigh(step_of_noise(fit_.noise), unknowns);
  const Eigen::MatrixXcd missed = image_tangents(images) - space_->image_of_modes(weighed);
  const Eigen::MatrixXd normal = (unknowns.adjoint() * weighed).real();
  const Eigen::MatrixXd energies = (missed.adjoint() * missed).real();
  const double error = 0.5 * normal.ldlt().solve(energies).trace();
  if (error >= 0.0 && std::isfinite(error)) {
    return error;
  }
  // The microphones do not determine the positions: use the amplitudes' errors alone.
  const Eigen::MatrixXcd of_amplitudes = missed.leftCols(fit_.covariance.cols());
  return (of_amplitudes.conjugate().cwiseProduct(of_amplitudes * fit_.covariance)).sum().real();
}

}  // namespace nearfield
