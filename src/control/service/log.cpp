#include "control/service/log.hpp"

#include <spdlog/async.h>
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

#include "control/service/realtime.hpp"

namespace nearfield::control {
namespace {

constexpr std::size_t kQueuedLines = 8192;
constexpr std::int64_t kSecondNs = 1'000'000'000;
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
  auto sink = std::make_shared<spdlog::sinks::stderr_color_sink_mt>();
  sink->set_pattern("%Y-%m-%dT%H:%M:%S.%e nearfieldd: %^%l%$: %v");
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
  std::optional<Second> over;
  bool admitted = false;
  {
    const std::lock_guard lock(mutex_);
    auto found = seconds_.find(cause);
    if (found == seconds_.end()) {
      cause = seconds_.size() < kMostCauses ? cause : kOthers;
      found = seconds_.try_emplace(std::string(cause), Second{.begin_ns = now_ns}).first;
    }
    Second& second = found->second;
    if (now_ns - second.begin_ns >= kSecondNs) {
      over = second;
      second = Second{.begin_ns = now_ns};
    }
    admitted = second.lines < kMostLines;
    if (admitted) {
      ++second.lines;
    } else {
      ++second.suppressed;
      second.level = std::max(second.level, level);
    }
  }
  if (over) {
    report(cause, *over);
  }
  return admitted;
}

void RateLimitedLog::flush() {
  const std::int64_t now_ns = monotonic_ns_();
  std::vector<std::pair<std::string, Second>> over;
  {
    const std::lock_guard lock(mutex_);
    for (auto& [cause, second] : seconds_) {
      if (second.suppressed > 0 && now_ns - second.begin_ns >= kSecondNs) {
        over.emplace_back(cause, second);
        second = Second{.begin_ns = now_ns};
      }
    }
  }
  for (const auto& [cause, second] : over) {
    report(cause, second);
  }
}

void RateLimitedLog::report(std::string_view cause, const Second& over) {
  if (over.suppressed > 0) {
    write(over.level, cause, fmt::format("{} more suppressed", over.suppressed));
  }
}

void RateLimitedLog::write(spdlog::level::level_enum level, std::string_view cause, const std::string& message) {
  logger_->log(level, "{} cause={}", message, cause);
}

}  // namespace nearfield::control
