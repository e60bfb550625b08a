#include <algorithm>
#include <cmath>
#include <cstring>

#include "core/system/clocks.hpp"
#include "daemon/live/live_engine.hpp"

/// Input of the engine from the ring: waiting for a window, and feeding its parts.
namespace nearfield::daemon {
namespace {

/// Value of daemon.realtime.poll_us: auto.
constexpr double kAutoPollUs = 250.0;
constexpr int kFewestToPollByDefault = 4;
/// On one processor the source's thread would wait for the polling one.
constexpr int kFewestToPoll = 2;
/// Number of parts in which a hop is fed while it is polled for.
constexpr std::uint64_t kPartsOfHop = 4;

}  // namespace

/// Time before and after the expected arrival of the next window's last bits during which it is polled for.
std::int64_t LiveEngine::poll_ns() const {
  const bool by_default = epoch_->engine->is_on_gpu() && processors_ >= kFewestToPollByDefault;
  return processors_ < kFewestToPoll ? 0 : std::llround(1e3 * poll_us_.value_or(by_default ? kAutoPollUs : 0.0));
}

/// Waits for the next window, expected a hop after the last one if it follows it. From shortly before that time its
/// last hop is polled for and fed part by part, so that little is left to copy at its end: a thread that sleeps until
/// then wakes 20 to 400 us late (docs/decisions/0036).
WaitResult LiveEngine::wait_for_window(std::int64_t deadline_ns) {
  const std::uint64_t end = clock_.end_of(next_);
  const bool follows = imaged_end_ > clock_.origin() && clock_.later(imaged_end_, 1) == end &&
                       clock_.hop_samples() <= clock_.window_samples();
  const std::int64_t poll = input_.waits || chunks_.size() > 1 || !follows ? 0 : poll_ns();
  if (poll > 0) {
    const double hop_elements = static_cast<double>(clock_.elements(clock_.hop_samples()));
    const std::int64_t expected_ns = imaged_ns_ + std::llround(1e9 * hop_elements / input_.element_rate_hz);
    const WaitResult early = ring_->wait_for(clock_.element_of(end), std::min(deadline_ns, expected_ns - poll));
    if (early != WaitResult::kTimeout) {
      return early;
    }
    const WaitResult polled = poll_for_window(end, std::min(deadline_ns, expected_ns + poll));
    if (polled != WaitResult::kTimeout) {
      return polled;
    }
  }
  return ring_->wait_for(clock_.element_of(end), deadline_ns);
}

WaitResult LiveEngine::poll_for_window(std::uint64_t end, std::int64_t deadline_ns) {
  const std::uint64_t part = std::max<std::uint64_t>(clock_.hop_samples() / kPartsOfHop, 1);
  while (true) {
    std::uint64_t goal = std::min(end, std::max(taken_, end - clock_.hop_samples()) + part);
    const WaitResult result = ring_->poll_for(clock_.element_of(goal), deadline_ns);
    if (result != WaitResult::kReady || goal == end) {
      return result;
    }
    while (goal + part < end && ring_->poll_for(clock_.element_of(goal + part), 0) == WaitResult::kReady) {
      goal += part;
    }
    feed_ahead(goal);
  }
}

void LiveEngine::feed_ahead(std::uint64_t end) {
  const std::int64_t now_ns = monotonic_ns();
  if (hooks_.begin) {
    hooks_.begin(now_ns);
  }
  feed(feeder_.until(next_, end, *epoch_->engine).first, end, chunks_.front(), pauses_at(now_ns));
  if (hooks_.fed) {
    hooks_.fed();
  }
}

/// Number of windows that can be computed together without waiting.
std::size_t LiveEngine::windows_there() const {
  std::size_t windows = 1;
  const std::int64_t now_ns = 0;
  const std::uint64_t most = epoch_->engine->search_schedule().together(clock_.hop_of(next_), chunks_.size());
  while (windows < most &&
         ring_->wait_for(clock_.element_of(clock_.end_of(next_, windows + 1)), now_ns) == WaitResult::kReady) {
    ++windows;
  }
  return windows;
}

void LiveEngine::take(std::uint64_t first_sample, std::span<std::uint32_t> words, Chunk& chunk) {
  chunk.missing.clear();
  chunk.first = clock_.elements(first_sample);
  chunk.elements = words.size() / input_.words_per_element;
  chunk.words = words;
  const bool follows = !chunk.of_window.empty() && chunk.of_window.data() + chunk.of_window.size() == words.data();
  chunk.of_window = follows ? std::span(chunk.of_window.data(), chunk.of_window.size() + words.size()) : chunk.words;
  const bool is_read_again = publisher_->records_bits() || input_.form != InputForm::kBits;
  const Copying copying = is_read_again ? Copying::kCached : epoch_->engine->copying();
  const TakeResult result = ring_->take(clock_.element_of(first_sample), words, &chunk.missing, copying);
  chunk.capture_mono_ns = result.capture_mono_ns;
  if (result.missing < chunk.elements || chunk.window_mono_ns == 0) {
    chunk.window_mono_ns = std::max(chunk.window_mono_ns, result.capture_mono_ns);
  }
  chunk.overwritten = result.overwritten;
  taken_ = first_sample + chunk.elements / clock_.elements_per_sample();
  for (const MissingRun& run : chunk.missing) {
    missing_.runs().push_back({chunk.first + run.first_bit_time, run.bit_times});
  }
}

/// Feeds samples from the ring to the engine, piece by piece.
void LiveEngine::feed(std::uint64_t first, std::uint64_t end, Chunk& chunk, const Pauses& pauses) {
  const std::uint64_t words = input_.words_per_sample();
  while (first < end) {
    const std::uint64_t samples = std::min(end - first, epoch_->engine->piece_samples());
    const std::span<std::uint32_t> room = room_for(samples * words);
    take(first, room, chunk);
    record(chunk, pauses);
    if (hooks_.values && input_.form == InputForm::kSamples && chunk.missing.empty()) {
      hooks_.values(room);
    }
    push(first, room);
    first += samples;
  }
}

std::span<std::uint32_t> LiveEngine::room_for(std::uint64_t words) {
  if (input_.form == InputForm::kBits) {
    return epoch_->engine->room_for_bits(words);
  }
  words_.resize(words);
  return words_;
}

void LiveEngine::push(std::uint64_t first_sample, std::span<const std::uint32_t> words) {
  if (input_.form == InputForm::kBits) {
    epoch_->engine->push_bits(first_sample, words);
    return;
  }
  if (pieces_ == samples_.size()) {
    samples_.emplace_back();
  }
  std::vector<float>& samples = samples_[pieces_++];
  samples.resize(words.size());
  std::memcpy(samples.data(), words.data(), words.size_bytes());
  if (input_.pascal_per_unit != 1.0) {  // same arithmetic as TimeDataReader: identical samples and frames
    for (float& value : samples) {
      value = static_cast<float>(static_cast<double>(value) * input_.pascal_per_unit);
    }
  }
  epoch_->engine->push_samples(first_sample, samples);
}

}  // namespace nearfield::daemon
