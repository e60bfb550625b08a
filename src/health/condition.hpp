#pragma once
#include <array>
#include <cstddef>
#include <string_view>

namespace nearfield::health {

/// The condition of a microphone.
enum class Condition {
  kOk,          ///< agrees with its neighbours as far as these are informative
  kUnknown,     ///< nothing found, but its neighbours provide too little for a comparison
  kDead,        ///< silence, or nothing in common with its neighbours
  kStuck,       ///< its bits do not change
  kNoisy,       ///< much that none of its neighbours has
  kWeak,        ///< the neighbours' signal, but weaker
  kMismatched,  ///< the neighbours' signal, with another gain or phase
  kSwapped,     ///< another microphone's signal, and vice versa
  kCopied,      ///< exactly the numbers of another microphone in place of its own
};

std::string_view name_of(Condition condition);

inline constexpr std::size_t kConditions = static_cast<std::size_t>(Condition::kCopied) + 1;
/// All faults.
inline constexpr std::array kBadConditions = {Condition::kDead,  Condition::kStuck,      Condition::kNoisy,
                                              Condition::kWeak,  Condition::kMismatched, Condition::kSwapped,
                                              Condition::kCopied};

constexpr bool is_bad(Condition condition) { return condition > Condition::kUnknown; }

}  // namespace nearfield::health
