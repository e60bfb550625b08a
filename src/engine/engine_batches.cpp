#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <utility>

#include "core/error.hpp"
#include "engine/engine.hpp"
#include "imaging/priors/make_mask.hpp"

/// Batches of an engine: what is begun, waited for and read.
namespace nearfield {

void Engine::require_windows(std::size_t windows) const {
  const auto batch = static_cast<std::size_t>(plan_.settings.device.batch);
  if (windows < 1 || windows > batch) {
    throw Error(ExitCode::kInternal,
                fmt::format("engine: expected 1 to {} windows at a time, found {}", batch, windows));
  }
}

std::shared_ptr<BatchState> Engine::new_batch(const WindowRange& range) {
  require_windows(range.windows);
  const auto free =
      std::find_if(batches_.begin(), batches_.end(), [](const auto& one) { return one.use_count() == 1; });
  std::shared_ptr<BatchState> batch =
      free != batches_.end() ? *free : batches_.emplace_back(std::make_shared<BatchState>());
  batch->number = last_number_ + 1;
  batch->place = batches_in_flight_ > 1 ? 1 - place_ : 0;
  batch->is_finished = false;
  batch->first_sample = range.first_sample;
  batch->statuses.assign(range.windows, WindowStatus());
  batch->hops.incomplete.clear();
  for (std::size_t i = 0; i < range.missing_bits.size(); ++i) {
    batch->statuses[i].missing_bits = range.missing_bits[i];
    if (range.missing_bits[i] > 0) {
      batch->hops.incomplete.resize(range.windows, 0);
      batch->hops.incomplete[i] = 1;
    }
  }
  batch->taps.resize(taps_.size());
  for (BatchState::Tap& tap : batch->taps) {
    tap.is_enqueued = false;
    tap.absent = 0;
    tap.present = range.windows;
    tap.taker.reset();
    tap.statuses.assign(range.windows, WindowStatus());
  }
  batch->memory_flags.resize(results_.size());
  for (std::vector<std::uint32_t>& flags : batch->memory_flags) {
    flags.clear();
  }
  return batch;
}

Batch Engine::begun(std::shared_ptr<BatchState> batch) {
  last_number_ = batch->number;
  place_ = batch->place;
  turn_ordered();
  return Batch(in_flight_.emplace_back(std::move(batch)));
}

Batch Engine::begin(const WindowRange& range) {
  require_room_in_flight("begin()");
  if (range.first_sample < origin_) {
    throw Error(ExitCode::kInternal,
                fmt::format("engine: begin(): expected a window from sample {} on, found one at {}", origin_,
                            range.first_sample));
  }
  std::shared_ptr<BatchState> batch = new_batch(range);
  begin_hops(*batch, range.first_hop.value_or(range.first_sample / clock_.hop_samples()));
  count_absent(*batch);
  enqueue(*batch);
  return begun(std::move(batch));
}

Batch Engine::begin_spectra(std::span<const std::complex<float>> spectra, std::optional<std::uint64_t> first_hop) {
  require_idle("begin_spectra()");
  std::shared_ptr<BatchState> batch = new_batch({.windows = spectra.size() / spectra_values()});
  begin_hops(*batch, first_hop.value_or(end_hop_.value_or(0)));
  enqueue(*batch, spectra);
  return begun(std::move(batch));
}

FinishedBatch Engine::finish(const Batch& batch) {
  if (in_flight_.empty() || !(Batch(in_flight_.front()) == batch)) {
    throw Error(ExitCode::kInternal, fmt::format("engine: finish(): expected the oldest batch in flight, found {}",
                                                 in_flight_.empty() ? "none in flight" : "another one"));
  }
  const std::shared_ptr<BatchState> oldest = std::move(in_flight_.front());
  in_flight_.erase(in_flight_.begin());
  wait_for(*oldest);
  take_statuses(*oldest);
  oldest->is_finished = true;
  return FinishedBatch(oldest);
}

FinishedBatch Engine::compute(const WindowRange& range) {
  require_idle("compute()");
  return finish(begin(range));
}

void Engine::take_statuses(BatchState& batch) const {
  for (std::size_t i = 0; i < batch.statuses.size(); ++i) {
    WindowStatus& status = batch.statuses[i];
    const WindowStatus& of_tap = batch.taps.front().statuses[i];
    const bool has_first = !results_.empty() && !batch.memory_flags.front().empty();
    status.flags = of_tap.flags | (has_first ? batch.memory_flags.front()[i] : 0U) |
                   (status.missing_bits > 0 ? std::uint32_t{kFlagMissingBits} : 0U);
    status.non_finite_microphones = of_tap.non_finite_microphones;
  }
}

const std::shared_ptr<BatchState>& Engine::newest(const FinishedBatch& batch, std::string_view call) const {
  require_idle(call);
  const auto own = std::find_if(batches_.begin(), batches_.end(), [&](const auto& one) { return Batch(one) == batch; });
  if (own == batches_.end() || (*own)->number != last_number_) {
    throw Error(ExitCode::kInternal, fmt::format("engine: {}: expected the batch begun last, found another one", call));
  }
  return *own;
}

void Engine::begin_late(const FinishedBatch& batch, std::span<const std::size_t> processors) {
  enqueue_late(newest(batch, "begin_late()"), processors);
}

void Engine::compute_late(const FinishedBatch& batch) {
  std::vector<std::size_t> due;
  bool has_late = false;
  for (std::size_t p = 0; p < processors(); ++p) {
    has_late |= is_late(p);
    bool is_due_here = false;
    for (std::size_t i = 0; i < batch.windows(); ++i) {
      is_due_here |= is_due(p, batch.first_hop() + i);
    }
    if (is_late(p) && is_due_here) {
      due.push_back(p);
    }
  }
  if (has_late) {
    begin_late(batch, due);
    finish_late();
  }
}

void Engine::require_products(const Batch& batch, std::size_t processor, std::string_view call) const {
  const BatchState& state = batch.state();
  const Results& results = results_.at(processor);
  const bool is_own =
      std::any_of(batches_.begin(), batches_.end(), [&](const auto& one) { return Batch(one) == batch; });
  if (!is_own || !state.is_finished || state.memory_flags.at(processor).empty() ||
      results.begun.at(state.place) != state.number) {
    throw Error(ExitCode::kInternal,
                fmt::format("engine: {}: expected products of processor {} for a finished batch, found those of "
                            "another batch or none",
                            call, results.header.processor));
  }
}

FrameProducts Engine::read(const Batch& batch, std::size_t processor, std::size_t window,
                           const std::optional<FrameStamp>& stamp, bool is_last) {
  require_products(batch, processor, "read()");
  const BatchState& state = batch.state();
  const Results& results = results_[processor];
  const std::size_t present = window - state.taps[results.tap].absent;
  const WindowProducts made =
      results.processor->products({.window = present, .place = state.place, .stamp = stamp, .is_last = is_last});
  const int non_finite = non_finite_microphones(state, processor, present);
  FrameProducts frame;
  frame.products = made.products;
  frame.missing_bit_times = made.missing_bit_times;
  frame.valid_microphones = valid_microphones(processor, non_finite);
  frame.missing_information = missing_information(processor, non_finite);
  const bool lacks_information = static_cast<double>(frame.missing_information) > kMostMissingInformation;
  frame.flags = flags(state, processor, present) | state.memory_flags[processor][window] |
                (lacks_information ? std::uint32_t{kFlagInformationMissing} : 0U);
  return frame;
}

void Engine::read_spectra(const FinishedBatch& batch, std::size_t window,
                          std::span<std::complex<float>> spectra) const {
  (void)newest(batch, "read_spectra()");
  copy_spectra(window, spectra);
}

void Engine::compute_again(const FinishedBatch& batch, std::size_t processor) {
  run_again(*newest(batch, "compute_again()"), processor);
}

void Engine::use(const Masks& masks) {
  require_idle("use()");
  for (const Results& results : results_) {
    results.processor->use(masks.at(results.tap));
  }
  mask_ = std::make_shared<const MicrophoneMask>(masks.front());
  masked_.clear();
  std::transform(masks.begin(), masks.end(), std::back_inserter(masked_),
                 [](const MicrophoneMask& mask) { return mask.channels; });
  missing_.clear();
  std::transform(masks.begin(), masks.end(), std::back_inserter(missing_),
                 [](const MicrophoneMask& mask) { return mask.missing.largest(); });
}

void Engine::adopt(const std::shared_ptr<const Findings>& findings) {
  require_idle("adopt()");
  if (!searcher_) {
    throw Error(ExitCode::kInternal, "engine: expected a processor to adopt findings, found none");
  }
  results_[*searcher_].searching->adopt(findings);
  has_findings_ = true;
  const std::span<const FoundWaves> found = findings->frequencies();
  of_either_side_ =
      std::any_of(found.begin(), found.end(), [](const FoundWaves& one) { return one.is_of_either_side; });
}

void Engine::forget() {
  require_idle("forget()");
  end_hop_.reset();
  search_ = SearchSchedule::kNoNumber;
  for (const Results& results : results_) {
    results.processor->forget();
  }
}

void Engine::forget_unbounded() {
  require_idle("forget_unbounded()");
  for (const Results& results : results_) {
    if (results.header.memory_hops.value_or(kUnboundedMemory) == kUnboundedMemory) {
      results.processor->forget();
    }
  }
}

void Engine::count_absent(BatchState& batch) const {
  for (std::size_t t = 0; t < taps_.size(); ++t) {
    std::size_t& absent = batch.taps[t].absent;
    while (absent < batch.statuses.size() &&
           static_cast<std::int64_t>(clock_.later(batch.first_sample, absent) - origin_) < taps_[t].lead_samples) {
      ++absent;
    }
    batch.taps[t].present = batch.statuses.size() - absent;
  }
}

void Engine::begin_hops(BatchState& batch, std::uint64_t first_hop) {
  batch.hops.first = first_hop;
  first_hop_ = end_hop_ == first_hop ? first_hop_ : first_hop;
  batch.computed_from = first_hop_;
  batch.searched_from = searched_hop_;
  end_hop_ = first_hop + batch.statuses.size();
}

FrameHops Engine::hops_without(const BatchState& batch, std::size_t absent) {
  FrameHops hops{.first = batch.hops.first + absent};
  const std::vector<std::int32_t>& incomplete = batch.hops.incomplete;
  if (!incomplete.empty()) {
    hops.incomplete.assign(incomplete.begin() + static_cast<std::ptrdiff_t>(absent), incomplete.end());
  }
  return hops;
}

void Engine::note_begun(BatchState& batch, std::size_t processor) {
  results_.at(processor).begun.at(batch.place) = batch.number;
  const auto memory_hops = static_cast<std::uint64_t>(std::max<std::int64_t>(computed_memory_hops(processor), 0));
  const bool is_searched = processor == searcher_;
  std::uint64_t searched_hop = batch.searched_from;
  std::vector<std::uint32_t>& flags = batch.memory_flags.at(processor);
  flags.clear();
  for (std::uint64_t hop = batch.hops.first; hop < batch.hops.first + batch.statuses.size(); ++hop) {
    if (is_searched && search_ != schedule_.holding_at(hop)) {
      searched_hop = hop + 1;
    }
    const bool is_full = (batch.computed_from == 0 || hop - batch.computed_from >= memory_hops) &&
                         (!is_searched || searched_hop == 0 || hop >= searched_hop + memory_hops);
    flags.push_back((is_full ? 0U : std::uint32_t{kFlagMemoryNotFull}) |
                    (is_searched && !has_findings_ ? std::uint32_t{kFlagSearchPending} : 0U) |
                    (is_searched && of_either_side_ ? std::uint32_t{kFlagEitherSide} : 0U));
  }
  searched_hop_ = is_searched ? searched_hop : searched_hop_;
}

float Engine::missing_information(std::size_t processor, int non_finite) const {
  if (!results_.at(processor).makes_images) {
    return 0.0F;
  }
  const std::size_t tap = tap_of(processor);
  const int used = taps_[tap].array.geometry.channels() - static_cast<int>(masked_[tap].size());
  return static_cast<float>(missing_with(static_cast<double>(missing_[tap]), non_finite, used));
}

std::uint32_t Engine::valid_microphones(std::size_t processor, int non_finite) const {
  const std::vector<std::int32_t>& masked = masked_[tap_of(processor)];
  const std::vector<int>& subset = results_.at(processor).subset;
  const std::size_t channels = microphones(processor);
  const auto of_subset = [&](int channel) { return std::binary_search(masked.begin(), masked.end(), channel); };
  const std::size_t missing =
      subset.empty() ? masked.size() : static_cast<std::size_t>(std::count_if(subset.begin(), subset.end(), of_subset));
  return static_cast<std::uint32_t>(channels - std::min(channels, missing + static_cast<std::size_t>(non_finite)));
}

void Engine::require_room_in_flight(std::string_view call) const {
  if (in_flight_.size() >= batches_in_flight_) {
    throw Error(ExitCode::kInternal,
                fmt::format("engine: {}: expected at most {} batches in flight before it, found {}", call,
                            batches_in_flight_ - 1, in_flight_.size()));
  }
}

void Engine::require_idle(std::string_view call) const {
  if (!in_flight_.empty()) {
    throw Error(ExitCode::kInternal,
                fmt::format("engine: {}: expected no batch in flight, found {}", call, in_flight_.size()));
  }
}

}  // namespace nearfield
