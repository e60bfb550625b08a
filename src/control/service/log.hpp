#pragma once
#include <fmt/format.h>
#include <spdlog/formatter.h>
#include <spdlog/logger.h>

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "core/daemon_settings.hpp"

namespace nearfield::control {

/// True when systemd connected stderr to the journal (JOURNAL_STREAM names its device and inode).
bool stderr_is_journal();

/// Makes spdlog's default logger write to the journal or to stderr. Lines pass through a queue to a thread at ordinary
/// priority, so that a slow journal delays no other thread; when the queue is full its oldest lines are dropped. Call
/// before threads become real-time, and spdlog::shutdown() at the end, which writes the rest.
void set_up_log(const DaemonSettings::Log& settings);

/// Changes the level of the logger made by set_up_log().
void set_log_level(DaemonSettings::LogLevel level);

/// Passes at most ten lines per period and cause to a logger; when a cause's period has ended, one line states the
/// number of suppressed ones. A period is a second; while lines of its cause continue, each period is twice as long as
/// the one before, up to a minute, so that endless repetition writes eleven lines a minute, and a period without a line
/// resets it to a second. Every line ends in cause=NAME. Any thread at ordinary priority may call: those of the daemon
/// that do are the main one and those of control, health, recorder and room, while real-time threads (engine, source,
/// watch) pass their counts to the main one. The mutex guards the counts, and no line is written while it is held.
class RateLimitedLog {
 public:
  static constexpr int kMostLines = 10;
  static constexpr std::int64_t kShortestPeriodNs = 1'000'000'000;
  static constexpr std::int64_t kLongestPeriodNs = 60 * kShortestPeriodNs;
  /// Further causes share one allowance.
  static constexpr std::size_t kMostCauses = 64;
  using Clock = std::function<std::int64_t()>;

  /// `monotonic_ns` returns the time in nanoseconds.
  RateLimitedLog(std::shared_ptr<spdlog::logger> logger, Clock monotonic_ns);

  template <typename... Arguments>
  void log(spdlog::level::level_enum level, std::string_view cause, fmt::format_string<Arguments...> format,
           Arguments&&... arguments) {
    if (admit(level, cause)) {
      write(level, cause, fmt::format(format, std::forward<Arguments>(arguments)...));
    }
  }

  /// Logs the number of lines suppressed in past periods. To be called about once a second, so that a burst's end is
  /// logged.
  void flush();

 private:
  struct Period {
    std::int64_t begin_ns = 0;
    std::int64_t length_ns = kShortestPeriodNs;
    int lines = 0;
    std::uint64_t suppressed = 0;
    spdlog::level::level_enum level = spdlog::level::info;  ///< worst level of a suppressed line
  };

  /// True if the cause may write a line now.
  bool admit(spdlog::level::level_enum level, std::string_view cause);
  void write(spdlog::level::level_enum level, std::string_view cause, const std::string& message);
  void report(std::string_view cause, const Period& over);
  /// The period after one that has ended.
  [[nodiscard]] static Period next_period(const Period& over, std::int64_t now_ns);

  std::shared_ptr<spdlog::logger> logger_;
  Clock monotonic_ns_;
  std::mutex mutex_;
  std::map<std::string, Period, std::less<>> periods_;
};

/// Formats log lines by spdlog's pattern, followed by the message. Control characters of the message except line ends
/// are escaped: names of files and texts of clients may contain any.
std::unique_ptr<spdlog::formatter> printable_lines(const std::string& pattern);

/// Logs each text as a warning.
void log_warnings(const std::vector<std::string>& warnings);

}  // namespace nearfield::control
