#include "imaging/sources/wave_finder.hpp"

#include <algorithm>
#include <cmath>
#include <memory>
#include <numbers>
#include <optional>
#include <utility>
#include <vector>

#include "imaging/priors/prior_fill.hpp"
#include "imaging/shared/noise_steps.hpp"
#include "imaging/sources/point_grid.hpp"
#include "imaging/sources/source_table.hpp"
#include "imaging/sources/usable_weights.hpp"

namespace nearfield {
namespace {

/// Sources beside sonah's prior: plane waves over K-space, and point sources and discs behind the surface.
class SonahSpace : public SourceSpace {
 public:
  /// `model` must outlive it; its first image plane is used.
  SonahSpace(const ImagePlan& plan, std::size_t frequency, const SonahModel& model);
  [[nodiscard]] const Eigen::ArrayXd& powers() const override { return powers_; }
  /// Modes of odd classes, which have no centre line.
  [[nodiscard]] Eigen::Index missing() const override { return powers_.size() - plan_.geometry.channels(); }
  [[nodiscard]] std::size_t most_sources() const override;
  void use(const MicrophoneMask* mask) override;
  [[nodiscard]] std::vector<std::int32_t> left_out() const override { return left_out_; }
  [[nodiscard]] Eigen::MatrixXd unit_fields(const std::vector<std::int32_t>& channels) const override;
  [[nodiscard]] Eigen::VectorXcd of_field(std::span<const std::complex<double>> field) const override;
  [[nodiscard]] Eigen::MatrixXcd fields(const Sources& sources) const override;
  [[nodiscard]] std::vector<Eigen::MatrixXcd> slopes(const Sources& sources) const override;
  [[nodiscard]] std::vector<Candidate> strongest(const Eigen::VectorXcd& white, int step, double prior) override;
  /// True for waves that do not decay: microphones in one plane do not tell their direction along z.
  [[nodiscard]] bool is_of_either_side(const FieldSource& source) const override;
  [[nodiscard]] double move(FieldSource& source, const Eigen::Ref<const Eigen::VectorXd>& by) const override;
  /// nullopt on a curved surface, in which no disc lies.
  [[nodiscard]] std::optional<PointSource> disc_of(const PointSource& point) const override;
  [[nodiscard]] PointSource point_of(const PointSource& disc) const override;
  [[nodiscard]] std::size_t planes() const override;
  [[nodiscard]] Eigen::MatrixXcd image_of_modes(const Eigen::MatrixXcd& white) const override;
  [[nodiscard]] Eigen::VectorXcd image_of(const FieldSource& source, std::size_t plane) const override;

