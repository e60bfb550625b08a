#pragma once
#include <optional>
#include <string_view>

#include "config/schema/form.hpp"
#include "core/settings.hpp"

namespace nearfield::schema {

/// all, "grid RxC", "spiral N", "random N" or a list of channels.
Form<SubsetSettings> subset();
/// Parses any of these except a list; empty for other text.
std::optional<SubsetSettings> subset_of(std::string_view text);

}  // namespace nearfield::schema
