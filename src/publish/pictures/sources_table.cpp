#include "publish/pictures/sources_table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <complex>
#include <numbers>

#include "config/config.hpp"
#include "core/error.hpp"
#include "core/product.hpp"
#include "publish/pictures/axis.hpp"

namespace nearfield {
namespace {

constexpr double kDegrees = 180.0 / std::numbers::pi;
constexpr std::array kColumns = {"id", "state", "x", "y", "z", "confidence", "level_db"};

std::optional<std::size_t> column_of(const Product& table, std::string_view name) {
  const auto found = std::find_if(table.columns.begin(), table.columns.end(),
                                  [&](const Column& column) { return column.name == name; });
  return found == table.columns.end()
             ? std::nullopt
             : std::optional(static_cast<std::size_t>(std::distance(table.columns.begin(), found)));
}

/// The value of an axis that is not drawn; absent if the map has no axis of that name.
struct ChosenEntry {
  const Axis* axis = nullptr;
  std::size_t index = 0;

  [[nodiscard]] double value() const { return axis->values[index]; }
};

std::optional<ChosenEntry> entry_of(const ResultHeader& header, const Product& map,
                                    const std::vector<std::size_t>& indices, std::string_view name) {
  for (std::size_t i = 0; i < indices.size(); ++i) {
    if (map.axes[i] == name) {
      return ChosenEntry{header.axis(name), indices[i]};
    }
  }
  return std::nullopt;
}

/// True if no other entry is nearer to `value`.
bool is_nearest(const ChosenEntry& entry, double value) {
  const double distance = std::abs(entry.value() - value);
  return std::none_of(entry.axis->values.begin(), entry.axis->values.end(),
                      [&](double other) { return std::abs(other - value) < distance; });
}

struct MapPlace {
  double across = 0.0;
  double down = 0.0;
};

/// Maps positions and directions to planes; `z` is the distance behind the array's plane, negative in the field.
std::optional<MapPlace> on_plane(const std::optional<ChosenEntry>& distance, const FoundSource& source,
                                 bool is_direction, double z) {
  if (is_direction) {
    if (!distance || !(source.z < 0.0)) {
      return std::nullopt;
    }
    const double length = distance->value() / -source.z;
    return MapPlace{source.x * length, source.y * length};
  }
  return !distance || is_nearest(*distance, -z) ? std::optional(MapPlace{source.x, source.y}) : std::nullopt;
}

/// Maps to angles from the array's centre, or about the array's axis if the map has an axis of radii.
std::optional<MapPlace> on_angles(const std::optional<ChosenEntry>& distance, bool is_sphere, const FoundSource& source,
                                  bool is_direction, double z) {
  const double range = std::hypot(source.x, source.y, z);
  if (!(range > 0.0) || (distance && !is_direction && !is_nearest(*distance, range))) {
    return std::nullopt;
  }
  if (is_sphere) {
    return MapPlace{std::atan2(source.y, source.x) * kDegrees, std::asin(-z / range) * kDegrees};
  }
  const Bearing bearing = bearing_of(source.x, source.y, z);
  return MapPlace{bearing.azimuth_deg, bearing.elevation_deg};
}

}  // namespace

double standoff_of(const ResultHeader& header) {
  try {
    return load_recorded_settings(header.config, header.processor, {}).holography.standoff_m;
  } catch (const Error&) {
    return 0.0;
  }
}

std::optional<std::size_t> sources_table(const ResultHeader& header) {
  for (std::size_t i = 0; i < header.products.size(); ++i) {
    const Product& product = header.products[i];
    if (product.form == Product::Form::kTable && product.name == "sources" &&
        std::all_of(kColumns.begin(), kColumns.end(),
                    [&](const char* name) { return column_of(product, name).has_value(); })) {
      return i;
    }
  }
  return std::nullopt;
}

bool has_directions(const Product& table) { return table.columns.at(*column_of(table, "x")).unit != "m"; }

std::vector<FoundSource> read_sources(const Product& table, std::span<const std::byte> bytes) {
  std::vector<FoundSource> sources(std::min(rows_of(bytes), table.most_rows));
  const std::vector<ProductPlaces::Place> places = column_places(table);
  const auto for_column = [&](const char* name, const auto& put) {
    const std::size_t column = *column_of(table, name);
    const auto values =
        complex_values_of(table.columns[column].type, bytes.subspan(places[column].offset, places[column].bytes));
    for (std::size_t row = 0; row < sources.size(); ++row) {
      put(sources[row], values[row].real());
    }
  };
  for_column("id", [](FoundSource& row, double value) { row.id = static_cast<std::uint32_t>(value); });
  for_column("state", [](FoundSource& row, double value) { row.state = static_cast<std::uint32_t>(value); });
  for_column("x", [](FoundSource& row, double value) { row.x = value; });
  for_column("y", [](FoundSource& row, double value) { row.y = value; });
  for_column("z", [](FoundSource& row, double value) { row.z = value; });
  for_column("confidence", [](FoundSource& row, double value) { row.confidence = value; });
  for_column("level_db", [](FoundSource& row, double value) { row.level_db = value; });
  return sources;
}

Bearing bearing_of(double x, double y, double z) {
  const double length = std::hypot(x, y, z);
  return {std::asin(x / length) * kDegrees, std::asin(y / length) * kDegrees};
}

std::vector<Circle> circles_on(const ResultHeader& map_header, const Product& map,
                               const std::vector<std::size_t>& indices, const Product& table,
                               const std::vector<FoundSource>& sources) {
  const std::size_t count = map.axes.size();
  if (count < 2 || sources.empty()) {
    return {};
  }
  const bool is_plane = map.axes[count - 1] == "x" && map.axes[count - 2] == "y";
  const bool is_angles = map.axes[count - 1] == "azimuth" && map.axes[count - 2] == "elevation";
  if (!is_plane && !is_angles) {
    return {};
  }
  const bool is_direction = has_directions(table);
  const double standoff_m = is_direction ? 0.0 : standoff_of(map_header);
  const auto radius = entry_of(map_header, map, indices, "radius");
  const auto distance = radius ? radius : entry_of(map_header, map, indices, "distance");
  std::vector<Circle> circles;
  for (const FoundSource& source : sources) {
    const double z = source.z - standoff_m;
    const std::optional<MapPlace> place = is_plane ? on_plane(distance, source, is_direction, z)
                                                   : on_angles(distance, radius.has_value(), source, is_direction, z);
    if (place) {
      const std::string id = source.id > 0 ? fmt::format("#{}  ", source.id) : "";
      circles.push_back({place->across, place->down,
                         with_minus_signs(fmt::format("{}{:.1f} dB, {:.2f}", id, source.level_db, source.confidence)),
                         source.is_confirmed()});
    }
  }
  return circles;
}

}  // namespace nearfield
