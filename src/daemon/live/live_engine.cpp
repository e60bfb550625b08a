#include "daemon/live/live_engine.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <utility>

#include "core/system/clocks.hpp"
#include "core/system/host.hpp"
#include "imaging/priors/make_mask.hpp"

/// One hop from top to bottom: wait for its bits, take and feed them, compute, publish to controllers, then to the
/// recorder and to dashboards. Behind it: a stream's start, and the swap of the configuration.
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

LiveEngine::LiveEngine(IngestRing& ring, const LiveInput& input, std::unique_ptr<Epoch> epoch, Publisher& publisher,
                       Options options)
    : ring_(&ring),
      input_(input),
      publisher_(&publisher),
      hooks_(std::move(options.hooks)),
      overload_(options.overload),
      poll_us_(options.poll_us),
      epoch_(std::move(epoch)),
      clock_(epoch_->plan.settings.front_end, input.elements_per_sample),
      feeder_(epoch_->plan.settings.front_end),
      stamps_(input),
      engine_input_(input.form, input.pascal_per_unit),
      bits_(ring) {
  use_epoch();
}

LiveEngine::Step LiveEngine::step(std::int64_t deadline_ns) {
  if (!is_streaming_) {
    if (ring_->wait_for_stream(deadline_ns)) {
      begin_stream();
    }
    return Step::kNothing;
  }
  const WaitResult found = wait_for_window(deadline_ns);
  if (found == WaitResult::kReady && !pass_over_gap()) {
    run_hop();
    return Step::kFrames;
  }
  publish_bits(pauses_at(monotonic_ns()), taken_);  // parts of the next hop may have been fed ahead
  if (found == WaitResult::kTimeout) {
    publish_late();
  }
  if (found == WaitResult::kNewStream || found == WaitResult::kEnded) {
    finish_late();
  }
  if (found == WaitResult::kNewStream) {
    begin_stream();
  }
  if (found == WaitResult::kEnded) {
    is_streaming_ = false;  // another stream may come, as of the next writer of a pipe
    return Step::kEnded;
  }
  return Step::kNothing;
}

