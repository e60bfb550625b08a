#include "nearfield/frame.hpp"

#include <fmt/format.h>

#include <array>

namespace nearfield {
namespace {

constexpr std::array<FlagName, 7> kFlagNames = {
    {{kFlagExtrapolationFellBack, "extrapolation fell back to zero padding"},
     {kFlagMaskedMicrophones, "dead or masked microphones interpolated"},
     {kFlagMissingBits, "missing bits"},
     {kFlagOverload, "overload"},
     {kFlagNonFiniteInput, "non-finite input interpolated"},
     {kFlagClipped, "clipped microphones"},
     {kFlagWavenumberAboveNyquist, "k above \u03c0/pitch"}}};

}  // namespace

std::span<const FlagName> flag_names() { return kFlagNames; }

std::string flags_in_words(std::uint32_t flags) {
  std::string text;
  const auto append = [&](std::string_view word) { text += (text.empty() ? "" : ", ") + std::string(word); };
  for (const FlagName& name : kFlagNames) {
    if ((flags & name.flag) != 0) {
      append(name.text);
      flags &= ~static_cast<std::uint32_t>(name.flag);
    }
  }
  if (flags != 0) {
    append(fmt::format("flags 0x{:x}", flags));
  }
  return text;
}

}  // namespace nearfield
