#pragma once
#include <array>
#include <atomic>
#include <complex>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <span>
#include <vector>

#include "control/service/worker.hpp"
#include "daemon/live/live_engine.hpp"
#include "health/bit_statistics.hpp"
#include "health/monitor.hpp"

namespace nearfield::daemon {

/// Watches the microphones on a background thread. After some windows, a fixed time apart, the engine's thread copies
/// spectra and some bits into the slot, without waiting; the resulting mask takes effect between two hops. The mutex
/// guards the slot, the plan and the findings.
class HealthTask {
 public:
  struct Hooks {
    /// Puts masks into effect between two hops, if the epoch has not changed. Called on the background thread.
    std::function<void(const Masks& masks, std::uint64_t epoch)> use;
    std::function<void(const health::Change& change, std::size_t bad)> report;
    std::function<void(std::size_t bad)> too_many;  ///< more bad ones than can be masked
  };
  /// The worker must be closed before this is destroyed.
  HealthTask(control::Worker& worker, Hooks hooks);
  ~HealthTask() = default;
  HealthTask(const HealthTask&) = delete;
  HealthTask& operator=(const HealthTask&) = delete;

  /// Called before an epoch begins, while its engine does not run yet: findings so far apply to it too. Any thread but
  /// the engine's; this epoch must then become the engine's, or the previous one be passed here again.
  void prepare(Epoch& epoch);
  /// Called by the engine's thread after each window.
  void look(const WindowView& view);
  /// Called by the engine's thread when a stream has begun.
  void restart() { has_restarted_ = true; }
  [[nodiscard]] nlohmann::json status() const;
  /// Number of microphones with that cause. Any thread.
  [[nodiscard]] std::size_t bad_count(health::Condition cause) const {
    return bad_counts_[static_cast<std::size_t>(cause)].load(std::memory_order_relaxed);
  }

 private:
  struct Slot {
    std::vector<std::complex<float>> spectra;
    std::vector<std::uint32_t> words;
    bool is_full = false;
  };
  void work();
  /// Channels of the bad microphones, ascending; counts them by cause.
  std::vector<int> count_bad();
  void apply(std::unique_lock<std::mutex>& lock);

  Hooks hooks_;
  control::Worker* worker_;
  mutable std::mutex mutex_;
  Slot slot_;
  std::unique_ptr<health::Monitor> monitor_;
  std::optional<health::BitCounter> counter_;
  health::BitStatistics bits_;
  std::vector<ArrayPlan> array_plans_ = std::vector<ArrayPlan>(1);
  HealthMask mask_ = HealthMask::kNone;
  std::vector<int> masked_;           ///< bad microphones that are masked in this epoch; ascending
  float missing_information_ = 0.0F;  ///< under the masks that were made last
  std::array<std::atomic<std::size_t>, health::kConditions> bad_counts_{};
  std::atomic<bool> has_restarted_{false};
  // Parameters of look(); changed by prepare() only:
  std::atomic<std::uint64_t> epoch_{0};
  std::atomic<std::uint64_t> interval_samples_{0};  ///< 0: nothing is watched
  std::atomic<std::size_t> spectra_values_{0};
  std::atomic<std::size_t> block_words_{0};
  std::uint64_t next_sample_ = 0;  ///< for the engine's thread
  std::uint64_t turn_ = 0;         ///< for the engine's thread
};

}  // namespace nearfield::daemon
