#include "engine/sample_input.hpp"

#include <fmt/format.h>

#include "config/config.hpp"
#include "config/schema/front_end_kinds.hpp"
#include "core/error.hpp"

namespace nearfield {

void require_channels(const Settings& settings, int channels, const std::string& name, std::uint64_t samples) {
  require_geometry(settings, name, channels);
  const ArrayGeometry& geometry = settings.array.geometry;
  if (channels != geometry.channels()) {
    const bool has_positions = geometry.placement != nullptr;
    const bool is_transposed = samples == static_cast<std::uint64_t>(geometry.channels());
    const bool has_more = channels > geometry.channels() && settings.array.channels.empty();
    throw ConfigError(fmt::format("{}: expected the {} channels of {}, found {} = {} microphones{}",
                                  has_positions ? "array.positions" : "array.rows, array.columns", channels, name,
                                  text_of_size(geometry), geometry.channels(),
                                  is_transposed ? "; its data seem to be transposed, as [channel, sample]"
                                  : has_more    ? "; array.channels names those that are microphones"
                                                : ""));
  }
}

void take_row_order(Settings& settings) {
  if (!settings.explicit_keys.contains("array.layout")) {
    settings.array.layout = WireLayout::kRowMajor;
  }
}

bool take_samples(Settings& settings) {
  take_row_order(settings);
  std::string& kind = settings.front_end.kind;
  if (schema::front_end_kind(kind).takes_samples || settings.explicit_keys.contains("front_end.kind")) {
    return false;
  }
  kind = schema::front_end_of_samples().name;
  return true;
}

}  // namespace nearfield
