#pragma once
#include <atomic>
#include <cstdint>
#include <string>

namespace nearfield::control {

/// Tells systemd how the service is (sd_notify over $NOTIFY_SOCKET). Without systemd every call does nothing.
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
  /// What the unit's WatchdogSec asks for; 0: no watchdog.
  [[nodiscard]] static std::int64_t watchdog_interval_ns();
};

/// The path that a setting names: itself, or for "credential:NAME" the file of that name among systemd's credentials.
/// Throws ConfigError when there are no credentials or the name is no plain file name.
std::string credential_path(const std::string& setting);

/// Whether the watchdog may be fed: only while frames are published, or "no input" is the declared state and no fault.
/// The engine's threads report what happens, any one thread asks.
class Watchdog {
 public:
  /// `interval_ns` as systemd has it; 0: never feed. Counts as alive at `now_ns`.
  Watchdog(std::int64_t interval_ns, bool no_input_is_fault, std::int64_t now_ns);

  void frame_published() noexcept { frames_.fetch_add(1, std::memory_order_relaxed); }
  void declare_no_input(bool declared) noexcept { no_input_.store(declared, std::memory_order_relaxed); }

  /// True when it is time for a feed, a quarter of the interval after the last, and there was life since then. Ask a
  /// few times in each quarter.
  [[nodiscard]] bool should_feed(std::int64_t now_ns);

 private:
  std::int64_t period_ns_;
  bool no_input_is_fault_;
  std::atomic<std::uint64_t> frames_{0};
  std::atomic<bool> no_input_{false};
  std::uint64_t frames_at_feed_ = 0;
  std::int64_t fed_ns_;
};

}  // namespace nearfield::control
