#include "core/frame.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <functional>

namespace nearfield {
namespace {

constexpr std::array<FlagName, 14> kFlagNames = {
    {{kFlagExtrapolationFellBack, "extrapolation fell back to zero padding"},
     {kFlagMaskedMicrophones, "dead or masked microphones interpolated"},
     {kFlagMissingBits, "missing bits"},
     {kFlagOverload, "overload"},
     {kFlagNonFiniteInput, "non-finite input interpolated"},
     {kFlagClipped, "clipped microphones"},
     {kFlagWavenumberAboveNyquist, "k above \u03c0/pitch"},
     {kFlagCommonToAll, "a source straight ahead, or what all channels share"},
     {kFlagLimit, "above a limit"},
     {kFlagMemoryNotFull, "hops before it were not computed"},
     {kFlagInformationMissing, "more than a tenth of the information missing"},
     {kFlagDoubtfulInput, "input is not as announced"},
     {kFlagSearchPending, "the first search has not ended"},
     {kFlagEitherSide, "a wave that may come from behind"}}};

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

ResultFrame::ResultFrame(const ResultHeader& header) : places_(places_of(header)) {
  memory_.resize(places_.bytes / sizeof(std::uint64_t));
  for (std::size_t i = 0; i < places_.places.size(); ++i) {
    products_.emplace_back(product(i));
  }
  frame.products = products_;
}

std::span<std::byte> ResultFrame::product(std::size_t index) {
  const ProductPlaces::Place& place = places_.places[index];
  return std::as_writable_bytes(std::span(memory_)).subspan(place.offset, place.bytes);
}

std::string flaw_of_mask(const MaskChange& change, int microphones) {
  const std::vector<int>& channels = change.channels;
  if (std::adjacent_find(channels.begin(), channels.end(), std::greater_equal<>()) != channels.end()) {
    return "expected channels in ascending order, each once";
  }
  if (!channels.empty() && (channels.front() < 0 || channels.back() >= microphones)) {
    return fmt::format("expected channels from 0 to {}, found {}", microphones - 1,
                       channels.front() < 0 ? channels.front() : channels.back());
  }
  return "";
}

}  // namespace nearfield
