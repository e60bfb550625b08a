#include "control/metrics/metrics.hpp"

#include <sys/resource.h>
#include <unistd.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <limits>
#include <nlohmann/json.hpp>
#include <numeric>
#include <sstream>
#include <system_error>
#include <utility>

#include "core/system/clocks.hpp"

namespace nearfield::control {
namespace {

using prometheus::MetricFamily;
using prometheus::MetricType;

/// Fields of /proc/self/stat after the program's name, which may contain any character; proc(5) numbers them from 3 on.
struct ProcessStatus {
  double processor_ticks = 0.0;  ///< user and kernel time
  double threads = 0.0;
  double start_ticks = 0.0;  ///< time from boot
  double virtual_bytes = 0.0;
  double resident_pages = 0.0;
};

std::optional<ProcessStatus> process_status() {
  constexpr std::size_t kFirst = 3;
  std::ifstream file("/proc/self/stat");
  const std::string text{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  const std::size_t name_end = text.rfind(')');
  if (name_end == std::string::npos) {
    return std::nullopt;
  }
  std::istringstream stream(text.substr(name_end + 1));
  const std::vector<std::string> fields{std::istream_iterator<std::string>(stream),
                                        std::istream_iterator<std::string>()};
  constexpr std::size_t kLast = 24;
  if (fields.size() <= kLast - kFirst) {
    return std::nullopt;
  }
  const auto field = [&](std::size_t number) { return std::stod(fields[number - kFirst]); };
  return ProcessStatus{.processor_ticks = field(14) + field(15),
                       .threads = field(20),
                       .start_ticks = field(22),
                       .virtual_bytes = field(23),
                       .resident_pages = field(24)};
}

/// Boot time, Unix time; with the ticks since then, it gives a process's start.
std::optional<double> boot_time_s() {
  std::ifstream file("/proc/stat");
  for (std::string word; file >> word;) {
    if (word == "btime") {
      double seconds = 0.0;
      file >> seconds;
      return seconds;
    }
  }
  return std::nullopt;
}

std::optional<double> open_descriptors() {
  std::error_code error;
  double count = 0.0;
  const std::filesystem::directory_iterator end;
  for (std::filesystem::directory_iterator entry("/proc/self/fd", error); !error && entry != end;
       entry.increment(error)) {
    count += 1.0;
  }
  return error ? std::nullopt : std::optional(count - 1.0);  // without the descriptor of the folder itself
}

void add(std::vector<MetricFamily>& families, const char* name, const char* help, double value,
         MetricType type = MetricType::Gauge) {
  families.push_back({name, help, type, {}});
  prometheus::ClientMetric& metric = families.back().metric.emplace_back();
  (type == MetricType::Counter ? metric.counter.value : metric.gauge.value) = value;
}

/// Metrics of this process from /proc/self, under the names that Prometheus's clients use: processor time, resident and
/// virtual memory, open descriptors and their limit, threads, and the start in Unix time. Unreadable values are left
/// out.
std::vector<MetricFamily> process_metrics() {
  std::vector<MetricFamily> families;
  if (const std::optional<ProcessStatus> status = process_status()) {
    const auto ticks_hz = static_cast<double>(::sysconf(_SC_CLK_TCK));
    add(families, "process_cpu_seconds_total", "Processor time of user and kernel", status->processor_ticks / ticks_hz,
        MetricType::Counter);
    add(families, "process_resident_memory_bytes", "Resident memory",
        status->resident_pages * static_cast<double>(::sysconf(_SC_PAGESIZE)));
    add(families, "process_virtual_memory_bytes", "Virtual memory", status->virtual_bytes);
    add(families, "process_threads", "Threads", status->threads);
    if (const std::optional<double> boot_s = boot_time_s()) {
      add(families, "process_start_time_seconds", "When the process started, Unix time",
          *boot_s + status->start_ticks / ticks_hz);
    }
  }
  if (const std::optional<double> open = open_descriptors()) {
    add(families, "process_open_fds", "Open file descriptors", *open);
  }
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) == 0) {
    add(families, "process_max_fds", "Most file descriptors that may be open", static_cast<double>(limit.rlim_cur));
  }
  return families;
}

using nlohmann::json;
using prometheus::ClientMetric;
using Labels = std::vector<ClientMetric::Label>;

constexpr std::int64_t kRecentNs = 10'000'000'000;
/// Publishes every fourth bound of the buckets: two per octave.
constexpr std::size_t kBucketsInABound = 4;

MetricFamily family(const std::string& name, const std::string& help, MetricType type) {
  return {"nearfield_" + name, help, type, {}};
}

void add_value(MetricFamily& family, double value, Labels labels = {}) {
  ClientMetric metric;
  metric.label = std::move(labels);
  (family.type == MetricType::Counter ? metric.counter.value : metric.gauge.value) = value;
  family.metric.push_back(std::move(metric));
}

void add_single(std::vector<MetricFamily>& families, const std::string& name, const std::string& help, double value,
                Labels labels = {}) {
  families.push_back(family(name, help, name.ends_with("_total") ? MetricType::Counter : MetricType::Gauge));
  add_value(families.back(), value, std::move(labels));
}

void add_histogram(MetricFamily& family, const LatencyCounts& counts, Labels labels = {}) {
  ClientMetric metric;
  metric.label = std::move(labels);
  std::uint64_t seen = 0;
  for (std::size_t bucket = 0; bucket < LatencyCounts::kBuckets; ++bucket) {
    seen += counts.counts[bucket];
    if (bucket % kBucketsInABound == 0 || bucket + 1 == LatencyCounts::kBuckets) {
      metric.histogram.bucket.push_back({seen, latency_upper_bound_s(bucket)});
    }
  }
  metric.histogram.sample_count = seen;
  metric.histogram.sample_sum = kSecondsPerNs * static_cast<double>(counts.sum_ns);
  family.metric.push_back(std::move(metric));
}

/// JSON cannot represent NaN.
json finite_or_null(double value) { return std::isfinite(value) ? json(value) : json(nullptr); }

}  // namespace

