#include "daemon/live/accounts.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <utility>

namespace nearfield::daemon {
namespace {

/// Few enough to take only some us of a frame; the next piece samples other channels.
constexpr std::size_t kOfPiece = 256;
/// Pressures and full-scale values lie between these.
constexpr float kSmallest = 1e-18F;
constexpr float kLargest = 1e12F;
/// Below so many steps, float32 has at least 8 values between multiples.
constexpr float kTelling = 0x1p20F;

using Numbers = std::array<std::uint64_t, sizeof(ValueCounts::Counts) / sizeof(std::uint64_t)>;

}  // namespace

void ValueCounts::count(std::span<const std::uint32_t> words) {
  if (words.empty()) {
    return;
  }
  const std::size_t first = turn_++ * kOfPiece % words.size();
  std::size_t channel = heard_.empty() ? 0 : first % heard_.size();
  for (const std::uint32_t word : words.subspan(first, std::min(kOfPiece, words.size() - first))) {
    const float value = std::bit_cast<float>(word);
    const float size = std::abs(value);
    if (!heard_.empty()) {
      const Heard before = heard_[channel].load(std::memory_order_relaxed);
      heard_[channel].store({.seen = before.seen + 1U, .heard = before.heard + (size == 0.0F ? 0U : 1U)},
                            std::memory_order_relaxed);
      channel = channel + 1 == heard_.size() ? 0 : channel + 1;
    }
    ++counts_.values;
    if (!std::isfinite(value)) {
      ++counts_.non_finite;
      continue;
    }
    if (size == 0.0F) {
      ++counts_.zero;
      continue;
    }
    counts_.tiny += size < kSmallest ? 1 : 0;
    counts_.huge += size > kLargest ? 1 : 0;
    counts_.beyond_one += size > 1.0F ? 1 : 0;
    for (std::size_t i = 0; i < kSteps.size(); ++i) {
      if (size < kSteps[i] * kTelling) {
        const float steps = size / kSteps[i];
        ++(steps == std::floor(steps) ? counts_.multiples : counts_.others)[i];
      }
    }
  }
  const auto numbers = std::bit_cast<Numbers>(counts_);
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    shared_[i].store(numbers[i], std::memory_order_relaxed);
  }
}

std::vector<std::size_t> ValueCounts::take_silent() {
  constexpr std::uint32_t kOften = 32;
  std::vector<std::size_t> silent;
  for (std::size_t channel = 0; channel < heard_.size(); ++channel) {
    const Heard now = heard_[channel].load(std::memory_order_relaxed);
    if (now.seen - taken_[channel].seen >= kOften && now.heard == taken_[channel].heard) {
      silent.push_back(channel);
    }
    taken_[channel] = now;
  }
  return silent;
}

ValueCounts::Counts ValueCounts::counts() const {
  Numbers numbers{};
  std::transform(shared_.begin(), shared_.end(), numbers.begin(),
                 [](const std::atomic<std::uint64_t>& number) { return number.load(std::memory_order_relaxed); });
  return std::bit_cast<Counts>(numbers);
}

ValueCounts::Counts difference(const ValueCounts::Counts& now, const ValueCounts::Counts& before) {
  auto numbers = std::bit_cast<Numbers>(now);
  const auto old = std::bit_cast<Numbers>(before);
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    numbers[i] -= old[i];
  }
  return std::bit_cast<ValueCounts::Counts>(numbers);
}

