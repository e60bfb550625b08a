#include "processors/beamform/beam_pattern.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

#include "core/error.hpp"
#include "imaging/priors/make_mask.hpp"
#include "processors/beamform/plan.hpp"
#include "processors/beamform/published_reference.hpp"
#include "processors/far_field/subset.hpp"

namespace nearfield {
namespace {

using far_field::Position;
using reference::Complex;

constexpr double kNoFigure = std::numeric_limits<double>::quiet_NaN();
constexpr double kHalfPower = 0.5;
constexpr double kCircleDegrees = 360.0;

double in_decibels(double power) { return 10.0 * std::log10(power); }

/// Settings for delay and sum at single frequencies, whatever the processor makes from it.
BeamformSettings settings_of_pattern(const BeamformSettings& own) {
  BeamformSettings settings = own;
  settings.method = Method::kDas;
  settings.average.kind = AverageKind::kNone;
  settings.octave_hz.clear();
  settings.third_octave_hz.clear();
  settings.focus = Focus::kNone;
  settings.sectors.clear();
  return settings;
}

/// Pixels of the grid as an array over its axes.
class PixelOrder {
 public:
  PixelOrder(const std::vector<Axis>& axes, bool is_full_circle) : axes_(&axes), is_full_circle_(is_full_circle) {}
  [[nodiscard]] std::size_t axes() const { return axes_->size(); }
  [[nodiscard]] std::size_t size(std::size_t axis) const { return (*axes_)[axis].size(); }
  /// Distance in pixels between neighbouring entries of an axis.
  [[nodiscard]] std::size_t step(std::size_t axis) const {
    std::size_t step = 1;
    for (std::size_t i = axis + 1; i < axes(); ++i) {
      step *= size(i);
    }
    return step;
  }
  [[nodiscard]] std::size_t index(std::size_t pixel, std::size_t axis) const { return pixel / step(axis) % size(axis); }
  /// Points of a file have no order.
  [[nodiscard]] bool has_order(std::size_t axis) const { return (*axes_)[axis].components == 1; }
  /// True if the entries ascend, so that neighbouring entries are neighbours in space; planes may be in any order.
  [[nodiscard]] bool rises(std::size_t axis) const {
    const std::vector<double>& values = (*axes_)[axis].values;
    return has_order(axis) && std::is_sorted(values.begin(), values.end());
  }
  /// True if the axis wraps around: its last entry is next to its first.
  [[nodiscard]] bool is_round(std::size_t axis) const {
    return is_full_circle_ && (*axes_)[axis].name == "azimuth" && size(axis) > 2;
  }
  [[nodiscard]] bool rises() const {
    bool all = true;
    for (std::size_t axis = 0; axis < axes(); ++axis) {
      all = all && rises(axis);
    }
    return all;
  }
  [[nodiscard]] double place(std::size_t pixel, std::size_t axis) const {
    return has_order(axis) ? (*axes_)[axis].values[index(pixel, axis)] : static_cast<double>(index(pixel, axis));
  }
  [[nodiscard]] std::vector<double> places(std::size_t pixel) const {
    std::vector<double> all;
    for (std::size_t axis = 0; axis < axes(); ++axis) {
      all.push_back(place(pixel, axis));
    }
    return all;
  }
  /// Calls `visit` for each pixel that differs by at most one along each axis.
  template <typename Visit>
  void for_each_neighbour(std::size_t pixel, const Visit& visit) const {
    visit_from(pixel, 0, pixel, visit);
  }

