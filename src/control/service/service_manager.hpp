#pragma once
#include <atomic>
#include <cstdint>
#include <string>

namespace nearfield::control {

/// Reports the service's state to systemd (sd_notify over $NOTIFY_SOCKET). Without systemd every call does nothing.
class ServiceManager {
 public:
  /// Reports that start-up is complete: frames can be published.
  void ready(const std::string& status) const;
  /// One line for `systemctl status`.
  void status(const std::string& text) const;
  /// Reports that a new configuration is being planned; ready() reports its end.
  void reloading() const;
  void stopping(const std::string& why) const;
  void feed_watchdog() const;
  /// The unit's WatchdogSec; 0: no watchdog.
  [[nodiscard]] static std::int64_t watchdog_interval_ns();
  /// True if a service manager monitors the process and restarts it when it ends.
  [[nodiscard]] static bool is_there();
};

/// The path of a setting: itself, or for "credential:NAME" the file of that name among systemd's credentials. Throws
/// ConfigError if there are no credentials or the name is not a plain file name.
std::string credential_path(const std::string& setting);

/// Decides when to feed the watchdog: only while the engine's thread publishes frames or waits for bits that have not
/// arrived, independent of the hop length and of "no input". The engine's thread reports; any one other thread calls
/// should_feed().
class Watchdog {
 public:
  /// `interval_ns` is systemd's; 0: never feed. Counts as alive at `now_ns`.
  Watchdog(std::int64_t interval_ns, std::int64_t now_ns);

  /// Reports that a frame was published, or that the next one's bits have not arrived.
  void is_alive() noexcept { signs_of_life_.fetch_add(1, std::memory_order_relaxed); }

  /// True if it is time for a feed, a quarter of the interval after the last, and the engine has reported since then.
  /// To be called a few times in each quarter.
  [[nodiscard]] bool should_feed(std::int64_t now_ns);

 private:
  std::int64_t period_ns_;
  std::atomic<std::uint64_t> signs_of_life_{0};
  std::uint64_t signs_at_feed_ = 0;
  std::int64_t fed_ns_;
};

/// Checks that a thread that counts its turns still makes some. One other thread looks, several times a second; time
/// during which that one did not run, because the process or the machine was stopped, does not count against the first.
class TurnWatch {
 public:
  enum class Change { kNone, kBecameLate, kCameBack };

  /// Assumes a turn at `now_ns`.
  explicit TurnWatch(std::int64_t now_ns) : since_ns_(now_ns), looked_ns_(now_ns) {}

  /// `turns`: the thread's count so far, `limit_ns`: longest duration of one turn.
  Change look(std::uint64_t turns, std::int64_t limit_ns, std::int64_t now_ns);
  /// For a thread without work, such as one that has ended.
  Change rest(std::int64_t now_ns);
  [[nodiscard]] bool is_late() const { return is_late_; }
  /// Time without a turn at the last look.
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
