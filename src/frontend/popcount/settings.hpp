#pragma once
#include <string_view>

#include "core/settings.hpp"

namespace nearfield {

/// Transform from words to spectra.
enum class WordTransform { kDot, kFft };

std::string_view name_of(WordTransform transform);

struct PopcountSettings {
  int order = 1;  ///< highest moment of a word's bits, 0 to 2
  WordTransform transform = WordTransform::kDot;
};

}  // namespace nearfield