namespace {

/// Interval of lines that name a sender besides the stream's, while it sends.
constexpr std::int64_t kNamedEveryNs = 10'000'000'000;

struct Loss {
  const char* name;
  std::uint64_t count;
  const char* meaning = "";  ///< for the log, if the name alone does not say what to check
};

/// Components of the sums, in the order of metric_names().
std::vector<Loss> losses(const SourceCounters& source, const Publisher::Counts& paused, const RecorderStatus& disk) {
  const PacketCounters& packets = source.packets;
  return {{"missing", source.ring.missing},
          {"overrun", source.ring.overrun},
          {"shed_unused", source.ring.skipped},
          {"abandoned", source.ring.abandoned},
          {"late", source.ring.late},
          {"duplicate", source.ring.duplicate},
          {"packets_foreign", packets.fault(PacketFault::kForeign), ": datagrams that are no NFB1 packets"},
          {"packets_version", packets.fault(PacketFault::kVersion)},
          {"packets_length", packets.fault(PacketFault::kLength)},
          {"packets_crc", packets.fault(PacketFault::kCrc)},
          {"packets_kind", packets.fault(PacketFault::kKind),
           ": packets of the other payload than daemon.source.payload says"},
          {"packets_words", packets.fault(PacketFault::kWords),
           ": packets whose words per sample differ from the array's channels (bits: from the layout's words per "
           "bit-time)"},
          {"packets_other_stream", packets.other_stream},
          {"packets_implausible", packets.implausible},
          {"packets_not_allowed", packets.not_allowed},
          {"kernel_drops", source.kernel_drops},
          {"restarts", packets.restarts},
          {"cut_bytes", source.cut_bytes},
          {"audio_overruns", source.overruns, ": the driver's buffer was full; the samples that it lost are missing"},
          {"audio_absences", source.absences,
           ": the device stopped, as one that is unplugged; it is opened again when it comes back"},
          {"paused_dashboard_frames", paused.paused_dashboard_frames},
          {"paused_recording_frames", paused.paused_recording_frames},
          {"paused_recording_bit_times", disk.all_paused_bit_times},
          {"recorder_pieces", disk.all_dropped_pieces},
          {"recorder_images", disk.all_dropped_images}};
}

}  // namespace

control::MetricNames metric_names() {
  control::MetricNames names;
  names.stages = {"take", "compute", "controllers", "others"};
  names.queues = {"ingest_bit_times", "recorder_bytes"};
  for (const Loss& loss : losses({}, {}, {})) {
    names.losses.emplace_back(loss.name);
  }
  return names;
}

Conservation conservation(const RingCounters& ring) {
  return {.received = ring.delivered + ring.skipped, .missing = ring.missing, .expected = ring.taken + ring.skipped};
}

Accounts::Accounts(std::shared_ptr<control::Metrics> metrics, std::shared_ptr<control::RateLimitedLog> log)
    : metrics_(std::move(metrics)), log_(std::move(log)), counted_(losses({}, {}, {}).size()) {}

void Accounts::update(const SourceCounters& source, const Publisher::Counts& paused,
                      const std::optional<RecorderStatus>& disk) {
  const Conservation sums = conservation(source.ring);
  metrics_->set_bit_times(sums.received, sums.missing, sums.expected);
  metrics_->set_queue_depth(static_cast<std::size_t>(Queue::kIngest), source.ring.pending);
  metrics_->set_queue_depth(static_cast<std::size_t>(Queue::kRecorder), disk ? disk->queued_bytes : 0);
  const std::vector<Loss> now = losses(source, paused, disk.value_or(RecorderStatus{}));
  for (std::size_t i = 0; i < now.size(); ++i) {
    if (now[i].count > counted_[i]) {  // a new recorder restarts at 0
      metrics_->lose(i, now[i].count - counted_[i]);
      log_->log(spdlog::level::warn, now[i].name, "{} more, {} in all{}", now[i].count - counted_[i], now[i].count,
                now[i].meaning);
    }
    counted_[i] = now[i].count;
  }
  name_senders(source);
}

void Accounts::name_senders(const SourceCounters& source) {
  if (!source.sender || !source.other || source.other->seen_ns < named_ns_ + (named_ns_ != 0 ? kNamedEveryNs : 0)) {
    return;
  }
  named_ns_ = source.other->seen_ns;
  log_->log(spdlog::level::warn, "two_senders", "two senders? {} (stream {}) has the port; {} (stream {}) sends too",
            text_of(source.sender->peer), source.sender->stream_id, text_of(source.other->peer),
            source.other->stream_id);
}

}  // namespace nearfield::daemon