json percentiles_ms(const LatencyCounts& counts) {
  const auto at = [&](double fraction) { return finite_or_null(1e3 * counts.percentile_s(fraction)); };
  return {{"median", at(0.5)}, {"p99", at(0.99)}, {"p999", at(0.999)}, {"max", at(1.0)}};
}

Metrics::Metrics(const MetricNames& names, std::int64_t now_ns)
    : names_(names),
      started_ns_(now_ns),
      stages_(names.stages.size()),
      losses_(names.losses.size()),
      queues_(names.queues.size()),
      older_(moment(now_ns)),
      newer_(older_) {}

void Metrics::frame_published(std::int64_t published_ns, std::int64_t captured_ns) noexcept {
  const std::int64_t last_ns = last_published_ns_.exchange(published_ns, std::memory_order_relaxed);
  if (last_ns != 0) {
    intervals_.record(published_ns - last_ns);
  }
  ages_.record(published_ns - captured_ns);
  add(frames_, 1);
}

void Metrics::set_bit_times(std::uint64_t received, std::uint64_t missing, std::uint64_t expected) noexcept {
  set(received_, received);
  set(missing_, missing);
  set(expected_, expected);
}

void Metrics::set_recording(RecordingState state, std::uint64_t bytes) noexcept {
  recording_.store(state, std::memory_order_relaxed);
  set(recording_bytes_, bytes);
}

void Metrics::set_recording_bits(const RecordedBits& bit_times) {
  const std::lock_guard lock(mutex_);
  recording_bits_ = bit_times;
}

void Metrics::set_run(const RunInfo& info) {
  const std::lock_guard lock(mutex_);
  run_ = info;
}

void Metrics::set_recording_text(const std::string& text) {
  const std::lock_guard lock(mutex_);
  recording_text_ = text;
}

Metrics::Moment Metrics::moment(std::int64_t now_ns) const {
  Moment now{now_ns, get(frames_), intervals_.read(), ages_.read(), {}};
  for (const LatencyHistogram& stage : stages_) {
    now.stages.push_back(stage.read());
  }
  return now;
}

void Metrics::tick(std::int64_t now_ns) {
  Moment now = moment(now_ns);
  const std::lock_guard lock(mutex_);
  uptime_s_ = kSecondsPerNs * static_cast<double>(now_ns - started_ns_);
  const double span_s = kSecondsPerNs * static_cast<double>(now_ns - older_.ns);
  frame_rate_hz_ = span_s > 0.0 ? static_cast<double>(now.frames - older_.frames) / span_s : 0.0;
  if (now_ns - newer_.ns >= kRecentNs) {
    older_ = std::exchange(newer_, std::move(now));
  }
}

void Metrics::add_reader(const std::string& name, const std::string& help, std::function<double()> read,
                         const std::optional<Label>& label) {
  const std::lock_guard lock(mutex_);
  readers_.push_back({name, help, std::move(read), label ? Labels{*label} : Labels()});
}

