#include "daemon/live/live_engine.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <utility>

#include "core/error.hpp"
#include "core/system/clocks.hpp"
#include "core/system/host.hpp"
#include "imaging/priors/make_mask.hpp"

namespace nearfield::daemon {
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
      feeder_(epoch_->plan.settings.front_end) {
  use_epoch();
}

void LiveEngine::use_epoch() {
  clock_.use(epoch_->plan.settings.front_end);
  chunks_.resize(static_cast<std::size_t>(epoch_->plan.settings.device.batch));
  forget_parts();
  take_cadences();
}

void LiveEngine::forget_parts() {
  for (Chunk& chunk : chunks_) {
    chunk.of_window = {};
    chunk.window_mono_ns = 0;
  }
}

/// Sets up the cadences; a processor of the previous epoch keeps its count of shed hops. The next window is still to be
/// chosen.
void LiveEngine::take_cadences() {
  const std::vector<Cadence> before = std::exchange(cadences_, {});
  for (std::size_t p = 0; p < epoch_->engine->processors(); ++p) {
    const auto every = static_cast<std::uint64_t>(epoch_->engine->every_hops(p));
    const std::string& name = epoch_->engine->header(p).processor;
    const auto same = std::find_if(before.begin(), before.end(), [&](const Cadence& c) { return c.processor == name; });
    cadences_.push_back({.processor = name,
                         .every = every,
                         .shed = same == before.end() ? 0 : same->shed,
                         .has_frames = same != before.end() && same->has_frames});
  }
}

/// Aligns a processor's frames with those of a replay: at hops that are multiples of its cadence.
void LiveEngine::align_cadences() {
  for (Cadence& cadence : cadences_) {
    cadence.next = (clock_.hop_of(next_) + cadence.every - 1) / cadence.every * cadence.every;
  }
}

std::unique_ptr<Epoch> LiveEngine::swap(std::unique_ptr<Epoch> next) {
  const Feeder before = feeder_;
  const std::vector<Cadence> cadences = cadences_;
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

/// Chooses the new engine's first window and feeds what the ring still holds of it.
void LiveEngine::go_on() {
  std::uint64_t first = next_;
  if (imaged_end_ > clock_.origin() && clock_.later(imaged_end_, 1) > clock_.end_of(first)) {
    // A shorter window begins later, since it must end with new bits.
    first = clock_.later(imaged_end_, 1) - clock_.window_samples();
  }
  first = clock_.at_hop(first);
  const std::uint64_t begin = feeder_.begin_of(first, *epoch_->engine);
  MissingBits missing;  // includes those that the previous engine did not look back at
  std::uint64_t fed = feeder_.until(first, std::max(begin, taken_), *epoch_->engine).first;
  while (fed < taken_) {
    const std::uint64_t samples = std::min(taken_ - fed, epoch_->engine->piece_samples());
    const std::span<std::uint32_t> room = room_for(samples * input_.words_per_sample());
    std::vector<MissingRun> runs;
    if (!ring_->take_again(clock_.element_of(fed), room, &runs)) {
      begin_anew(first);
      return;
    }
    for (const MissingRun& run : runs) {
      missing.runs().push_back({clock_.elements(fed) + run.first_bit_time, run.bit_times});
    }
    push(fed, room);
    fed += samples;
  }
  missing_ = begin < taken_ ? std::move(missing) : std::move(missing_);
  next_ = first;
  align_cadences();
}

/// Handles data that the ring no longer holds: sheds hops from `first` on until one begins after the taken data.
void LiveEngine::begin_anew(std::uint64_t first) {
  next_ = first;
  pass_over(clock_.hops_to(first, taken_));
  feeder_.begin(next_);
  align_cadences();
}

void LiveEngine::pass_over(std::uint64_t hops) {
  next_ = clock_.later(next_, hops);
  shed_ += hops;
  sequence_ += hops;
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

void LiveEngine::begin_stream() {
  stream_ = ring_->accept_stream();
  is_streaming_ = true;
  // A gap, so that no front end takes the new stream for a continuation; otherwise the stream's own count, so that
  // frames equal those of a replay of its bits, to the last bit.
  clock_.begin(stream_.first_element, stream_.number > 1 ? taken_ + 1 : taken_);
  next_ = clock_.at_hop(clock_.origin());
  feeder_.begin(next_);
  taken_ = clock_.origin();
  imaged_end_ = clock_.origin();
  align_cadences();
  forget_parts();
  processors_ = usable_processors();
  found_.clear();
  seen_mask_.reset();
  passed_mask_.reset();
  epoch_->engine->forget();
  is_back_ = imaged_ns_ != 0;
  missing_ = MissingBits();
  lost_recorded_ = ring_->lost();  // the rest of the old stream is in no recording
  if (hooks_.restart) {
    hooks_.restart(stream_);
  }
}

LiveEngine::Step LiveEngine::step(std::int64_t deadline_ns) {
  if (!is_streaming_) {
    if (ring_->wait_for_stream(deadline_ns)) {
      begin_stream();
    }
    return Step::kNothing;
  }
  switch (wait_for_window(deadline_ns)) {
    case WaitResult::kTimeout:
      publish_late();
      return Step::kNothing;
    case WaitResult::kNewStream:
      finish_late();
      begin_stream();
      return Step::kNothing;
    case WaitResult::kEnded:
      finish_late();
      return Step::kEnded;
    case WaitResult::kReady:
      break;
  }
  if (pass_over_gap()) {
    return Step::kNothing;
  }
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
  const FinishedBatch batch = compute(windows, pauses, report);
  for (std::size_t window = 0; window < windows; ++window) {
    publish(batch, window, pauses, report);
  }
  publish_late();
  if (hooks_.look) {
    const bool has_bits = input_.form == InputForm::kBits && chunks_.front().missing.empty();
    hooks_.look({.engine = epoch_->engine.get(),
                 .batch = batch,
                 .epoch = epoch_->number,
                 .first_sample = next_,
                 .hop = clock_.hop_of(next_),
                 .words = has_bits ? chunks_.front().of_window : std::span<const std::uint32_t>(),
                 .is_whole = batch.statuses().front().missing_bits == 0});
  }
  begin_late(batch);
  next_ = clock_.later(next_, windows);
  forget_parts();
  return Step::kFrames;
}

Pauses LiveEngine::pauses_at(std::int64_t now_ns) const {
  return {.dashboards = !input_.waits && overload_.pauses_dashboards(now_ns),
          .recordings = !input_.waits && overload_.pauses_recordings(now_ns)};
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
  pass_over(hops);
  absent_ += hops;
  return true;
}

std::uint64_t LiveEngine::waiting_elements() const {
  return is_streaming_ ? ring_->available_end() - clock_.element_of(taken_) : 0;
}

/// Skips all windows but the newest available one, if hops must be shed.
void LiveEngine::shed(std::int64_t now_ns) {
  const std::uint64_t there = ring_->available_end() - clock_.element_of(clock_.end_of(next_));
  const std::uint64_t hops = there / clock_.elements_per_sample() / clock_.hop_samples();
  const auto waiting_ns = static_cast<std::int64_t>(static_cast<double>(there) / input_.element_rate_hz * 1e9);
  if (hops == 0 || !overload_.sheds(waiting_ns, now_ns)) {
    return;
  }
  pass_over(hops);
  overload_.shed(now_ns);
}

FinishedBatch LiveEngine::compute(std::size_t windows, const Pauses& pauses, FrameReport& report) {
  Engine& engine = *epoch_->engine;
  const std::int64_t begin_ns = monotonic_ns();
  std::uint64_t first = feeder_.next(next_, windows, engine).first;
  take_between(first, pauses);
  for (std::size_t window = 0; window < windows; ++window) {
    const std::uint64_t end = clock_.end_of(next_, window + 1);
    feed(first, end, chunks_[window], pauses);
    first = end;
  }
  const std::int64_t taken_ns = monotonic_ns();
  report.taken_ns = taken_ns - begin_ns;
  if (hooks_.fault) {
    hooks_.fault(sequence_);
  }
  FinishedBatch batch = engine.compute(range_of(windows));
  report.computed_ns = monotonic_ns() - taken_ns;
  pieces_ = 0;
  imaged_end_ = clock_.end_of(next_, windows);
  return batch;
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

std::int64_t LiveEngine::window_begin_ns(std::int64_t end_ns, std::uint64_t elements) const {
  return end_ns - std::llround(1e9 * static_cast<double>(elements) / input_.element_rate_hz);
}

/// Frame of a window without a processor's products.
Frame LiveEngine::stamped(std::size_t window, FrameReport& report) {
  const std::uint64_t first_sample = clock_.later(next_, window);
  const std::uint64_t elements = clock_.window_elements();
  const Chunk& chunk = chunks_[window];
  const std::int64_t capture_mono_ns = chunk.window_mono_ns != 0 ? chunk.window_mono_ns : chunk.capture_mono_ns;
  if (std::exchange(is_back_, false) && !input_.waits) {
    count_absence(capture_mono_ns, first_sample);
  }
  imaged_ns_ = capture_mono_ns;
  Frame frame;
  frame.sequence = sequence_++;
  frame.stream_id = stream_.stream_id;
  frame.first_bit_time = clock_.element_of(first_sample);
  frame.window_bit_times = static_cast<std::uint32_t>(elements);
  frame.capture_mono_ns = capture_mono_ns;
  frame.capture_tai_ns = frame.capture_mono_ns + tai_offset_ns_;
  frame.timestamp_ns = window_begin_ns(frame.capture_tai_ns, elements);
  missing_.forget_before(clock_.elements(feeder_.begin_of(first_sample, *epoch_->engine)));
  frame.missing_bit_times = missing_in({.first = first_sample, .end = clock_.end_of(first_sample)});
  frame.shed_hops = std::exchange(shed_, 0);
  report.absent_hops = std::exchange(absent_, 0);
  report.has_input = 2 * frame.missing_bit_times <= elements;
  frame.epoch = epoch_->number;
  return frame;
}

/// Stamp of a processor's frame, whose window may differ.
Frame LiveEngine::of_processor(std::size_t processor, std::size_t window, const Frame& stamp) const {
  Frame frame = stamp;
  frame.processor = processor;
  if (epoch_->engine->has_own_window(processor)) {
    const SampleSpan span = epoch_->engine->window_of(processor, clock_.later(next_, window));
    const std::uint64_t elements = clock_.elements(span.size());
    frame.first_bit_time = clock_.element_of(span.first);
    frame.window_bit_times = static_cast<std::uint32_t>(elements);
    frame.timestamp_ns = window_begin_ns(frame.capture_tai_ns, elements);
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

void LiveEngine::publish(const FinishedBatch& batch, std::size_t window, const Pauses& pauses, FrameReport& report) {
  const Frame stamp = stamped(window, report);
  const std::int64_t begin_ns = monotonic_ns();
  const std::uint64_t hop = clock_.hop_of(clock_.later(next_, window));
  prompt_.clear();
  for (std::size_t p = 0; p < cadences_.size(); ++p) {
    Cadence& cadence = cadences_[p];
    cadence.shed += stamp.shed_hops;
    const bool is_due = hop >= cadence.next || cadence.next - hop > cadence.every;  // bit-times wrap after 2^64
    if (!is_due) {
      continue;
    }
    cadence.next = (hop / cadence.every + 1) * cadence.every;
    if (!epoch_->engine->has_products(batch, p, window)) {
      cadence.shed += cadence.has_frames ? cadence.every : 0;
      continue;
    }
    cadence.has_frames = true;
    Frame frame = of_processor(p, window, stamp);
    frame.shed_hops = std::exchange(cadence.shed, 0);
    if (epoch_->engine->is_late(p)) {
      due_.push_back({.frame = frame, .batch = batch, .window = window, .pauses = pauses});
      continue;
    }
    take_products(frame, batch, window);
    publisher_->publish_to_controllers(frame);
    report.out_mono_ns = p == 0 ? monotonic_ns() : report.out_mono_ns;
    prompt_.push_back(frame);
  }
  deliver(stamp, begin_ns, pauses, report);
}

/// Enqueues the slow-cadence processors that are due, after the windows whose frames are published. One whose device is
/// still busy with earlier windows gets no frame of these.
void LiveEngine::begin_late(const FinishedBatch& batch) {
  due_processors_.clear();
  const std::size_t pending = late_.size();  // frames of earlier batches, whose products must not be taken over
  for (const LateFrame& one : due_) {
    const std::size_t processor = one.frame.processor;
    const bool is_pending = std::any_of(late_.begin(), late_.begin() + static_cast<std::ptrdiff_t>(pending),
                                        [&](const LateFrame& other) { return other.frame.processor == processor; });
    if (is_pending || epoch_->engine->is_under_way(processor)) {
      Cadence& cadence = cadences_[processor];
      cadence.shed += cadence.every + one.frame.shed_hops;
      continue;
    }
    due_processors_.push_back(processor);
    late_.push_back(one);
  }
  due_.clear();
  epoch_->engine->begin_late(batch, due_processors_);
}

void LiveEngine::finish_late() {
  if (!late_.empty()) {
    epoch_->engine->finish_late();
    publish_late();
  }
}

/// Publishes the pending frames that are complete. If the source waits, all of them, since nothing is shed.
void LiveEngine::publish_late() {
  if (late_.empty()) {
    return;
  }
  if (input_.waits) {
    epoch_->engine->finish_late();
  }
  for (std::size_t i = 0; i < late_.size();) {
    if (epoch_->engine->is_under_way(late_[i].frame.processor)) {
      ++i;
      continue;
    }
    LateFrame one = late_[i];
    late_.erase(late_.begin() + static_cast<std::ptrdiff_t>(i));
    take_products(one.frame, one.batch, one.window);
    publisher_->publish_to_controllers(one.frame);
    publisher_->publish_to_others(one.frame, one.pauses);
  }
}

/// Counts the hops, and their bits, between the newest frame and a new stream's first one, the window of
/// `first_sample`, as missing. Hops of the new stream that were skipped since it began are counted already.
void LiveEngine::count_absence(std::int64_t capture_mono_ns, std::uint64_t first_sample) {
  const double elements = 1e-9 * static_cast<double>(capture_mono_ns - imaged_ns_) * input_.element_rate_hz;
  const auto per_sample = static_cast<double>(clock_.elements_per_sample());
  const std::uint64_t passed = first_sample - clock_.origin();
  const std::uint64_t passed_hops = passed / clock_.hop_samples();
  const double hops = std::round(elements / (static_cast<double>(clock_.hop_samples()) * per_sample)) - 1.0 -
                      static_cast<double>(passed_hops);
  const double unsent = elements - static_cast<double>(clock_.window_samples() + passed) * per_sample;
  const auto absent = static_cast<std::uint64_t>(std::max(hops, 0.0));
  sequence_ += absent;
  shed_ += absent;
  absent_ += absent;
  ring_->count_missing(static_cast<std::uint64_t>(std::max(unsent, 0.0)));
}

void LiveEngine::deliver(const Frame& stamp, std::int64_t begin_ns, const Pauses& pauses, FrameReport& report) {
  for (const Frame& one : prompt_) {
    publisher_->publish_to_others(one, pauses);
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

}  // namespace nearfield::daemon
