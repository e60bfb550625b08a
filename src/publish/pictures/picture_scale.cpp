#include "publish/pictures/picture_scale.hpp"

#include <algorithm>
#include <cmath>

namespace nearfield {

PictureOptions PictureScale::options_for(const std::string& name, const LevelRule& rule,
                                         std::span<const double> values) {
  PictureOptions options = choice_.options;
  if (choice_.top_db && rule.is_of_sound_pressure) {
    options.fixed_maximum = rule.value(*choice_.top_db);
  } else if (choice_.is_held) {
    Held& held = held_[name.substr(std::min(name.find('_'), name.size()))];
    for (const double value : values) {
      held.most = std::isfinite(value) ? std::max(held.most, value) : held.most;
      held.least = std::isfinite(value) ? std::min(held.least, value) : held.least;
    }
    if (held.most > 0.0) {
      options.fixed_maximum = held.most;
    }
    if (held.least < 0.0) {
      options.fixed_minimum = held.least;
    }
  }
  return options;
}

}  // namespace nearfield
