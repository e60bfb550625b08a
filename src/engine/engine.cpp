#include "engine/engine.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numbers>
#include <set>
#include <sstream>
#include <utility>

#include "cl/device.hpp"
#include "config/config.hpp"
#include "config/schema/front_end_kinds.hpp"
#include "config/spectra_of_processors.hpp"
#include "core/extent_text.hpp"
#include "engine/calibration_gains.hpp"
#include "engine/devices.hpp"
#include "engine/engine_parts.hpp"
#include "frontend/samples/decimator_design.hpp"
#include "imaging/priors/make_mask.hpp"
#include "imaging/priors/missing_information.hpp"
#include "imaging/shared/image_surface.hpp"
#include "nearfield/error.hpp"
#include "processors/images/image_plan.hpp"
#include "processors/images/settings.hpp"

namespace nearfield {
namespace {

constexpr double kSnapWarning_hz = 0.5;

/// A microphone whose gain is not known at every frequency is not used.
void mask_uncalibrated(ArrayPlan& plan) {
  const auto channels = static_cast<std::size_t>(plan.geometry.channels());
  std::set<int> dead(plan.dead_channels.begin(), plan.dead_channels.end());
  for (std::size_t i = 0; i < plan.gains.size(); ++i) {
    if (!std::isfinite(plan.gains[i].real()) || !std::isfinite(plan.gains[i].imag())) {
      dead.insert(static_cast<int>(i % channels));
      plan.gains[i] = 1.0F;
    }
  }
  plan.dead_channels.assign(dead.begin(), dead.end());
}

/// Two frequencies that snap to one bin would give one image twice.
void require_distinct(std::vector<double> frequencies_hz) {
  std::sort(frequencies_hz.begin(), frequencies_hz.end());
  const auto twice = std::adjacent_find(frequencies_hz.begin(), frequencies_hz.end());
  if (twice != frequencies_hz.end()) {
    throw ConfigError(fmt::format(
        "front_end.frequencies_hz: expected each frequency once, found two that are imaged at {:.2f} Hz", *twice));
  }
}

ArrayPlan array_plan_of(const Settings& settings, const std::vector<double>& frequencies_hz, const ArrayFiles* files) {
  ArrayPlan out;
  out.geometry = settings.array.geometry;
  out.medium = settings.medium;
  out.standoff_m = settings.holography.standoff_m;
  out.frequencies_hz = frequencies_hz;
  out.dead_channels = settings.array.dead_channels;
  out.gains = calibration_gains(settings.array, frequencies_hz, files);
  mask_uncalibrated(out);
  const std::set<int> unusable(out.dead_channels.begin(), out.dead_channels.end());
  if (const std::string flaw =
          flaw_of_valid(settings.array, settings.array.geometry.channels() - static_cast<int>(unusable.size()));
      !flaw.empty()) {
    throw ConfigError("array.dead_channels, array.calibration: " + flaw);
  }
  require_distinct(frequencies_hz);
  return out;
}

}  // namespace

FrontEndPlan front_end_plan(const EnginePlan& plan) {
  FrontEndSettings settings = plan.settings.front_end;
  settings.frequencies_hz = plan_bands(settings, plan.settings.holography.quantity, plan.sample_rate_hz).frequencies_hz;
  return front_end_plan(plan, settings);
}

FrontEndPlan front_end_plan(const EnginePlan& plan, const FrontEndSettings& settings) {
  return {.geometry = plan.settings.array.geometry,
          .layout = plan.settings.array.layout,
          .sensitivity_dbfs = plan.settings.array.sensitivity_dbfs,
          .sample_rate_hz = plan.sample_rate_hz,
          .input_is_bits = plan.input == InputForm::kBits,
          .settings = settings,
          .dead_channels = plan.settings.array.dead_channels,
          .batch = plan.settings.device.batch};
}

std::unique_ptr<Engine> make_engine(EngineKind kind, const EnginePlan& plan) {
  if (kind == EngineKind::kReference) {
    return make_reference_engine(plan);
  }
  return make_engine(ocl::Device::open(plan.settings.device), plan);
}

std::unique_ptr<Engine> make_engine(const ocl::Device& device, const EnginePlan& plan) {
  return make_opencl_engine(plan.has_processor ? open_devices(device, plan.settings) : Devices{{device}, {}}, plan);
}

namespace {

/// Replaces a front_end key at the start of a line by the processor's key for it, if there is one.
std::string with_key_of(const std::string& owner, const std::string& line) {
  constexpr std::array<std::array<std::string_view, 2>, 5> kKeys = {{{"front_end.kind", "kind"},
                                                                     {"front_end.window_samples", "window_samples"},
                                                                     {"front_end.window", "window"},
                                                                     {"front_end.frequencies_hz", "frequencies_hz"},
                                                                     {"front_end.popcount.order", "popcount_order"}}};
  for (const auto& [key, own] : kKeys) {
    if (line.starts_with(key)) {
      return fmt::format("processors.{}.front_end.{}{}", owner, own, line.substr(key.size()));
    }
  }
  return fmt::format("processors.{}.front_end: {}", owner, line);
}

}  // namespace

std::string with_keys_of(const std::string& owner, const std::string& message) {
  if (owner.empty()) {
    return message;
  }
  std::string named;
  std::istringstream lines(message);
  for (std::string line; std::getline(lines, line);) {
    named += (named.empty() ? "" : "\n") + with_key_of(owner, line);
  }
  return named;
}

namespace {

/// Key that is equal for front ends of one run whose spectra are identical bit for bit.
std::string key_of(const Settings& run, const FrontEndSettings& front_end) {
  Settings settings = run;
  settings.processors.clear();
  settings.front_end = front_end;
  if (!schema::front_end_kind(front_end.kind).sums_hops) {
    settings.front_end.incremental = Incremental::kAuto;  // whole windows: the setting has no effect
  }
  return to_yaml(settings);
}

}  // namespace

Engine::Engine(const EnginePlan& plan, std::vector<std::size_t> devices)
    : plan_(plan), clock_(plan.settings.front_end), taps_(1) {
  const bool has_spectra = plan.input == InputForm::kSpectra;
  if (has_spectra && !plan.settings.front_end.bands_hz.empty()) {
    throw ConfigError("front_end.bands_hz: expected bits or time data, found spectra, which are no whole set of bins");
  }
  taps_.front().name = kNoFrontEnd;
  taps_.front().key = key_of(plan.settings, plan.settings.front_end);
  taps_.front().window_samples = plan.settings.front_end.window_samples;
  taps_.front().has_front_end = !has_spectra;
  if (!has_spectra) {
    taps_.front().plan = front_end_plan(plan);
    taps_.front().wants_samples = front_end_entry(plan.settings.front_end.kind).cuts_samples;
  }
  devices.resize(plan.settings.processors.size());
  for (std::size_t i = 0; plan.has_processor && i < devices.size(); ++i) {
    taps_of_settings_.push_back(tap_for(plan.settings.processors[i], devices[i]));
  }
}

std::size_t Engine::tap_for(const ProcessorSettings& processor, std::size_t device) {
  const ProcessorNeeds needs = needs_of(plan_.settings, processor, plan_.sample_rate_hz);
  const bool has_spectra = plan_.input == InputForm::kSpectra;
  const bool has_bands =
      !has_spectra && !bands_of(processor).bands_hz.empty();  // with given spectra it uses their frequencies
  const bool has_own = processor.front_end.any() || has_bands;
  if (has_own && has_spectra) {
    throw ConfigError(
        fmt::format("processors.{}.front_end: expected bits or time data, found spectra, which no front end takes",
                    processor.name));
  }
  if (needs.sample_window > 0 && has_spectra) {
    throw ConfigError(fmt::format(
        "processors.{}.kind: expected bits or time data, found spectra, which have no samples for {} to work on",
        processor.name, processor.kind));
  }
  Tap tap;
  tap.device = device;
  tap.owner = has_own || !needs.spectra ? processor.name : "";
  tap.every_hops = processor.every_hops;
  tap.name = kNoFrontEnd;
  tap.has_front_end = needs.spectra && !has_spectra;
  tap.wants_samples = needs.sample_window > 0;
  if (!needs.spectra) {
    tap.key = fmt::format("{} samples of {}", needs.sample_window, processor.name);  // unshared: own flags
    tap.name = kNoSpectra;
    tap.window_samples = needs.sample_window;
    return shared(std::move(tap));
  }
  if (!has_own && device == 0) {
    taps_.front().wants_samples |= tap.wants_samples;
    return 0;
  }
  FrontEndSettings settings = settings_of(plan_.settings, processor, plan_.sample_rate_hz).front_end;
  const bool is_late = processor.every_hops > 1;
  if (!has_spectra && (has_own || is_late)) {
    // The run's setting is for the run's kind; a sliding DFT needs every hop.
    settings.incremental = is_late ? Incremental::kNever : Incremental::kAuto;
  }
  tap.key = key_of(plan_.settings, settings);
  tap.window_samples = settings.window_samples;
  if (tap.has_front_end) {
    tap.plan = has_own ? front_end_plan(plan_, settings) : front_end_plan(plan_);
    tap.plan.settings.incremental = settings.incremental;
    tap.wants_samples |= front_end_entry(settings.kind).cuts_samples;
  }
  return shared(std::move(tap));
}

std::size_t Engine::shared(Tap tap) {
  const auto same = std::find_if(taps_.begin(), taps_.end(),
                                 [&](const Tap& one) { return one.device == tap.device && one.key == tap.key; });
  if (same != taps_.end()) {
    same->every_hops = std::min(same->every_hops, tap.every_hops);
    same->wants_samples |= tap.wants_samples;
    return static_cast<std::size_t>(same - taps_.begin());
  }
  tap.lead_samples = tap.window_samples - plan_.settings.front_end.window_samples;
  taps_.push_back(std::move(tap));
  return taps_.size() - 1;
}

void Engine::finish(Tap& tap) {
  if (!tap.has_front_end && plan_.input != InputForm::kSpectra) {
    set_frequencies(tap, {});
  }
  if (tap.wants_samples && plan_.input == InputForm::kBits) {
    tap.history_samples = std::max<std::uint64_t>(tap.history_samples, kDecimatorHistoryWords);
  }
}

std::optional<Engine::SampleTap> Engine::sample_tap(std::size_t device) const {
  // Keep two windows: the window itself, and those behind it that are computed together.
  const std::int64_t batch_samples =
      std::int64_t{plan_.settings.device.batch - 1} * plan_.settings.front_end.hop_samples;
  std::optional<SampleTap> found;
  for (const Tap& tap : taps_) {
    if (tap.device == device && tap.wants_samples && plan_.input != InputForm::kSpectra) {
      found = found ? found : SampleTap{.plan = taps_.front().plan};
      const std::int64_t longest = std::max(tap.window_samples, batch_samples);
      found->longest_window = std::max(found->longest_window, static_cast<std::size_t>(longest));
      found->is_late &= tap.every_hops > 1;
    }
  }
  return found;
}

/// True if some processor of the tap needs masks with predictions from all microphones, which are slow to make.
bool Engine::feeds_from_all(const Tap& tap) const {
  if (!plan_.has_processor) {
    return false;
  }
  const Settings& settings = plan_.settings;
  bool is_needed = &tap == &taps_.front() && fills_from_all(first_kind(settings, tap.array.frequencies_hz.size()));
  for (std::size_t i = 0; i < settings.processors.size(); ++i) {
    is_needed |= &tap == &taps_[taps_of_settings_[i]] && fills_from_all(settings.processors[i].kind);
  }
  return is_needed;
}

/// Computes ArrayPlan::imaged for a tap.
std::optional<Quantity> Engine::imaged_of(const Tap& tap) const {
  std::optional<Quantity> imaged;
  const auto add = [&](Quantity quantity) {
    const bool is_pressure = quantity == Quantity::kPressure && imaged.value_or(quantity) == quantity;
    imaged = is_pressure ? Quantity::kPressure : Quantity::kNormalVelocity;
  };
  const Settings& settings = plan_.settings;
  if (plan_.has_processor && &tap == &taps_.front() && settings.holography.imager != ImagerKind::kNone) {
    add(settings.holography.quantity);
  }
  for (std::size_t i = 0; plan_.has_processor && i < settings.processors.size(); ++i) {
    const auto* const own = dynamic_cast<const ImageKindSettings*>(settings.processors[i].own.get());
    if (own != nullptr && &tap == &taps_[taps_of_settings_[i]]) {
      add(own->images.quantity);
    }
  }
  return imaged;
}

void Engine::set_frequencies(Tap& tap, const std::vector<double>& computed_hz) {
  tap.array = array_plan_of(plan_.settings, computed_hz, plan_.files.get());
  tap.constant_flags = tap.array.constant_flags();
  tap.array.fills_from_all = feeds_from_all(tap);
  tap.array.imaged = imaged_of(tap);
  tap.frequencies_hz = computed_hz;
  if (tap.owner.empty() && !plan_.settings.front_end.bands_hz.empty()) {
    tap.frequencies_hz.resize(plan_.settings.front_end.frequencies_hz.size());
  }
  if (&tap == &taps_.front()) {
    mask_ = std::make_shared<const MicrophoneMask>(make_mask(tap.array, {}));
  }
  const std::set<std::int32_t> dead(tap.array.dead_channels.begin(), tap.array.dead_channels.end());
  masked_.emplace_back(dead.begin(), dead.end());
  missing_.push_back(nearfield::missing_information(tap.array, masked_.back()).largest());
}

std::vector<Engine::Wanted> Engine::wanted_processors() const {
  std::vector<Wanted> wanted;
  if (!plan_.has_processor) {
    return wanted;
  }
  const auto add = [&](const std::string& name, std::string_view kind, int every_hops, std::size_t index,
                       const Settings& settings, const ProcessorNeeds& needs, std::unique_ptr<KindSettings> own) {
    Wanted& one = wanted.emplace_back();
    one.kind = std::string(kind);
    one.every_hops = every_hops;
    one.tap = index;
    one.device = taps_[index].device;
    one.needs = needs;
    one.settings = std::make_unique<Settings>(settings);
    one.own = std::move(own);
    one.plan = {.name = name,
                .settings = one.settings.get(),
                .own = one.own.get(),
                .array = taps_[index].array,
                .frequencies_hz = taps_[index].frequencies_hz,
                .every_hops = every_hops,
                .sample_rate_hz = plan_.sample_rate_hz,
                .input_is_finite = plan_.input == InputForm::kBits,
                .batch = settings.device.batch,
                .track_ids = plan_.track_ids,
                .files = plan_.files};
  };
  const Settings& settings = plan_.settings;
  add(std::string(kFirstProcessor), first_kind(settings, taps_[0].array.frequencies_hz.size()), 1, 0, settings, {},
      first_settings(settings.holography));
  for (std::size_t i = 0; i < settings.processors.size(); ++i) {
    const ProcessorSettings& processor = settings.processors[i];
    add(processor.name, processor.kind, processor.every_hops, taps_of_settings_[i],
        settings_of(settings, processor, plan_.sample_rate_hz), needs_of(settings, processor, plan_.sample_rate_hz),
        processor.own ? processor.own->copy() : nullptr);
  }
  return wanted;
}

void Engine::add_results(const Wanted& wanted, ProcessorBase& processor) {
  ResultHeader header = processor.header();
  header.config = to_yaml(plan_.settings);
  header.device = device_name_of(wanted.device);
  header.front_end = taps_[wanted.tap].name;
  const auto* const images = dynamic_cast<const ImagesOnHost*>(&processor);
  if (images != nullptr && results_.empty()) {
    schedule_ = SearchSchedule(static_cast<std::uint64_t>(images->plan().search_every_hops()));
  } else if (images != nullptr) {  // only the first processor searches
    header.memory_hops = *header.memory_hops - kSearchesOfMemory * std::int64_t{images->plan().search_every_hops()};
  }
  const std::span<const int> subset = processor.subset();
  results_.push_back({.header = std::move(header),
                      .every_hops = wanted.every_hops,
                      .tap = wanted.tap,
                      .subset = {subset.begin(), subset.end()},
                      .processor = &processor,
                      .images = images});
}

std::uint64_t Engine::history_samples() const {
  std::int64_t most = 0;
  for (const Tap& tap : taps_) {
    most = std::max(most, static_cast<std::int64_t>(tap.history_samples) + tap.lead_samples);
  }
  return static_cast<std::uint64_t>(most);
}

std::uint64_t Engine::piece_samples() const {
  constexpr std::int64_t kLeastSamples = 256;  // eight hops of 32: a megabyte of 1024 microphones
  const FrontEndSettings& front_end = plan().settings.front_end;
  return static_cast<std::uint64_t>(
      std::min<std::int64_t>(front_end.window_samples, std::max<std::int64_t>(front_end.hop_samples, kLeastSamples)));
}

SampleSpan Engine::window_of(std::size_t processor, std::uint64_t first_sample) const {
  return {.first = taps_[tap_of(processor)].first(first_sample), .end = clock_.end_of(first_sample)};
}

bool Engine::reaches(std::size_t processor, std::uint64_t first_sample) const {
  return static_cast<std::int64_t>(first_sample) >= taps_[tap_of(processor)].lead_samples;
}

std::vector<std::uint64_t> Engine::begin_taps(std::uint64_t first_window, std::uint64_t origin) {
  origin_ = origin;
  std::vector<std::uint64_t> begins;
  for (const Tap& tap : taps_) {
    std::uint64_t window = first_window;
    while (static_cast<std::int64_t>(window - origin) < tap.lead_samples) {
      window = clock_.later(window, 1);  // first window that the tap can have; sliding sums count hops from it
    }
    const std::uint64_t first = tap.first(window);
    begins.push_back(first - std::min(tap.history_samples, first - origin));
  }
  return begins;
}

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
    tap.present = 0;
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
    status.flags = of_tap.flags | (results_.empty() ? 0U : batch.memory_flags.front()[i]) |
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

void Engine::image_again(const FinishedBatch& batch) {
  const std::shared_ptr<BatchState>& state = newest(batch, "image_again()");
  if (!results_.empty()) {
    compute_again(*state);
  }
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
  if (results_.empty()) {
    throw Error(ExitCode::kInternal, "engine: expected a processor to adopt findings, found none");
  }
  results_.front().processor->adopt(findings);
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

std::int64_t Engine::computed_memory_hops(std::size_t processor) const {
  const std::int64_t memory_hops = results_.at(processor).header.memory_hops.value_or(0);
  return processor == 0 ? memory_hops - kSearchesOfMemory * static_cast<std::int64_t>(schedule_.every()) : memory_hops;
}

void Engine::note_begun(BatchState& batch, std::size_t processor) {
  results_.at(processor).begun.at(batch.place) = batch.number;
  const auto memory_hops = static_cast<std::uint64_t>(std::max<std::int64_t>(computed_memory_hops(processor), 0));
  const bool is_searched = processor == 0 && schedule_.is_on();
  std::uint64_t searched_hop = batch.searched_from;
  std::vector<std::uint32_t>& flags = batch.memory_flags.at(processor);
  flags.clear();
  for (std::uint64_t hop = batch.hops.first; hop < batch.hops.first + batch.statuses.size(); ++hop) {
    if (is_searched && search_ != schedule_.holding_at(hop)) {
      searched_hop = hop + 1;
    }
    const bool is_full = (batch.computed_from == 0 || hop - batch.computed_from >= memory_hops) &&
                         (!is_searched || searched_hop == 0 || hop >= searched_hop + memory_hops);
    flags.push_back(is_full ? 0U : std::uint32_t{kFlagMemoryNotFull});
  }
  searched_hop_ = is_searched ? searched_hop : searched_hop_;
}

std::span<const float> Engine::in_channel_order(std::span<const float> samples) {
  const ArrayGeometry& geometry = plan_.settings.array.geometry;
  if (!geometry.is_reordered()) {
    return samples;
  }
  const std::vector<int>& channel_of = geometry.placement->channel_of_input;
  std::vector<float>& ordered = ordered_.emplace_back(samples.size());
  for (std::size_t first = 0; first < samples.size(); first += channel_of.size()) {
    for (std::size_t i = 0; i < channel_of.size(); ++i) {
      ordered[first + static_cast<std::size_t>(channel_of[i])] = samples[first + i];
    }
  }
  return ordered;
}

std::uint32_t Engine::microphones(std::size_t processor) const {
  const std::vector<int>& subset = results_.at(processor).subset;
  return static_cast<std::uint32_t>(
      subset.empty() ? static_cast<std::size_t>(taps_[tap_of(processor)].array.geometry.channels()) : subset.size());
}

std::vector<int> Engine::of_processor(std::size_t processor, std::vector<int> channels) const {
  const std::vector<int>& subset = results_.at(processor).subset;
  std::erase_if(channels, [&](int channel) {
    return !subset.empty() && std::find(subset.begin(), subset.end(), channel) == subset.end();
  });
  return channels;
}

float Engine::missing_information(std::size_t processor, int non_finite) const {
  if (results_.at(processor).images == nullptr) {
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

std::vector<ArrayPlan> Engine::array_plans() const {
  std::vector<ArrayPlan> plans;
  std::transform(taps_.begin(), taps_.end(), std::back_inserter(plans), [](const Tap& tap) { return tap.array; });
  return plans;
}

Masks make_masks(const std::vector<ArrayPlan>& plans, const std::vector<int>& channels) {
  Masks masks;
  std::transform(plans.begin(), plans.end(), std::back_inserter(masks),
                 [&](const ArrayPlan& plan) { return make_mask(plan, channels); });
  return masks;
}

std::size_t Engine::possible_in_flight(const std::vector<Wanted>& wanted) const {
  const bool takes_turns = std::all_of(wanted.begin(), wanted.end(), [](const Wanted& one) {
    return one.every_hops == 1 && one.device == 0 && processor_entry(one.kind).takes_turns;
  });
  const bool is_possible = takes_turns && !wanted.empty() && plan_.input != InputForm::kSpectra;
  return is_possible ? std::clamp<std::size_t>(plan_.batches_in_flight, 1, 2) : 1;
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

std::span<const std::complex<float>> Engine::images(const FinishedBatch& batch) const {
  if (results_.empty() || results_.front().images == nullptr) {
    return {};
  }
  require_products(batch, 0, "images()");
  return results_.front().images->images(batch.state().place);
}

std::span<const FilterReport> Engine::reports(const FinishedBatch& batch) const {
  if (results_.empty() || results_.front().images == nullptr) {
    return {};
  }
  require_products(batch, 0, "reports()");
  return results_.front().images->reports(batch.state().place);
}

void Engine::fill(const Batch& batch, std::size_t window, ImageFrame& frame) {
  const ImageFrame before = std::move(frame);
  Frame products;
  products.products = read(batch, 0, window).products;
  frame = image_frame_of(images_header(*this), products);
  frame.first_sample = before.first_sample;
  frame.timestamp_ns = before.timestamp_ns;
  frame.flags = before.flags;
  frame.missing_bits = before.missing_bits;
}

ImagesHeader images_header(const Engine& engine) { return images_header_of(engine.header(0)).value(); }

namespace {

/// Warns about one image processor, named by `what`, and its settings section `path`.
void warn_of_images(const ImagePlan& images, const std::string& what, const std::string& path,
                    std::vector<std::string>& warnings) {
  constexpr double kNearMicrophones = 0.3;  // fraction of the standoff
  if (images.surface && images.standoff_m - images.surface->highest_m() < kNearMicrophones * images.standoff_m) {
    warnings.push_back(fmt::format(
        "{}surface: its highest place, z = {:.4g} m, is nearer to the microphones at {:.4g} m than {} of the "
        "standoff; images there show the noise of single microphones",
        path, images.surface->highest_m(), images.standoff_m, kNearMicrophones));
  }
  if (images.holography.imager != ImagerKind::kPnah) {
    return;
  }
  for (std::size_t f = 0; f < images.frequencies_hz.size(); ++f) {
    if (images.holography.filter.kind == FilterKind::kCos && images.cutoff_rad_per_m[f] < images.wavenumber(f)) {
      warnings.push_back(
          fmt::format("{}{:.1f} Hz: the cut-off {:.1f} rad/m lies inside the radiation circle, k = {:.1f} rad/m; "
                      "propagating waves are filtered too",
                      what, images.frequencies_hz[f], images.cutoff_rad_per_m[f], images.wavenumber(f)));
    }
  }
  const ExtrapolationSettings& extrapolation = images.holography.extrapolation;
  const int shortest = std::min(images.geometry.rows, images.geometry.columns);
  if (predicts(extrapolation.method) && usable_order(extrapolation.order, shortest) < extrapolation.order) {
    warnings.push_back(fmt::format(
        "{}extrapolation.order: {} is used along x and {} along y, the most that {} x {} "
        "microphones allow",
        path, usable_order(extrapolation.order, images.geometry.columns),
        usable_order(extrapolation.order, images.geometry.rows), images.geometry.rows, images.geometry.columns));
  }
}

}  // namespace

/// Limit per front end; a band may have hundreds of bins.
constexpr int kMostAliasWarnings = 8;

std::vector<std::string> plan_warnings(const Engine& engine) {
  std::vector<std::string> warnings = doubts_of(engine.plan().settings.array.geometry);
  for (const Engine::Tap& tap : engine.taps()) {
    if (tap.owner.empty() && &tap != engine.taps().data()) {
      continue;  // the run's front end on another device
    }
    int aliased = 0;
    const bool is_aliased = (tap.constant_flags & kFlagWavenumberAboveNyquist) != 0;  // alias_wavenumber() searches
    const double alias = is_aliased ? tap.array.alias_wavenumber() : std::numeric_limits<double>::infinity();
    const FrontEndSettings& front_end = tap.plan.settings;
    const std::string section = tap.owner.empty() ? "front_end" : fmt::format("processors.{}.front_end", tap.owner);
    for (std::size_t f = 0; f < tap.frequencies_hz.size(); ++f) {
      const double frequency_hz = tap.frequencies_hz[f];
      if (engine.plan().input != InputForm::kSpectra &&
          std::abs(frequency_hz - front_end.frequencies_hz[f]) > kSnapWarning_hz) {
        warnings.push_back(fmt::format(
            "{}.frequencies_hz[{}]: {} Hz is off the grid of {:.3f} Hz that {} images on (sample rate / "
            "window_samples); {:.3f} Hz, the nearest, is imaged; {}.kind: dot_product images any "
            "frequency",
            section, f, front_end.frequencies_hz[f], engine.plan().sample_rate_hz / front_end.window_samples,
            front_end.kind, frequency_hz, section));
      }
      if (tap.array.wavenumber(f) > alias && ++aliased <= kMostAliasWarnings) {
        warnings.push_back(fmt::format(
            "{:.1f} Hz: k = {:.1f} rad/m lies above {}{:.1f} rad/m; the microphones are too "
            "far apart for this frequency",
            frequency_hz, tap.array.wavenumber(f),
            tap.array.geometry.is_grid() ? "pi/pitch = " : "where the array's pattern has grating lobes, ", alias));
      }
    }
    if (aliased > kMostAliasWarnings) {
      warnings.push_back(
          fmt::format("so they are for {} further frequencies of {}", aliased - kMostAliasWarnings, section));
    }
  }
  for (const Engine::Wanted& wanted : engine.wanted_processors()) {
    const std::vector<std::string> more = processor_entry(wanted.kind).remarks(wanted.plan).warnings;
    warnings.insert(warnings.end(), more.begin(), more.end());
    if (dynamic_cast<const ImageKindSettings*>(wanted.own.get()) != nullptr) {
      const bool is_first = wanted.plan.name == kFirstProcessor;
      warn_of_images(image_plan(wanted.plan), is_first ? "" : wanted.plan.name + ": ",
                     is_first ? "holography." : fmt::format("processors.{}.", wanted.plan.name), warnings);
    }
  }
  return warnings;
}

MicrophoneUse microphone_use(const Engine& engine) {
  const std::vector<std::int32_t>& masked = engine.masked_.front();
  const auto microphones = static_cast<std::uint32_t>(engine.array_plan().geometry.channels());
  const auto used = microphones - static_cast<std::uint32_t>(masked.size());
  return {.fewest_used = used,
          .most_used = used,
          .microphones = microphones,
          .masked = {masked.begin(), masked.end()},
          .missing_information = engine.missing_.front()};
}

std::vector<std::string> plan_notes(const Engine& engine) {
  std::vector<std::string> notes;
  if (std::string origin = text_of_origin(engine.plan().settings.array.geometry); !origin.empty()) {
    notes.push_back(std::move(origin));
  }
  for (const Engine::Wanted& wanted : engine.wanted_processors()) {
    const std::vector<std::string> more = processor_entry(wanted.kind).remarks(wanted.plan).notes;
    notes.insert(notes.end(), more.begin(), more.end());
  }
  for (const Engine::Results& results : engine.results_) {
    for (const Axis& axis : results.header.axes) {
      if (axis.components == 3 && axis.unit == "m" && axis.name != "microphone") {
        notes.push_back(fmt::format("{}: axis {} has {} places, {}", results.header.processor, axis.name, axis.size(),
                                    text_of_extent(axis.values)));
      }
    }
  }
  return notes;
}

}  // namespace nearfield
