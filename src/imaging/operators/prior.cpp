#include "imaging/operators/prior.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numbers>
#include <numeric>
#include <optional>
#include <string>
#include <utility>

#include "core/error.hpp"

namespace nearfield {
namespace {

using Complex = std::complex<double>;
using Eigen::Index;
using Eigen::Vector3d;

/// Sheet below a surface, sizes over the standoff. They are measured (docs/how/operators.md): errors of flat images are
/// smallest with a deeper and wider sheet, whose sources also make waves that come from beside the array.
struct SheetRule {
  double depth;
  double margin;
};
constexpr SheetRule kBelowFlat = {.depth = 0.9, .margin = 6.0};
constexpr SheetRule kBelowCurved = {.depth = 0.65, .margin = 1.5};
constexpr double kFlat = 0.05;  ///< largest height difference of a flat surface, over the standoff
constexpr double kSpacingOfDepth = 0.7;

struct Extent {
  double low_m = 0.0;
  double high_m = 0.0;
};

Extent extent_of(const std::vector<Vector3d>& places_m, Index axis, double margin_m) {
  const auto [low, high] = std::minmax_element(places_m.begin(), places_m.end(),
                                               [&](const Vector3d& a, const Vector3d& b) { return a(axis) < b(axis); });
  return {(*low)(axis)-margin_m, (*high)(axis) + margin_m};
}

/// Sources along an extent, both ends included, at most `spacing_m` apart.
std::vector<double> line_of_sources(const Extent& extent, double spacing_m) {
  const int count = 1 + static_cast<int>(std::ceil((extent.high_m - extent.low_m) / spacing_m - 1e-9));
  std::vector<double> line;
  for (int i = 0; i < count; ++i) {
    line.push_back(count == 1 ? extent.low_m : extent.low_m + (extent.high_m - extent.low_m) * i / (count - 1));
  }
  return line;
}

double lowest_imaged_m(const ImagePlan& plan) {
  const std::vector<double>& planes_m = plan.holography.planes_m;
  return plan.surface ? plan.surface->lowest_m() : std::min(0.0, *std::min_element(planes_m.begin(), planes_m.end()));
}

/// A sheet at height z_m, wider than the microphones by margin_m, with sources at most spacing_m apart.
std::vector<Vector3d> sheet_at(const ImagePlan& plan, double z_m, double spacing_m, double margin_m) {
  const std::vector<Vector3d> microphones = microphone_places(plan);
  const std::vector<double> xs = line_of_sources(extent_of(microphones, 0, margin_m), spacing_m);
  const std::vector<double> ys = line_of_sources(extent_of(microphones, 1, margin_m), spacing_m);
  std::vector<Vector3d> sources;
  for (const double y_m : ys) {
    for (const double x_m : xs) {
      sources.emplace_back(x_m, y_m, z_m);
    }
  }
  return sources;
}

const SheetRule& sheet_rule(const ImagePlan& plan) {
  const bool is_flat = !plan.surface || plan.surface->highest_m() - plan.surface->lowest_m() <= kFlat * plan.standoff_m;
  return is_flat ? kBelowFlat : kBelowCurved;
}

double sheet_depth_m(const ImagePlan& plan) {
  return plan.holography.operators.source_depth_m.value_or(sheet_rule(plan).depth * plan.standoff_m);
}

std::vector<Vector3d> sheet_of_sources(const ImagePlan& plan) {
  const double depth_m = sheet_depth_m(plan);
  std::vector<Vector3d> sources = sheet_at(plan, lowest_imaged_m(plan) - depth_m, kSpacingOfDepth * depth_m,
                                           sheet_rule(plan).margin * plan.standoff_m);
  if (sources.size() > kMostSources) {
    throw ConfigError(
        fmt::format("{}operators.source_depth_m: expected a depth whose sheet has at most {} sources, {} of it apart, "
                    "found {:.4g} m with {}",
                    plan.section, kMostSources, kSpacingOfDepth, depth_m, sources.size()));
  }
  return sources;
}

void require_distance(const std::vector<Vector3d>& sources, const std::vector<Vector3d>& places_m,
                      const std::vector<Vector3d>* normals, const char* what, const std::string& key) {
  for (std::size_t i = 0; i < places_m.size(); ++i) {
    if (normals != nullptr && (*normals)[i].squaredNorm() == 0.0) {
      continue;
    }
    for (const Vector3d& source : sources) {
      if ((source - places_m[i]).norm() < kNearestSource_m) {
        throw ConfigError(
            fmt::format("{}: expected sources at least {} m from each {}, found one at ({:.4g}, {:.4g}, {:.4g}) m", key,
                        kNearestSource_m, what, source.x(), source.y(), source.z()));
      }
    }
  }
}

/// e^{-jkr} / (4 pi r).
Complex monopole(const Vector3d& away_m, double k) {
  const double r_m = away_m.norm();
  return std::polar(1.0 / (4.0 * std::numbers::pi * r_m), -k * r_m);
}

/// At least `count` unit vectors of the half space z > 0, evenly spread: a Fibonacci lattice over a quarter of it, and
/// its mirrors in x = 0 and y = 0.
std::vector<Vector3d> directions_of_half_space(int count) {
  const int quarter = (count + 3) / 4;
  std::vector<Vector3d> directions;
  for (int i = 0; i < quarter; ++i) {
    const double z = (i + 0.5) / quarter;
    const double across = std::sqrt(1.0 - z * z);
    const double turns = (i + 0.5) * (std::numbers::phi - 1.0);
    const double angle = std::numbers::pi / 2.0 * (turns - std::floor(turns));
    for (const double side_x : {1.0, -1.0}) {
      for (const double side_y : {1.0, -1.0}) {
        directions.emplace_back(side_x * across * std::cos(angle), side_y * across * std::sin(angle), z);
      }
    }
  }
  return directions;
}

/// Pressure of a plane wave that comes from a direction.
Complex plane_wave(const Vector3d& at_m, const Vector3d& direction, double k) {
  return std::polar(1.0, k * direction.dot(at_m));
}

/// Transfer from sources to the plan's quantity; the gradient along a normal gives the velocity.
class QuantityAt {
 public:
  QuantityAt(const ImagePlan& plan, double k) : k_(k), is_pressure_(plan.holography.quantity == Quantity::kPressure) {
    const Complex j_omega(0.0, k * plan.medium.sound_speed_m_s);
    over_gradient_ = -1.0 / (j_omega * plan.medium.density_kg_m3);
    if (plan.holography.quantity == Quantity::kDisplacement) {
      over_gradient_ /= j_omega;
    }
  }
  [[nodiscard]] Complex operator()(const Vector3d& away_m, const Vector3d& normal) const {
    const Complex pressure = monopole(away_m, k_);
    if (is_pressure_) {
      return pressure;
    }
    const double r_m = away_m.norm();
    return over_gradient_ * pressure * -Complex(1.0 / r_m, k_) * (normal.dot(away_m) / r_m);
  }
  [[nodiscard]] Complex of_wave(const Vector3d& at_m, const Vector3d& direction, const Vector3d& normal) const {
    const Complex pressure = plane_wave(at_m, direction, k_);
    return is_pressure_ ? pressure : over_gradient_ * pressure * Complex(0.0, k_ * normal.dot(direction));
  }

