#include "imaging/operators/operator_space.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numbers>
#include <numeric>
#include <utility>

#include "imaging/shared/noise_steps.hpp"
#include "imaging/sources/source_finder.hpp"
#include "imaging/sources/source_table.hpp"

namespace nearfield {
namespace {

using Complex = std::complex<double>;
using Eigen::Index;
using Eigen::Vector3d;

/// Step of the grid: this part of the pitch, or kStepOfStandoff if that is more.
constexpr double kStepOfPitch = 2.0 / 3.0;
/// The filter's power is computed at every second position.
constexpr std::size_t kCoarseOfGrid = 2;
/// Candidates behind the array: ratio of heights, distance on a plane over its height, distances of those in all
/// directions over half the array's diagonal, their least cosine with the array's normal, and the distance of their
/// direction cosines.
constexpr double kRatioBehind = 1.7;
constexpr double kStepOfHeight = 0.45;
constexpr std::array kFarBehind = {1.5, 4.0, 16.0};
constexpr double kLeastUp = 0.1;
constexpr double kFinestDirection = 0.03;
constexpr double kCoarsestDirection = 0.25;
/// Largest distance over half the array's diagonal: what comes from further away are plane waves to it.
constexpr double kMostAway = 200.0;
/// No derivatives.
constexpr std::array<std::optional<int>, 1> kFields = {};

double grid_step_m(double pitch_m, double standoff_m) {
  return std::max(kStepOfPitch * pitch_m, kStepOfStandoff * standoff_m);
}

/// Positions at most `step_m` apart, including both ends, which differ.
std::vector<double> line_of_places(double first_m, double last_m, double step_m) {
  const auto count = 1 + static_cast<int>(std::ceil((last_m - first_m) / step_m - 1e-9));
  std::vector<double> line;
  for (int i = 0; i < count; ++i) {
    line.push_back(first_m + (last_m - first_m) * i / (count - 1));
  }
  return line;
}

std::size_t coarse(std::size_t count) { return (count + kCoarseOfGrid - 1) / kCoarseOfGrid; }

PointSource mirrored(PointSource point, double wall_y_m) {
  point.y_m = 2.0 * wall_y_m - point.y_m;
  return point;
}

/// The tables' modes, then an orthonormal basis of their complement. (used microphone, mode)
Eigen::MatrixXcd basis_of(const OperatorTables& tables, const FoldedPlaces& microphones, const std::vector<int>& used) {
  const auto count = static_cast<Index>(used.size());
  const auto rank = static_cast<Index>(tables.rank());
  const Eigen::Map<const Eigen::MatrixXcf> of_tables(tables.modes.data(), static_cast<Index>(tables.samples), rank);
  Eigen::MatrixXcd of_channels = Eigen::MatrixXcd::Zero(used.back() + 1, rank);
  for (std::size_t parity = 0; parity < tables.ranks.size(); ++parity) {
    const auto first = static_cast<Index>(tables.first_of(parity));
    const auto of_class = static_cast<Index>(tables.ranks[parity]);
    Eigen::MatrixXcd fields = Eigen::MatrixXcd::Zero(of_channels.rows(), of_class);
    microphones.add_views(fields, microphones.of_views(of_tables.middleCols(first, of_class).cast<Complex>()), parity);
    of_channels.middleCols(first, of_class) = fields;
  }
  const Eigen::MatrixXcd modes = of_channels(used, Eigen::all);
  const Eigen::HouseholderQR<Eigen::MatrixXcd> factors(modes);
  Eigen::MatrixXcd basis = factors.householderQ() * Eigen::MatrixXcd::Identity(count, count);
  basis.leftCols(rank) = modes;
  return basis;
}

}  // namespace

BoundsBehind::BoundsBehind(const ImagePlan& plan) {
  const ImageGrid nodes = image_grid(plan.geometry);
  step_m_ = grid_step_m(std::max(nodes.pitch_x_m, nodes.pitch_y_m), plan.standoff_m);
  half_x_m_ = std::abs(nodes.x_m(0));
  half_y_m_ = std::abs(nodes.y_m(0));
  top_m_ = 0.0;
  for (const Vector3d& at_m : microphone_places(plan)) {
    top_m_ = std::max(top_m_, at_m.z());
  }
  least_m_ = std::max(0.1 * plan.standoff_m, 0.5 * std::max(nodes.pitch_x_m, nodes.pitch_y_m));
}

std::vector<std::vector<PointSource>> BoundsBehind::candidates(double k) const {
  const double radius_m = std::hypot(half_x_m_, half_y_m_);
  std::vector<std::vector<PointSource>> layers;
  double height_m = std::max(least_m_, step_m_);
  for (; height_m < radius_m; height_m *= kRatioBehind) {
    std::vector<PointSource>& layer = layers.emplace_back();
    const double step_m = std::max(step_m_, kStepOfHeight * height_m);
    for (const double y_m : line_of_places(-half_y_m_ - height_m, half_y_m_ + height_m, step_m)) {
      for (const double x_m : line_of_places(-half_x_m_ - height_m, half_x_m_ + height_m, step_m)) {
        layer.push_back({.x_m = x_m, .y_m = y_m, .z_m = top_m_ + height_m});
      }
    }
  }
  // The array resolves half a period of the phase over its size.
  const double step = std::clamp(std::numbers::pi / (2.0 * k * radius_m), kFinestDirection, kCoarsestDirection);
  for (const double away : kFarBehind) {
    std::vector<PointSource>& layer = layers.emplace_back();
    for (double y = -1.0 + step / 2.0; y < 1.0; y += step) {
      for (double x = -1.0 + step / 2.0; x < 1.0; x += step) {
        const double z = std::sqrt(std::max(0.0, 1.0 - x * x - y * y));
        if (z > kLeastUp) {
          const double r_m = away * radius_m;
          layer.push_back({.x_m = r_m * x, .y_m = r_m * y, .z_m = top_m_ + std::max(height_m / kRatioBehind, r_m * z)});
        }
      }
    }
  }
  return layers;
}

double BoundsBehind::move(PointSource& point, const Eigen::Ref<const Eigen::VectorXd>& by) const {
  const double height_m = point.z_m - top_m_;
  const double step_m = std::max(step_m_, kStepOfHeight * height_m);
  const double most_m = kMostAway * std::hypot(half_x_m_, half_y_m_);
  PointSource next = point;
  next.x_m = std::clamp(point.x_m + std::clamp(by(0), -step_m, step_m), -most_m, most_m);
  next.y_m = std::clamp(point.y_m + std::clamp(by(1), -step_m, step_m), -most_m, most_m);
  next.z_m =
      std::clamp(point.z_m + std::clamp(by(2), -0.5 * height_m, 0.5 * height_m), top_m_ + least_m_, top_m_ + most_m);
  const double largest = std::max({std::abs(next.x_m - point.x_m) / step_m, std::abs(next.y_m - point.y_m) / step_m,
                                   std::abs(next.z_m - point.z_m) / height_m});
  point = next;
  return largest;
}

OperatorSpace::OperatorSpace(const ImagePlan& plan, std::size_t frequency, const OperatorTables& tables)
    : plan_(plan),
      frequency_(frequency),
      k_(plan.wavenumber(frequency)),
      tables_(&tables),
      microphones_m_(microphone_places(plan)),
      used_(used_microphones(plan)),
      places_(image_places(plan)),
      nodes_(image_grid(plan.geometry)),
      folding_(tables.ranks.size() > 1 ? folding_of(plan) : unfolded(plan)),
      basis_(basis_of(tables, folding_.microphones, used_)),
      powers_(Eigen::ArrayXd::Zero(static_cast<Index>(used_.size()))),
      bounds_(plan, grid_step_m(nodes_.pitch_x_m, plan.standoff_m), grid_step_m(nodes_.pitch_y_m, plan.standoff_m)) {
  for (std::size_t mode = 0; mode < tables.rank(); ++mode) {
    powers_(static_cast<Index>(mode)) = static_cast<double>(tables.powers[mode]);
  }
  const std::optional<double>& wall_y_m = plan.holography.operators.wall.y_m;
  if (wall_y_m) {
    bounds_.stay_before(*wall_y_m, microphones_m_.front().y() > *wall_y_m);
  }
  if (plan.separates()) {
    behind_.emplace(plan);
  }
  make_layers();
}

void OperatorSpace::make_layers() {
  const double beside_m = plan_.standoff_m;
  const std::vector<double> x_m =
      line_of_places(nodes_.x_m(0) - beside_m, nodes_.x_m(nodes_.node_columns - 1) + beside_m,
                     grid_step_m(nodes_.pitch_x_m, plan_.standoff_m));
  std::vector<double> y_m = line_of_places(nodes_.y_m(0) - beside_m, nodes_.y_m(nodes_.node_rows - 1) + beside_m,
                                           grid_step_m(nodes_.pitch_y_m, plan_.standoff_m));
  std::erase_if(y_m, [&](double at_m) { return bounds_.bounded({.x_m = 0.0, .y_m = at_m}).y_m != at_m; });
  const auto nearest = [](std::size_t place, std::size_t count) {
    return std::min((place + 1) / kCoarseOfGrid, count - 1);
  };
  for (const double depth : kGridDepths) {
    const double z_m = bounds_.floor_m() - bounds_.bounded_depth_m(depth * plan_.standoff_m);
    Layer& layer = layers_.emplace_back();
    for (std::size_t y = 0; y < y_m.size(); ++y) {
      for (std::size_t x = 0; x < x_m.size(); ++x) {
        layer.places.push_back({.x_m = x_m[x], .y_m = y_m[y], .z_m = z_m});
        layer.nearest.push_back(nearest(y, coarse(y_m.size())) * coarse(x_m.size()) + nearest(x, coarse(x_m.size())));
        if (y % kCoarseOfGrid == 0 && x % kCoarseOfGrid == 0) {
          layer.coarse.push_back(layer.places.back());
        }
      }
    }
  }
  if (behind_) {
    for (std::vector<PointSource>& places : behind_->candidates(k_)) {
      Layer& layer = layers_.emplace_back();
      layer.nearest.resize(places.size());
      std::iota(layer.nearest.begin(), layer.nearest.end(), std::size_t{0});
      layer.coarse = places;
      layer.places = std::move(places);
    }
  }
}

std::size_t OperatorSpace::most_sources() const { return most_sources_of(static_cast<int>(used_.size())); }

void OperatorSpace::use(const MicrophoneMask* mask) {
  mask_ = mask != nullptr && !mask->channels.empty() ? mask : nullptr;
}

Eigen::VectorXcd OperatorSpace::of_field(std::span<const Complex> field) const {
  Eigen::VectorXcd values(static_cast<Index>(used_.size()));
  for (std::size_t m = 0; m < used_.size(); ++m) {
    values(static_cast<Index>(m)) = field[static_cast<std::size_t>(used_[m])];
  }
  return basis_.adjoint() * values;
}

Eigen::MatrixXcd OperatorSpace::fields(const Sources& sources) const {
  return basis_.adjoint() * fields_of(sources, kFields).front();
}

std::vector<Eigen::MatrixXcd> OperatorSpace::slopes(const Sources& sources) const {
  static_assert(kMostCoordinates == 3);
  std::vector<Eigen::MatrixXcd> slopes;
  for (const Eigen::MatrixXcd& of_coordinate :
       fields_of(sources, std::array{std::optional(0), std::optional(1), std::optional(2)})) {
    slopes.emplace_back(basis_.adjoint() * of_coordinate);
  }
  return slopes;
}

/// The fields of a source and of its image are computed once for all coordinates.
std::vector<Eigen::MatrixXcd> OperatorSpace::fields_of(const Sources& sources,
                                                       std::span<const std::optional<int>> coordinates) const {
  const double edge_m = std::min(nodes_.pitch_x_m, nodes_.pitch_y_m);
  const WallSettings& wall = plan_.holography.operators.wall;
  std::vector<Eigen::MatrixXcd> values(
      coordinates.size(), Eigen::MatrixXcd(static_cast<Index>(used_.size()), static_cast<Index>(sources.size())));
  std::vector<PointField> own(microphones_m_.size());
  std::vector<PointField> reflected(wall.y_m ? own.size() : 0);
  std::vector<Complex> field(microphones_m_.size());
  for (std::size_t i = 0; i < sources.size(); ++i) {
    const auto& point = std::get<PointSource>(sources[i]);
    for (std::size_t channel = 0; channel < own.size(); ++channel) {
      own[channel] = point_field(point, microphones_m_[channel], k_, edge_m);
      if (wall.y_m) {
        reflected[channel] = point_field(mirrored(point, *wall.y_m), microphones_m_[channel], k_, edge_m);
      }
    }
    for (std::size_t j = 0; j < coordinates.size(); ++j) {
      const std::optional<int> coordinate = coordinates[j];
      constexpr int kAlongY = 1;  // along y the image moves in the opposite direction
      const double sign = coordinate == kAlongY ? -1.0 : 1.0;
      const auto value = [&](const PointField& at) {
        return coordinate ? slope_of(at, point, *coordinate) : at.pressure;
      };
      for (std::size_t channel = 0; channel < field.size(); ++channel) {
        field[channel] = value(own[channel]);
        if (wall.y_m) {
          field[channel] = field[channel] + sign * wall.reflection * value(reflected[channel]);
        }
      }
      if (mask_ != nullptr) {
        fill_masked(field, *mask_, plan_, frequency_);
      }
      for (std::size_t m = 0; m < used_.size(); ++m) {
        values[j](static_cast<Index>(m), static_cast<Index>(i)) = field[static_cast<std::size_t>(used_[m])];
      }
    }
  }
  return values;
}

/// Ignores the mask, so that a finder that began under another mask finds the same sources.
void OperatorSpace::fill_powers() {
  if (!coarse_powers_.empty()) {
    return;
  }
  const MicrophoneMask* const mask = std::exchange(mask_, nullptr);
  const auto rank = static_cast<Index>(tables_->rank());
  Eigen::MatrixXd weights(kNoiseSteps, rank);
  Eigen::VectorXd outside(kNoiseSteps);
  for (int step = 0; step < kNoiseSteps; ++step) {
    weights.row(step) = (powers_.head(rank) + noise_step(step)).inverse().matrix().transpose();
    outside(step) = 1.0 / noise_step(step);
  }
  for (const Layer& layer : layers_) {
    Eigen::MatrixXd of_layer(kNoiseSteps, static_cast<Index>(layer.coarse.size()));
    constexpr std::size_t kTogether = 128;
    for (std::size_t first = 0; first < layer.coarse.size(); first += kTogether) {
      const std::size_t count = std::min(kTogether, layer.coarse.size() - first);
      const auto begin = layer.coarse.begin() + static_cast<std::ptrdiff_t>(first);
      const Eigen::MatrixXcd values =
          fields_of(Sources(begin, begin + static_cast<std::ptrdiff_t>(count)), kFields).front();
      const Eigen::MatrixXcd in_modes = basis_.leftCols(rank).adjoint() * values;
      const Eigen::MatrixXd energies = in_modes.cwiseAbs2();
      // Uses the differences: the difference of the two energies would be lost in the rounding of the tables.
      const Eigen::RowVectorXd rest = (values - basis_.leftCols(rank) * in_modes).colwise().squaredNorm();
      of_layer.middleCols(static_cast<Index>(first), static_cast<Index>(count)) = weights * energies + outside * rest;
    }
    coarse_powers_.push_back(std::move(of_layer));
  }
  mask_ = mask;
}

std::vector<Candidate> OperatorSpace::strongest(const Eigen::VectorXcd& white, int step, double prior) {
  fill_powers();
  // Single precision suffices to find the best position of a grid, and is four times as fast.
  using Values = Eigen::ArrayXf;
  const Eigen::VectorXcd weighed = basis_ * white;
  const Values real = weighed.real().cast<float>().array();
  const Values imaginary = weighed.imag().cast<float>().array();
  Values x_m(real.size());
  Values y_m(real.size());
  Values z_m(real.size());
  for (Index m = 0; m < real.size(); ++m) {
    const Vector3d at = microphones_m_[static_cast<std::size_t>(used_[static_cast<std::size_t>(m)])];
    x_m(m) = static_cast<float>(at.x());
    y_m(m) = static_cast<float>(at.y());
    z_m(m) = static_cast<float>(at.z());
  }
  const auto k = static_cast<float>(k_);
  const WallSettings& wall = plan_.holography.operators.wall;
  Values r(real.size());
  Values re(real.size());
  Values im(real.size());
  const auto add_field = [&](double at_x_m, double at_y_m, double at_z_m, float amplitude) {
    r = ((x_m - static_cast<float>(at_x_m)).square() + (y_m - static_cast<float>(at_y_m)).square() +
         (z_m - static_cast<float>(at_z_m)).square())
            .sqrt();
    re += amplitude * (k * r).cos() / r;
    im -= amplitude * (k * r).sin() / r;
  };
  std::vector<Candidate> of_layers;
  for (std::size_t i = 0; i < layers_.size(); ++i) {
    const Layer& layer = layers_[i];
    Candidate best{.source = PointSource(), .strength = 0.0};
    for (std::size_t place = 0; place < layer.places.size(); ++place) {
      const PointSource& at = layer.places[place];
      re.setZero();
      im.setZero();
      add_field(at.x_m, at.y_m, at.z_m, 1.0F);
      if (wall.y_m) {
        add_field(at.x_m, 2.0 * *wall.y_m - at.y_m, at.z_m, static_cast<float>(wall.reflection));
      }
      const auto output_re = static_cast<double>((re * real + im * imaginary).sum());
      const auto output_im = static_cast<double>((re * imaginary - im * real).sum());
      const double output = output_re * output_re + output_im * output_im;
      const double power = prior * coarse_powers_[i](step, static_cast<Index>(layer.nearest[place]));
      if (output > best.strength * power) {
        best = {.source = at, .strength = output / power};
      }
    }
    of_layers.push_back(best);
  }
  return of_layers;
}

bool OperatorSpace::is_behind(const FieldSource& source) const {
  return behind_ && behind_->has(std::get<PointSource>(source));
}

double OperatorSpace::move(FieldSource& source, const Eigen::Ref<const Eigen::VectorXd>& by) const {
  auto& point = std::get<PointSource>(source);
  return is_behind(source) ? behind_->move(point, by) : bounds_.move(point, by);
}

std::optional<PointSource> OperatorSpace::disc_of(const PointSource& point) const {
  const bool may_be_disc = !plan_.surface && !is_behind(point);
  return may_be_disc ? std::optional(bounds_.disc_of(point)) : std::nullopt;
}

PointSource OperatorSpace::point_of(const PointSource& disc) const { return bounds_.point_of(disc); }

Eigen::MatrixXcd OperatorSpace::image_of_modes(const Eigen::MatrixXcd& white) const {
  const auto rank = static_cast<Index>(tables_->rank());
  const Eigen::Map<const Eigen::MatrixXcf> factors(tables_->factors.data(), static_cast<Index>(tables_->pixels), rank);
  const Eigen::MatrixXcf narrow = white.topRows(rank).cast<std::complex<float>>();
  Eigen::MatrixXcd image = Eigen::MatrixXcd::Zero(static_cast<Index>(places_.pixels), white.cols());
  for (std::size_t parity = 0; parity < tables_->ranks.size(); ++parity) {
    const auto first = static_cast<Index>(tables_->first_of(parity));
    const auto of_class = static_cast<Index>(tables_->ranks[parity]);
    const Eigen::MatrixXcf of_views = factors.middleCols(first, of_class) * narrow.middleRows(first, of_class);
    folding_.pixels.add_views(image, of_views.cast<Complex>(), parity);
  }
  return image;
}

Eigen::VectorXcd OperatorSpace::image_of(const FieldSource& source, std::size_t plane) const {
  const auto& point = std::get<PointSource>(source);
  const WallSettings& wall = plan_.holography.operators.wall;
  const double edge_m = disc_edge_m(plan_);
  Eigen::VectorXcd image = Eigen::VectorXcd::Zero(static_cast<Index>(places_.pixels));
  if (is_behind(point) != (plane >= places_.planes())) {
    return image;
  }
  for (std::size_t pixel = 0; pixel < places_.pixels; ++pixel) {
    const std::size_t i = plane % places_.planes() * places_.pixels + pixel;
    if (places_.normals[i].squaredNorm() == 0.0) {
      continue;
    }
    const auto value = [&](const PointSource& at) {
      return quantity_of(plan_, k_, point_field(at, places_.places_m[i], k_, edge_m), places_.normals[i]);
    };
    Complex& total = image(static_cast<Index>(pixel));
    total = value(point);
    if (wall.y_m) {
      total += wall.reflection * value(mirrored(point, *wall.y_m));
    }
  }
  return image;
}

Eigen::MatrixXcd OperatorSpace::at_microphones(const Eigen::MatrixXcd& modes) const {
  const Eigen::MatrixXcd of_used = basis_ * modes;
  Eigen::MatrixXcd values = Eigen::MatrixXcd::Zero(static_cast<Index>(microphones_m_.size()), modes.cols());
  for (std::size_t m = 0; m < used_.size(); ++m) {
    values.row(used_[m]) = of_used.row(static_cast<Index>(m));
  }
  return values;
}

namespace {

/// Sources beside each share of what comes from behind: those of the most probable one are found.
class PointFinder : public FrequencyFinder {
 public:
  /// tables: [share]; they must outlive it.
  PointFinder(const ImagePlan& plan, std::size_t frequency, std::span<const OperatorTables> tables) {
    for (const OperatorTables& of_share : tables) {
      auto space = std::make_unique<OperatorSpace>(plan, frequency, of_share);
      spaces_.push_back(space.get());
      finders_.emplace_back(std::move(space));
    }
  }

