#include "engine/recording_search.hpp"

#include <algorithm>
#include <utility>

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

RecordingSearch::RecordingSearch(Engine& engine) : engine_(&engine) {
  if (std::shared_ptr<Search> search = engine.make_search()) {
    schedule_ = engine.search_schedule();
    chain_.emplace(std::move(search), schedule_);
  }
}

std::size_t RecordingSearch::together(std::uint64_t hop, std::size_t windows) const {
  // Until the first findings, compute windows singly: the first whole one must be searched whatever the batch size.
  return chain_ && !has_found_ ? 1 : static_cast<std::size_t>(schedule_.together(hop, windows));
}

RecordingSearch::Look RecordingSearch::look_at(const FinishedBatch& batch) const {
  Look look{.hop = batch.first_hop(), .is_whole = batch.statuses().front().missing_bits == 0};
  if (look.is_whole) {
    look.spectra.resize(engine_->spectra_values());
    engine_->read_spectra(batch, 0, look.spectra);
    look.mask = engine_->mask();
  }
  return look;
}

void RecordingSearch::adopt(const SearchChain::Found& found) {
  if (found.findings) {
    engine_->adopt(found.findings);
  }
  number_ = found.number;
  engine_->set_search(number_);
}

/// Returns true if the findings take effect at once.
bool RecordingSearch::search(const Look& look) {
  const bool is_first = look.is_whole && !has_found_;
  if (!is_first && !schedule_.looks_at(look.hop)) {
    return false;
  }
  const SearchChain::Found found =
      look.is_whole ? chain_->look(look.hop, look.spectra, *look.mask) : chain_->pass_over(look.hop);
  if (!is_first) {
    waiting_.push_back({.from_hop = schedule_.begin_of(schedule_.number_of(look.hop)), .found = found});
    return false;
  }
  has_found_ = found.findings != nullptr;
  if (has_found_) {
    adopt(found);
  }
  return has_found_;
}

/// Looks whose findings are in effect at `hop`, with those they depend on, and looks for later findings, in order.
std::deque<RecordingSearch::Look> RecordingSearch::looks_before(std::uint64_t first_hop, std::uint64_t hop,
                                                                const Compute& compute) const {
  std::deque<Look> looks;
  const std::uint64_t first = (first_hop + schedule_.every() - 1) / schedule_.every();
  // Go back to the newest whole look in effect by then, and to the start of its memory.
  std::uint64_t needed = first;
  bool is_held = false;
  for (std::uint64_t number = schedule_.number_of(hop - 1) + 1; number > needed;) {
    --number;
    looks.push_front(look_at(compute(schedule_.hop_of(number))));
    if (!is_held && looks.front().is_whole && schedule_.begin_of(number) <= hop) {
      is_held = true;
      const std::uint64_t half = number / kSearchHalf;
      needed = std::max(first, half > 0 ? (half - 1) * kSearchHalf : 0);
    }
  }
  if (is_held) {
    return looks;
  }
  // No such look: use the recording's first whole window.
  for (std::uint64_t one = first_hop; one < hop; ++one) {
    const FinishedBatch batch = compute(one);
    if (batch.statuses().front().missing_bits > 0) {
      continue;
    }
    const auto place = std::find_if(looks.begin(), looks.end(), [&](const Look& look) { return look.hop >= one; });
    if (place == looks.end() || place->hop != one) {
      looks.insert(place, look_at(batch));
    }
    break;
  }
  return looks;
}

void RecordingSearch::prepare(std::uint64_t first_hop, std::uint64_t hop, const Compute& compute) {
  if (!chain_ || hop <= first_hop) {
    return;
  }
  for (const Look& look : looks_before(first_hop, hop, compute)) {
    (void)search(look);
  }
  engine_->forget();
  engine_->set_search(number_);
  begin(hop);
}

void RecordingSearch::begin(std::uint64_t hop) {
  for (; !waiting_.empty() && waiting_.front().from_hop <= hop; waiting_.pop_front()) {
    adopt(waiting_.front().found);
  }
}

void RecordingSearch::look(const FinishedBatch& batch) {
  if (looks_at(batch.first_hop()) && search(look_at(batch))) {
    engine_->compute_again(batch, engine_->searcher().value());
  }
}

void RecordingSearch::restart() {
  has_found_ = false;
  number_ = SearchSchedule::kNoNumber;
  waiting_.clear();
  if (chain_) {
    chain_->restart();
  }
}

}  // namespace nearfield