 private:
  ImagePlan plan_;
  double k_;
  const SonahModel* model_;
  Eigen::ArrayXd powers_;
  SourceModes modes_;
  PointGrid points_;
  WaveGrid waves_;
  std::vector<std::int32_t> left_out_;
  int measured_;  ///< microphones that sources may be fitted to
};

using Complex = std::complex<double>;
using Eigen::Index;

Eigen::ArrayXd all_powers(const SonahModel& model) {
  Eigen::ArrayXd powers(kParities * model.samples);
  for (std::size_t c = 0; c < kParities; ++c) {
    powers.segment(static_cast<Index>(c) * model.samples, model.samples) = model.powers[c].array();
  }
  return powers;
}

SonahSpace::SonahSpace(const ImagePlan& plan, std::size_t frequency, const SonahModel& model)
    : plan_(plan),
      k_(plan.wavenumber(frequency)),
      model_(&model),
      powers_(all_powers(model)),
      modes_(plan, frequency, model),
      points_(plan, frequency, model),
      waves_(plan, frequency, model),
      measured_(plan.geometry.channels()) {}

std::size_t SonahSpace::most_sources() const {
  constexpr int kFewestMicrophones = 8;
  const bool is_small = std::min(plan_.geometry.rows, plan_.geometry.columns) < kFewestMicrophones;
  return is_small ? 0 : most_sources_of(measured_);
}

void SonahSpace::use(const MicrophoneMask* mask) {
  modes_.use(mask);
  left_out_.clear();
  const int channels = plan_.geometry.channels();
  const int masked = mask != nullptr ? static_cast<int>(mask->channels.size()) : 0;
  const bool leaves_out = masked <= most_left_out(channels);
  if (masked > 0 && leaves_out) {
    left_out_.assign(mask->channels.begin(), mask->channels.end());
  }
  // Sources that were fitted to so many predicted values would explain the prediction.
  measured_ = leaves_out || 4 * masked <= channels ? channels - masked : 0;
}

Eigen::MatrixXd SonahSpace::unit_fields(const std::vector<std::int32_t>& channels) const {
  Eigen::MatrixXd fields(powers_.size(), static_cast<Index>(channels.size()));
  for (std::size_t i = 0; i < channels.size(); ++i) {
    std::vector<Complex> unit(static_cast<std::size_t>(plan_.geometry.channels()));
    unit[static_cast<std::size_t>(channels[i])] = 1.0;
    fields.col(static_cast<Index>(i)) = modes_.of_field(unit).real();
  }
  return fields;
}

Eigen::VectorXcd SonahSpace::of_field(std::span<const Complex> field) const { return modes_.of_field(field); }

Eigen::MatrixXcd SonahSpace::fields(const Sources& sources) const { return modes_.fields(sources); }

std::vector<Eigen::MatrixXcd> SonahSpace::slopes(const Sources& sources) const { return modes_.slopes(sources); }

std::vector<Candidate> SonahSpace::strongest(const Eigen::VectorXcd& white, int step, double prior) {
  return {points_.strongest(white, step, prior), waves_.strongest(white, step, prior)};
}

bool SonahSpace::is_of_either_side(const FieldSource& source) const {
  const auto* wave = std::get_if<PlaneWave>(&source);
  return wave != nullptr && std::hypot(wave->kx_rad_per_m, wave->ky_rad_per_m) < k_;
}

double SonahSpace::move(FieldSource& source, const Eigen::Ref<const Eigen::VectorXd>& by) const {
  if (auto* wave = std::get_if<PlaneWave>(&source)) {
    return waves_.move(*wave, by);
  }
  return points_.bounds().move(std::get<PointSource>(source), by);
}

std::optional<PointSource> SonahSpace::disc_of(const PointSource& point) const {
  return plan_.surface ? std::nullopt : std::optional(points_.bounds().disc_of(point));
}

PointSource SonahSpace::point_of(const PointSource& disc) const { return points_.bounds().point_of(disc); }

std::size_t SonahSpace::planes() const { return plan_.surface ? 1 : plan_.holography.planes_m.size(); }

Eigen::MatrixXcd SonahSpace::image_of_modes(const Eigen::MatrixXcd& white) const {
  return nearfield::image_of_modes(plan_, *model_, white);
}

Eigen::VectorXcd SonahSpace::image_of(const FieldSource& source, std::size_t plane) const {
  return source_image(plan_, k_, source, plan_.surface ? 0.0 : plan_.holography.planes_m[plane]);
}

/// Evanescent waves that lose more than this from the lowest plane to the microphones are not searched.
constexpr double kMostLoss = 10.0;
/// Steps of the grid per half period over the array.
constexpr int kGridSteps = 2;
/// Step, in points of the grid, at which the matched filter's power is computed.
constexpr int kCoarse = 2;

std::size_t index_of(Index index) { return static_cast<std::size_t>(index); }

/// Points of the coarse grid along an axis.
Index coarse(Index count) { return (count + kCoarse - 1) / kCoarse; }

}  // namespace

WaveGrid::WaveGrid(const ImagePlan& plan, std::size_t frequency, const SonahModel& model)
    : model_(&model),
      modes_(plan, frequency, model),
      most_rad_per_m_(std::hypot(plan.wavenumber(frequency), std::log(kMostLoss) / plan.largest_distance_m())) {
  x_ = make_axis(plan.geometry.columns, plan.geometry.pitch_x_m);
  y_ = make_axis(plan.geometry.rows, plan.geometry.pitch_y_m);
}

WaveGrid::Axis WaveGrid::make_axis(int microphones, double pitch_m) const {
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

double WaveGrid::move(PlaneWave& wave, const Eigen::Ref<const Eigen::VectorXd>& by) const {
  const auto along = [](double& value, double change, const Axis& axis) {
    const double spacing = axis.grid_rad_per_m(1);
    const double most = axis.grid_rad_per_m(axis.grid_rad_per_m.size() - 1) + spacing;
    const double moved = std::clamp(value + std::clamp(change, -spacing, spacing), -most, most);
    return std::abs(std::exchange(value, moved) - moved) / spacing;
  };
  return std::max(along(wave.kx_rad_per_m, by(0), x_), along(wave.ky_rad_per_m, by(1), y_));
}

/// Power of the whitened matched filter for each noise, at every second point of the grid along both axes. It is of the
/// whole array whatever is masked, as in PointGrid: the two kinds of candidates are compared by it, and a finder that
/// began under another mask finds the same.
const Eigen::MatrixXf& WaveGrid::grid_powers() {
  if (powers_.size() > 0) {
    return powers_;
  }
  const Index columns = coarse(x_.grid_rad_per_m.size());
  const Eigen::MatrixXd weights = filter_weights(*model_);
  Eigen::MatrixXf powers(kNoiseSteps, coarse(y_.grid_rad_per_m.size()) * columns);
  for (Index y = 0; y < y_.grid_rad_per_m.size(); y += kCoarse) {
    Sources line;
    for (Index x = 0; x < x_.grid_rad_per_m.size(); x += kCoarse) {
      line.emplace_back(PlaneWave{x_.grid_rad_per_m(x), y_.grid_rad_per_m(y)});
    }
    powers.middleCols(y / kCoarse * columns, columns) = (weights * modes_.fields(line).cwiseAbs2()).cast<float>();
  }
  powers_ = std::move(powers);
  return powers_;
}

/// The wave of the grid with the largest matched-filter output on the residual, and that output.
Candidate WaveGrid::strongest(const Eigen::VectorXcd& white, int step, double prior) {
  const Eigen::MatrixXf& powers = grid_powers();
  const Index rows = y_.grid_rad_per_m.size();
  const Index columns = x_.grid_rad_per_m.size();
  const Index coarse_columns = coarse(columns);
  std::array<Eigen::MatrixXcd, kParities> of_class;
  for (int c = 0; c < kParities; ++c) {
    const Eigen::VectorXcd folded =
        std::conj(kClassPhases[index_of(c)]) *
        model_->projections[index_of(c)].times(white.segment(Index{c} * model_->samples, model_->samples));
    const Eigen::Map<const Eigen::Matrix<Complex, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>> places(
        folded.data(), y_.places_m.size(), x_.places_m.size());
    of_class[index_of(c)] = y_.waves[(c & 2) != 0 ? 1 : 0].transpose().cast<Complex>() * places *
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
      const double power = static_cast<double>(powers(step, row / kCoarse * coarse_columns + column / kCoarse)) * prior;
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

namespace {

constexpr Index kWaveBlock = 32;

/// Pads each class to whole blocks. (class and mode, source)
Eigen::MatrixXcd padded(const Eigen::MatrixXcd& modes, Index samples) {
  const Index of_class = (samples + kWaveBlock - 1) / kWaveBlock * kWaveBlock;
  Eigen::MatrixXcd out = Eigen::MatrixXcd::Zero(kParities * of_class, modes.cols());
  for (Index c = 0; c < kParities; ++c) {
    out.middleRows(c * of_class, samples) = modes.middleRows(c * samples, samples);
  }
  return out;
}

}  // namespace

WaveFinder::WaveFinder(const ImagePlan& plan, std::size_t frequency, const SonahModel& model)
    : plan_(plan),
      frequency_(frequency),
      model_(&model),
      finder_(std::make_unique<SonahSpace>(plan, frequency, model)) {}

FoundWaves WaveFinder::find(std::span<const Complex> field, std::uint64_t number, const MicrophoneMask* mask) {
  finder_.find(field, number, mask);
  return with_table(mask);
}

FoundWaves WaveFinder::find_from(Sources sources, std::span<const Complex> field, const MicrophoneMask* mask) {
  finder_.find_from(std::move(sources), field, mask);
  return with_table(mask);
}

FoundWaves WaveFinder::with_table(const MicrophoneMask* mask) {
  FoundWaves found = finder_.found();
  const SourceFit& fit = finder_.fit();
  const bool is_any = !sources().empty();
  found.table =
      make_source_table(finder_, is_any ? padded(amplitude_factors(fit), model_->samples) : Eigen::MatrixXcd(),
                        is_any ? padded(fit.modes, model_->samples) : Eigen::MatrixXcd());
  sources_error_ = static_cast<double>(found.table[1]);
  found.is_of_either_side = found.table[2] > 0.0F;
  if (is_any && mask != nullptr && plan_.fills_from_all && !mask->channels.empty() && !mask->prior_weights.empty()) {
    found.filling = filling_of(*mask, found.table);
    found.filling.table[3] = found.left_out.empty() ? 0.0F : 1.0F;
  }
  return found;
}

/// Fill for the residual of sources: where sources explain a field, the residual is mostly noise, and a prediction that
/// takes it for a field continues it into masked microphones, where the evidence then finds less noise than there is:
/// the expected error is up to ten times the true one (docs/how/sonah.md). At most kMost, so that a source that moves
/// before the next search is not cut out of a hole.
ResidualFilling WaveFinder::filling_of(const MicrophoneMask& mask, const std::vector<float>& table) const {
  constexpr double kMost = 0.1;
  const SourceFit& fit = finder_.fit();
  const double noise = std::clamp(fit.residual_noise, kFillNoise, kMost);
  const ResidualFill fill(plan_.geometry, *model_, mask.channels, noise);
  const Eigen::MatrixXcd modes = fill.filled(fit.modes);
  const Eigen::MatrixXcd white = fill.mode_weights().matrix().asDiagonal() * modes;
  const Eigen::MatrixXcd precision = modes.adjoint() * white;
  const Eigen::MatrixXcd amplitudes =
      white * precision.ldlt().solve(Eigen::MatrixXcd::Identity(precision.rows(), precision.cols()));
  const std::size_t stride = (table.size() - SourceTable::kHeader) / sources().size();
  return {.masked = mask.channels,
          .noise = noise,
          .weights = fill.microphone_weights(),
          .table = with_fields(table, stride, padded(amplitudes.conjugate(), model_->samples),
                               padded(modes, model_->samples))};
}

FieldEstimate WaveFinder::estimate() const {
  const SourceSpace& space = finder_.space();
  const SourceFit& fit = finder_.fit();
  const Eigen::ArrayXd weights = 1.0 / (space.powers() + fit.residual_noise);
  Eigen::VectorXcd image =
      space.image_of_modes(finder_.weights().weigh(step_of_noise(fit.residual_noise), fit.residual));
  FieldEstimate out;
  out.noise_pa = std::sqrt(fit.prior * fit.residual_noise);
  double left = model_->prior_powers.front();
  for (std::size_t c = 0; c < kParities; ++c) {
    left -= (model_->image_powers.front()[c].array() *
             weights.segment(static_cast<Index>(c) * model_->samples, model_->samples))
                .sum();
  }
  const double calibration = plan_.error_calibration();
  out.squared_error = fit.prior * (calibration * calibration * left + sources_error_);
  for (std::size_t i = 0; i < sources().size(); ++i) {
    image += fit.amplitudes(static_cast<Index>(i)) * space.image_of(sources()[i], 0);
  }
  const Eigen::Map<const Eigen::Matrix<Complex, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>> rows(
      image.data(), plan_.image_rows(), plan_.image_columns());
  out.image = rows;
  return out;
}

}  // namespace nearfield