  FoundWaves find(std::span<const std::complex<double>> field, std::uint64_t number,
                  const MicrophoneMask& mask) override {
    double without = std::numeric_limits<double>::infinity();
    for (SourceFinder& finder : finders_) {
      without = std::min(without, finder.cost_without(field, &mask));
    }
    std::size_t share = 0;
    for (std::size_t i = 0; i < finders_.size(); ++i) {
      finders_[i].find(field, number, &mask, without);
      share = finders_[i].criterion() < finders_[share].criterion() ? i : share;
    }
    const SourceFinder& finder = finders_[share];
    FoundWaves found = finder.found();
    found.prior = std::nullopt;
    found.share = share;
    const bool is_any = !finder.sources().empty();
    const auto at_microphones = [&](const Eigen::MatrixXcd& modes) {
      return is_any ? spaces_[share]->at_microphones(modes) : Eigen::MatrixXcd();
    };
    // Amplitudes are sums over modes of factors times y, the product of conjugate modes and the field.
    const Eigen::MatrixXcd factors = is_any ? amplitude_factors(finder.fit()).conjugate() : Eigen::MatrixXcd();
    found.table = make_source_table(finder, at_microphones(factors).conjugate(), at_microphones(finder.fit().modes));
    return found;
  }

  void restart() override {
    for (SourceFinder& finder : finders_) {
      finder.restart();
    }
  }

 private:
  std::vector<const OperatorSpace*> spaces_;  ///< space of each of finders_
  std::vector<SourceFinder> finders_;         ///< [share]
};

std::vector<std::unique_ptr<FrequencyFinder>> finders_of(const ImagePlan& plan,
                                                         const std::vector<OperatorTables>& tables) {
  const std::size_t shares = tables.size() / plan.frequencies_hz.size();
  std::vector<std::unique_ptr<FrequencyFinder>> finders;
  for (std::size_t f = 0; f < plan.frequencies_hz.size(); ++f) {
    finders.push_back(std::make_unique<PointFinder>(plan, f, std::span(tables).subspan(f * shares, shares)));
  }
  return finders;
}

}  // namespace

PointSearch::PointSearch(const ImagePlan& plan, const std::shared_ptr<const std::vector<OperatorTables>>& tables)
    : SourceSearch(plan, finders_of(plan, *tables), tables) {}

std::vector<OperatorTables> tables_of_search(std::vector<OperatorTables> tables) {
  for (OperatorTables& one : tables) {
    one.factors.resize(one.rank() * one.pixels);
    one.factors.shrink_to_fit();
  }
  return tables;
}

}  // namespace nearfield