/// Waits for the next window, expected a hop after the last one if it follows it. From shortly before that time its
/// last hop is polled for and fed part by part, so that little is left to copy at its end: a thread that sleeps until
/// then wakes 20 to 400 us late (docs/decisions/0036).
WaitResult LiveEngine::wait_for_window(std::int64_t deadline_ns) {
  const std::uint64_t end = clock_.end_of(next_);
  const bool follows = imaged_end_ > clock_.origin() && clock_.later(imaged_end_, 1) == end &&
                       clock_.hop_samples() <= clock_.window_samples();
  const std::int64_t poll = input_.waits || fed_.size() > 1 || !follows ? 0 : poll_ns();
  if (poll > 0) {
    const double hop_elements = static_cast<double>(clock_.elements(clock_.hop_samples()));
    const std::int64_t expected_ns = stamps_.imaged_ns() + std::llround(1e9 * hop_elements / input_.element_rate_hz);
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

/// Time before and after the expected arrival of the next window's last bits during which it is polled for.
std::int64_t LiveEngine::poll_ns() const {
  const bool by_default = epoch_->engine->is_on_gpu() && usable_processors_ >= kFewestToPollByDefault;
  return usable_processors_ < kFewestToPoll ? 0 : std::llround(1e3 * poll_us_.value_or(by_default ? kAutoPollUs : 0.0));
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
    if (hooks_.begin) {
      hooks_.begin(monotonic_ns());
    }
    feed(feeder_.until(next_, goal, *epoch_->engine).first, goal, fed_.front());
    if (hooks_.fed) {
      hooks_.fed();
    }
  }
}

/// Skips the windows of which nothing was received and nothing can be any more; false if the next one is not such a
/// window.
bool LiveEngine::pass_over_gap() {
  const std::uint64_t taken = std::max(next_, taken_);
  if (missing_in({.first = next_, .end = taken}) < clock_.elements(taken - next_)) {
    return false;
  }
  const std::uint64_t gap_end =
      taken + (ring_->missing_end(clock_.element_of(taken)) - clock_.element_of(taken)) / clock_.elements_per_sample();
  if (gap_end < clock_.end_of(next_)) {
    return false;
  }
  const std::uint64_t hops = (gap_end - clock_.end_of(next_)) / clock_.hop_samples() + 1;
  pass_over(hops, true);
  return true;
}

/// The next window's bits are there.
void LiveEngine::run_hop() {
  const std::int64_t now_ns = monotonic_ns();
  if (hooks_.begin) {
    hooks_.begin(now_ns);
  }
  if (!input_.waits) {
    shed(now_ns);
  }
  const Pauses pauses = pauses_at(now_ns);
  tai_offset_ns_ = tai_offset_ns();
  take_found();
  pass_on_mask();
  const std::size_t windows = windows_there();
  FrameReport report;
  const FinishedBatch batch = compute(windows, report);
  for (std::size_t window = 0; window < windows; ++window) {
    publish(batch, window, pauses, report);
  }
  publish_late();
  if (hooks_.look) {
    const bool has_bits = input_.form == InputForm::kBits && fed_.front().is_whole;
    hooks_.look({.engine = epoch_->engine.get(),
                 .batch = batch,
                 .epoch = epoch_->number,
                 .first_sample = next_,
                 .hop = clock_.hop_of(next_),
                 .words = has_bits ? fed_.front().words : std::span<const std::uint32_t>(),
                 .is_whole = batch.statuses().front().missing_bits == 0});
  }
  late_.begin(*epoch_->engine, batch, cadences_);
  next_ = clock_.later(next_, windows);
  forget_parts();
}

/// Skips all windows but the newest available one, if hops must be shed.
void LiveEngine::shed(std::int64_t now_ns) {
  const std::uint64_t there = ring_->available_end() - clock_.element_of(clock_.end_of(next_));
  const std::uint64_t hops = there / clock_.elements_per_sample() / clock_.hop_samples();
  const auto waiting_ns = static_cast<std::int64_t>(static_cast<double>(there) / input_.element_rate_hz * 1e9);
  if (hops == 0 || !overload_.sheds(waiting_ns, now_ns)) {
    return;
  }
  pass_over(hops, false);
  overload_.shed(now_ns);
}

Pauses LiveEngine::pauses_at(std::int64_t now_ns) const {
  return {.dashboards = !input_.waits && overload_.pauses_dashboards(now_ns),
          .recordings = !input_.waits && overload_.pauses_recordings(now_ns)};
}

/// Applies the findings due for the next window; overdue ones take effect from there on.
void LiveEngine::take_found() {
  const SearchSchedule schedule = epoch_->engine->search_schedule();
  const std::uint64_t hop = clock_.hop_of(next_);
  for (; !found_.empty(); found_.pop_front()) {
    const SearchChain::Found& found = found_.front();
    const bool is_first = found.number == 0 || found.number == SearchSchedule::kNoNumber;
    if (!is_first && schedule.begin_of(found.number) > hop) {
      return;
    }
    if (found.findings) {
      epoch_->engine->adopt(found.findings);
    }
    epoch_->engine->set_search(found.number);
  }
}

/// Reports to the outputs which microphones are masked from the next window on because they were found bad, if that
/// changes.
void LiveEngine::pass_on_mask() {
  std::shared_ptr<const MicrophoneMask> mask = epoch_->engine->mask();
  if (mask == seen_mask_) {
    return;
  }
  seen_mask_ = std::move(mask);
  const ArraySettings& array = epoch_->plan.settings.array;
  const bool masks = array.health.enabled && array.health.mask != HealthMask::kNone;
  std::vector<int> channels;
  if (masks) {
    const std::vector<int>& dead = epoch_->engine->array_plan().dead_channels;
    std::copy_if(seen_mask_->channels.begin(), seen_mask_->channels.end(), std::back_inserter(channels),
                 [&](int channel) { return std::find(dead.begin(), dead.end(), channel) == dead.end(); });
  }
  if ((masks || passed_mask_) && passed_mask_ != channels) {
    passed_mask_ = channels;
    publisher_->mask({.first_bit_time = clock_.element_of(next_), .channels = std::move(channels)});
  }
}

/// Number of windows that can be computed together without waiting.
std::size_t LiveEngine::windows_there() const {
  std::size_t windows = 1;
  const std::int64_t now_ns = 0;
  const std::uint64_t most = epoch_->engine->search_schedule().together(clock_.hop_of(next_), fed_.size());
  while (windows < most &&
         ring_->wait_for(clock_.element_of(clock_.end_of(next_, windows + 1)), now_ns) == WaitResult::kReady) {
    ++windows;
  }
  return windows;
}

FinishedBatch LiveEngine::compute(std::size_t windows, FrameReport& report) {
  Engine& engine = *epoch_->engine;
  const std::int64_t begin_ns = monotonic_ns();
  std::uint64_t first = feeder_.next(next_, windows, engine).first;
  for (std::size_t window = 0; window < windows; ++window) {
    const std::uint64_t end = clock_.end_of(next_, window + 1);
    feed(first, end, fed_[window]);
    first = std::max(first, end);  // parts of it may have been fed already
  }
  const std::int64_t taken_ns = monotonic_ns();
  report.taken_ns = taken_ns - begin_ns;
  if (hooks_.fault) {
    hooks_.fault(stamps_.sequence());
  }
  FinishedBatch batch = engine.compute(range_of(windows));
  report.computed_ns = monotonic_ns() - taken_ns;
  engine_input_.reuse();
  imaged_end_ = clock_.end_of(next_, windows);
  return batch;
}

/// Feeds samples from the ring to the engine, piece by piece.
void LiveEngine::feed(std::uint64_t first, std::uint64_t end, FedPart& part) {
  Engine& engine = *epoch_->engine;
  const Copying copying = input_.form == InputForm::kBits ? engine.copying() : Copying::kCached;
  while (first < end) {
    const std::uint64_t samples = std::min(end - first, engine.piece_samples());
    const std::span<std::uint32_t> room = engine_input_.room(engine, samples * input_.words_per_sample());
    runs_.clear();
    const TakeResult result = ring_->take(clock_.element_of(first), room, &runs_, copying);
    for (const MissingRun& run : runs_) {
      missing_.runs().push_back({clock_.elements(first) + run.first_bit_time, run.bit_times});
    }
    const bool follows = !part.words.empty() && part.words.data() + part.words.size() == room.data();
    part.words = follows ? std::span(part.words.data(), part.words.size() + room.size()) : room;
    part.is_whole = runs_.empty();
    taken_ns_ = result.capture_mono_ns;
    if (result.missing < clock_.elements(samples) || part.received_ns == 0) {
      part.received_ns = std::max(part.received_ns, taken_ns_);
    }
    if (hooks_.values && input_.form == InputForm::kSamples && part.is_whole) {
      hooks_.values(room);
    }
    engine_input_.push(engine, first, room);
    first += samples;
    taken_ = first;
  }
}

/// The next windows, whose bits have been taken.
WindowRange LiveEngine::range_of(std::size_t windows) const {
  WindowRange range{.first_sample = next_, .windows = windows, .first_hop = clock_.hop_of(next_)};
  for (std::size_t window = 0; window < windows; ++window) {
    const std::uint64_t first = clock_.later(next_, window);
    if (const std::uint64_t missing = missing_in({.first = first, .end = clock_.end_of(first)}); missing > 0) {
      range.missing_bits.resize(windows, 0);
      range.missing_bits[window] = missing;
    }
  }
  return range;
}

void LiveEngine::publish(const FinishedBatch& batch, std::size_t window, const Pauses& pauses, FrameReport& report) {
  const Engine& engine = *epoch_->engine;
  const Frame stamp = stamped(window, report);
  const std::int64_t begin_ns = monotonic_ns();
  const std::uint64_t hop = clock_.hop_of(clock_.later(next_, window));
  prompt_.clear();
  std::int64_t out_mono_ns = 0;
  for (std::size_t p = 0; p < cadences_.processors(); ++p) {
    const std::optional<std::uint64_t> shed =
        cadences_.frame_at(p, hop, stamp.shed_hops, engine.has_products(batch, p, window));
    if (!shed) {
      continue;
    }
    Frame frame = of_processor(p, window, stamp);
    frame.shed_hops = *shed;
    if (engine.is_late(p)) {
      late_.add({.frame = frame, .batch = batch, .window = window, .pauses = pauses});
      continue;
    }
    take_products(frame, batch, window);
    publisher_->publish_to_controllers(frame);
    out_mono_ns = prompt_.empty() ? monotonic_ns() : out_mono_ns;
    prompt_.push_back(frame);
  }
  report.out_mono_ns = prompt_.empty() ? monotonic_ns() : out_mono_ns;
  publish_bits(pauses, clock_.end_of(next_, window + 1));
  for (const Frame& frame : prompt_) {
    publisher_->publish_to_others(frame, pauses);
  }
  report.published_ns = report.out_mono_ns - begin_ns;
  report.others_ns = monotonic_ns() - report.out_mono_ns;
  report.capture_mono_ns = stamp.capture_mono_ns;
  report.sequence = stamp.sequence;
  report.shed_hops = stamp.shed_hops;
  report.missing = stamp.missing_bit_times;
  if (!input_.waits) {
    overload_.published(report.out_mono_ns - stamp.capture_mono_ns, report.out_mono_ns);
  }
  if (hooks_.end) {
    hooks_.end(report);
  }
}

/// Frame of a window without a processor's products.
Frame LiveEngine::stamped(std::size_t window, FrameReport& report) {
  const std::uint64_t first_sample = clock_.later(next_, window);
  const std::int64_t capture_mono_ns = fed_[window].received_ns != 0 ? fed_[window].received_ns : taken_ns_;
  ring_->count_missing(stamps_.count_absence(clock_, first_sample, capture_mono_ns));
  Frame frame = stamps_.next(clock_, first_sample, capture_mono_ns, tai_offset_ns_);
  missing_.forget_before(clock_.elements(feeder_.begin_of(first_sample, *epoch_->engine)));
  frame.missing_bit_times = missing_in({.first = first_sample, .end = clock_.end_of(first_sample)});
  frame.epoch = epoch_->number;
  report.absent_hops = stamps_.take_absent();
  report.has_input = 2 * frame.missing_bit_times <= frame.window_bit_times;
  return frame;
}

/// Stamp of a processor's frame, whose window may differ.
Frame LiveEngine::of_processor(std::size_t processor, std::size_t window, const Frame& stamp) const {
  Frame frame = stamp;
  frame.processor = processor;
  if (epoch_->engine->has_own_window(processor)) {
    const SampleSpan span = epoch_->engine->window_of(processor, clock_.later(next_, window));
    stamps_.set_window(frame, clock_, span);
    frame.missing_bit_times = missing_in(span);
  }
  return frame;
}

/// Adds the processor's products, stamp and flags to a frame.
void LiveEngine::take_products(Frame& frame, const FinishedBatch& batch, std::size_t window) {
  const FrameStamp stamp{
      .sequence = frame.sequence, .first_bit_time = frame.first_bit_time, .missing_bit_times = frame.missing_bit_times};
  const FrameProducts read = epoch_->engine->read(batch, frame.processor, window, stamp);
  frame.products = read.products;
  frame.flags =
      read.flags | (frame.missing_bit_times > 0 ? kFlagMissingBits : 0U) | (frame.shed_hops > 0 ? kFlagOverload : 0U);
  frame.valid_microphones = read.valid_microphones;
  frame.microphones = epoch_->engine->microphones(frame.processor);
  frame.missing_information = read.missing_information;
  if (hooks_.judge) {
    hooks_.judge(frame);  // by its own window's gaps: an average spans a window that was never received
  }
  frame.missing_bit_times = std::max(frame.missing_bit_times, read.missing_bit_times);
  frame.flags |= frame.missing_bit_times > 0 ? kFlagMissingBits : 0U;
}

/// Passes the bits that were taken to the recorder.
void LiveEngine::publish_bits(const Pauses& pauses, std::uint64_t end_sample) {
  bits_.write(publisher_->recorder_of_bits(), clock_.element_of(end_sample), pauses.recordings);
}

/// Publishes the pending frames that are complete. If the source waits, all of them, since nothing is shed.
void LiveEngine::publish_late() {
  if (input_.waits && late_.has_frames()) {
    epoch_->engine->finish_late();
  }
  while (std::optional<LateFrame> one = late_.next_complete(*epoch_->engine)) {
    take_products(one->frame, one->batch, one->window);
    publisher_->publish_to_controllers(one->frame);
    publisher_->publish_to_others(one->frame, one->pauses);
  }
}

void LiveEngine::finish_late() {
  if (late_.has_frames()) {
    epoch_->engine->finish_late();
    publish_late();
  }
}

void LiveEngine::begin_stream() {
  const StreamStart stream = ring_->accept_stream();
  is_streaming_ = true;
  stamps_.begin_stream(stream.stream_id);
  // A gap, so that no front end takes the new stream for a continuation; otherwise the stream's own count, so that
  // frames equal those of a replay of its bits, to the last bit.
  clock_.begin(stream.first_element, stream.number > 1 ? taken_ + 1 : taken_);
  next_ = clock_.at_hop(clock_.origin());
  feeder_.begin(next_);
  taken_ = clock_.origin();
  imaged_end_ = clock_.origin();
  bits_.begin(stream, clock_.element_of(taken_));
  cadences_.align(clock_.hop_of(next_));
  forget_parts();
  usable_processors_ = usable_processors();
  found_.clear();
  seen_mask_.reset();
  passed_mask_.reset();
  epoch_->engine->forget();
  missing_ = MissingBits();
  if (hooks_.restart) {
    hooks_.restart(stream);
  }
}

std::unique_ptr<Epoch> LiveEngine::swap(std::unique_ptr<Epoch> next) {
  const Feeder before = feeder_;
  const Cadences cadences = cadences_;
  std::swap(epoch_, next);
  found_.clear();
  use_epoch();
  try {
    feeder_.use(epoch_->plan.settings.front_end);
    go_on();
  } catch (...) {
    std::swap(epoch_, next);
    use_epoch();
    feeder_ = before;
    cadences_ = cadences;
    throw;
  }
  return next;
}

/// The next window is still to be chosen.
void LiveEngine::use_epoch() {
  clock_.use(epoch_->plan.settings.front_end);
  fed_.resize(static_cast<std::size_t>(epoch_->plan.settings.device.batch));
  forget_parts();
  cadences_.use(*epoch_->engine);
}

void LiveEngine::forget_parts() { std::fill(fed_.begin(), fed_.end(), FedPart()); }

/// Chooses the new engine's first window and feeds what the ring still holds of it.
void LiveEngine::go_on() {
  Engine& engine = *epoch_->engine;
  std::uint64_t first = next_;
  if (imaged_end_ > clock_.origin() && clock_.later(imaged_end_, 1) > clock_.end_of(first)) {
    // A shorter window begins later, since it must end with new bits.
    first = clock_.later(imaged_end_, 1) - clock_.window_samples();
  }
  first = clock_.at_hop(first);
  const std::uint64_t begin = feeder_.begin_of(first, engine);
  MissingBits missing;  // includes those that the previous engine did not look back at
  std::uint64_t fed = feeder_.until(first, std::max(begin, taken_), engine).first;
  while (fed < taken_) {
    const std::uint64_t samples = std::min(taken_ - fed, engine.piece_samples());
    const std::span<std::uint32_t> room = engine_input_.room(engine, samples * input_.words_per_sample());
    runs_.clear();
    const std::optional<TakeResult> again = ring_->take_again(clock_.element_of(fed), room, &runs_);
    if (!again) {
      begin_anew(first);
      return;
    }
    if (again->missing < clock_.elements(samples) || fed_.front().received_ns == 0) {
      fed_.front().received_ns = std::max(fed_.front().received_ns, again->capture_mono_ns);
    }
    for (const MissingRun& run : runs_) {
      missing.runs().push_back({clock_.elements(fed) + run.first_bit_time, run.bit_times});
    }
    engine_input_.push(engine, fed, room);
    fed += samples;
  }
  missing_ = begin < taken_ ? std::move(missing) : std::move(missing_);
  next_ = first;
  cadences_.align(clock_.hop_of(next_));
}

/// Handles data that the ring no longer holds: sheds hops from `first` on until one begins after the taken data.
void LiveEngine::begin_anew(std::uint64_t first) {
  next_ = first;
  forget_parts();
  pass_over(clock_.hops_to(first, taken_), false);
  feeder_.begin(next_);
  cadences_.align(clock_.hop_of(next_));
}

void LiveEngine::pass_over(std::uint64_t hops, bool is_absent) {
  next_ = clock_.later(next_, hops);
  stamps_.pass_over(hops, is_absent);
}

void LiveEngine::use(const Masks& masks, std::uint64_t epoch) {
  if (epoch_->number == epoch) {
    finish_late();  // pending frames keep the masks so far
    epoch_->engine->use(masks);
  }
}

void LiveEngine::adopt(const SearchChain::Found& found, std::uint64_t epoch) {
  if (epoch_->number == epoch) {
    found_.push_back(found);
  }
}

std::uint64_t LiveEngine::waiting_elements() const {
  return is_streaming_ ? ring_->available_end() - clock_.element_of(taken_) : 0;
}

}  // namespace nearfield::daemon
