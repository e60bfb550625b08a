#include "engine/engine.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <set>
#include <sstream>
#include <utility>

#include "cl/device.hpp"
#include "config/config.hpp"
#include "config/schema/front_end_kinds.hpp"
#include "config/schema/processor_kinds.hpp"
#include "core/error.hpp"
#include "core/images.hpp"
#include "engine/calibration_gains.hpp"
#include "engine/devices.hpp"
#include "engine/engine_parts.hpp"
#include "frontend/samples/decimator.hpp"
#include "imaging/priors/make_mask.hpp"
#include "processors/images/bands.hpp"
#include "processors/images/image_plan.hpp"
#include "processors/images/settings.hpp"

namespace nearfield {
namespace {

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
  if (has_spectra && !bands_of(plan.settings.front_end).empty()) {
    throw ConfigError(fmt::format("{}: expected bits or time data, found spectra, which are no whole set of bins",
                                  key_of_bands(plan.settings.front_end)));
  }
  taps_.front().name = kNoFrontEnd;
  taps_.front().key = key_of(plan.settings, plan.settings.front_end);
  taps_.front().window_samples = plan.settings.front_end.window_samples;
  taps_.front().has_front_end = !has_spectra;
  if (!has_spectra) {
    taps_.front().plan = front_end_plan(plan);
    taps_.front().wants_samples = front_end_entry(plan.settings.front_end.kind).cuts_samples;
  }
  if (plan.has_processor) {
    processors_ = processors_of(
        plan.settings, has_spectra ? plan.spectra_hz.size() : taps_.front().plan.settings.frequencies_hz.size());
    if (processors_.size() > plan.settings.processors.size()) {
      devices.insert(devices.begin(), 0);  // the processor of `holography` works on the run's device
    }
    devices.resize(processors_.size());
  }
  for (std::size_t i = 0; i < processors_.size(); ++i) {
    taps_of_settings_.push_back(tap_for(processors_[i], devices[i]));
  }
  if (plan.has_processor && processors_.empty()) {
    throw ConfigError("processors: expected at least one with holography.imager: none, found none");
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
  bool is_needed = false;
  for (std::size_t i = 0; i < processors_.size(); ++i) {
    is_needed |= &tap == &taps_[taps_of_settings_[i]] && fills_from_all(processors_[i].kind);
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
  for (std::size_t i = 0; i < processors_.size(); ++i) {
    const auto* const own = dynamic_cast<const ImageKindSettings*>(processors_[i].own.get());
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
  if (tap.owner.empty() && !bands_of(plan_.settings.front_end).empty()) {
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
  for (std::size_t i = 0; i < processors_.size(); ++i) {
    const ProcessorSettings& processor = processors_[i];
    const Tap& tap = taps_[taps_of_settings_[i]];
    Wanted& one = wanted.emplace_back();
    one.kind = processor.kind;
    one.every_hops = processor.every_hops;
    one.tap = taps_of_settings_[i];
    one.device = tap.device;
    one.needs = needs_of(plan_.settings, processor, plan_.sample_rate_hz);
    one.settings = std::make_unique<Settings>(settings_of(plan_.settings, processor, plan_.sample_rate_hz));
    one.own = processor.own ? processor.own->copy() : nullptr;
    one.plan = {.name = processor.name,
                .settings = one.settings.get(),
                .own = one.own.get(),
                .array = tap.array,
                .frequencies_hz = tap.frequencies_hz,
                .every_hops = processor.every_hops,
                .sample_rate_hz = plan_.sample_rate_hz,
                .input_is_finite = plan_.input == InputForm::kBits,
                .batch = plan_.settings.device.batch,
                .track_ids = plan_.track_ids,
                .files = plan_.files};
  }
  return wanted;
}

void Engine::add_results(const Wanted& wanted, ProcessorBase& processor) {
  ResultHeader header = processor.header();
  std::vector<int> subset = subset_of(header);
  header.config = to_yaml(plan_.settings);
  header.device = device_name_of(wanted.device);
  header.front_end = taps_[wanted.tap].name;
  auto* const searching = dynamic_cast<Searching*>(&processor);
  if (searching != nullptr && searching->search_every_hops() > 0 && !searcher_) {
    searcher_ = results_.size();
    schedule_ = SearchSchedule(static_cast<std::uint64_t>(searching->search_every_hops()));
  }
  const bool makes_images = images_of(header) != nullptr;
  results_.push_back({.header = std::move(header),
                      .every_hops = wanted.every_hops,
                      .tap = wanted.tap,
                      .sample_window = static_cast<std::uint64_t>(wanted.needs.sample_window),
                      .subset = std::move(subset),
                      .processor = &processor,
                      .searching = searching,
                      .makes_images = makes_images});
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

void Engine::seek(std::uint64_t first_window, std::uint64_t origin) {
  origin_ = origin;
  for (Tap& tap : taps_) {
    std::uint64_t window = first_window;
    while (static_cast<std::int64_t>(window - origin) < tap.lead_samples) {
      window = clock_.later(window, 1);  // first window that the tap can have; sliding sums count hops from it
    }
    const std::uint64_t first = tap.first(window);
    tap.begin = first - std::min(tap.history_samples, first - origin);
  }
}

std::uint64_t Engine::samples_begin(std::size_t device) const {
  std::uint64_t begin = std::numeric_limits<std::uint64_t>::max();
  for (const Tap& tap : taps_) {
    begin = tap.device == device && tap.wants_samples ? std::min(begin, tap.begin) : begin;
  }
  return begin;
}

std::size_t Engine::words_per_sample() const {
  const ArraySettings& array = plan_.settings.array;
  return static_cast<std::size_t>(kBitsPerWord * words_per_bit_time(array.layout, array.geometry));
}

SampleSpan Engine::window_of(const BatchState& batch, std::size_t tap, std::size_t present) const {
  const std::uint64_t first = taps_[tap].first(clock_.later(batch.first_sample, batch.taps[tap].absent + present));
  return {.first = first, .end = first + static_cast<std::uint64_t>(taps_[tap].window_samples)};
}

std::int64_t Engine::computed_memory_hops(std::size_t processor) const {
  const std::int64_t memory_hops = results_.at(processor).header.memory_hops.value_or(0);
  return processor == searcher_ ? memory_hops - kSearchesOfMemory * static_cast<std::int64_t>(schedule_.every())
                                : memory_hops;
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

}  // namespace nearfield
