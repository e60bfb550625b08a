#include "engine/search_chain.hpp"

namespace nearfield {

SearchChain::Found SearchChain::look(std::uint64_t hop, std::span<const std::complex<float>> spectra,
                                     const MicrophoneMask& mask) {
  const bool is_scheduled = schedule_.looks_at(hop);
  const bool is_known = is_scheduled && (has_looked_ || hop == 0);
  if (!has_looked_) {
    search_->restart();
  }
  Found found{.findings = search_->search(spectra, mask)};
  has_looked_ = is_scheduled && (has_looked_ || found.findings);
  found.number = is_known ? schedule_.number_of(hop) : SearchSchedule::kNoNumber;
  return found;
}

SearchChain::Found SearchChain::pass_over(std::uint64_t hop) const {
  return {.findings = nullptr, .number = has_looked_ ? schedule_.number_of(hop) : SearchSchedule::kNoNumber};
}

void SearchChain::restart() { has_looked_ = false; }

}  // namespace nearfield
