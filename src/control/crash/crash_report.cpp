#include "control/crash/crash_report.hpp"

#include <execinfo.h>
#include <fcntl.h>
#include <fmt/chrono.h>
#include <fmt/format.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <csignal>
#include <cstdlib>
#include <ctime>
#include <functional>
#include <map>
#include <string_view>
#include <system_error>

#include "core/system/threads.hpp"

/// Between the signal and the end of the process only functions that are safe in a signal handler run. backtrace() is
/// one of them because an earlier call has loaded libgcc, fmt::format_to_n() because it allocates nothing.
namespace nearfield::control {
namespace {

namespace fs = std::filesystem;

constexpr std::array kCrashSignals = {SIGSEGV, SIGBUS, SIGABRT, SIGFPE, SIGILL};
constexpr unsigned kTimeout_s = 10;  ///< a report that takes longer ends the process by SIGALRM
constexpr std::size_t kMostKept = 9;

/// Data of the handler, prepared before, since it cannot allocate.
struct CrashPlace {
  std::string program;               ///< name and version
  std::vector<std::string> folders;  ///< folders of the file, outermost first
  std::string file;                  ///< empty: no file
  std::vector<int> signals;          ///< signals with a handler from report_crashes()
  std::atomic<int> thread = 0;       ///< the thread that writes a report, or has written one
};

// A function, since a signal handler has no other access. Never destroyed: a crash may happen at the very end.
CrashPlace& crash_place() {
  static auto& place = *new CrashPlace;
  return place;
}

void write_text(int file, std::string_view text) {
  [[maybe_unused]] const ssize_t written = ::write(file, text.data(), text.size());
}

/// Makes the missing folders, accessible only to their user. -1 if there is no file.
int open_report() {
  const CrashPlace& place = crash_place();
  for (const std::string& folder : place.folders) {
    ::mkdir(folder.c_str(), S_IRWXU);
  }
  return ::open(place.file.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, S_IRUSR | S_IWUSR);
}

void write_report(int signal, const siginfo_t& info) {
  std::array<char, 64> cause{};
  info.si_code > 0 ? fmt::format_to_n(cause.data(), cause.size() - 1, "at address {}", info.si_addr)
                   : fmt::format_to_n(cause.data(), cause.size() - 1, "sent by process {}", info.si_pid);
  std::array<char, 17> thread{};
  ::prctl(PR_GET_NAME, thread.data());
  std::array<char, 1024> text{};
  fmt::format_to_n(text.data(), text.size() - 1,
                   "{} crashed: SIG{} ({}) {}\nprocess {}, thread {} ({}), Unix time {} s, signal {}, code {}\n",
                   crash_place().program.c_str(), sigabbrev_np(signal), sigdescr_np(signal), cause.data(), ::getpid(),
                   thread.data(), ::gettid(), ::time(nullptr), signal, info.si_code);
  write_text(STDERR_FILENO, text.data());
  const int file = open_report();
  write_text(file, text.data());  // before the frames, which a damaged stack may prevent
  std::array<void*, 64> frames{};
  const int count = backtrace(frames.data(), static_cast<int>(frames.size()));
  for (const int target : {STDERR_FILENO, file}) {
    backtrace_symbols_fd(frames.data(), count, target);
    write_text(target, "names: c++filt; of MODULE(+OFFSET): addr2line -Cfie MODULE OFFSET; or nearfield bugreport\n");
  }
  ::fsync(file);
  ::close(file);
}

/// Blocks other crash signals, so that the kernel ends the process at once if writing the report itself causes one.
void handle_crash(int signal, siginfo_t* info, void* /*context*/) {
  std::atomic<int>& thread = crash_place().thread;
  if (int nobody = 0; thread.compare_exchange_strong(nobody, ::gettid())) {
    std::signal(SIGALRM, SIG_DFL);  // a daemon ignores it
    ::alarm(kTimeout_s);
    write_report(signal, *info);
  }
  while (thread != ::gettid()) {  // another thread writes the report, and ends the process
    ::pause();
  }
  std::signal(signal, SIG_DFL);  // also for an abort() while the report was written, which stays incomplete
  ::raise(signal);               // blocked until this function returns
}

/// Empty if the folder cannot be read.
std::vector<fs::path> entries_of(const fs::path& folder) {
  std::vector<fs::path> entries;
  std::error_code error;
  for (fs::directory_iterator entry(folder, error); entry != fs::directory_iterator(); entry.increment(error)) {
    entries.push_back(entry->path());
  }
  return entries;
}

using TimedReports = std::multimap<fs::file_time_type, fs::path, std::greater<>>;

/// Earlier reports in all of the folders, newest first.
TimedReports crash_reports(const std::vector<fs::path>& folders) {
  TimedReports reports;
  for (const fs::path& folder : folders) {
    for (const fs::path& file : entries_of(folder)) {
      const std::string name = file.filename().string();
      std::error_code unreadable;
      const fs::file_time_type changed = fs::last_write_time(file, unreadable);
      if (name.starts_with("crash_") && name.ends_with(".txt") && !unreadable) {
        reports.emplace(changed, file);
      }
    }
  }
  return reports;
}

}  // namespace

fs::path crash_folder() {
  const auto variable = [](const char* name) {
    const char* const value = std::getenv(name);
    return std::string_view(value == nullptr ? "" : value);
  };
  if (const std::string_view of_service = variable("STATE_DIRECTORY"); !of_service.empty()) {
    return fs::path(of_service.substr(0, of_service.find(':'))) / "crashes";
  }
  if (const std::string_view of_user = variable("XDG_STATE_HOME"); of_user.starts_with('/')) {
    return fs::path(of_user) / "nearfield" / "crashes";
  }
  const std::string_view home = variable("HOME");
  return home.starts_with('/') ? fs::path(home) / ".local" / "state" / "nearfield" / "crashes" : fs::path();
}

void report_crashes(const std::string& program, const std::string& version, const fs::path& folder) {
  CrashPlace& place = crash_place();
  place.program = fmt::format("{} {}", program, version);
  if (!folder.empty()) {
    for (fs::path part; const fs::path& name : folder) {
      place.folders.push_back(part /= name);
    }
    const std::string file = fmt::format("crash_{:%Y%m%dT%H%M%SZ}_{}.txt", fmt::gmtime(std::time(nullptr)), ::getpid());
    place.file = folder / file;
    for (std::size_t kept = 0; const auto& [changed, older] : crash_reports({folder})) {
      if (std::error_code ignored; ++kept > kMostKept) {
        fs::remove(older, ignored);
      }
    }
  }
  void* frame = nullptr;
  (void)backtrace(&frame, 1);  // loads libgcc in advance
  give_signal_stack();
  for (const int signal : kCrashSignals) {
    struct sigaction present {};
    if (::sigaction(signal, nullptr, &present) == 0 && (present.sa_flags & SA_SIGINFO) == 0 &&
        present.sa_handler == SIG_DFL) {
      place.signals.push_back(signal);
    }
  }
  keep_crash_reports();
}

bool is_crashing() noexcept { return crash_place().thread.load() != 0; }

void keep_crash_reports() {
  if (is_crashing()) {
    return;
  }
  struct sigaction action {};
  for (const int signal : kCrashSignals) {
    sigaddset(&action.sa_mask, signal);
  }
  action.sa_flags = SA_SIGINFO | SA_ONSTACK;
  action.sa_sigaction = handle_crash;
  for (const int signal : crash_place().signals) {
    ::sigaction(signal, &action, nullptr);
  }
}

fs::path newest_crash(const std::vector<fs::path>& folders) {
  const TimedReports reports = crash_reports(folders);
  return reports.empty() ? fs::path() : reports.begin()->second;
}

std::vector<fs::path> crash_folders_of_services(const fs::path& state) {
  std::vector<fs::path> folders;
  for (const fs::path& service : entries_of(state)) {
    const std::string name = service.filename().string();
    if (name == "nearfield" || name.starts_with("nearfield-")) {
      folders.push_back(service / "crashes");
    }
  }
  std::sort(folders.begin(), folders.end());
  return folders;
}

}  // namespace nearfield::control
