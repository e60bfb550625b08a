#include "imaging/sonah/wave_finder.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

namespace nearfield {
namespace {

using Complex = std::complex<double>;
using Eigen::Index;

constexpr std::array<Complex, kParities> kPhases = {Complex(1.0), Complex(0.0, 1.0), Complex(0.0, 1.0), Complex(-1.0)};
/// |amplitude|^2 over its variance that a wave must have to be tried: small, as other waves that are not found yet
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
constexpr int kMostSteps = 8;
constexpr double kSettled = 1e-7;

std::size_t at(Index index) { return static_cast<std::size_t>(index); }

std::size_t most_waves(const ArrayGeometry& geometry) {
  if (std::min(geometry.rows, geometry.columns) < kFewestMicrophones) {
    return 0;
  }
  return static_cast<std::size_t>(std::min(kMostWaves, geometry.channels() / kMicrophonesAWave));
}

}  // namespace

Eigen::ArrayXd WaveFinder::Fit::significance() const {
  return amplitudes.cwiseAbs2().array() / (std::max(prior, 1e-300) * covariance.diagonal().array());
}

WaveFinder::WaveFinder(const PnahPlan& plan, std::size_t frequency, const SonahModel& model)
    : plan_(plan),
      k_(plan.wavenumber(frequency)),
      model_(&model),
      most_(most_waves(plan.geometry)),
      most_rad_per_m_(std::hypot(k_, std::log(kMostLoss) / plan.largest_distance_m())) {
  powers_.resize(kParities * model.samples);
  for (std::size_t c = 0; c < kParities; ++c) {
    powers_.segment(static_cast<Index>(c) * model.samples, model.samples) = model.powers[c].array();
  }
  const Index missing = powers_.size() - plan.geometry.channels();  // of odd classes, which have no centre line
  for (int step = 0; step < kNoiseSteps; ++step) {
    const double noise = noise_step(step);
    log_determinants_.push_back((powers_ + noise).log().sum() - static_cast<double>(missing) * std::log(noise));
  }
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

/// Without the phases of the classes.
Eigen::VectorXcd WaveFinder::to_modes(std::span<const Complex> field) const {
  const int rows = plan_.geometry.rows;
  const int columns = plan_.geometry.columns;
  const Index half_columns = x_.places_m.size();
  const auto value = [&](Index row, Index column) { return field[at(row * columns + column)]; };
  Eigen::VectorXcd y(powers_.size());
  Eigen::VectorXcd folded(model_->samples);
  for (int c = 0; c < kParities; ++c) {
    const double sign_x = (c & 1) != 0 ? -1.0 : 1.0;
    const double sign_y = (c & 2) != 0 ? -1.0 : 1.0;
    for (Index sample = 0; sample < folded.size(); ++sample) {
      const Index row = sample / half_columns;
      const Index column = sample % half_columns;
      const Index far_row = rows - 1 - row;
      const Index far_column = columns - 1 - column;
      folded(sample) = value(row, column) + sign_x * value(row, far_column) +
                       sign_y * (value(far_row, column) + sign_x * value(far_row, far_column));
    }
    y.segment(Index{c} * model_->samples, model_->samples) =
        std::conj(kPhases[at(c)]) * (model_->projections[at(c)].transpose().cast<Complex>() * folded);
  }
  return y;
}

/// (mode, wave), or their slopes.
Eigen::MatrixXd WaveFinder::modes_of(const Waves& waves, Slope slope) const {
  const Index count = static_cast<Index>(waves.size());
  const Index half_columns = x_.places_m.size();
  const auto along = [](double k, double place_m, bool is_odd, bool is_slope) {
    return is_slope ? mirrored_slope(k, place_m, is_odd) : mirrored_pair(k, place_m, is_odd);
  };
  Eigen::MatrixXd modes(powers_.size(), count);
  if (waves.empty()) {
    return modes;
  }
  Eigen::MatrixXd folded(model_->samples, count);
  for (int c = 0; c < kParities; ++c) {
    for (Index wave = 0; wave < count; ++wave) {
      const auto& [kx, ky] = waves[at(wave)];
      for (Index sample = 0; sample < folded.rows(); ++sample) {
        folded(sample, wave) = along(ky, y_.places_m(sample / half_columns), (c & 2) != 0, slope == Slope::kY) *
                               along(kx, x_.places_m(sample % half_columns), (c & 1) != 0, slope == Slope::kX);
      }
    }
    modes.middleRows(Index{c} * model_->samples, model_->samples) = model_->projections[at(c)].transpose() * folded;
  }
  return modes;
}

/// The most probable noise of what the waves leave, and the prior's power with it.
void WaveFinder::weigh_residual(Fit& fit) const {
  const double channels = plan_.geometry.channels();
  const Eigen::ArrayXd squares = fit.residual.cwiseAbs2().array();
  double least = std::numeric_limits<double>::infinity();
  for (int step = 0; step < kNoiseSteps; ++step) {
    const double prior = (squares / (powers_ + noise_step(step))).sum() / channels;
    const double cost = log_determinants_[at(step)] + channels * std::log(std::max(prior, 1e-300));
    if (cost < least) {
      least = cost;
      fit.residual_noise = noise_step(step);
      fit.prior = prior;
    }
  }
}

WaveFinder::Fit WaveFinder::fit(const Waves& waves, const Eigen::VectorXcd& y, double noise) const {
  Fit fit{.noise = noise,
          .modes = modes_of(waves, Slope::kNone),
          .weights = 1.0 / (powers_ + noise),
          .amplitudes = {},
          .covariance = {},
          .residual = y};
  if (!waves.empty()) {
    const Eigen::MatrixXd weighed = fit.weights.matrix().asDiagonal() * fit.modes;
    const Eigen::MatrixXd precision = fit.modes.transpose() * weighed;
    fit.covariance = precision.ldlt().solve(Eigen::MatrixXd::Identity(precision.rows(), precision.cols()));
    fit.amplitudes = (fit.covariance * weighed.transpose()).cast<Complex>() * y;
    fit.residual -= fit.modes.cast<Complex>() * fit.amplitudes;
  }
  weigh_residual(fit);
  return fit;
}

/// One step of Gauss and Newton in all wavenumbers and amplitudes; returns the largest change of a wavenumber, rad/m.
double WaveFinder::step(Waves& waves, const Fit& fit) const {
  const Index count = static_cast<Index>(waves.size());
  Eigen::MatrixXd columns(powers_.size(), 3 * count);
  columns << fit.modes, modes_of(waves, Slope::kX), modes_of(waves, Slope::kY);
  const Eigen::MatrixXd weighed = fit.weights.matrix().asDiagonal() * columns;
  const Eigen::MatrixXd products = columns.transpose() * weighed;
  const Eigen::VectorXcd onto = weighed.transpose().cast<Complex>() * fit.residual;
  // Unknowns: real and imaginary part of each amplitude, then kx and ky; each a complex factor of a real column.
  const auto column_of = [&](Index unknown) { return unknown < count ? unknown : unknown - count; };
  const auto factor_of = [&](Index unknown) {
    const Index kind = unknown / count;
    return kind == 0 ? Complex(1.0) : kind == 1 ? Complex(0.0, 1.0) : fit.amplitudes(unknown % count);
  };
  Eigen::MatrixXd normal(4 * count, 4 * count);
  Eigen::VectorXd right(4 * count);
  for (Index a = 0; a < 4 * count; ++a) {
    right(a) = (std::conj(factor_of(a)) * onto(column_of(a))).real();
    for (Index b = 0; b < 4 * count; ++b) {
      normal(a, b) = (std::conj(factor_of(a)) * factor_of(b)).real() * products(column_of(a), column_of(b));
    }
  }
  const Eigen::VectorXd change = normal.ldlt().solve(right);
  double largest = 0.0;
  const auto move = [&](double& value, double by, const Axis& axis) {
    const double spacing = axis.grid_rad_per_m(1);
    const double most = axis.grid_rad_per_m(axis.grid_rad_per_m.size() - 1) + spacing;
    const double moved = std::clamp(value + (std::isfinite(by) ? std::clamp(by, -spacing, spacing) : 0.0), -most, most);
    largest = std::max(largest, std::abs(moved - value));
    value = moved;
  };
  for (Index wave = 0; wave < count; ++wave) {
    move(waves[at(wave)].kx_rad_per_m, change(2 * count + wave), x_);
    move(waves[at(wave)].ky_rad_per_m, change(3 * count + wave), y_);
  }
  return largest;
}

/// Moves the waves to where they fit best, while the noise follows what they leave.
WaveFinder::Fit WaveFinder::settle(Waves& waves, const Eigen::VectorXcd& y, double noise) const {
  Fit found = fit(waves, y, noise);
  for (int i = 0; i < kMostSteps && !waves.empty(); ++i) {
    const double moved = step(waves, found);
    const double next = found.residual_noise;
    found = fit(waves, y, next);
    if (moved < kSettled) {
      break;
    }
  }
  return found;
}

/// Removes the weakest wave until each has `least`, [wave], at least.
void WaveFinder::drop_weak(Waves& waves, Fit& fit, const Eigen::VectorXcd& y, std::vector<double> least) const {
  while (!waves.empty()) {
    Index weakest = 0;
    const Eigen::Map<const Eigen::ArrayXd> limits(least.data(), static_cast<Index>(least.size()));
    if ((fit.significance() / limits).minCoeff(&weakest) >= 1.0) {
      return;
    }
    waves.erase(waves.begin() + weakest);
    least.erase(least.begin() + weakest);
    fit = settle(waves, y, fit.residual_noise);
  }
}

/// Power of the whitened matched filter for each noise, at every second point of the grid along both axes.
const Eigen::MatrixXd& WaveFinder::grid_powers() {
  if (grid_powers_.size() > 0) {
    return grid_powers_;
  }
  Waves waves;
  for (Index y = 0; y < y_.grid_rad_per_m.size(); y += kCoarse) {
    for (Index x = 0; x < x_.grid_rad_per_m.size(); x += kCoarse) {
      waves.push_back({x_.grid_rad_per_m(x), y_.grid_rad_per_m(y)});
    }
  }
  Eigen::MatrixXd weights(kNoiseSteps, powers_.size());
  for (int step = 0; step < kNoiseSteps; ++step) {
    weights.row(step) = (1.0 / (powers_ + noise_step(step))).matrix().transpose();
  }
  grid_powers_ = weights * modes_of(waves, Slope::kNone).cwiseAbs2();
  return grid_powers_;
}

/// The wave of the grid with the largest matched-filter output on the residual, and that output.
std::pair<PlaneWave, double> WaveFinder::strongest(const Fit& fit) {
  const Eigen::MatrixXd& powers = grid_powers();
  const int noise =
      static_cast<int>(std::lround(std::log(fit.noise / noise_step(0)) / std::log(noise_step(1) / noise_step(0))));
  const Eigen::VectorXcd white = (fit.weights * fit.residual.array()).matrix();
  const Index rows = y_.grid_rad_per_m.size();
  const Index columns = x_.grid_rad_per_m.size();
  const Index coarse_columns = (columns + kCoarse - 1) / kCoarse;
  std::array<Eigen::MatrixXcd, kParities> of_class;
  for (int c = 0; c < kParities; ++c) {
    const Eigen::VectorXcd folded =
        model_->projections[at(c)].cast<Complex>() * white.segment(Index{c} * model_->samples, model_->samples);
    const Eigen::Map<const Eigen::Matrix<Complex, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>> places(
        folded.data(), y_.places_m.size(), x_.places_m.size());
    of_class[at(c)] = y_.waves[(c & 2) != 0 ? 1 : 0].transpose().cast<Complex>() * places *
                      x_.waves[(c & 1) != 0 ? 1 : 0].cast<Complex>();
  }
  std::pair<PlaneWave, double> best{};
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
        if (std::norm(sum) > best.second * power) {
          best = {{sign_x * kx, sign_y * ky}, std::norm(sum) / power};
        }
      }
    }
  }
  return best;
}