void Metrics::add_readers(const std::string& name, const std::string& help, const std::string& label,
                          std::function<Labelled()> read) {
  const std::lock_guard lock(mutex_);
  labelled_.push_back({name, help, label, std::move(read)});
}

void Metrics::collect_stream(std::vector<MetricFamily>& families) const {
  add_single(families, "frames_total", "Frames published", static_cast<double>(get(frames_)));
  families.push_back(
      family("publish_interval_seconds", "From one frame's publication to the next's", MetricType::Histogram));
  add_histogram(families.back(), intervals_.read());
  families.push_back(
      family("age_seconds", "From a window's last bit in memory to its frame's publication", MetricType::Histogram));
  add_histogram(families.back(), ages_.read());
  families.push_back(family("stage_seconds", "What a stage takes for a frame", MetricType::Histogram));
  for (std::size_t i = 0; i < stages_.size(); ++i) {
    add_histogram(families.back(), stages_[i].read(), {{"stage", names_.stages[i]}});
  }
}

void Metrics::collect_losses(std::vector<MetricFamily>& families) const {
  add_single(families, "bit_times_expected_total", "Bit-times since the source began",
             static_cast<double>(get(expected_)));
  add_single(families, "bit_times_received_total", "Bit-times that came", static_cast<double>(get(received_)));
  add_single(families, "bit_times_missing_total", "Bit-times that never came and count as silence",
             static_cast<double>(get(missing_)));
  add_single(families, "shed_hops_total", "Hops without a frame: dropped by overload, or nothing came of them",
             static_cast<double>(get(shed_hops_)));
  families.push_back(family("losses_total", "What was refused or dropped, by cause", MetricType::Counter));
  for (std::size_t i = 0; i < losses_.size(); ++i) {
    add_value(families.back(), static_cast<double>(get(losses_[i])), {{"cause", names_.losses[i]}});
  }
  families.push_back(family("queue_depth", "What waits in a queue", MetricType::Gauge));
  for (std::size_t i = 0; i < queues_.size(); ++i) {
    add_value(families.back(), static_cast<double>(get(queues_[i])), {{"queue", names_.queues[i]}});
  }
}

void Metrics::collect_run(std::vector<MetricFamily>& families) const {
  add_single(families, "up", "1 while the daemon runs", 1.0);
  add_single(families, "no_input", "1 while no bit comes", static_cast<double>(get(no_input_)));
  families.push_back(family("recording_state", "1 for the state that holds", MetricType::Gauge));
  const RecordingState now = recording_.load(std::memory_order_relaxed);
  for (const RecordingState state :
       {RecordingState::kIdle, RecordingState::kArmed, RecordingState::kRecording, RecordingState::kFailed}) {
    add_value(families.back(), now == state ? 1.0 : 0.0, {{"state", std::string(name_of(state))}});
  }
  add_single(families, "recording_bytes", "Size of the recording so far", static_cast<double>(get(recording_bytes_)));
  const std::lock_guard lock(mutex_);
  families.push_back(
      family("recording_bit_times", "The recording's span in bit-times, by what became of them", MetricType::Gauge));
  for (std::size_t i = 0; i < kRecordedBits.size(); ++i) {
    add_value(families.back(), static_cast<double>(recording_bits_[i]), {{"became", kRecordedBits[i]}});
  }
  add_single(families, "frame_rate_hertz", "Frames a second over the last ten to twenty seconds", frame_rate_hz_);
  add_single(families, "hop_rate_hertz", "Frames a second that the configuration sets", run_.hop_rate_hz);
  add_single(families, "configuration_epoch", "1, then one more with each change", static_cast<double>(run_.epoch));
  add_single(families, "uptime_seconds", "Since the daemon began", uptime_s_);
  families.push_back(family("build_info", "The program that runs", MetricType::Gauge));
  add_value(families.back(), 1.0, {{"version", run_.version}, {"commit", run_.commit}});
  families.push_back(family("device_info", "What computes, from what source", MetricType::Gauge));
  add_value(
      families.back(), 1.0,
      {{"device", run_.device}, {"front_end", run_.front_end}, {"source", run_.source}, {"version", run_.version}});
  for (const Reader& reader : readers_) {
    const double value = reader.read();
    if (families.back().name == "nearfield_" + reader.name) {
      add_value(families.back(), value, reader.labels);
    } else {
      add_single(families, reader.name, reader.help, value, reader.labels);
    }
  }
  for (const Readers& readers : labelled_) {
    bool is_first = true;
    for (const auto& [label, value] : readers.read()) {
      const Labels labels = {{readers.label, label}};
      if (std::exchange(is_first, false)) {
        add_single(families, readers.name, readers.help, value, labels);
      } else {
        add_value(families.back(), value, labels);
      }
    }
  }
}

