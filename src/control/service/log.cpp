#include "control/service/log.hpp"

#include <spdlog/async.h>
#include <spdlog/pattern_formatter.h>
#include <spdlog/sinks/stdout_color_sinks.h>
#include <spdlog/sinks/systemd_sink.h>
#include <spdlog/spdlog.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <optional>
#include <utility>
#include <vector>

#include "control/service/worker.hpp"
#include "core/daemon_settings.hpp"
#include "core/system/host.hpp"
#include "core/text.hpp"

namespace nearfield::control {
namespace {

constexpr std::size_t kQueuedLines = 2048;
constexpr std::string_view kOthers = "other";

spdlog::level::level_enum level_of(DaemonSettings::LogLevel level) {
  switch (level) {
    case DaemonSettings::LogLevel::kDebug:
      return spdlog::level::debug;
    case DaemonSettings::LogLevel::kInfo:
      return spdlog::level::info;
    case DaemonSettings::LogLevel::kWarning:
      return spdlog::level::warn;
    case DaemonSettings::LogLevel::kError:
      break;
  }
  return spdlog::level::err;
}

spdlog::sink_ptr make_sink(DaemonSettings::LogTarget target) {
  const bool journal = target == DaemonSettings::LogTarget::kJournal ||
                       (target == DaemonSettings::LogTarget::kAuto && stderr_is_journal());
  if (journal) {
    return std::make_shared<spdlog::sinks::systemd_sink_mt>("nearfieldd");
  }
  auto sink = std::make_shared<spdlog::sinks::stderr_color_sink_mt>(
      takes_colours(STDERR_FILENO) ? spdlog::color_mode::always : spdlog::color_mode::never);
  sink->set_formatter(printable_lines("%Y-%m-%dT%H:%M:%S.%e nearfieldd: %^%l%$: "));
  return sink;
}

}  // namespace

bool stderr_is_journal() {
  const char* stream = std::getenv("JOURNAL_STREAM");
  struct stat status {};
  if (stream == nullptr || fstat(STDERR_FILENO, &status) != 0) {
    return false;
  }
  return std::string_view(stream) == fmt::format("{}:{}", status.st_dev, status.st_ino);
}

void set_up_log(const DaemonSettings::Log& settings) {
  spdlog::init_thread_pool(kQueuedLines, 1, [] { leave_realtime(); });
  auto logger = std::make_shared<spdlog::async_logger>("nearfieldd", make_sink(settings.target), spdlog::thread_pool(),
                                                       spdlog::async_overflow_policy::overrun_oldest);
  logger->flush_on(spdlog::level::err);
  spdlog::set_default_logger(std::move(logger));
  set_log_level(settings.level);
}

void set_log_level(DaemonSettings::LogLevel level) { spdlog::set_level(level_of(level)); }

RateLimitedLog::RateLimitedLog(std::shared_ptr<spdlog::logger> logger, Clock monotonic_ns)
    : logger_(std::move(logger)), monotonic_ns_(std::move(monotonic_ns)) {}

bool RateLimitedLog::admit(spdlog::level::level_enum level, std::string_view cause) {
  const std::int64_t now_ns = monotonic_ns_();
  std::optional<Period> over;
  bool admitted = false;
  {
    const std::lock_guard lock(mutex_);
    auto found = periods_.find(cause);
    if (found == periods_.end()) {
      cause = periods_.size() < kMostCauses ? cause : kOthers;
      found = periods_.try_emplace(std::string(cause), Period{.begin_ns = now_ns}).first;
    }
    Period& period = found->second;
    if (now_ns - period.begin_ns >= period.length_ns) {
      over = period;
      period = next_period(period, now_ns);
    }
    admitted = period.lines < kMostLines;
    if (admitted) {
      ++period.lines;
    } else {
      ++period.suppressed;
      period.level = std::max(period.level, level);
    }
  }
  if (over) {
    report(cause, *over);
  }
  return admitted;
}

void RateLimitedLog::flush() {
  const std::int64_t now_ns = monotonic_ns_();
  std::vector<std::pair<std::string, Period>> over;
  {
    const std::lock_guard lock(mutex_);
    for (auto& [cause, period] : periods_) {
      if (period.suppressed > 0 && now_ns - period.begin_ns >= period.length_ns) {
        over.emplace_back(cause, period);
        period = next_period(period, now_ns);
      }
    }
  }
  for (const auto& [cause, period] : over) {
    report(cause, period);
  }
}

RateLimitedLog::Period RateLimitedLog::next_period(const Period& over, std::int64_t now_ns) {
  // Doubles the period only if the last one ended less than its own length ago.
  const bool goes_on = over.lines > 0 && now_ns - over.begin_ns < 2 * over.length_ns;
  return {.begin_ns = now_ns,
          .length_ns = goes_on ? std::min(2 * over.length_ns, kLongestPeriodNs) : kShortestPeriodNs};
}

void RateLimitedLog::report(std::string_view cause, const Period& over) {
  if (over.suppressed > 0) {
    write(over.level, cause, fmt::format("{} more suppressed", over.suppressed));
  }
}

void RateLimitedLog::write(spdlog::level::level_enum level, std::string_view cause, const std::string& message) {
  logger_->log(level, "{} cause={}", message, cause);
}

namespace {

class PrintableMessage : public spdlog::custom_flag_formatter {
 public:
  void format(const spdlog::details::log_msg& message, const std::tm& /*time*/, spdlog::memory_buf_t& line) override {
    const std::string text =
        printable(std::string_view(message.payload.data(), message.payload.size()), LineEnds::kKept);
    line.append(text.data(), text.data() + text.size());
  }
  [[nodiscard]] std::unique_ptr<custom_flag_formatter> clone() const override {
    return std::make_unique<PrintableMessage>();
  }
};

}  // namespace

std::unique_ptr<spdlog::formatter> printable_lines(const std::string& pattern) {
  constexpr char kFlag = '*';
  auto formatter = std::make_unique<spdlog::pattern_formatter>();
  formatter->add_flag<PrintableMessage>(kFlag).set_pattern(pattern + "%*");
  return formatter;
}

void log_warnings(const std::vector<std::string>& warnings) {
  for (const std::string& warning : warnings) {
    spdlog::warn("{}", warning);
  }
}

}  // namespace nearfield::control