 private:
  template <typename Visit>
  void visit_from(std::size_t pixel, std::size_t axis, std::size_t neighbour, const Visit& visit) const {
    if (axis == axes()) {
      if (neighbour != pixel) {
        visit(neighbour);
      }
      return;
    }
    const std::size_t at = index(pixel, axis);
    const std::size_t round = (size(axis) - 1) * step(axis);
    if (at > 0 || is_round(axis)) {
      visit_from(pixel, axis + 1, at > 0 ? neighbour - step(axis) : neighbour + round, visit);
    }
    visit_from(pixel, axis + 1, neighbour, visit);
    if (at + 1 < size(axis) || is_round(axis)) {
      visit_from(pixel, axis + 1, at + 1 < size(axis) ? neighbour + step(axis) : neighbour - round, visit);
    }
  }
  const std::vector<Axis>* axes_;
  bool is_full_circle_;
};

/// |h^H p|^2 at each pixel, with its diagonal removed if the settings ask for that.
std::vector<double> powers_of(const BeamformPlan& plan, const reference::Array& array,
                              const std::vector<std::size_t>& channels, const std::vector<Complex>& pressures,
                              const std::function<void(double share)>& progress) {
  constexpr std::size_t kPixelsOfProgress = 1024;
  std::vector<double> powers;
  for (std::size_t pixel = 0; pixel < plan.pixels(); ++pixel) {
    if (progress && pixel % kPixelsOfProgress == 0) {
      progress(static_cast<double>(pixel) / static_cast<double>(plan.pixels()));
    }
    if (std::isnan(plan.grid.pixels[pixel].x)) {
      powers.push_back(kNoFigure);
      continue;
    }
    powers.push_back(reference::das_power(plan, channels, array.steer(channels, pixel, 0), pressures));
  }
  return powers;
}

/// Field of the source at these microphones, up to a factor.
std::vector<Complex> field_of(const BeamformPlan& plan, const std::vector<std::size_t>& channels,
                              const PatternSource& source) {
  const double k = 2.0 * std::numbers::pi * plan.waves_per_m(0);
  std::vector<Complex> field;
  if (!source.place_m) {
    constexpr double kDegree = std::numbers::pi / 180.0;
    const double x = std::sin(source.direction_deg[0] * kDegree);
    const double y = std::sin(source.direction_deg[1] * kDegree);
    const Position u = {x, y, -std::sqrt(std::max(0.0, 1.0 - x * x - y * y))};
    for (const std::size_t m : channels) {
      field.push_back(std::polar(1.0, k * dot(u, plan.microphones[m])));
    }
    return field;
  }
  const auto& [x, y, z] = *source.place_m;
  const Position place = {x, y, z - plan.array.standoff_m};
  for (const std::size_t m : channels) {
    const double r = distance(place, plan.microphones[m]);
    if (!(r >= kNearest_m)) {
      throw ConfigError(fmt::format("source: expected a place at least {} m from each microphone, found ({}, {}, {}) m",
                                    kNearest_m, x, y, z));
    }
    field.push_back(std::polar(norm(place) / r, -k * (r - norm(place))));
  }
  return field;
}

/// Position of half the largest power on the line of neighbours from the peak; NaN if the pixels end before.
/// `direction` is 1 or -1.
double half_power_place(const std::vector<double>& powers, const PixelOrder& order, std::size_t peak, std::size_t axis,
                        int direction) {
  std::size_t pixel = peak;
  double place = order.place(peak, axis);  // continues beyond a full circle's end
  for (std::size_t steps = 1; steps < order.size(axis); ++steps) {
    const std::size_t at = order.index(pixel, axis);
    const bool is_end = direction < 0 ? at == 0 : at + 1 == order.size(axis);
    if (is_end && !order.is_round(axis)) {
      return kNoFigure;
    }
    const std::size_t begin = pixel - at * order.step(axis);
    const std::size_t next_at = direction < 0 ? (is_end ? order.size(axis) : at) - 1 : (is_end ? 0 : at + 1);
    const std::size_t next = begin + next_at * order.step(axis);
    const double apart =
        order.place(next, axis) - order.place(pixel, axis) + (is_end ? direction * kCircleDegrees : 0.0);
    if (std::isnan(powers[next])) {
      return kNoFigure;
    }
    if (powers[next] < kHalfPower * powers[peak]) {
      const double share = (powers[pixel] - kHalfPower * powers[peak]) / (powers[pixel] - powers[next]);
      return place + share * apart;
    }
    place += apart;
    pixel = next;
  }
  return kNoFigure;
}

/// Connected pixels around the peak with at least half the largest power.
std::vector<bool> main_lobe(const std::vector<double>& powers, const PixelOrder& order, std::size_t peak) {
  std::vector<bool> is_inside(powers.size());
  std::vector<std::size_t> border = {peak};
  is_inside[peak] = true;
  while (!border.empty()) {
    const std::size_t pixel = border.back();
    border.pop_back();
    order.for_each_neighbour(pixel, [&](std::size_t neighbour) {
      if (!is_inside[neighbour] && powers[neighbour] >= kHalfPower * powers[peak]) {
        is_inside[neighbour] = true;
        border.push_back(neighbour);
      }
    });
  }
  return is_inside;
}

/// Largest local maximum outside the main lobe; nothing if there is none.
std::optional<std::size_t> side_lobe_of(const std::vector<double>& powers, const PixelOrder& order, std::size_t peak) {
  const std::vector<bool> is_main = main_lobe(powers, order, peak);
  std::optional<std::size_t> largest;
  for (std::size_t pixel = 0; pixel < powers.size(); ++pixel) {
    if (is_main[pixel] || !(powers[pixel] > (largest ? powers[*largest] : 0.0))) {
      continue;
    }
    bool is_top = true;
    order.for_each_neighbour(pixel,
                             [&](std::size_t neighbour) { is_top = is_top && !(powers[neighbour] > powers[pixel]); });
    largest = is_top ? std::optional(pixel) : largest;
  }
  return largest;
}

/// Adds the beam's gains at a pixel: its source over noise, relative to a single microphone, for independent noise of
/// the microphones and for isotropic noise, with coherence sin(kd)/(kd).
void add_gains(const BeamformPlan& plan, const std::vector<std::size_t>& channels, const std::vector<Complex>& steering,
               PatternFigures& figures) {
  const std::vector<Complex> h = reference::weights_of(plan, channels, steering);
  const double k = 2.0 * std::numbers::pi * plan.waves_per_m(0);
  Complex beam = 0.0;
  double source = 0.0;
  double white = 0.0;
  double diffuse = 0.0;
  for (std::size_t m = 0; m < h.size(); ++m) {
    beam += std::conj(h[m]) * steering[m];
    source += std::norm(steering[m]) / static_cast<double>(h.size());
    white += std::norm(h[m]);
    for (std::size_t n = 0; n < h.size(); ++n) {
      const double kd = k * distance(plan.microphones[channels[m]], plan.microphones[channels[n]]);
      diffuse += (std::conj(h[m]) * h[n]).real() * (kd > 0.0 ? std::sin(kd) / kd : 1.0);
    }
  }
  figures.white_noise_gain_db = in_decibels(std::norm(beam) / source / white);
  figures.directivity_db = in_decibels(std::norm(beam) / source / diffuse);
}

PatternFigures figures_of(const BeamformPlan& plan, const std::vector<double>& powers, std::size_t peak) {
  const PixelOrder order(plan.grid.axes, far_field::is_full_circle(plan.settings.grid));
  PatternFigures figures;
  figures.peak = order.places(peak);
  for (std::size_t axis = 0; axis < order.axes(); ++axis) {
    figures.half_power_width.push_back(order.rises(axis) ? half_power_place(powers, order, peak, axis, 1) -
                                                               half_power_place(powers, order, peak, axis, -1)
                                                         : kNoFigure);
  }
  const auto lobe = order.rises() ? side_lobe_of(powers, order, peak) : std::nullopt;
  figures.side_lobe_db = lobe ? in_decibels(powers[*lobe] / powers[peak]) : kNoFigure;
  figures.side_lobe = lobe ? order.places(*lobe) : std::vector<double>(order.axes(), kNoFigure);
  return figures;
}

/// Adds a figure of the header, with its value.
void add_figure(BeamPattern& result, const std::string& name, const std::string& quantity, const std::string& unit,
                double value) {
  result.header.products.push_back({.name = name,
                                    .quantity = quantity,
                                    .unit = unit,
                                    .form = Product::Form::kFigure,
                                    .type = ElementType::kFloat32,
                                    .axes = {"frequency"}});
  result.figure_values.push_back(static_cast<float>(value));
}

void describe_pattern(const BeamformPlan& plan, BeamPattern& result) {
  ResultHeader& header = result.header;
  header.processor = plan.name;
  header.kind = "beamform";
  header.axes = {{.name = "frequency", .unit = "Hz", .values = plan.frequencies_hz}};
  Product pattern = {.name = "pattern",
                     .quantity = "power that one source has on the map, re its largest value",
                     .unit = "1",
                     .type = ElementType::kFloat32,
                     .axes = {"frequency"}};
  for (const Axis& axis : plan.grid.axes) {
    header.axes.push_back(axis);
    pattern.axes.push_back(axis.name);
  }
  header.products.push_back(std::move(pattern));
  const PatternFigures& figures = result.figures;
  for (std::size_t axis = 0; axis < plan.grid.axes.size(); ++axis) {
    const Axis& of = plan.grid.axes[axis];
    if (of.components == 1) {
      add_figure(result, "half_power_width_" + of.name, "width of the main lobe along " + of.name, of.unit,
                 figures.half_power_width[axis]);
    }
  }
  add_figure(result, "side_lobe_db", "highest side lobe", "dB", figures.side_lobe_db);
  add_figure(result, "white_noise_gain_db", "gain over noise of the microphones", "dB", figures.white_noise_gain_db);
  add_figure(result, "directivity_db", "gain over noise from all directions", "dB", figures.directivity_db);
  far_field::add_places(plan.array.geometry, header);
}

}  // namespace

BeamPattern beam_pattern(const ProcessorPlan& plan, const PatternSource& source,
                         const std::function<void(double share)>& progress) {
  const BeamformSettings settings = settings_of_pattern(dynamic_cast<const BeamformSettings&>(*plan.own));
  const far_field::PlanOfSubset of(plan, settings.steering.subset);
  ProcessorPlan part = of.plan;
  part.own = &settings;
  const BeamformPlan own(part);
  reference::Array array(own);
  array.use(make_mask(own.array, {}));
  const std::vector<std::size_t> channels = array.unmasked();
  if (channels.empty()) {
    throw ConfigError(fmt::format("processors.{}: expected at least {} microphones that are not masked", plan.name,
                                  kFewestMicrophones));
  }
  const std::vector<double> powers = powers_of(own, array, channels, field_of(own, channels, source), progress);
  std::size_t peak = 0;
  for (std::size_t pixel = 1; pixel < powers.size(); ++pixel) {
    peak = powers[pixel] > powers[peak] || std::isnan(powers[peak]) ? pixel : peak;
  }
  if (!(powers[peak] > 0.0)) {
    throw ConfigError(
        fmt::format("processors.{}.grid: expected a pixel with an answer to the source, found none", plan.name));
  }
  BeamPattern result;
  result.figures = figures_of(own, powers, peak);
  result.figures.microphones = static_cast<int>(channels.size());
  add_gains(own, channels, array.steer(channels, peak, 0), result.figures);
  std::transform(powers.begin(), powers.end(), std::back_inserter(result.pattern),
                 [&](double power) { return static_cast<float>(power / powers[peak]); });
  result.flags = own.array.constant_flags();
  describe_pattern(own, result);
  return result;
}

}  // namespace nearfield
