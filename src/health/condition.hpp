#pragma once
#include <array>
#include <cstddef>
#include <string_view>

namespace nearfield::health {

/// The condition of a microphone.
enum class Condition {
  kOk,          ///< it agrees with its neighbours, where they say something
  kUnknown,     ///< nothing found, but its neighbours leave too little to be compared with
  kDead,        ///< silence, or nothing of what its neighbours have
  kStuck,       ///< its bits do not change
  kNoisy,       ///< much that its neighbours have nothing of
  kWeak,        ///< what its neighbours have, but less of it
  kMismatched,  ///< what its neighbours have, with another gain or phase
  kSwapped,     ///< what another microphone should have, and the other way round
  kCopied,      ///< the very numbers of another microphone, where it should have its own
};

std::string_view name_of(Condition condition);

inline constexpr std::size_t kConditions = static_cast<std::size_t>(Condition::kCopied) + 1;
/// What can be wrong.
inline constexpr std::array kBadConditions = {Condition::kDead,  Condition::kStuck,      Condition::kNoisy,
                                              Condition::kWeak,  Condition::kMismatched, Condition::kSwapped,
                                              Condition::kCopied};

constexpr bool is_bad(Condition condition) { return condition > Condition::kUnknown; }

}  // namespace nearfield::health
