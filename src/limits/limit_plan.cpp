#include "limits/limit_plan.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <complex>
#include <limits>
#include <numbers>
#include <numeric>
#include <type_traits>
#include <utility>

#include "core/daemon_settings.hpp"
#include "core/error.hpp"
#include "core/product.hpp"
#include "core/settings.hpp"

namespace nearfield::limits {
namespace {

using Settings = DaemonSettings::Limit;
using Run = LimitPlan::Run;
using Statistic = DaemonSettings::Statistic;

/// Tolerance of a given frequency, relative to the product's nearest one.
constexpr double kNearestFrequency = 0.05;
constexpr double kNearestPlane_m = 1e-4;
constexpr double kRounding_m = 1e-9;
/// Distance up to which a given position selects the only point of a product.
constexpr double kReachOfLonePoint_m = 0.01;
constexpr std::array<const char*, 3> kPlacesOfRows = {"x", "y", "z"};

[[noreturn]] void refuse_limit(const std::string& key, const std::string& message) {
  throw ConfigError(fmt::format("{}: {}", key, message));
}

bool is_surface_axis(const Axis& axis) { return (axis.name == "x" || axis.name == "y") && axis.components == 1; }
/// True for points with an x and a y each.
bool is_point_axis(const Axis& axis) { return axis.components >= 2 && axis.unit == "m"; }
bool is_frequency_axis(const Axis& axis) { return axis.name == "frequency" || axis.name == "band"; }
bool is_plane_axis(const Axis& axis) { return axis.name == "z" || axis.name == "distance"; }

std::vector<std::size_t> all_of(const Axis& axis) {
  std::vector<std::size_t> all(axis.size());
  std::iota(all.begin(), all.end(), std::size_t{0});
  return all;
}

std::size_t nearest_entry(const Axis& axis, double value) {
  const auto found = std::min_element(axis.values.begin(), axis.values.end(), [value](double a, double b) {
    return std::abs(a - value) < std::abs(b - value);
  });
  return static_cast<std::size_t>(found - axis.values.begin());
}

std::vector<std::size_t> entries_between(const Axis& axis, double low, double high) {
  std::vector<std::size_t> found;
  for (std::size_t i = 0; i < axis.values.size(); ++i) {
    if (axis.values[i] >= low - kRounding_m && axis.values[i] <= high + kRounding_m) {
      found.push_back(i);
    }
  }
  return found;
}

std::string range_of(const Axis& axis) {
  const auto [least, most] = std::minmax_element(axis.values.begin(), axis.values.end());
  return fmt::format("from {:.6g} to {:.6g} m", *least, *most);
}

/// Entries for a frequency; a band matches if it contains the frequency.
std::vector<std::size_t> entries_of_frequency(const Axis& axis, double frequency_hz, const std::string& key) {
  if (axis.components == 2) {
    for (std::size_t i = 0; i < axis.size(); ++i) {
      if (frequency_hz >= axis.values[2 * i] && frequency_hz < axis.values[2 * i + 1]) {
        return {i};
      }
    }
    refuse_limit(key, fmt::format("expected a frequency in one of the product's {} bands, found {} Hz", axis.size(),
                                  frequency_hz));
  }
  const std::size_t nearest = nearest_entry(axis, frequency_hz);
  if (std::abs(axis.values[nearest] - frequency_hz) > kNearestFrequency * frequency_hz) {
    refuse_limit(key, fmt::format("expected one of the product's frequencies within 5 %, of which {:.6g} Hz is the "
                                  "nearest, found {} Hz",
                                  axis.values[nearest], frequency_hz));
  }
  return {nearest};
}

std::vector<std::size_t> entries_of_plane(const Axis& axis, double plane_m, const std::string& key) {
  const std::size_t nearest = nearest_entry(axis, plane_m);
  if (std::abs(axis.values[nearest] - plane_m) > kNearestPlane_m) {
    refuse_limit(key, fmt::format("expected one of the product's planes {} ({} m), found {} m", axis.name,
                                  fmt::join(axis.values, ", "), plane_m));
  }
  return {nearest};
}

/// The largest step: points along a line, like those of a surface of points, need not be evenly spaced.
double largest_step_m(const Axis& axis) {
  double step_m = 0.0;
  for (std::size_t i = 1; i < axis.values.size(); ++i) {
    step_m = std::max(step_m, std::abs(axis.values[i] - axis.values[i - 1]));
  }
  return step_m;
}

/// Pitch of the axis, or of the other one of x and y if this one has a single entry; 0 if both have.
double pitch_of(const Axis& axis, const std::vector<Axis>& axes) {
  if (axis.values.size() > 1) {
    return largest_step_m(axis);
  }
  const auto other = std::find_if(axes.begin(), axes.end(),
                                  [](const Axis& one) { return is_surface_axis(one) && one.values.size() > 1; });
  return other == axes.end() ? 0.0 : largest_step_m(*other);
}

/// The nearest pixel, at most half a pitch beyond the outer ones.
std::vector<std::size_t> entries_of_point(const Axis& axis, double place_m, double pitch_m, const std::string& key) {
  const std::size_t nearest = nearest_entry(axis, place_m);
  if (std::abs(axis.values[nearest] - place_m) > pitch_m / 2.0 + kRounding_m) {
    refuse_limit(
        key, fmt::format("expected {} of a point of the product, {}, found {} m", axis.name, range_of(axis), place_m));
  }
  return {nearest};
}

std::vector<std::size_t> entries_of_region(const Axis& axis, const std::vector<double>& region_m,
                                           const std::string& key) {
  const std::size_t first = axis.name == "x" ? 0 : 1;
  std::vector<std::size_t> found = entries_between(axis, region_m[first], region_m[first + 2]);
  if (found.empty()) {
    refuse_limit(key, fmt::format("expected a region with points of the product, whose {} are {}, found {} to {} m",
                                  axis.name, range_of(axis), region_m[first], region_m[first + 2]));
  }
  return found;
}

/// x and y of a point.
std::array<double, 2> place_of_point(const Axis& axis, std::size_t index) {
  return {axis.values[index * axis.components], axis.values[index * axis.components + 1]};
}

double apart_m(const std::array<double, 2>& a, const std::array<double, 2>& b) {
  return std::hypot(a[0] - b[0], a[1] - b[1]);
}

/// Largest distance of a position that selects a point: half the diagonal of a square whose side is the distance to the
/// next point.
double reach_of_point_m(const Axis& axis, std::size_t index) {
  double next_m = std::numeric_limits<double>::infinity();
  for (std::size_t i = 0; i < axis.size(); ++i) {
    const double distance_m = apart_m(place_of_point(axis, i), place_of_point(axis, index));
    next_m = distance_m > kRounding_m ? std::min(next_m, distance_m) : next_m;
  }
  return std::isfinite(next_m) ? next_m / std::numbers::sqrt2 : kReachOfLonePoint_m;
}

/// The nearest point, of an axis whose first two components are x and y.
std::vector<std::size_t> nearest_point(const Axis& axis, const std::vector<double>& point_m, const std::string& key) {
  const std::array<double, 2> asked = {point_m[0], point_m[1]};
  std::size_t nearest = 0;
  for (std::size_t i = 1; i < axis.size(); ++i) {
    nearest = apart_m(place_of_point(axis, i), asked) < apart_m(place_of_point(axis, nearest), asked) ? i : nearest;
  }
  const std::array<double, 2> found = place_of_point(axis, nearest);
  const double reach_m = reach_of_point_m(axis, nearest);
  if (apart_m(found, asked) > reach_m + kRounding_m) {
    refuse_limit(key, fmt::format("expected a place within {:.4g} m of one of the product's points, of which "
                                  "[{:.6g}, {:.6g}] m is the nearest, found [{:.6g}, {:.6g}] m",
                                  reach_m, found[0], found[1], asked[0], asked[1]));
  }
  return {nearest};
}

/// The points in the region.
std::vector<std::size_t> points_in_region(const Axis& axis, const std::vector<double>& region_m,
                                          const std::string& key) {
  std::vector<std::size_t> found;
  for (std::size_t i = 0; i < axis.size(); ++i) {
    const auto [x_m, y_m] = place_of_point(axis, i);
    if (x_m >= region_m[0] - kRounding_m && x_m <= region_m[2] + kRounding_m && y_m >= region_m[1] - kRounding_m &&
        y_m <= region_m[3] + kRounding_m) {
      found.push_back(i);
    }
  }
  if (found.empty()) {
    refuse_limit(key,
                 fmt::format("expected a region with some of the product's {} points, found none in it", axis.size()));
  }
  return found;
}

/// Every combination of the chosen entries, as runs of values; the last axis varies fastest.
std::vector<Run> runs_of_entries(const std::vector<std::vector<std::size_t>>& chosen, const std::vector<Axis>& axes) {
  std::vector<Run> runs;
  std::vector<std::size_t> at(chosen.size(), 0);
  while (true) {
    std::size_t index = 0;
    for (std::size_t axis = 0; axis < axes.size(); ++axis) {
      index = index * axes[axis].size() + chosen[axis][at[axis]];
    }
    if (!runs.empty() && runs.back().first + runs.back().count == index) {
      ++runs.back().count;
    } else {
      runs.push_back({.first = index, .count = 1});
    }
    std::size_t axis = chosen.size();
    while (axis > 0 && ++at[axis - 1] == chosen[axis - 1].size()) {
      at[--axis] = 0;
    }
    if (axis == 0) {
      return runs;
    }
  }
}

/// Comparison by magnitude: squares of complex magnitudes, other values as they are.
struct OfMagnitude {
  template <class T>
  auto operator()(const T& value) const {
    if constexpr (std::is_same_v<T, std::complex<float>>) {
      return value.real() * value.real() + value.imag() * value.imag();
    } else if constexpr (std::is_same_v<T, float>) {
      return value;
    } else {
      return static_cast<double>(value);
    }
  }
  /// Inverse of operator(): the value that gave `compared`.
  template <class T>
  static double value(double compared) {
    return std::is_same_v<T, std::complex<float>> ? std::sqrt(compared) : compared;
  }
};

/// Comparison for complex values that are real and signed, such as intensities.
struct OfRealPart {
  template <class T>
  auto operator()(const T& value) const {
    if constexpr (std::is_same_v<T, std::complex<float>>) {
      return value.real();
    } else {
      return OfMagnitude{}(value);
    }
  }
  template <class T>
  static double value(double compared) {
    return compared;
  }
};

/// Calls `look` with the comparison.
template <class Look>
void with_comparison(bool is_signed, Look look) {
  if (is_signed) {
    look(OfRealPart{});
  } else {
    look(OfMagnitude{});
  }
}

/// The largest finite value; minus infinity if there is none. In lanes, so that compilers vectorise it.
template <class T, class Comparison>
auto largest_of(std::span<const T> values, Comparison compared) {
  using Number = decltype(compared(values[0]));
  constexpr std::size_t kLanes = 8;
  constexpr Number kMost = std::numeric_limits<Number>::max();
  std::array<Number, kLanes> most;
  most.fill(-std::numeric_limits<Number>::infinity());
  const std::size_t whole = values.size() / kLanes * kLanes;
  for (std::size_t i = 0; i < whole; i += kLanes) {
    for (std::size_t lane = 0; lane < kLanes; ++lane) {
      const Number value = compared(values[i + lane]);
      const Number finite = value <= kMost ? value : most[lane];
      most[lane] = finite > most[lane] ? finite : most[lane];
    }
  }
  for (std::size_t i = whole; i < values.size(); ++i) {
    const Number value = compared(values[i]);
    most[0] = value > most[0] && value <= kMost ? value : most[0];
  }
  return *std::max_element(most.begin(), most.end());
}

template <class T, class Comparison>
double largest_in(std::span<const T> values, std::span<const Run> runs, Comparison compared) {
  double most = -std::numeric_limits<double>::infinity();
  for (const Run& run : runs) {
    most = std::max(most, static_cast<double>(largest_of(values.subspan(run.first, run.count), compared)));
  }
  return most;
}

/// The mean of squares for amplitudes, else of the values or magnitudes; also in lanes. Finite values only; NaN if
/// there is none.
template <class T, class Comparison>
double mean_in(std::span<const T> values, std::span<const Run> runs, bool are_amplitudes, Comparison compared) {
  constexpr std::size_t kLanes = 4;
  constexpr bool kIsSquare = std::is_same_v<T, std::complex<float>> && std::is_same_v<Comparison, OfMagnitude>;
  const auto summed = [&](const T& one) {
    const auto value = static_cast<double>(compared(one));
    if constexpr (kIsSquare) {
      return are_amplitudes ? value : std::sqrt(value);
    } else {
      return are_amplitudes ? value * value : value;
    }
  };
  std::array<double, kLanes> sums{};
  std::array<double, kLanes> counts{};
  for (const Run& run : runs) {
    for (std::size_t i = 0; i < run.count; ++i) {
      const double value = summed(values[run.first + i]);
      const bool is_finite = std::abs(value) <= std::numeric_limits<double>::max();
      sums[i % kLanes] += is_finite ? value : 0.0;
      counts[i % kLanes] += is_finite ? 1.0 : 0.0;
    }
  }
  return std::accumulate(sums.begin(), sums.end(), 0.0) / std::accumulate(counts.begin(), counts.end(), 0.0);
}

}  // namespace

std::string LimitPlan::key(const char* name) const { return fmt::format("daemon.limits.{}.{}", settings_.name, name); }

LimitPlan::LimitPlan(DaemonSettings::Limit settings, std::span<const ResultHeader* const> headers)
    : settings_(std::move(settings)) {
  find_product(headers);
  if (description_.form == Product::Form::kTable) {
    choose_column();
  } else {
    choose_values();
  }
  set_level();
}

void LimitPlan::find_product(std::span<const ResultHeader* const> headers) {
  const auto names_of = [](const auto& all, const auto& name) {
    std::vector<std::string> names;
    std::transform(all.begin(), all.end(), std::back_inserter(names), name);
    return fmt::format("{}", fmt::join(names, ", "));
  };
  const auto processor = std::find_if(headers.begin(), headers.end(), [this](const ResultHeader* header) {
    return header->processor == settings_.processor;
  });
  if (processor == headers.end()) {
    refuse_limit(key("processor"),
                 fmt::format("expected one of {}, found \"{}\"",
                             names_of(headers, [](const ResultHeader* header) { return header->processor; }),
                             settings_.processor));
  }
  processor_ = static_cast<std::size_t>(processor - headers.begin());
  const ResultHeader& header = **processor;
  const Product* const product = header.product(settings_.product);
  if (product == nullptr) {
    refuse_limit(key("product"), fmt::format("expected one of {}, which {} makes, found \"{}\"",
                                             names_of(header.products, [](const Product& one) { return one.name; }),
                                             settings_.processor, settings_.product));
  }
  product_ = static_cast<std::size_t>(product - header.products.data());
  description_ = *product;
  const bool is_table = product->form == Product::Form::kTable;
  if (is_table == settings_.column.empty()) {
    refuse_limit(
        key("column"),
        is_table ? fmt::format("expected one of {}, columns of the table {}, found nothing",
                               names_of(product->columns, [](const Column& one) { return one.name; }), product->name)
                 : fmt::format("expected nothing, as {} is no table, found \"{}\"", product->name, settings_.column));
  }
  for (const std::string& name : product->axes) {
    axes_.push_back(*header.axis(name));
  }
}

/// Throws ConfigError for a given position, frequency or plane without a matching axis.
void LimitPlan::require_axes() const {
  const auto has = [this](auto is_it) { return std::any_of(axes_.begin(), axes_.end(), is_it); };
  const bool has_places = has(is_point_axis) || std::count_if(axes_.begin(), axes_.end(), is_surface_axis) == 2;
  const bool is_table = description_.form == Product::Form::kTable;
  if (settings_.point_m && !has_places) {
    refuse_limit(key("point_m"),
                 fmt::format("expected nothing, as {} has no axes x and y, found a point", description_.name));
  }
  if (settings_.region_m && !has_places && !(is_table && row_places_[0] && row_places_[1])) {
    refuse_limit(key("region_m"),
                 fmt::format("expected nothing, as {} has no axes x and y, found a region", description_.name));
  }
  if (settings_.frequency_hz && !has(is_frequency_axis)) {
    refuse_limit(key("frequency_hz"), fmt::format("expected nothing, as {} has no axis of frequencies, found {} Hz",
                                                  description_.name, *settings_.frequency_hz));
  }
  if (settings_.plane_m && !has(is_plane_axis)) {
    refuse_limit(key("plane_m"), fmt::format("expected nothing, as {} has no axis of planes, found {} m",
                                             description_.name, *settings_.plane_m));
  }
}

std::vector<std::size_t> LimitPlan::chosen_of(const Axis& axis) const {
  if (is_frequency_axis(axis) && settings_.frequency_hz) {
    return entries_of_frequency(axis, *settings_.frequency_hz, key("frequency_hz"));
  }
  if (is_plane_axis(axis) && settings_.plane_m) {
    return entries_of_plane(axis, *settings_.plane_m, key("plane_m"));
  }
  if (is_point_axis(axis) && settings_.point_m) {
    return nearest_point(axis, *settings_.point_m, key("point_m"));
  }
  if (is_point_axis(axis) && settings_.region_m) {
    return points_in_region(axis, *settings_.region_m, key("region_m"));
  }
  if (is_surface_axis(axis) && settings_.point_m) {
    return entries_of_point(axis, (*settings_.point_m)[axis.name == "x" ? 0 : 1], pitch_of(axis, axes_),
                            key("point_m"));
  }
  if (is_surface_axis(axis) && settings_.region_m) {
    return entries_of_region(axis, *settings_.region_m, key("region_m"));
  }
  return all_of(axis);
}

void LimitPlan::choose_values() {
  require_axes();
  type_ = description_.type;
  unit_ = description_.unit;
  is_signed_ = description_.quantity == name_of(Quantity::kActiveIntensity);
  std::vector<std::vector<std::size_t>> chosen;
  chosen.reserve(axes_.size());
  for (const Axis& axis : axes_) {
    chosen.push_back(chosen_of(axis));
  }
  runs_ = runs_of_entries(chosen, axes_);
  for (const Run& run : runs_) {
    values_ += run.count;
  }
}

void LimitPlan::choose_column() {
  const auto column_of = [this](std::string_view name) -> std::optional<std::size_t> {
    const auto found = std::find_if(description_.columns.begin(), description_.columns.end(),
                                    [name](const Column& column) { return column.name == name; });
    return found == description_.columns.end()
               ? std::nullopt
               : std::optional(static_cast<std::size_t>(found - description_.columns.begin()));
  };
  const std::optional<std::size_t> column = column_of(settings_.column);
  if (!column) {
    std::vector<std::string> names;
    std::transform(description_.columns.begin(), description_.columns.end(), std::back_inserter(names),
                   [](const Column& one) { return one.name; });
    refuse_limit(key("column"), fmt::format("expected one of {}, columns of the table {}, found \"{}\"",
                                            fmt::join(names, ", "), description_.name, settings_.column));
  }
  for (std::size_t i = 0; i < kPlacesOfRows.size(); ++i) {
    const std::optional<std::size_t> found = column_of(kPlacesOfRows[i]);
    row_places_[i] =
        found && description_.columns[*found].type == ElementType::kFloat32 ? found : std::optional<std::size_t>();
  }
  require_axes();
  column_places_ = column_places(description_);
  column_ = column_places_[*column];
  type_ = description_.columns[*column].type;
  unit_ = description_.columns[*column].unit;
  values_ = description_.most_rows;
}

void LimitPlan::set_level() {
  Product judged = description_;
  judged.unit = unit_;
  judged.type = type_;
  const LevelRule rule = level_rule(judged);
  constexpr double kOfAmplitudes = 20.0;
  is_amplitude_ = rule.db_per_decade == kOfAmplitudes;
  const bool is_level = unit_.starts_with("dB");
  if (settings_.above_db && is_level) {
    refuse_limit(key("above_db"), fmt::format("expected above, as the values are levels in {}, found above_db", unit_));
  }
  above_ = settings_.above_db ? rule.value(*settings_.above_db) : settings_.above.value_or(0.0);
  below_ = is_level
               ? above_ - settings_.hysteresis_db
               : above_ * std::pow(10.0, (above_ < 0.0 ? 1.0 : -1.0) * settings_.hysteresis_db / rule.db_per_decade);
}

Reading LimitPlan::read(const Frame& frame) const {
  const std::span<const std::byte> product = frame.products[product_];
  if (description_.form == Product::Form::kTable) {
    return read_table(product, nullptr);
  }
  Reading reading;
  with_values(type_, product, [&]<class T>(std::span<const T> values) {
    with_comparison(is_signed_, [&]<class Comparison>(Comparison compared) {
      if (settings_.statistic == Statistic::kMax) {
        reading.value = Comparison::template value<T>(largest_in(values, runs_, compared));
        return;
      }
      const double mean = mean_in(values, runs_, is_amplitude_, compared);
      reading.value = is_amplitude_ ? std::sqrt(mean) : mean;
    });
  });
  reading.is_number = std::isfinite(reading.value);
  return reading;
}

LimitPlan::Place LimitPlan::place_of_largest(const Frame& frame) const {
  const std::span<const std::byte> product = frame.products[product_];
  Place place;
  if (description_.form == Product::Form::kTable) {
    (void)read_table(product, &place);
    return place;
  }
  with_values(type_, product, [&]<class T>(std::span<const T> values) {
    with_comparison(is_signed_, [&](auto compared) {
      const double most = largest_in(values, runs_, compared);
      for (const Run& run : runs_) {
        for (std::size_t i = run.first; i < run.first + run.count; ++i) {
          if (static_cast<double>(compared(values[i])) == most) {
            place.index = i;
            return;
          }
        }
      }
    });
  });
  return place;
}

/// Evaluates the rows in the region; `place`, unless null, gets the position of the largest value.
Reading LimitPlan::read_table(std::span<const std::byte> table, Place* place) const {
  const std::uint64_t rows = std::min<std::uint64_t>(rows_of(table), description_.most_rows);
  const auto coordinate = [&](std::size_t which, std::size_t row) {
    const ProductPlaces::Place& at = column_places_[*row_places_[which]];
    return static_cast<double>(values_of<float>(table.subspan(at.offset, at.bytes))[row]);
  };
  const auto counts = [&](std::size_t row) {
    if (!settings_.region_m) {
      return true;
    }
    const double x_m = coordinate(0, row);
    const double y_m = coordinate(1, row);
    const std::vector<double>& region = *settings_.region_m;
    return x_m >= region[0] && x_m <= region[2] && y_m >= region[1] && y_m <= region[3];
  };
  Reading reading{.has_values = false};
  with_values(type_, table.subspan(column_.offset, column_.bytes), [&]<class T>(std::span<const T> values) {
    for (std::size_t row = 0; row < rows; ++row) {
      const auto value = static_cast<double>(OfMagnitude{}(values[row]));
      if (!std::isfinite(value) || !counts(row) || (reading.is_number && value <= reading.value)) {
        continue;
      }
      reading.value = value;
      reading.is_number = reading.has_values = true;
      if (place != nullptr) {
        place->index = row;
      }
    }
  });
  if (place != nullptr && reading.is_number) {
    for (std::size_t which = 0; which < kPlacesOfRows.size(); ++which) {
      place->row_m[which] = row_places_[which] ? coordinate(which, place->index) : 0.0;
    }
  }
  return reading;
}

std::vector<LimitPlan::Coordinate> LimitPlan::position(const Place& place) const {
  std::vector<Coordinate> position;
  if (description_.form == Product::Form::kTable) {
    for (std::size_t which = 0; which < kPlacesOfRows.size(); ++which) {
      if (row_places_[which]) {
        position.push_back({.name = kPlacesOfRows[which],
                            .unit = description_.columns[*row_places_[which]].unit,
                            .values = {place.row_m[which]}});
      }
    }
    return position;
  }
  std::size_t rest = place.index;
  for (auto axis = axes_.rbegin(); axis != axes_.rend(); ++axis) {
    const std::size_t entry = rest % axis->size();
    rest /= axis->size();
    const auto first = axis->values.begin() + static_cast<std::ptrdiff_t>(entry * axis->components);
    position.push_back({.name = axis->name,
                        .unit = axis->unit,
                        .values = {first, first + static_cast<std::ptrdiff_t>(axis->components)}});
  }
  std::reverse(position.begin(), position.end());
  return position;
}

bool LimitPlan::is_like(const LimitPlan& other) const {
  return settings_ == other.settings_ && description_ == other.description_ && axes_ == other.axes_;
}

std::vector<LimitPlan> plan_limits(std::span<const DaemonSettings::Limit> limits,
                                   std::span<const ResultHeader* const> headers) {
  std::vector<LimitPlan> plans;
  plans.reserve(limits.size());
  for (const DaemonSettings::Limit& limit : limits) {
    plans.emplace_back(limit, headers);
  }
  return plans;
}

}  // namespace nearfield::limits
