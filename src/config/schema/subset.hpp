#pragma once
#include "config/schema/form.hpp"
#include "nearfield/settings.hpp"

namespace nearfield::schema {

/// all, "grid RxC", "spiral N", "random N" or a list of channels.
Form<SubsetSettings> subset();

}  // namespace nearfield::schema
