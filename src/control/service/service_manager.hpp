#pragma once
#include <atomic>
#include <cstdint>
#include <string>

namespace nearfield::control {

/// Reports the service's state to systemd (sd_notify over $NOTIFY_SOCKET). Without systemd every call does nothing.
class ServiceManager {
 public:
  /// Start-up is over: frames can come.
  void ready(const std::string& status) const;
  /// One line for `systemctl status`.
  void status(const std::string& text) const;
  /// A new configuration is being planned; ready() says when that is over.
  void reloading() const;
  void stopping(const std::string& why) const;
  void feed_watchdog() const;
  /// The unit's WatchdogSec; 0: no watchdog.
  [[nodiscard]] static std::int64_t watchdog_interval_ns();
  /// True where somebody is told how the process is, who starts it again when it ends.
  [[nodiscard]] static bool is_there();
};

/// The path that a setting names: itself, or for "credential:NAME" the file of that name among systemd's credentials.
/// Throws ConfigError when there are no credentials or the name is no plain file name.
std::string credential_path(const std::string& setting);

/// Whether the watchdog may be fed: only while the engine's thread publishes frames or waits for bits that have not
/// come. How long a hop is and when "no input" is declared do not matter. The engine's thread reports, any one other
/// thread calls is_due().
class Watchdog {
 public:
  /// `interval_ns` as systemd has it; 0: never feed. Counts as alive at `now_ns`.
  Watchdog(std::int64_t interval_ns, std::int64_t now_ns);

  /// A frame was published, or the bits of the next one are not there.
  void is_alive() noexcept { signs_of_life_.fetch_add(1, std::memory_order_relaxed); }

  /// True when it is time for a feed, a quarter of the interval after the last, and the engine has reported since then.
  /// To be called a few times in each quarter.
  [[nodiscard]] bool should_feed(std::int64_t now_ns);

 private:
  std::int64_t period_ns_;
  std::atomic<std::uint64_t> signs_of_life_{0};
  std::uint64_t signs_at_feed_ = 0;
  std::int64_t fed_ns_;
};

/// Whether a thread that counts its turns still comes round. One other thread looks, several times a second; time in
/// which that one did not run, because the process or the machine was stopped, is not counted against the first.
class TurnWatch {
 public:
  enum class Change { kNone, kBecameLate, kCameBack };

  /// Counts as having come round at `now_ns`.
  explicit TurnWatch(std::int64_t now_ns) : since_ns_(now_ns), looked_ns_(now_ns) {}

  /// `turns` as the thread has counted them until now, `limit_ns` how long one turn may take.
  Change look(std::uint64_t turns, std::int64_t limit_ns, std::int64_t now_ns);
  /// A thread that has nothing to do, such as one that has ended.
  Change rest(std::int64_t now_ns);
  [[nodiscard]] bool is_late() const { return is_late_; }
  /// How long no turn had been seen at the last look, before it saw one.
  [[nodiscard]] std::int64_t silence_ns() const { return silence_ns_; }

 private:
  Change become(bool is_late);

  std::uint64_t turns_ = 0;
  std::int64_t since_ns_;
  std::int64_t looked_ns_;
  std::int64_t silence_ns_ = 0;
  bool is_late_ = false;
};

}  // namespace nearfield::control
