#include "daemon/background/health_task.hpp"

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>

#include "engine/microphone_watch.hpp"

namespace nearfield::daemon {
namespace {

/// Bit-times counted per window; fewer say too little about stuck bits.
constexpr std::size_t kBlockBits = 512;
constexpr std::size_t kFewestBlockBits = 256;
/// Interval, in windows, of those whose bits are counted: two per decision.
constexpr std::uint64_t kWindowsABlock = 4;
/// Cause for a microphone that array.dead_channels names.
constexpr const char* kMaskedByConfiguration = "configuration";

/// Entry of a microphone in the status, see docs/reference/control.md.
nlohmann::json entry_of(int channel, const ArrayGeometry& geometry, const std::string& cause) {
  return {{"channel", channel},
          {"row", channel / geometry.columns},
          {"column", channel % geometry.columns},
          {"cause", cause}};
}

/// Unlocks a mutex during its lifetime.
class Unlocked {
 public:
  explicit Unlocked(std::unique_lock<std::mutex>& lock) : lock_(lock) { lock_.unlock(); }
  ~Unlocked() { lock_.lock(); }
  Unlocked(const Unlocked&) = delete;
  Unlocked& operator=(const Unlocked&) = delete;

 private:
  std::unique_lock<std::mutex>& lock_;
};

}  // namespace

HealthTask::HealthTask(control::Worker& worker, Hooks hooks) : hooks_(std::move(hooks)), worker_(&worker) {}

void HealthTask::prepare(Epoch& epoch) {
  const Settings& settings = epoch.plan.settings;
  const std::optional<health::MonitorPlan> plan = monitor_plan(*epoch.engine, settings);
  const std::lock_guard lock(mutex_);
  array_plans_ = epoch.engine->array_plans();
  mask_ = settings.array.health.mask;
  epoch_ = epoch.number;
  missing_information_ = microphone_use(*epoch.engine).missing_information;
  slot_.is_full = false;
  masked_.clear();
  interval_samples_ = 0;
  counter_.reset();
  if (!plan) {
    monitor_.reset();
    count_bad();
    return;
  }
  if (monitor_) {
    monitor_->use(*plan);
  } else {
    monitor_ = std::make_unique<health::Monitor>(*plan);
  }
  block_words_ = 0;
  if (epoch.plan.input == InputForm::kBits) {
    counter_.emplace(settings.array.layout, settings.array.geometry);
    block_words_ = counter_->words_per_bit_time();
  }
  spectra_values_ = plan->frequencies_hz.size() * static_cast<std::size_t>(plan->geometry.channels());
  interval_samples_ = watch_interval_samples(settings, epoch.plan.sample_rate_hz);
  count_bad();
  masked_ = maskable(monitor_->to_mask(mask_), plan->geometry);
  if (!masked_.empty()) {
    epoch.engine->use(make_masks(array_plans_, masked_));
    missing_information_ = microphone_use(*epoch.engine).missing_information;
  }
}

void HealthTask::look(const WindowView& view) {
  const std::uint64_t interval = interval_samples_;
  if (interval == 0 || view.first_sample < next_sample_ || !view.is_whole) {
    return;
  }
  const std::unique_lock lock(mutex_, std::try_to_lock);
  if (!lock || slot_.is_full || view.epoch != epoch_) {
    return;
  }
  next_sample_ = view.first_sample + interval;
  slot_.spectra.resize(spectra_values_);
  view.engine->read_spectra(view.batch, 0, slot_.spectra);
  const std::size_t stride = block_words_;
  slot_.words.clear();
  if (turn_++ % kWindowsABlock == 0 && stride > 0 && view.words.size() >= kFewestBlockBits * stride) {
    const auto block = view.words.first(std::min(kBlockBits * stride, view.words.size()));
    slot_.words.assign(block.begin(), block.end());
  }
  slot_.is_full = worker_->run([this] { work(); });
}

void HealthTask::work() {
  std::unique_lock lock(mutex_);
  if (!slot_.is_full) {
    return;
  }
  // Frees the slot even after an exception, so that the next window can be copied.
  const std::unique_ptr<Slot, void (*)(Slot*)> used(&slot_, [](Slot* slot) { slot->is_full = false; });
  if (has_restarted_.exchange(false) && monitor_) {
    monitor_->forget();
  }
  if (monitor_) {
    if (counter_ && !slot_.words.empty()) {
      counter_->count(slot_.words, bits_);
      monitor_->add_bits(bits_);
    }
    if (monitor_->add_spectra(slot_.spectra) && !monitor_->changes().empty()) {
      apply(lock);
    }
  }
}

std::vector<int> HealthTask::count_bad() {
  std::array<std::size_t, health::kConditions> counts{};
  std::vector<int> bad = monitor_ ? monitor_->bad() : std::vector<int>();
  for (const int channel : bad) {
    ++counts[static_cast<std::size_t>(monitor_->conditions()[static_cast<std::size_t>(channel)])];
  }
  std::copy(counts.begin(), counts.end(), bad_counts_.begin());
  return bad;
}

/// Passes the changes to the hooks, and masks the microphones to be masked now if these differ from before, since each
/// use of a mask makes averages start from nothing. The mutex is not held while hooks run.
void HealthTask::apply(std::unique_lock<std::mutex>& lock) {
  const std::vector<health::Change> changes = monitor_->changes();
  const std::vector<int> bad = count_bad();
  const std::vector<ArrayPlan> plans = array_plans_;
  const std::uint64_t epoch = epoch_;
  const std::vector<int> wanted = monitor_->to_mask(mask_);
  const std::vector<int> masked = maskable(wanted, plans.front().geometry);
  const bool is_other = masked != masked_;
  float missing_information = 0.0F;
  {
    const Unlocked unlocked(lock);
    for (const health::Change& change : changes) {
      hooks_.report(change, bad.size());
    }
    if (wanted.size() > most_maskable(plans.front().geometry)) {
      hooks_.too_many(wanted.size());
    }
    if (is_other) {
      const Masks made = make_masks(plans, masked);
      missing_information = made.front().missing.largest();
      hooks_.use(made, epoch);
    }
  }
  if (is_other && epoch == epoch_) {
    masked_ = masked;
    missing_information_ = missing_information;
  }
}

nlohmann::json HealthTask::status() const {
  const std::lock_guard lock(mutex_);
  const ArrayPlan& array = array_plans_.front();
  const std::vector<int> found = monitor_ ? monitor_->bad() : std::vector<int>();
  const auto cause_of = [&](int channel) {
    return health::name_of(monitor_->conditions()[static_cast<std::size_t>(channel)]);
  };
  std::map<int, std::string> masked;
  for (const int channel : array.dead_channels) {
    masked.emplace(channel, kMaskedByConfiguration);
  }
  nlohmann::json bad = nlohmann::json::array();
  for (const int channel : found) {
    bad.push_back(entry_of(channel, array.geometry, std::string(cause_of(channel))));
  }
  for (const int channel : monitor_ ? maskable(monitor_->to_mask(mask_), array.geometry) : std::vector<int>()) {
    masked.emplace(channel, cause_of(channel));
  }
  nlohmann::json masked_channels = nlohmann::json::array();
  for (const auto& [channel, cause] : masked) {
    masked_channels.push_back(entry_of(channel, array.geometry, cause));
  }
  return {{"watched", monitor_ != nullptr},
          {"microphones", array.geometry.channels()},
          {"masked", masked.size()},
          {"missing_information", missing_information_},
          {"masked_channels", masked_channels},
          {"bad", bad}};
}

}  // namespace nearfield::daemon
