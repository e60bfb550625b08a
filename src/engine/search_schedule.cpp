#include "engine/search_schedule.hpp"

namespace nearfield {

/// Number of the search at a hop of the schedule; kNoNumber where its memory is incomplete.
std::uint64_t SearchChain::known_number(std::uint64_t hop) {
  if (!schedule_.looks_at(hop)) {
    first_ = SearchSchedule::kNoNumber;
    return SearchSchedule::kNoNumber;
  }
  const std::uint64_t number = schedule_.number_of(hop);
  first_ = first_ == SearchSchedule::kNoNumber ? number : first_;
  const std::uint64_t half = number / kSearchHalf;
  const std::uint64_t needed = half > 0 ? (half - 1) * kSearchHalf : 0;
  return first_ <= needed ? number : SearchSchedule::kNoNumber;
}

SearchChain::Found SearchChain::look(std::uint64_t hop, std::span<const std::complex<float>> spectra,
                                     const MicrophoneMask& mask) {
  if (first_ == SearchSchedule::kNoNumber) {
    search_->restart();
  }
  return {.findings = search_->search(spectra, mask, schedule_.number_of(hop)), .number = known_number(hop)};
}

SearchChain::Found SearchChain::pass_over(std::uint64_t hop) {
  return {.findings = nullptr, .number = first_ == SearchSchedule::kNoNumber ? first_ : known_number(hop)};
}

}  // namespace nearfield
