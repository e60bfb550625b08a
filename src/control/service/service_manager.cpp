#include "control/service/service_manager.hpp"

#include <fmt/format.h>
#include <systemd/sd-daemon.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>

#include "core/error.hpp"
#include "core/system/clocks.hpp"

namespace nearfield::control {
namespace {

constexpr std::int64_t kFeedsInAnInterval = 4;
/// Longest interval between looks of a thread that runs.
constexpr std::int64_t kLatestLookNs = 200'000'000;

/// sd_notify separates fields by line ends; a field's text must not contain any.
std::string one_line(std::string text) {
  std::replace(text.begin(), text.end(), '\n', ' ');
  return text;
}

void notify(const std::string& state) { sd_notify(0, state.c_str()); }

}  // namespace

void ServiceManager::ready(const std::string& text) const { notify("READY=1\nSTATUS=" + one_line(text)); }

void ServiceManager::status(const std::string& text) const { notify("STATUS=" + one_line(text)); }

void ServiceManager::reloading() const {
  notify(fmt::format("RELOADING=1\nMONOTONIC_USEC={}\nSTATUS=Planning a new configuration",
                     monotonic_ns() / kNsPerMicrosecond));
}

void ServiceManager::stopping(const std::string& why) const { notify("STOPPING=1\nSTATUS=" + one_line(why)); }

void ServiceManager::feed_watchdog() const { notify("WATCHDOG=1"); }

std::int64_t ServiceManager::watchdog_interval_ns() {
  std::uint64_t interval_us = 0;
  return sd_watchdog_enabled(0, &interval_us) > 0 ? static_cast<std::int64_t>(interval_us) * kNsPerMicrosecond : 0;
}

bool ServiceManager::is_there() { return watchdog_interval_ns() > 0 || std::getenv("NOTIFY_SOCKET") != nullptr; }

std::string credential_path(const std::string& setting) {
  constexpr std::string_view kPrefix = "credential:";
  if (!setting.starts_with(kPrefix)) {
    return setting;
  }
  const std::string name = setting.substr(kPrefix.size());
  if (name.empty() || name.find('/') != std::string::npos || name == "." || name == "..") {
    throw ConfigError(fmt::format("{}: expected the name of a credential behind \"credential:\"", setting));
  }
  const char* folder = std::getenv("CREDENTIALS_DIRECTORY");
  if (folder == nullptr) {
    throw ConfigError(
        fmt::format("{}: expected credentials from systemd (LoadCredential={}:PATH), found none", setting, name));
  }
  return (std::filesystem::path(folder) / name).string();
}

Watchdog::Watchdog(std::int64_t interval_ns, std::int64_t now_ns)
    : period_ns_(interval_ns / kFeedsInAnInterval), fed_ns_(now_ns) {}

bool Watchdog::should_feed(std::int64_t now_ns) {
  if (period_ns_ == 0 || now_ns - fed_ns_ < period_ns_) {
    return false;
  }
  const std::uint64_t signs = signs_of_life_.load(std::memory_order_relaxed);
  if (signs == signs_at_feed_) {
    return false;
  }
  signs_at_feed_ = signs;
  fed_ns_ = now_ns;
  return true;
}

TurnWatch::Change TurnWatch::become(bool is_late) {
  const Change change = is_late == is_late_ ? Change::kNone : is_late ? Change::kBecameLate : Change::kCameBack;
  is_late_ = is_late;
  return change;
}

TurnWatch::Change TurnWatch::look(std::uint64_t turns, std::int64_t limit_ns, std::int64_t now_ns) {
  if (now_ns - looked_ns_ > kLatestLookNs) {
    since_ns_ += now_ns - looked_ns_;
  }
  looked_ns_ = now_ns;
  silence_ns_ = now_ns - since_ns_;
  if (turns == turns_) {
    return become(is_late_ || silence_ns_ > limit_ns);
  }
  turns_ = turns;
  since_ns_ = now_ns;
  return become(false);
}

TurnWatch::Change TurnWatch::rest(std::int64_t now_ns) {
  looked_ns_ = now_ns;
  since_ns_ = now_ns;
  return become(false);
}

}  // namespace nearfield::control