FoundWaves WaveFinder::find(std::span<const Complex> field, std::uint64_t number) {
  const SearchMemory<Waves>::Pair before = before_.at(number);
  if (*before.settling != *before.serving) {
    (void)find_from(*before.settling, field);
    *before.settling = waves_;
    FoundWaves found = find_from(*before.serving, field);
    *before.serving = waves_;
    return found;
  }
  FoundWaves found = find_from(*before.serving, field);
  *before.settling = waves_;
  *before.serving = waves_;
  return found;
}

FoundWaves WaveFinder::find_from(Waves waves, std::span<const Complex> field) {
  FoundWaves found;
  const Eigen::VectorXcd y = to_modes(field);
  const double energy = y.squaredNorm();
  if (most_ == 0 || !(energy > 0.0)) {
    waves_.clear();
    fit_ = fit({}, y, noise_step(0));
    waves_error_ = 0.0;
    found.table = make_wave_table(plan_, k_, *model_, {}, {});
    return found;
  }
  Fit best = settle(waves, y, fit({}, y, noise_step(0)).residual_noise);
  drop_weak(waves, best, y, std::vector<double>(waves.size(), kTried));
  std::vector<double> least(waves.size(), kKept);
  while (waves.size() < most_ && best.residual.squaredNorm() > kRounding * energy) {
    const auto [candidate, strength] = strongest(best);
    if (strength < kCandidate) {
      break;
    }
    Waves more = waves;
    more.push_back(candidate);
    Fit next = settle(more, y, best.residual_noise);
    if (next.significance().minCoeff() < kTried) {
      break;
    }
    waves = std::move(more);
    best = std::move(next);
    least.push_back(kTaken);
  }
  drop_weak(waves, best, y, least);
  waves_ = waves;
  found.waves = waves;
  found.noise = best.noise;
  found.table = make_wave_table(plan_, k_, *model_, waves,
                                {.modes = best.modes, .weights = best.weights, .covariance = best.covariance});
  fit_ = std::move(best);
  waves_error_ = found.table.size() > 1 ? static_cast<double>(found.table[1]) : 0.0;
  return found;
}

