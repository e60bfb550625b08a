#include "limits/limit_words.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <string_view>

namespace nearfield::limits {
namespace {

using nlohmann::json;

std::string with_unit(double value, std::string_view unit) {
  if (std::isnan(value)) {
    return "no value";
  }
  return unit.empty() || unit == "1" ? fmt::format("{:.4g}", value) : fmt::format("{:.4g} {}", value, unit);
}

std::string place_in_words(const std::vector<LimitPlan::Coordinate>& position) {
  std::string text;
  for (const LimitPlan::Coordinate& coordinate : position) {
    text +=
        fmt::format("{}{} {:.6g}{}{}", text.empty() ? " at " : ", ", coordinate.name, fmt::join(coordinate.values, " "),
                    coordinate.unit == "1" ? "" : " ", coordinate.unit == "1" ? "" : coordinate.unit);
  }
  return text;
}

json number_or_null(double value) { return std::isfinite(value) ? json(value) : json(nullptr); }

}  // namespace

std::string text_of(const LimitEvent& event) {
  if (event.begins) {
    return fmt::format("limit {} is exceeded: {}{}", event.name, with_unit(event.value, event.unit),
                       place_in_words(event.position));
  }
  return fmt::format("limit {} is left: {}; the largest value was {}{}", event.name, with_unit(event.value, event.unit),
                     with_unit(event.largest, event.unit), place_in_words(event.position));
}

json json_of(const LimitEvent& event) {
  json position = json::object();
  for (const LimitPlan::Coordinate& coordinate : event.position) {
    position[coordinate.name] =
        coordinate.values.size() == 1 ? number_or_null(coordinate.values.front()) : json(coordinate.values);
  }
  return {{"name", event.name},
          {"event", event.begins ? "begin" : "end"},
          {"tai_ns", event.tai_ns},
          {"value", number_or_null(event.value)},
          {"largest", number_or_null(event.largest)},
          {"unit", event.unit},
          {"position", position}};
}

json json_of(const LimitState& state) {
  return {{"name", state.name},
          {"state", state.is_above ? "above" : "ok"},
          {"value", number_or_null(state.value)},
          {"unit", state.unit},
          {"since", state.since_tai_ns == 0 ? json(nullptr) : json(state.since_tai_ns)},
          {"events", state.events}};
}

}  // namespace nearfield::limits
