#include "imaging/sonah/wave_finder.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>
#include <numeric>
#include <utility>

namespace nearfield {
namespace {

using Complex = std::complex<double>;
using Eigen::Index;

/// |amplitude|^2 over its variance that a source must have to be tried: small, as others that are not found yet
/// count as the prior's; that it must have in the end to be accepted; and to be kept where it was accepted before.
constexpr double kCandidate = 20.0;
constexpr double kTried = 40.0;
constexpr double kTaken = 300.0;
constexpr double kKept = 150.0;
/// What is left of a measurement is rounding below this share of its energy.
constexpr double kRounding = 1e-10;
/// Evanescent waves that lose more than this from the lowest plane to the microphones are not searched.
constexpr double kMostLoss = 10.0;
/// Steps of the grid for each half period over the array.
constexpr int kGridSteps = 2;
/// Of the grid, that the matched filter's power is known at.
constexpr int kCoarse = 2;
constexpr int kFewestMicrophones = 8;
constexpr int kMicrophonesAWave = 16;
constexpr int kMostSteps = 12;
/// Sources that move by less than this part of their grid's step have settled.
constexpr double kSettled = 1e-7;
/// A point source's depth below the surface, or a disc's radius, grows or shrinks by this part in a step at most.
constexpr double kMostDeeper = 0.5;
/// By how many nepers the likelihood must be larger for a point source to be tried as a disc: few, as others that are
/// not discs yet hide how much better it is; and to stay one when all have been tried.
constexpr double kDiscTried = 10.0;
constexpr double kDiscGain = 60.0;

std::size_t at(Index index) { return static_cast<std::size_t>(index); }

std::size_t most_waves(const ArrayGeometry& geometry) {
  if (std::min(geometry.rows, geometry.columns) < kFewestMicrophones) {
    return 0;
  }
  return static_cast<std::size_t>(std::min(kMostWaves, geometry.channels() / kMicrophonesAWave));
}

int step_of_noise(double noise) {
  return static_cast<int>(std::lround(std::log(noise / noise_step(0)) / std::log(noise_step(1) / noise_step(0))));
}

Eigen::ArrayXd all_powers(const SonahModel& model) {
  Eigen::ArrayXd powers(kParities * model.samples);
  for (std::size_t c = 0; c < kParities; ++c) {
    powers.segment(static_cast<Index>(c) * model.samples, model.samples) = model.powers[c].array();
  }
  return powers;
}

}  // namespace

Eigen::ArrayXd WaveFinder::Fit::significance() const {
  return amplitudes.cwiseAbs2().array() / (std::max(prior, 1e-300) * covariance.diagonal().real().array());
}

WaveFinder::WaveFinder(const PnahPlan& plan, std::size_t frequency, const SonahModel& model)
    : plan_(plan),
      k_(plan.wavenumber(frequency)),
      model_(&model),
      modes_(plan, frequency, model),
      points_(plan, frequency, model),
      most_(most_waves(plan.geometry)),
      most_rad_per_m_(std::hypot(k_, std::log(kMostLoss) / plan.largest_distance_m())),
      powers_(all_powers(model)),
      // Missing: of odd classes, which have no centre line.
      weights_(powers_, powers_.size() - plan.geometry.channels()) {
  x_ = make_axis(plan.geometry.columns, plan.geometry.pitch_x_m);
  y_ = make_axis(plan.geometry.rows, plan.geometry.pitch_y_m);
}

WaveFinder::Axis WaveFinder::make_axis(int microphones, double pitch_m) const {
  const double step = std::numbers::pi / (microphones * pitch_m * kGridSteps);
  const double most = std::min(most_rad_per_m_, std::numbers::pi / pitch_m - step);
  Axis axis;
  const Index half = (microphones + 1) / 2;
  axis.places_m =
      (Eigen::ArrayXd::LinSpaced(half, 0.0, static_cast<double>(half - 1)) - (microphones - 1) / 2.0) * pitch_m;
  const Index points = 1 + std::max<Index>(static_cast<Index>(most / step), 1);
  axis.grid_rad_per_m = Eigen::ArrayXd::LinSpaced(points, 0.0, static_cast<double>(points - 1)) * step;
  for (std::size_t odd = 0; odd < 2; ++odd) {
    axis.waves[odd].resize(axis.places_m.size(), points);
    for (Index place = 0; place < axis.places_m.size(); ++place) {
      for (Index i = 0; i < points; ++i) {
        axis.waves[odd](place, i) = mirrored_pair(axis.grid_rad_per_m(i), axis.places_m(place), odd == 1);
      }
    }
  }
  return axis;
}

/// What is filled by a prediction is no measurement: fits that counted it as one had ten times the least error that a
/// place behind a hole of 8 x 8 microphones can have, as the prediction follows the noise round the hole.
void WaveFinder::use(const MicrophoneMask* mask) {
  modes_.use(mask);
  std::vector<std::int32_t> left_out;
  if (mask != nullptr && mask->channels.size() <= at(kMostLeftOut)) {
    left_out.assign(mask->channels.begin(), mask->channels.end());
  }
  if (left_out == left_out_) {
    return;
  }
  left_out_ = std::move(left_out);
  Eigen::MatrixXd masked(powers_.size(), static_cast<Index>(left_out_.size()));
  for (std::size_t i = 0; i < left_out_.size(); ++i) {
    std::vector<Complex> unit(at(plan_.geometry.channels()));
    unit[at(left_out_[i])] = 1.0;
    masked.col(static_cast<Index>(i)) = modes_.of_field(unit).real();
  }
  weights_.leave_out(std::move(masked));
}

/// The most probable noise of what the waves leave, and the prior's power with it.
void WaveFinder::weigh_residual(Fit& fit) const {
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

WaveFinder::Fit WaveFinder::fit(const Sources& sources, const Eigen::VectorXcd& y, double noise) const {
  Fit fit{
      .noise = noise, .modes = modes_.fields(sources), .white = {}, .amplitudes = {}, .covariance = {}, .residual = y};
  if (!sources.empty()) {
    fit.white = weights_.weigh(step_of_noise(noise), fit.modes);
    const Eigen::MatrixXcd precision = fit.modes.adjoint() * fit.white;
    fit.covariance = precision.ldlt().solve(Eigen::MatrixXcd::Identity(precision.rows(), precision.cols()));
    fit.amplitudes = fit.covariance * (fit.white.adjoint() * y);
    fit.residual -= fit.modes * fit.amplitudes;
  }
  weigh_residual(fit);
  return fit;
}

/// Returns by how much of the grid's step.
double WaveFinder::move(PlaneWave& wave, const Eigen::Ref<const Eigen::VectorXd>& by) const {
  const auto along = [](double& value, double change, const Axis& axis) {
    const double spacing = axis.grid_rad_per_m(1);
    const double most = axis.grid_rad_per_m(axis.grid_rad_per_m.size() - 1) + spacing;
    const double moved = std::clamp(value + std::clamp(change, -spacing, spacing), -most, most);
    return std::abs(std::exchange(value, moved) - moved) / spacing;
  };
  return std::max(along(wave.kx_rad_per_m, by(0), x_), along(wave.ky_rad_per_m, by(1), y_));
}

double WaveFinder::move(PointSource& point, const Eigen::Ref<const Eigen::VectorXd>& by) const {
  const double step_x_m = points_.step_x_m();
  const double step_y_m = points_.step_y_m();
  const double size_m = point.is_disc() ? point.radius_m : points_.depth_m(point);
  PointSource moved = point;
  moved.x_m += std::clamp(by(0), -step_x_m, step_x_m);
  moved.y_m += std::clamp(by(1), -step_y_m, step_y_m);
  third_of(moved) += std::clamp(by(2), -kMostDeeper * size_m, kMostDeeper * size_m);
  moved = points_.bounded(moved);
  const double largest =
      std::max({std::abs(moved.x_m - point.x_m) / step_x_m, std::abs(moved.y_m - point.y_m) / step_y_m,
                std::abs(third_of(moved) - third_of(point)) / size_m});
  point = moved;
  return largest;
}

/// What the modes change by with each unknown: real and imaginary part of each amplitude, then each source's
/// coordinates. (class and mode, unknown)
Eigen::MatrixXcd WaveFinder::tangents(const Sources& sources, const Fit& fit) const {
  const Index count = static_cast<Index>(sources.size());
  std::array<Eigen::MatrixXcd, kMostCoordinates> slopes;
  for (int coordinate = 0; coordinate < kMostCoordinates; ++coordinate) {
    slopes[at(coordinate)] = modes_.slopes(sources, coordinate);
  }
  const Index unknowns = std::accumulate(sources.begin(), sources.end(), 2 * count,
                                         [](Index sum, const auto& source) { return sum + coordinates_of(source); });
  Eigen::MatrixXcd columns(powers_.size(), unknowns);
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

/// One step of Gauss and Newton in all coordinates and amplitudes; returns the largest change, of the grids' steps.
double WaveFinder::step(Sources& sources, const Fit& fit) const {
  const Eigen::MatrixXcd columns = tangents(sources, fit);
  const Eigen::MatrixXcd weighed = weights_.weigh(step_of_noise(fit.noise), columns);
  const Eigen::MatrixXd normal = (columns.adjoint() * weighed).real();
  const Eigen::VectorXd right = (weighed.adjoint() * fit.residual).real();
  const Eigen::VectorXd change = normal.ldlt().solve(right);
  if (!change.allFinite()) {
    return 0.0;
  }
  double largest = 0.0;
  Index first = 2 * static_cast<Index>(sources.size());
  for (FieldSource& source : sources) {
    const auto by = change.segment(first, coordinates_of(source));
    largest = std::max(largest, std::visit([&](auto& of_kind) { return move(of_kind, by); }, source));
    first += coordinates_of(source);
  }
  return largest;
}

/// Moves the sources to where they fit best, while the noise follows what they leave.
WaveFinder::Fit WaveFinder::settle(Sources& sources, const Eigen::VectorXcd& y, double noise) const {
  Fit found = fit(sources, y, noise);
  for (int i = 0; i < kMostSteps && !sources.empty(); ++i) {
    const double moved = step(sources, found);
    const double next = found.residual_noise;
    found = fit(sources, y, next);
    if (moved < kSettled) {
      break;
    }
  }
  return found;
}

/// Takes candidates until none is strong enough.
void WaveFinder::grow(Sources& sources, Fit& fit, const Eigen::VectorXcd& y, std::vector<double>& least) {
  bool grows = true;
  while (grows && sources.size() < most_ && fit.residual.squaredNorm() > kRounding * y.squaredNorm()) {
    grows = false;
    for (const Candidate& candidate : candidates(fit)) {
      Sources more = sources;
      more.push_back(candidate.source);
      Fit next = settle(more, y, fit.residual_noise);
      if (next.significance().minCoeff() >= kTried) {
        sources = std::move(more);
        fit = std::move(next);
        least.push_back(kTaken);
        grows = true;
        break;
      }
    }
  }
}

/// Makes discs of the point sources from number `first` on, where those are more probable. Returns whether there is
/// one. Not in front of a curved surface, in which no disc lies.
bool WaveFinder::spread(Sources& sources, Fit& fit, const Eigen::VectorXcd& y, std::size_t first) const {
  bool is_any = false;
  for (std::size_t i = first; i < sources.size() && !plan_.surface; ++i) {
    const auto* point = std::get_if<PointSource>(&sources[i]);
    if (point == nullptr || fit.residual.squaredNorm() <= kRounding * y.squaredNorm()) {
      continue;
    }
    Sources changed = sources;
    changed[i] = points_.disc_of(*point);
    Fit next = settle(changed, y, fit.residual_noise);
    if (next.cost < fit.cost - kDiscTried && next.significance().minCoeff() >= kTried) {
      sources = std::move(changed);
      fit = std::move(next);
      is_any = true;
    }
  }
  return is_any;
}

/// Makes points again of the discs from number `first` on that are not clearly more probable: of a field that is
/// neither kind's, such as a smooth mode of a plate, a disc would show a rim.
void WaveFinder::gather(Sources& sources, Fit& fit, const Eigen::VectorXcd& y, std::size_t first) const {
  for (std::size_t i = first; i < sources.size(); ++i) {
    const auto* disc = std::get_if<PointSource>(&sources[i]);
    if (disc == nullptr || !disc->is_disc()) {
      continue;
    }
    Sources changed = sources;
    changed[i] = points_.point_of(*disc);
    Fit next = settle(changed, y, fit.residual_noise);
    if (next.cost < fit.cost + kDiscGain) {
      sources = std::move(changed);
      fit = std::move(next);
    }
  }
}

/// Removes the weakest source until each has `least`, [source], at least.
void WaveFinder::drop_weak(Sources& sources, Fit& fit, const Eigen::VectorXcd& y, std::vector<double> least) const {
  while (!sources.empty()) {
    Index weakest = 0;
    const Eigen::Map<const Eigen::ArrayXd> limits(least.data(), static_cast<Index>(least.size()));
    if ((fit.significance() / limits).minCoeff(&weakest) >= 1.0) {
      return;
    }
    sources.erase(sources.begin() + weakest);
    least.erase(least.begin() + weakest);
    fit = settle(sources, y, fit.residual_noise);
  }
}

/// Power of the whitened matched filter for each noise, at every second point of the grid along both axes. Of the whole
/// array, as those of PointGrid are, whatever is masked: the two kinds of candidates are compared by it, and a finder
/// that began under another mask finds the same.
const Eigen::MatrixXd& WaveFinder::grid_powers() {
  if (grid_powers_.size() > 0) {
    return grid_powers_;
  }
  Sources waves;
  for (Index y = 0; y < y_.grid_rad_per_m.size(); y += kCoarse) {
    for (Index x = 0; x < x_.grid_rad_per_m.size(); x += kCoarse) {
      waves.emplace_back(PlaneWave{x_.grid_rad_per_m(x), y_.grid_rad_per_m(y)});
    }
  }
  Eigen::MatrixXd weights(kNoiseSteps, powers_.size());
  for (int step = 0; step < kNoiseSteps; ++step) {
    weights.row(step) = (1.0 / (powers_ + noise_step(step))).matrix().transpose();
  }
  SourceModes unmasked = modes_;
  unmasked.use(nullptr);
  grid_powers_ = weights * unmasked.fields(waves).cwiseAbs2();
  return grid_powers_;
}

/// The wave of the grid with the largest matched-filter output on the residual, and that output.
Candidate WaveFinder::strongest_wave(const Fit& fit) {
  const Eigen::MatrixXd& powers = grid_powers();
  const int noise = step_of_noise(fit.noise);
  const Eigen::VectorXcd white = weights_.weigh(noise, fit.residual);
  const Index rows = y_.grid_rad_per_m.size();
  const Index columns = x_.grid_rad_per_m.size();
  const Index coarse_columns = (columns + kCoarse - 1) / kCoarse;
  std::array<Eigen::MatrixXcd, kParities> of_class;
  for (int c = 0; c < kParities; ++c) {
    const Eigen::VectorXcd folded = std::conj(kClassPhases[at(c)]) * model_->projections[at(c)].cast<Complex>() *
                                    white.segment(Index{c} * model_->samples, model_->samples);
    const Eigen::Map<const Eigen::Matrix<Complex, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>> places(
        folded.data(), y_.places_m.size(), x_.places_m.size());
    of_class[at(c)] = y_.waves[(c & 2) != 0 ? 1 : 0].transpose().cast<Complex>() * places *
                      x_.waves[(c & 1) != 0 ? 1 : 0].cast<Complex>();
  }
  PlaneWave best;
  double strength = 0.0;
  for (Index row = 0; row < rows; ++row) {
    for (Index column = 0; column < columns; ++column) {
      const double kx = x_.grid_rad_per_m(column);
      const double ky = y_.grid_rad_per_m(row);
      if (std::hypot(kx, ky) > most_rad_per_m_) {
        continue;
      }
      const double power = powers(noise, row / kCoarse * coarse_columns + column / kCoarse) * fit.prior;
      for (int signs = 0; signs < kParities; ++signs) {
        const double sign_x = (signs & 1) != 0 ? -1.0 : 1.0;
        const double sign_y = (signs & 2) != 0 ? -1.0 : 1.0;
        const Complex sum = of_class[0](row, column) + sign_x * of_class[1](row, column) +
                            sign_y * (of_class[2](row, column) + sign_x * of_class[3](row, column));
        if (std::norm(sum) > strength * power) {
          best = {sign_x * kx, sign_y * ky};
          strength = std::norm(sum) / power;
        }
      }
    }
  }
  return {.source = best, .strength = strength};
}

/// The strongest wave and the strongest point source that exceed the threshold, the stronger one first.
std::vector<Candidate> WaveFinder::candidates(const Fit& fit) {
  std::vector<Candidate> found = {
      points_.strongest(weights_.weigh(step_of_noise(fit.noise), fit.residual), step_of_noise(fit.noise), fit.prior),
      strongest_wave(fit)};
  std::erase_if(found, [](const Candidate& candidate) { return candidate.strength < kCandidate; });
  std::stable_sort(found.begin(), found.end(),
                   [](const Candidate& a, const Candidate& b) { return a.strength > b.strength; });
  return found;
}

FoundWaves WaveFinder::find(std::span<const Complex> field, std::uint64_t number, const MicrophoneMask* mask) {
  use(mask);
  const SearchMemory<Sources>::Pair before = before_.at(number);
  if (*before.settling != *before.serving) {
    (void)search_from(*before.settling, field);
    *before.settling = sources_;
    FoundWaves found = search_from(*before.serving, field);
    *before.serving = sources_;
    return found;
  }
  FoundWaves found = search_from(*before.serving, field);
  *before.settling = sources_;
  *before.serving = sources_;
  return found;
}

FoundWaves WaveFinder::find_from(Sources sources, std::span<const Complex> field, const MicrophoneMask* mask) {
  use(mask);
  return search_from(std::move(sources), field);
}

double WaveFinder::criterion() const {
  constexpr int kOfAmplitude = 2;
  double parameters = 0.0;
  for (const FieldSource& source : sources_) {
    parameters += kOfAmplitude + coordinates_of(source);
  }
  return fit_.cost + 0.5 * parameters * std::log(2.0 * static_cast<double>(weights_.channels()));
}

FoundWaves WaveFinder::search_from(Sources sources, std::span<const Complex> field) {
  FoundWaves found;
  const Eigen::VectorXcd y = modes_.of_field(field);
  const double energy = y.squaredNorm();
  if (most_ == 0 || !(energy > 0.0)) {
    sources_.clear();
    fit_ = fit({}, y, noise_step(0));
    sources_error_ = 0.0;
    found.table = make_wave_table(plan_, k_, *model_, {}, {});
    return found;
  }
  Fit best = settle(sources, y, fit({}, y, noise_step(0)).residual_noise);
  drop_weak(sources, best, y, std::vector<double>(sources.size(), kTried));
  std::vector<double> least(sources.size(), kKept);
  const std::size_t known = sources.size();
  grow(sources, best, y, least);
  if (spread(sources, best, y, known)) {
    grow(sources, best, y, least);
    gather(sources, best, y, known);
  }
  drop_weak(sources, best, y, least);
  sources_ = sources;
  std::vector<Complex> of_points;
  for (std::size_t i = 0; i < sources.size(); ++i) {
    const Complex amplitude = best.amplitudes(static_cast<Index>(i));
    if (const auto* wave = std::get_if<PlaneWave>(&sources[i])) {
      found.waves.push_back(*wave);
      found.amplitudes.push_back(amplitude);
    } else {
      found.points.push_back(std::get<PointSource>(sources[i]));
      of_points.push_back(amplitude);
    }
  }
  found.amplitudes.insert(found.amplitudes.end(), of_points.begin(), of_points.end());
  found.noise = best.noise;
  found.left_out = left_out_;
  const Eigen::MatrixXcd unknowns = tangents(sources, best);
  found.table = make_wave_table(plan_, k_, *model_, sources,
                                {.modes = best.modes,
                                 .white = best.white,
                                 .covariance = best.covariance,
                                 .amplitudes = best.amplitudes,
                                 .tangents = unknowns,
                                 .white_tangents = weights_.weigh(step_of_noise(best.noise), unknowns)});
  fit_ = std::move(best);
  sources_error_ = static_cast<double>(found.table[1]);
  return found;
}

FieldEstimate WaveFinder::estimate() const {
  const Eigen::ArrayXd weights = 1.0 / (powers_ + fit_.residual_noise);
  Eigen::VectorXcd image =
      image_of_modes(plan_, *model_, weights_.weigh(step_of_noise(fit_.residual_noise), fit_.residual));
  FieldEstimate out;
  out.noise_pa = std::sqrt(fit_.prior * fit_.residual_noise);
  double left = model_->prior_powers.front();
  for (std::size_t c = 0; c < kParities; ++c) {
    left -= (model_->image_powers.front()[c].array() *
             weights.segment(static_cast<Index>(c) * model_->samples, model_->samples))
                .sum();
  }
  const double calibration = plan_.error_calibration();
  out.squared_error = fit_.prior * (calibration * calibration * left + sources_error_);
  for (std::size_t i = 0; i < sources_.size(); ++i) {
    image += fit_.amplitudes(static_cast<Index>(i)) *
             source_image(plan_, k_, sources_[i], plan_.holography.planes_m.front());
  }
  const Eigen::Map<const Eigen::Matrix<Complex, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>> rows(
      image.data(), plan_.image_rows(), plan_.image_columns());
  out.image = rows;
  return out;
}

}  // namespace nearfield
