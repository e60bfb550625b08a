#pragma once
#include <string>

namespace nearfield::schema {

/// A configuration that holds every setting at its default, each with unit, range and meaning as a comment:
/// config/nearfield.yaml.
std::string annotated_defaults();

/// The same as a page of tables: docs/settings.md.
std::string settings_page();

/// The same for programs, as JSON: a list of objects with key, type, default, unit, range, words, meaning and effect
/// ("live" or "restart"); numbers also have minimum or exclusive_minimum, and maximum, where there is one.
std::string settings_json();

}  // namespace nearfield::schema
