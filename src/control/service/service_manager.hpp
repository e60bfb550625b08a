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

}  // namespace nearfield::control