 private:
  double k_;
  bool is_pressure_;
  Complex over_gradient_;
};

Vector3d mirrored(const Vector3d& source, double wall_y_m) {
  return {source.x(), 2.0 * wall_y_m - source.y(), source.z()};
}

/// -1 if the microphones are below the plane y = wall_y_m, 1 if they are above it. Throws ConfigError unless all
/// microphones and imaged places are on one side of it.
double side_of_wall(const ImagePlan& plan, double wall_y_m, const ImagePlaces& images) {
  std::vector<Vector3d> places_m = microphone_places(plan);
  for (std::size_t i = 0; i < images.places_m.size(); ++i) {
    if (images.normals[i].squaredNorm() > 0.0) {
      places_m.push_back(images.places_m[i]);
    }
  }
  const Extent extent = extent_of(places_m, 1, 0.0);
  if (wall_y_m > extent.high_m) {
    return -1.0;
  }
  if (wall_y_m < extent.low_m) {
    return 1.0;
  }
  throw ConfigError(
      fmt::format("{}operators.wall.y_m: expected a wall beside all microphones and imaged places, below {:.4g} m or "
                  "above {:.4g} m, found {:.4g} m",
                  plan.section, extent.low_m, extent.high_m, wall_y_m));
}

/// Removes sources of the sheet that are behind the wall. Throws ConfigError if sources from a file are there.
std::vector<Vector3d> before_wall(const ImagePlan& plan, std::vector<Vector3d> sources, double wall_y_m, double side) {
  const auto behind = std::stable_partition(
      sources.begin(), sources.end(), [&](const Vector3d& source) { return side * (source.y() - wall_y_m) >= 0.0; });
  if (behind != sources.end() && plan.sources) {
    throw ConfigError(
        fmt::format("{}: expected sources on the microphones' side of the wall y = {:.4g} m, found one at ({:.4g}, "
                    "{:.4g}, {:.4g}) m",
                    source_setting(plan), wall_y_m, behind->x(), behind->y(), behind->z()));
  }
  sources.erase(behind, sources.end());
  return sources;
}

}  // namespace

std::vector<Vector3d> microphone_places(const ArrayPlan& plan) {
  std::vector<Vector3d> places_m;
  for (int channel = 0; channel < plan.geometry.channels(); ++channel) {
    const MicrophonePosition at = plan.geometry.position_m(channel);
    places_m.emplace_back(at.x_m, at.y_m, plan.standoff_m + at.z_m);
  }
  return places_m;
}

ImagePlaces image_places(const ImagePlan& plan) {
  if (plan.surface) {
    return {.places_m = plan.surface->places_m, .normals = plan.surface->normals, .pixels = plan.surface->pixels()};
  }
  ImagePlaces images;
  const ImageGrid grid = plan.grid();
  for (const double plane_m : plan.holography.planes_m) {
    for (int row = 0; row < grid.rows(); ++row) {
      for (int column = 0; column < grid.columns(); ++column) {
        images.places_m.emplace_back(grid.x_m(column), grid.y_m(row), plane_m);
        images.normals.emplace_back(0.0, 0.0, 1.0);
      }
    }
  }
  images.pixels = images.places_m.size() / plan.holography.planes_m.size();
  return images;
}

std::string source_setting(const ImagePlan& plan) {
  if (!plan.sources) {
    return plan.section + "operators.source_depth_m";
  }
  return plan.section + (plan.sources->templates.empty() ? "operators.sources" : "operators.templates");
}

std::vector<Vector3d> prior_sources(const ImagePlan& plan) {
  std::vector<Vector3d> sources = plan.sources ? plan.sources->places_m : sheet_of_sources(plan);
  if (sources.empty() || sources.size() > kMostSources) {
    throw ConfigError(
        fmt::format("{}: expected 1 to {} sources, found {}", source_setting(plan), kMostSources, sources.size()));
  }
  const ImagePlaces images = image_places(plan);
  const std::optional<double>& wall_y_m = plan.holography.operators.wall.y_m;
  if (wall_y_m) {
    sources = before_wall(plan, std::move(sources), *wall_y_m, side_of_wall(plan, *wall_y_m, images));
  }
  // Images in the wall need no check: all else is before the wall, so they are further away than their sources.
  require_distance(sources, microphone_places(plan), nullptr, "microphone", source_setting(plan));
  require_distance(sources, images.places_m, &images.normals, "place of an image", source_setting(plan));
  return sources;
}

std::span<const double> shares_behind(const ImagePlan& plan) {
  return std::span(kSharesBehind).first(plan.separates() ? kSharesBehind.size() : 1);
}

SourcesBehind sources_behind(const ImagePlan& plan, std::size_t frequency) {
  const std::vector<Vector3d> microphones = microphone_places(plan);
  const Extent of_array = extent_of(microphones, 2, 0.0);
  const double depth_m = sheet_depth_m(plan);
  const double above_m = of_array.low_m - (lowest_imaged_m(plan) - depth_m);
  // A field over a disc of radius a has some (k a)^2 / 2 degrees of freedom from one side; twice as many waves and
  // more.
  constexpr double kFewest = 200.0;
  constexpr double kMost = 4000.0;
  const Extent x = extent_of(microphones, 0, 0.0);
  const Extent y = extent_of(microphones, 1, 0.0);
  const double radius_m = std::hypot(x.high_m - x.low_m, y.high_m - y.low_m) / 2.0;
  const double waves = std::min(kMost, kFewest + std::pow(plan.wavenumber(frequency) * radius_m, 2));
  const double margin_m = kBelowFlat.margin * plan.standoff_m;
  const double area_m2 = (x.high_m - x.low_m + 2.0 * margin_m) * (y.high_m - y.low_m + 2.0 * margin_m);
  constexpr double kMostPlaces = 4000.0;
  const double spacing_m = std::max(kSpacingOfDepth * depth_m, std::sqrt(area_m2 / kMostPlaces));
  return {.places_m = sheet_at(plan, of_array.high_m + above_m, spacing_m, margin_m),
          .directions = directions_of_half_space(static_cast<int>(waves))};
}

namespace {

/// Transfer from sources of strength 1 to the samples of a class: to pressures at microphones, and to the plan's
/// quantity at pixels.
struct ClassTransfer {
  Eigen::MatrixXcd to_microphones;          ///< (sample, source)
  std::vector<Eigen::MatrixXcd> to_images;  ///< [plane](folded pixel, source); 0 for pixels that are not imaged
};

/// Folds a transfer to samples' own places, from all sources, which the mirrors do not change. [class]
std::vector<Eigen::MatrixXcd> folded(Eigen::MatrixXcd values, const FoldedPlaces& places, const FoldedPlaces& sources) {
  std::vector<Eigen::MatrixXcd> of_classes;
  if (sources.classes() == 1) {
    of_classes.push_back(std::move(values));
    return of_classes;
  }
  for (std::size_t parity = 0; parity < sources.classes(); ++parity) {
    Eigen::MatrixXcd& of_class =
        of_classes.emplace_back(Eigen::MatrixXcd::Zero(values.rows(), static_cast<Index>(sources.samples())));
    for (std::size_t s = 0; s < sources.samples(); ++s) {
      auto column = of_class.col(static_cast<Index>(s));
      for (std::size_t view = 0; view < sources.classes(); ++view) {
        column += parity_sign(parity, view) * values.col(sources.at(s, view));
      }
      column *= std::sqrt(sources.count(s)) / static_cast<double>(sources.classes());
    }
    for (std::size_t sample = 0; sample < places.samples(); ++sample) {
      of_class.row(static_cast<Index>(sample)) *= places.has(sample, parity) ? std::sqrt(places.count(sample)) : 0.0;
    }
  }
  return of_classes;
}

/// at_microphone(source, channel) and at_place(source, place of an image) are the fields of one source. [class]
template <class AtMicrophone, class AtPlace>
std::vector<ClassTransfer> transfer_of(const Folding& folding, const ImagePlaces& images, const FoldedPlaces& sources,
                                       std::size_t count, const AtMicrophone& at_microphone, const AtPlace& at_place) {
  std::vector<ClassTransfer> of_classes(folding.classes());
  const auto fold = [&](const FoldedPlaces& places, const auto& value, const auto& add) {
    Eigen::MatrixXcd values(static_cast<Index>(places.samples()), static_cast<Index>(count));
    for (std::size_t s = 0; s < count; ++s) {
      for (std::size_t sample = 0; sample < places.samples(); ++sample) {
        values(static_cast<Index>(sample), static_cast<Index>(s)) =
            value(s, static_cast<std::size_t>(places.at(sample)));
      }
    }
    std::vector<Eigen::MatrixXcd> parts = folded(std::move(values), places, sources);
    for (std::size_t parity = 0; parity < parts.size(); ++parity) {
      add(of_classes[parity], std::move(parts[parity]));
    }
  };
  fold(folding.microphones, at_microphone,
       [](ClassTransfer& to, Eigen::MatrixXcd&& values) { to.to_microphones = std::move(values); });
  for (std::size_t plane = 0; plane < images.planes(); ++plane) {
    const auto on_plane = [&](std::size_t s, std::size_t pixel) {
      const std::size_t place = plane * images.pixels + pixel;
      return images.normals[place].squaredNorm() > 0.0 ? at_place(s, place) : Complex();
    };
    fold(folding.pixels, on_plane,
         [](ClassTransfer& to, Eigen::MatrixXcd&& values) { to.to_images.push_back(std::move(values)); });
  }
  return of_classes;
}

FoldedPlaces fold_sources(const Folding& folding, const std::vector<Vector3d>& sources) {
  if (folding.classes() > 1) {
    return FoldedPlaces::mirrored(sources).value();  // sheets and directions are laid out in both mirrors
  }
  std::vector<int> each(sources.size());
  std::iota(each.begin(), each.end(), 0);
  return FoldedPlaces::of_each(std::move(each));
}

double power_of(const std::vector<ClassTransfer>& transfer) {
  return std::accumulate(transfer.begin(), transfer.end(), 0.0, [](double sum, const ClassTransfer& of_class) {
    return sum + of_class.to_microphones.squaredNorm();
  });
}

/// Adds the covariances of sources of this power.
void add_covariances(std::vector<ClassCovariances>& to, const std::vector<ClassTransfer>& transfer, double power) {
  to.resize(transfer.size());
  for (std::size_t parity = 0; parity < transfer.size(); ++parity) {
    const Eigen::MatrixXcd& g = transfer[parity].to_microphones;
    ClassCovariances& sum = to[parity];
    if (sum.images.empty()) {
      sum.microphones = Eigen::MatrixXcd::Zero(g.rows(), g.rows());
      for (const Eigen::MatrixXcd& h : transfer[parity].to_images) {
        sum.images.emplace_back(Eigen::MatrixXcd::Zero(h.rows(), g.rows()));
      }
    }
    sum.microphones.selfadjointView<Eigen::Lower>().rankUpdate(g, power);
    sum.microphones.triangularView<Eigen::StrictlyUpper>() = sum.microphones.adjoint();
    for (std::size_t plane = 0; plane < sum.images.size(); ++plane) {
      sum.images[plane].noalias() += power * transfer[parity].to_images[plane] * g.adjoint();
    }
  }
}

/// Covariances of the surface's sources, with a mean power of 1 at a microphone.
void add_front(PriorCovariances& to, const ImagePlan& plan, const std::vector<Vector3d>& sources, std::size_t frequency,
               const Folding& folding) {
  const double k = plan.wavenumber(frequency);
  const std::vector<Vector3d> microphones = microphone_places(plan);
  const ImagePlaces images = image_places(plan);
  const WallSettings& wall = plan.holography.operators.wall;
  const QuantityAt quantity(plan, k);
  const bool is_measured = plan.sources && !plan.sources->templates.empty();
  const Vector3d centre(0.0, 0.0, plan.standoff_m);
  const auto at_microphone = [&](std::size_t s, std::size_t channel) {
    if (is_measured) {
      return monopole(centre - sources[s], k) *
             plan.sources->templates[(frequency * sources.size() + s) * microphones.size() + channel];
    }
    const Complex own = monopole(microphones[channel] - sources[s], k);
    return wall.y_m ? own + wall.reflection * monopole(microphones[channel] - mirrored(sources[s], *wall.y_m), k) : own;
  };
  const auto at_place = [&](std::size_t s, std::size_t i) {
    const Vector3d& normal = images.normals[i];
    const Complex own = quantity(images.places_m[i] - sources[s], normal);
    return wall.y_m ? own + wall.reflection * quantity(images.places_m[i] - mirrored(sources[s], *wall.y_m), normal)
                    : own;
  };
  const std::vector<ClassTransfer> transfer =
      transfer_of(folding, images, fold_sources(folding, sources), sources.size(), at_microphone, at_place);
  const double power = power_of(transfer);
  if (!std::isfinite(power) || power == 0.0) {
    throw ConfigError(
        fmt::format("{}: expected finite pressures of sources at microphones, not all of them 0, found a "
                    "sum of their squares of {} at {} Hz",
                    source_setting(plan), power, plan.frequencies_hz[frequency]));
  }
  const double scale = static_cast<double>(used_microphones(plan).size()) / power;
  add_covariances(to.front, transfer, scale);
  for (const ClassTransfer& of_class : transfer) {
    to.image_power += scale * of_class.to_images.front().squaredNorm();
  }
}

/// Covariances of the sources behind the array: of the sheet and of the waves, each with its part of a mean power of 1.
void add_behind(PriorCovariances& to, const ImagePlan& plan, std::size_t frequency, const Folding& folding) {
  const double k = plan.wavenumber(frequency);
  const SourcesBehind behind = sources_behind(plan, frequency);
  const std::vector<Vector3d> microphones = microphone_places(plan);
  const ImagePlaces images = image_places(plan);
  const QuantityAt quantity(plan, k);
  const auto add = [&](const std::vector<Vector3d>& sources, double part, const auto& at_microphone,
                       const auto& at_place) {
    const std::vector<ClassTransfer> transfer =
        transfer_of(folding, images, fold_sources(folding, sources), sources.size(), at_microphone, at_place);
    add_covariances(to.behind, transfer,
                    part * static_cast<double>(used_microphones(plan).size()) / power_of(transfer));
  };
  add(
      behind.places_m, 1.0 - kWavesBehind,
      [&](std::size_t s, std::size_t channel) { return monopole(microphones[channel] - behind.places_m[s], k); },
      [&](std::size_t s, std::size_t i) {
        return quantity(images.places_m[i] - behind.places_m[s], images.normals[i]);
      });
  add(
      behind.directions, kWavesBehind,
      [&](std::size_t s, std::size_t channel) { return plane_wave(microphones[channel], behind.directions[s], k); },
      [&](std::size_t s, std::size_t i) {
        return quantity.of_wave(images.places_m[i], behind.directions[s], images.normals[i]);
      });
}

}  // namespace

PriorCovariances make_covariances(const ImagePlan& plan, const std::vector<Vector3d>& sources, std::size_t frequency,
                                  const Folding& folding) {
  PriorCovariances covariances;
  add_front(covariances, plan, sources, frequency, folding);
  if (plan.separates()) {
    add_behind(covariances, plan, frequency, folding);
  }
  return covariances;
}

}  // namespace nearfield
