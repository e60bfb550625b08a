#include "recording/recorder.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "core/daemon_settings.hpp"
#include "core/error.hpp"
#include "core/system/host.hpp"
#include "files/nfr/nfr_results.hpp"

namespace nearfield {
namespace {

/// Most epochs per processor whose header is kept for frames still in the history.
constexpr std::size_t kMostEpochs = 64;
/// Most changes of masks that are kept for a file that begins later, with bits of the history.
constexpr std::size_t kMostMasks = 64;
/// Share of a lane's bits that is added for headers.
constexpr double kHeaderShare = 0.05;

std::uint64_t queue_bytes(std::int64_t bytes) { return static_cast<std::uint64_t>(bytes); }

std::uint64_t history_bit_times(const RecorderOptions& options) {
  return static_cast<std::uint64_t>(std::llround(options.settings.pre_trigger_s * options.info.sample_rate_hz));
}

std::uint64_t bits_capacity(const RecorderOptions& options) {
  if (!options.bits) {
    return 0;
  }
  const std::uint64_t bytes = history_bit_times(options) * options.info.words_per_element() * sizeof(std::uint32_t);
  return queue_bytes(options.settings.bits_queue_bytes) + bytes +
         static_cast<std::uint64_t>(kHeaderShare * static_cast<double>(bytes));
}

RecorderOptions checked(RecorderOptions options) {
  const auto require = [](bool holds, std::string_view what) {
    if (!holds) {
      throw ConfigError(fmt::format("recording: {}", what));
    }
  };
  require(!options.path.empty(), "path: expected a file name, found an empty one");
  require(options.bits || options.images, "expected bits, images or both, found neither");
  const DaemonSettings::Recording& settings = options.settings;
  require(settings.pre_trigger_s >= 0.0 && settings.pre_trigger_s < 3600.0, "pre_trigger_s: expected 0 to 3600 s");
  require(settings.max_s >= 0.0 && settings.sync_s >= 0.0, "max_s, sync_s: expected 0 or more");
  require(settings.max_bytes >= 0 && settings.quota_bytes >= 0, "max_bytes, quota_bytes: expected 0 or more");
  require(settings.bits_queue_bytes >= 0 && settings.images_queue_bytes >= 0,
          "bits_queue_bytes, images_queue_bytes: expected 0 or more");
  require(!options.is_by_level() || (options.images && settings.level > 0.0 && settings.quiet_s >= 0.0),
          "level: expected a level above 0 and recorded images");
  require(!options.is_by_rise() || (settings.pause_s >= 0.0 && settings.quiet_s >= 0.0),
          "pause_s, quiet_s: expected 0 or more");
  options.info.host = host_name();
  options.info.boot_id = boot_id();
  return options;
}

/// The limit on a processor's images that the trigger kLevel is; nullopt if it makes none.
std::optional<limits::LimitPlan> level_of(const ResultHeader& header, double above) {
  const Product* const images = header.product("images");
  if (images == nullptr || images->form != Product::Form::kArray) {
    return std::nullopt;
  }
  const ResultHeader* const headers = &header;
  return limits::LimitPlan({.name = "level", .processor = header.processor, .above = above}, std::span(&headers, 1));
}

}  // namespace

Recorder::Recorder(RecorderOptions options)
    : options_(checked(std::move(options))),
      bits_(bits_capacity(options_), history_bit_times(options_), options_.info.words_per_element()),
      images_(options_.images ? queue_bytes(options_.settings.images_queue_bytes) : 0, history_bit_times(options_)),
      thread_([this] { run(); }) {}

Recorder::~Recorder() {
  post(Request::kQuit);
  thread_.join();
}

void Recorder::push(const BitsPiece& piece) {
  if (options_.bits && piece.bit_times > 0) {
    bits_.push(piece);
    post_mask();
    data_came();
  }
}

void Recorder::skip(const BitsPiece& piece) {
  if (options_.bits && piece.bit_times > 0) {
    bits_.skip(piece);
    post_mask();
  }
}

/// No system call unless the writer sleeps until data come.
void Recorder::data_came() {
  if (waits_for_data_.load()) {
    wake_up_.call();
  }
}

void Recorder::post_mask() {
  if (!pending_mask_) {
    return;
  }
  const std::lock_guard lock(mutex_);
  masks_.push_back({.number = masks_.empty() ? 0 : masks_.back().number + 1,
                    .restarts = bits_.restarts(),
                    .change = std::move(*pending_mask_)});
  if (masks_.size() > kMostMasks) {
    masks_.pop_front();
  }
  pending_mask_.reset();
}

void Recorder::begin(const ResultHeader& header, const Beginning& beginning) {
  if (const std::string flaw = nfr::flaw_of_recorded(header); !flaw.empty()) {
    throw ConfigError(fmt::format("recording: frames of {} can't be recorded: {}", header.processor, flaw));
  }
  Layout layout{.places = places_of(header),
                .level = options_.is_by_level() ? level_of(header, options_.settings.level) : std::nullopt};
  const std::uint64_t bytes = layout.places.bytes;
  if (options_.images && bytes > queue_bytes(options_.settings.images_queue_bytes) / 2) {
    throw ConfigError(
        fmt::format("recording.images_queue_bytes: expected at least two frames of {}, of {} bytes, found {}",
                    header.processor, bytes, options_.settings.images_queue_bytes));
  }
  payload_.reserve(1 + 2 * header.products.size());  // each product with its padding
  EpochText text{.key = {.epoch = beginning.epoch, .processor = beginning.processor},
                 .json = nfr::to_json({.epoch = beginning.epoch, .processor = beginning.processor, .header = header})};
  const std::lock_guard lock(mutex_);
  if (beginning.processor == 0) {  // each run begins with its first processor
    layouts_.clear();
  }
  layouts_.resize(std::max(layouts_.size(), beginning.processor + 1));
  layouts_[beginning.processor] = std::move(layout);
  const auto first =
      std::find_if(layouts_.begin(), layouts_.end(), [](const Layout& one) { return one.level.has_value(); });
  watched_ = first == layouts_.end() ? std::nullopt : std::optional(static_cast<std::size_t>(first - layouts_.begin()));
  epochs_.push_back(std::move(text));
  if (epochs_.size() > kMostEpochs * layouts_.size()) {
    epochs_.pop_front();
  }
}

/// Null if the frame's processor has not begun, or its products differ from those of its header.
const Recorder::Layout* Recorder::layout_of(const Frame& frame) const {
  if (frame.processor >= layouts_.size()) {
    return nullptr;
  }
  const Layout& layout = layouts_[frame.processor];
  const bool fits =
      std::equal(frame.products.begin(), frame.products.end(), layout.places.places.begin(), layout.places.places.end(),
                 [](std::span<const std::byte> product, const ProductPlaces::Place& place) {
                   return product.size() == place.bytes;
                 });
  return fits && !frame.products.empty() ? &layout : nullptr;
}

void Recorder::write(const Frame& frame) {
  const Layout* const layout = layout_of(frame);
  if (options_.is_by_level() && layout != nullptr && frame.processor == watched_) {
    const limits::Reading level = layout->level->read(frame);
    watch_rise(level.is_number && level.value > options_.settings.level, frame);
  } else if (!options_.is_by_level() && options_.is_by_rise()) {
    watch_rise(frame.exceeds_recorded_limit, frame);
  }
  if (options_.images && images_.is_on() && (layout == nullptr || !push_frame(*layout, frame))) {
    dropped_images_.fetch_add(1, std::memory_order_relaxed);
  }
  data_came();
}

bool Recorder::push_frame(const Layout& layout, const Frame& frame) {
  const nfr::RecordHeader header{.kind = nfr::Kind::kResult,
                                 .first_bit_time = frame.first_bit_time,
                                 .bit_times = frame.window_bit_times,
                                 .missing_bit_times = frame.missing_bit_times,
                                 .mono_ns = frame.capture_mono_ns,
                                 .tai_ns = frame.capture_tai_ns,
                                 .flags = frame.flags};
  const nfr::ResultFields fields{.processor = static_cast<std::uint32_t>(frame.processor),
                                 .epoch = frame.epoch,
                                 .frame_sequence = frame.sequence,
                                 .shed_hops = frame.shed_hops,
                                 .products_bytes = layout.places.bytes,
                                 .stream_id = frame.stream_id,
                                 .window_bit_times = frame.window_bit_times,
                                 .valid_microphones = frame.valid_microphones};
  static constexpr std::array<std::byte, 8> kZeros{};
  payload_.clear();
  payload_.push_back(std::as_bytes(std::span(&fields, 1)));
  for (const std::span<const std::byte> product : frame.products) {
    payload_.push_back(product);
    payload_.push_back(std::span(kZeros).first(nfr::padded(product.size()) - product.size()));
  }
  return images_.push(header, payload_) != Lane::Pushed::kFull;
}

void Recorder::watch_rise(bool is_loud, const Frame& frame) {
  const std::int64_t now_ns = frame.capture_mono_ns;
  last_frame_ns_.store(now_ns, std::memory_order_relaxed);
  if (const std::uint64_t armings = armings_.load(); armings != armings_seen_) {
    armings_seen_ = armings;
    below_since_ns_ = now_ns;
    is_quiet_ = false;
  }
  if (!is_loud) {
    is_quiet_ = is_quiet_ || static_cast<double>(now_ns - below_since_ns_) >= options_.settings.quiet_s * 1e9;
    return;
  }
  last_above_ns_.store(now_ns, std::memory_order_relaxed);
  below_since_ns_ = now_ns;
  if (std::exchange(is_quiet_, false) && now_ns >= no_rise_before_ns_.load()) {
    has_risen_.store(true);
    wake_up_.call();
  }
}

void Recorder::post(Request request) {
  {
    const std::lock_guard lock(mutex_);
    requests_.push_back(request);
    ++posted_count_;
  }
  wake_up_.call();
}

void Recorder::wait_for_requests() {
  std::unique_lock lock(mutex_);
  const std::uint64_t wanted = posted_count_;
  executed_.wait(lock, [&] { return executed_count_ >= wanted; });
}

RecorderStatus Recorder::status() const {
  const std::lock_guard lock(mutex_);
  RecorderStatus status = status_;
  const Totals now = totals();
  const Totals& last = status.state == RecordingState::kRecording ? now : at_end_;
  status.dropped_pieces = last.dropped_pieces - at_begin_.dropped_pieces;
  status.dropped_images = last.dropped_images - at_begin_.dropped_images;
  status.all_dropped_pieces = now.dropped_pieces;
  status.all_dropped_images = now.dropped_images;
  status.all_paused_bit_times = bits_.paused_bit_times();
  status.queued_bytes = bits_.lane().held_bytes() + images_.held_bytes();
  return status;
}

Recorder::Totals Recorder::totals() const {
  return {.dropped_pieces = bits_.dropped_pieces(), .dropped_images = dropped_images_.load(std::memory_order_relaxed)};
}

}  // namespace nearfield
