#pragma once
#include <array>
#include <atomic>
#include <complex>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <span>
#include <thread>
#include <vector>

#include "daemon/live/live_engine.hpp"
#include "health/bit_statistics.hpp"
#include "health/monitor.hpp"

namespace nearfield::daemon {

/// Watches the microphones on a thread of its own. The engine's thread leaves a window's spectra and some bits here now
/// and then, never waiting; what is found goes back as a mask, between two hops. The mutex guards the slot, the plan
/// and what was found.
class HealthDesk {
 public:
  struct Hooks {
    /// Puts a mask into effect between two hops, if the epoch is still that one. Called on the desk's thread.
    std::function<void(const MicrophoneMask& mask, std::uint64_t epoch)> use;
    std::function<void(const health::Change& change, std::size_t bad)> tell;
    std::function<void(std::size_t bad)> too_many;  ///< more than can be masked
  };
  explicit HealthDesk(Hooks hooks);
  ~HealthDesk();
  HealthDesk(const HealthDesk&) = delete;
  HealthDesk& operator=(const HealthDesk&) = delete;

  /// Before an epoch begins, while its engine does nothing yet: what was found holds for it too. Any thread but the
  /// engine's; the epoch must go on to be the engine's own, or the one before be given here again.
  void prepare(Epoch& epoch);
  /// The engine's thread, after each window.
  void look(const WindowView& view);
  /// The engine's thread: a stream has begun.
  void restart() { has_restarted_ = true; }
  [[nodiscard]] nlohmann::json status() const;
  /// Microphones with that cause. Any thread.
  [[nodiscard]] std::size_t bad_count(health::Condition cause) const {
    return bad_counts_[static_cast<std::size_t>(cause)].load(std::memory_order_relaxed);
  }
  void close();

 private:
  struct Slot {
    std::vector<std::complex<float>> spectra;
    std::vector<std::uint32_t> words;
    bool is_full = false;
  };
  void work();
  /// The bad ones, ascending, counted by cause.
  std::vector<int> count_bad();
  void apply(std::unique_lock<std::mutex>& lock);

  Hooks hooks_;
  mutable std::mutex mutex_;
  std::condition_variable wanted_;
  Slot slot_;
  std::unique_ptr<health::Monitor> monitor_;
  std::optional<health::BitCounter> counter_;
  health::BitStatistics bits_;
  ArrayPlan array_plan_;
  bool masks_ = false;
  bool is_closed_ = false;
  std::array<std::atomic<std::size_t>, health::kConditions> bad_counts_{};
  std::atomic<bool> has_restarted_{false};
  // What look() needs; changed by prepare() alone:
  std::atomic<std::uint64_t> epoch_{0};
  std::atomic<std::uint64_t> interval_samples_{0};  ///< 0: nothing is watched
  std::atomic<std::size_t> spectra_values_{0};
  std::atomic<std::size_t> block_words_{0};
  std::uint64_t next_sample_ = 0;  ///< of the engine's thread
  std::uint64_t turn_ = 0;         ///< likewise
  std::jthread thread_;
};

}  // namespace nearfield::daemon