FieldEstimate WaveFinder::estimate() const {
  const int rows = plan_.geometry.rows;
  const int columns = plan_.geometry.columns;
  const Eigen::ArrayXd weights = 1.0 / (powers_ + fit_.residual_noise);
  FieldEstimate out{.image = Eigen::MatrixXcd::Zero(rows, columns),
                    .noise_pa = std::sqrt(fit_.prior * fit_.residual_noise),
                    .squared_error = model_->prior_powers.front() + waves_error_};
  for (int c = 0; c < kParities; ++c) {
    const auto part = [&](const auto& of_modes) {
      return of_modes.segment(Index{c} * model_->samples, model_->samples);
    };
    const Eigen::VectorXcd folded =
        kPhases[at(c)] * (model_->images.front()[at(c)] * (part(weights) * part(fit_.residual).array()).matrix());
    out.squared_error -= (model_->image_powers.front()[at(c)].array() * part(weights)).sum();
    for (Index row = 0; row < rows; ++row) {
      for (Index column = 0; column < columns; ++column) {
        const Index near_row = std::min(row, rows - 1 - row);
        const Index near_column = std::min(column, columns - 1 - column);
        const bool is_minus = ((c & 1) != 0 && column != near_column) != ((c & 2) != 0 && row != near_row);
        const Complex value = folded(near_row * model_->pixel_columns + near_column);
        out.image(row, column) += is_minus ? -value : value;
      }
    }
  }
  out.squared_error *= fit_.prior;
  for (std::size_t wave = 0; wave < waves_.size(); ++wave) {
    const Complex amplitude = fit_.amplitudes(static_cast<Index>(wave)) *
                              wave_gain(plan_, k_, waves_[wave], plan_.holography.planes_m.front());
    for (Index row = 0; row < rows; ++row) {
      for (Index column = 0; column < columns; ++column) {
        const double x_m = (static_cast<double>(column) - (columns - 1) / 2.0) * plan_.geometry.pitch_x_m;
        const double y_m = (static_cast<double>(row) - (rows - 1) / 2.0) * plan_.geometry.pitch_y_m;
        out.image(row, column) +=
            amplitude * std::polar(1.0, waves_[wave].kx_rad_per_m * x_m + waves_[wave].ky_rad_per_m * y_m);
      }
    }
  }
  return out;
}

}  // namespace nearfield
