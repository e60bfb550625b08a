#include "imaging/sources/point_grid.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <utility>

#include "imaging/sources/field_source.hpp"

namespace nearfield {
namespace {

/// A source's least and largest depth over the standoff.
constexpr double kLeastDepth = 0.1;
constexpr double kMostDepth = 4.0;
/// Its least depth over the larger pitch: the best fit of a patch of the surface that is smaller than a pitch, such as
/// a piston, is a point right behind it, whose velocity there is unbounded; no microphone can tell how large the patch
/// is.
constexpr double kLeastDepthOfPitch = 0.5;
/// A disc's least radius over the larger pitch: no microphone can tell a smaller one from a point.
constexpr double kLeastRadiusOfPitch = 0.5;
/// A disc's largest radius over the standoff.
constexpr double kMostRadius = 4.0;
/// A disc's radius over the depth of a point whose field decays about like the disc's.
constexpr double kRadiusOfDepth = 2.0;
/// Largest relative change per step of a point source's depth below the surface, or of a disc's radius.
constexpr double kMostDeeper = 0.5;

}  // namespace

PointBounds::PointBounds(const ImagePlan& plan, double step_x_m, double step_y_m)
    : standoff_m_(plan.standoff_m),
      step_x_m_(step_x_m),
      step_y_m_(step_y_m),
      floor_m_(std::min(0.0, plan.standoff_m - plan.largest_distance_m())) {
  const ImageGrid nodes = image_grid(plan.geometry);
  larger_pitch_m_ = std::max(nodes.pitch_x_m, nodes.pitch_y_m);
  least_x_m_ = nodes.x_m(0) - plan.standoff_m - step_x_m;
  most_x_m_ = nodes.x_m(nodes.node_columns - 1) + plan.standoff_m + step_x_m;
  least_y_m_ = nodes.y_m(0) - plan.standoff_m - step_y_m;
  most_y_m_ = nodes.y_m(nodes.node_rows - 1) + plan.standoff_m + step_y_m;
}

double PointBounds::bounded_depth_m(double depth_m) const {
  return std::max({depth_m, kLeastDepth * standoff_m_, kLeastDepthOfPitch * larger_pitch_m_});
}

PointSource PointBounds::bounded(PointSource point) const {
  const double least_radius_m = kLeastRadiusOfPitch * larger_pitch_m_;
  return {.x_m = std::clamp(point.x_m, least_x_m_, most_x_m_),
          .y_m = std::clamp(point.y_m, least_y_m_, most_y_m_),
          .z_m = point.is_disc() ? floor_m_
                                 : std::clamp(point.z_m, floor_m_ - bounded_depth_m(kMostDepth * standoff_m_),
                                              floor_m_ - bounded_depth_m(0.0)),
          .radius_m = point.is_disc() ? std::clamp(point.radius_m, least_radius_m,
                                                   std::max(least_radius_m, kMostRadius * standoff_m_))
                                      : 0.0};
}

double PointBounds::move(PointSource& point, const Eigen::Ref<const Eigen::VectorXd>& by) const {
  const double size_m = point.is_disc() ? point.radius_m : depth_m(point);
  PointSource next = point;
  next.x_m += std::clamp(by(0), -step_x_m_, step_x_m_);
  next.y_m += std::clamp(by(1), -step_y_m_, step_y_m_);
  third_of(next) += std::clamp(by(2), -kMostDeeper * size_m, kMostDeeper * size_m);
  next = bounded(next);
  const double largest =
      std::max({std::abs(next.x_m - point.x_m) / step_x_m_, std::abs(next.y_m - point.y_m) / step_y_m_,
                std::abs(third_of(next) - third_of(point)) / size_m});
  point = next;
  return largest;
}

PointSource PointBounds::disc_of(const PointSource& point) const {
  return bounded({.x_m = point.x_m, .y_m = point.y_m, .z_m = floor_m_, .radius_m = kRadiusOfDepth * depth_m(point)});
}

PointSource PointBounds::point_of(const PointSource& disc) const {
  return bounded({.x_m = disc.x_m, .y_m = disc.y_m, .z_m = floor_m_ - disc.radius_m / kRadiusOfDepth});
}

void PointBounds::stay_before(double wall_y_m, bool is_above) {
  double& bound_m = is_above ? least_y_m_ : most_y_m_;
  const double beside_m = 0.25 * step_y_m_;
  bound_m = is_above ? std::max(bound_m, wall_y_m + beside_m) : std::min(bound_m, wall_y_m - beside_m);
}

namespace {

using Complex = std::complex<double>;
using Eigen::Index;

/// Step of the grid: 2 thirds of the pitch, or kStepOfStandoff if that is more.
constexpr int kStepThirds = 2;
/// The filter's power is computed at every second position from the centre on.
constexpr int kCoarsePlaces = 2;

}  // namespace

int PointGrid::Axis::longest() const { return std::max(thirds(count - 1), 3 * (microphones - 1) - first); }

PointGrid::Axis PointGrid::make_axis(int microphones, double pitch_m, double standoff_m) {
  Axis axis{.microphones = microphones, .pitch_m = pitch_m};
  const int beside = static_cast<int>(std::ceil(3.0 * standoff_m / pitch_m - 1e-9));
  axis.first = -beside;
  axis.step = std::max(kStepThirds, static_cast<int>(3.0 * kStepOfStandoff * standoff_m / pitch_m));
  const int length = 3 * (microphones - 1) + 2 * beside;
  axis.count = (length + axis.step - 1) / axis.step + 1;
  return axis;
}

PointGrid::PointGrid(const ImagePlan& plan, std::size_t frequency, const SonahModel& model)
    : plan_(plan),
      k_(plan.wavenumber(frequency)),
      model_(&model),
      modes_(plan, frequency, model),
      x_(make_axis(plan.geometry.columns, plan.geometry.pitch_x_m, plan.standoff_m)),
      y_(make_axis(plan.geometry.rows, plan.geometry.pitch_y_m, plan.standoff_m)),
      bounds_(plan, x_.step_m(), y_.step_m()) {}

/// Converts modes to a field at the microphones, so that its product with a source's field there equals that in modes.
/// (row, column)
Eigen::MatrixXcd PointGrid::at_microphones(const Eigen::VectorXcd& white) const {
  const Index rows = y_.microphones;
  const Index columns = x_.microphones;
  const Index half_columns = (columns + 1) / 2;
  Eigen::MatrixXcd field = Eigen::MatrixXcd::Zero(rows, columns);
  for (std::size_t c = 0; c < kParities; ++c) {
    const double sign_x = (c & 1U) != 0 ? -1.0 : 1.0;
    const double sign_y = (c & 2U) != 0 ? -1.0 : 1.0;
    const Eigen::VectorXcd folded =
        model_->projections[c].times(white.segment(static_cast<Index>(c) * model_->samples, model_->samples));
    for (Index sample = 0; sample < folded.size(); ++sample) {
      const Index row = sample / half_columns;
      const Index column = sample % half_columns;
      field(row, column) += folded(sample);
      field(row, columns - 1 - column) += sign_x * folded(sample);
      field(rows - 1 - row, column) += sign_y * folded(sample);
      field(rows - 1 - row, columns - 1 - column) += sign_x * sign_y * folded(sample);
    }
  }
  return field;
}

/// Products of a field at the microphones with those of monopoles this far from the array's plane. (x, y)
Eigen::MatrixXcd PointGrid::filter(const Eigen::MatrixXcd& field, double distance_m) const {
  // A monopole's field depends on the distance alone: for each distance along y one matrix from microphones along x to
  // positions along x.
  std::map<int, std::vector<std::pair<Index, Index>>> pairs;  // (position, microphone) along y, by their distance
  for (Index place = 0; place < y_.count; ++place) {
    for (int row = 0; row < y_.microphones; ++row) {
      pairs[std::abs(y_.thirds(place) - 3 * row)].emplace_back(place, row);
    }
  }
  Eigen::MatrixXcd outputs = Eigen::MatrixXcd::Zero(x_.count, y_.count);
  Eigen::VectorXcd of_lag(x_.longest() + 1);
  Eigen::MatrixXcd kernel(x_.count, x_.microphones);
  Eigen::MatrixXcd rows;
  Eigen::MatrixXcd products;
  for (const auto& [lag_y, of_pairs] : pairs) {
    const double across2 = std::pow(lag_y * y_.pitch_m / 3.0, 2) + distance_m * distance_m;
    for (Index lag = 0; lag < of_lag.size(); ++lag) {
      const double r = std::sqrt(std::pow(static_cast<double>(lag) * x_.pitch_m / 3.0, 2) + across2);
      of_lag(lag) = std::polar(1.0 / r, k_ * r);
    }
    for (Index column = 0; column < kernel.cols(); ++column) {
      for (Index place = 0; place < kernel.rows(); ++place) {
        kernel(place, column) = of_lag(std::abs(x_.thirds(place) - 3 * static_cast<int>(column)));
      }
    }
    rows.resize(x_.microphones, static_cast<Index>(of_pairs.size()));
    for (Index i = 0; i < rows.cols(); ++i) {
      rows.col(i) = field.row(of_pairs[static_cast<std::size_t>(i)].second).transpose();
    }
    products.noalias() = kernel * rows;
    for (Index i = 0; i < rows.cols(); ++i) {
      outputs.col(of_pairs[static_cast<std::size_t>(i)].first) += products.col(i);
    }
  }
  return outputs;
}

void PointGrid::fill_powers() {
  if (!powers_.empty()) {
    return;
  }
  const auto places = [&](const Axis& axis) {
    const double most_m = std::max(std::abs(axis.from_centre_m(0)), std::abs(axis.from_centre_m(axis.count - 1)));
    return 1 + static_cast<Index>(std::lround(most_m / (kCoarsePlaces * axis.step_m())));
  };
  quarter_columns_ = places(x_);
  quarter_rows_ = places(y_);
  const Eigen::MatrixXd weights = filter_weights(*model_);
  for (const double depth : kGridDepths) {
    Eigen::MatrixXf of_depth(kNoiseSteps, quarter_rows_ * quarter_columns_);
    for (Index row = 0; row < quarter_rows_; ++row) {
      Sources line;
      for (Index column = 0; column < quarter_columns_; ++column) {
        line.emplace_back(PointSource{.x_m = static_cast<double>(column) * kCoarsePlaces * x_.step_m(),
                                      .y_m = static_cast<double>(row) * kCoarsePlaces * y_.step_m(),
                                      .z_m = bounds_.floor_m() - bounds_.bounded_depth_m(depth * plan_.standoff_m)});
      }
      of_depth.middleCols(row * quarter_columns_, quarter_columns_) =
          (weights * modes_.fields(line).cwiseAbs2()).cast<float>();
    }
    powers_.push_back(std::move(of_depth));
  }
}

Candidate PointGrid::strongest(const Eigen::VectorXcd& white, int step, double prior) {
  fill_powers();
  const Eigen::MatrixXcd field = at_microphones(white);
  const auto quarter = [](const Axis& axis, Index place, Index most) {
    return std::min(most - 1, static_cast<Index>(
                                  std::lround(std::abs(axis.from_centre_m(place)) / (kCoarsePlaces * axis.step_m()))));
  };
  Candidate best{.source = PointSource(), .strength = 0.0};
  for (std::size_t depth = 0; depth < kGridDepths.size(); ++depth) {
    const double height_m = bounds_.floor_m() - bounds_.bounded_depth_m(kGridDepths[depth] * plan_.standoff_m);
    const Eigen::MatrixXcd outputs = filter(field, plan_.standoff_m - height_m);
    for (Index y = 0; y < y_.count; ++y) {
      const Index row = quarter(y_, y, quarter_rows_);
      for (Index x = 0; x < x_.count; ++x) {
        const Index place = row * quarter_columns_ + quarter(x_, x, quarter_columns_);
        const double power = static_cast<double>(powers_[depth](step, place)) * prior;
        if (std::norm(outputs(x, y)) > best.strength * power) {
          best = {.source = PointSource{.x_m = x_.from_centre_m(x), .y_m = y_.from_centre_m(y), .z_m = height_m},
                  .strength = std::norm(outputs(x, y)) / power};
        }
      }
    }
  }
  return best;
}

}  // namespace nearfield
