#pragma once
#include <string>

#include "core/settings.hpp"

namespace nearfield::schema {

/// A configuration that holds every setting at its default, each with unit, range and meaning as a comment:
/// config/nearfield.yaml.
std::string annotated_defaults();

/// All settings as a page of lists: docs/reference/settings.md. What several processors have alike is described once.
std::string settings_page();

/// All settings for programs, as JSON: a list of objects with key, type, default, unit, range, words, meaning and
/// effect ("live" or "restart"); numbers also have minimum or exclusive_minimum, and maximum, if there is one.
std::string settings_json();

/// All settings for editors: a JSON Schema (draft 7) of a configuration. Rules that involve several keys are left to
/// `--check`.
std::string settings_schema();

/// Default settings with one processor of each kind, named after the kind, and one limit, so that every key occurs.
Settings with_each_kind();

}  // namespace nearfield::schema