std::vector<MetricFamily> Metrics::Collect() const {
  std::vector<MetricFamily> families = process_metrics();
  collect_run(families);
  collect_stream(families);
  collect_losses(families);
  return families;
}

json Metrics::status() const {
  const Moment now = moment(0);
  json losses = json::object();
  for (std::size_t i = 0; i < losses_.size(); ++i) {
    losses[names_.losses[i]] = get(losses_[i]);
  }
  json queues = json::object();
  for (std::size_t i = 0; i < queues_.size(); ++i) {
    queues[names_.queues[i]] = get(queues_[i]);
  }
  const std::lock_guard lock(mutex_);
  json recorded{{"span", std::accumulate(recording_bits_.begin(), recording_bits_.end(), std::uint64_t{0})}};
  for (std::size_t i = 0; i < kRecordedBits.size(); ++i) {
    recorded[kRecordedBits[i]] = recording_bits_[i];
  }
  json stages = json::object();
  for (std::size_t i = 0; i < stages_.size(); ++i) {
    stages[names_.stages[i]] = percentiles_ms(now.stages[i].since(older_.stages[i]));
  }
  json devices = json::object();
  for (const auto& [processor, device] : run_.devices) {
    devices[processor] = device;
  }
  return {
      {"state", get(no_input_) != 0 ? "no input" : "running"},
      {"version", run_.version},
      {"uptime_s", uptime_s_},
      {"epoch", run_.epoch},
      {"device", run_.device},
      {"devices", devices},
      {"front_end", run_.front_end},
      {"source", run_.source},
      {"frames", now.frames},
      {"frame_rate_hz", frame_rate_hz_},
      {"hop_rate_hz", run_.hop_rate_hz},
      {"age_ms", percentiles_ms(now.ages.since(older_.ages))},
      {"interval_ms", percentiles_ms(now.intervals.since(older_.intervals))},
      {"stages_ms", stages},
      {"bit_times", {{"received", get(received_)}, {"missing", get(missing_)}, {"expected", get(expected_)}}},
      {"shed_hops", get(shed_hops_)},
      {"losses", losses},
      {"queues", queues},
      {"recording",
       {{"state", name_of(recording_.load(std::memory_order_relaxed))},
        {"bytes", get(recording_bytes_)},
        {"bit_times", recorded},
        {"text", recording_text_}}},
  };
}

nlohmann::json clock_status() {
  std::string why;
  const std::optional<ClockState> state = read_clock_state(&why);
  if (!state) {
    return {{"synchronised", nullptr},
            {"most_error_s", nullptr},
            {"likely_error_s", nullptr},
            {"tai_offset_s", nullptr},
            {"text", why}};
  }
  return {{"synchronised", state->is_synchronised},
          {"most_error_s", state->most_error_s},
          {"likely_error_s", state->likely_error_s},
          {"tai_offset_s", state->tai_offset_s},
          {"text", ""}};
}

void add_clock_metrics(Metrics& metrics) {
  const auto add = [&metrics](const char* name, const char* help, std::function<double(const ClockState&)> value) {
    metrics.add_reader(name, help, [value = std::move(value)] {
      const std::optional<ClockState> state = read_clock_state();
      return state ? value(*state) : std::numeric_limits<double>::quiet_NaN();
    });
  };
  add("clock_synchronised", "1 while the kernel counts the system's clock as synchronised; NaN: not known",
      [](const ClockState& state) { return state.is_synchronised ? 1.0 : 0.0; });
  add("clock_most_error_seconds", "Bound of the clock's error against UTC (maxerror); NaN: not known",
      [](const ClockState& state) { return state.most_error_s; });
  add("clock_likely_error_seconds", "The clock's error as the program that sets it estimates it; NaN: not known",
      [](const ClockState& state) { return state.likely_error_s; });
  add("clock_tai_offset_seconds", "TAI - UTC as the kernel has it, 0 where no program set it; NaN: not known",
      [](const ClockState& state) { return static_cast<double>(state.tai_offset_s); });
}

}  // namespace nearfield::control
