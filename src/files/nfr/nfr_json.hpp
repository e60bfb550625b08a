#pragma once
#include <fmt/format.h>

#include <cstddef>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/error.hpp"
#include "core/geometry.hpp"

/// JSON of records, whose text is untrusted.
namespace nearfield::nfr {

using Json = nlohmann::json;

/// Tolerates invalid UTF-8: text from outside, such as a configuration's comments, may contain it.
inline std::string text_of(const Json& json) { return json.dump(1, ' ', false, Json::error_handler_t::replace); }

/// Result of `build` for the JSON object; nothing where the text is no JSON object, or where a key is missing or of
/// another type.
template <class Build>
auto built(std::span<const std::byte> json, const Build& build) -> std::optional<decltype(build(Json()))> {
  const std::string_view text(reinterpret_cast<const char*>(json.data()), json.size());
  const Json object = Json::parse(text, nullptr, false);
  if (!object.is_object()) {
    return std::nullopt;
  }
  try {
    return build(object);
  } catch (const Json::exception&) {
    return std::nullopt;
  } catch (const ConfigError&) {  // an unknown layout
    return std::nullopt;
  } catch (const DataError&) {
    return std::nullopt;
  }
}

/// `value` if it is an integer of this type; messages call it `name`. Json::get() would convert any number, and a
/// conversion from a floating-point number that is out of range is undefined.
template <class Integer>
Integer integer_of(const Json& value, const char* name) {
  const bool fits = value.is_number_unsigned()
                        ? std::in_range<Integer>(value.get<std::uint64_t>())
                        : value.is_number_integer() && std::in_range<Integer>(value.get<std::int64_t>());
  if (!fits) {
    throw DataError(fmt::format("expected an integer for {}", name));
  }
  return value.get<Integer>();
}

template <class Integer>
Integer integer_at(const Json& object, const char* key) {
  return integer_of<Integer>(object.at(key), key);
}

/// `object[key]` if it is a list of integers of this type.
template <class Integer>
std::vector<Integer> integers_at(const Json& object, const char* key) {
  const Json& list = object.at(key);
  if (!list.is_array()) {
    throw DataError(fmt::format("expected a list for {}", key));
  }
  std::vector<Integer> values;
  for (const Json& value : list) {
    values.push_back(integer_of<Integer>(value, key));
  }
  return values;
}

/// rows, columns and pitches, and positions_m [channel][3] where positions were given; the others are then derived from
/// them.
Json json_of(const ArrayGeometry& geometry);
/// Throws DataError, and whatever nlohmann::json throws.
ArrayGeometry geometry_of(const Json& object);

}  // namespace nearfield::nfr
