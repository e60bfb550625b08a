#include "config/schema/front_end_kinds.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>

#include "core/error.hpp"

namespace nearfield::schema {

#define NEARFIELD_FRONT_END(kind) FrontEndKind kind##_kind();
#include "frontend/kinds.def"
#undef NEARFIELD_FRONT_END

std::span<const FrontEndKind> front_end_kinds() {
#define NEARFIELD_FRONT_END(kind) kind##_kind(),
  static const std::array kKinds = {
#include "frontend/kinds.def"
  };
#undef NEARFIELD_FRONT_END
  return kKinds;
}

const FrontEndKind& front_end_kind(std::string_view name) {
  const std::span<const FrontEndKind> kinds = front_end_kinds();
  const auto found =
      std::find_if(kinds.begin(), kinds.end(), [&](const FrontEndKind& kind) { return kind.name == name; });
  if (found == kinds.end()) {
    throw ConfigError(fmt::format("front_end.kind: there is no kind \"{}\"", name));
  }
  return *found;
}

const FrontEndKind& front_end_of_samples() {
  const std::span<const FrontEndKind> kinds = front_end_kinds();
  return *std::find_if(kinds.begin(), kinds.end(), [](const FrontEndKind& kind) { return kind.takes_samples; });
}

std::vector<FrontEndKind> front_end_kinds_default_first() {
  const std::span<const FrontEndKind> kinds = front_end_kinds();
  std::vector<FrontEndKind> ordered(kinds.begin(), kinds.end());
  std::stable_partition(ordered.begin(), ordered.end(),
                        [](const FrontEndKind& kind) { return kind.name == FrontEndSettings{}.kind; });
  return ordered;
}

std::string names_of_front_ends(bool (*holds)(const FrontEndKind& kind), std::string_view joint) {
  std::vector<std::string_view> names;
  for (const FrontEndKind& kind : front_end_kinds_default_first()) {
    if (holds(kind)) {
      names.push_back(kind.name);
    }
  }
  return fmt::format("{}", fmt::join(names, joint));
}

}  // namespace nearfield::schema
