#include "control/crash/crash_report.hpp"

#include <dlfcn.h>
#include <execinfo.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <link.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <ucontext.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <span>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "control/crash/function_names.hpp"

/// Between the signal and the end of the process only functions that are safe in a signal handler run. glibc's
/// backtrace() is safe here because it was called once before, which loads libgcc, and because libgcc of GCC 12 finds a
/// frame's module by _dl_find_object(), which takes no lock.
namespace nearfield::control {
namespace {

constexpr std::array kCrashSignals = {SIGSEGV, SIGBUS, SIGABRT, SIGFPE, SIGILL};
constexpr std::size_t kMostFrames = 64;
constexpr std::size_t kCrashStackBytes = 65536;
constexpr std::size_t kMostPathBytes = 4096;
constexpr unsigned kTimeout_s = 10;  ///< a report that takes longer ends the process by SIGALRM
constexpr std::size_t kMostKept = 9;

/// Data of the handler, prepared before, since it cannot allocate.
struct CrashPlace {
  std::array<char, 512> head{};                ///< program, version
  std::array<char, kMostPathBytes> program{};  ///< the file that runs
  std::array<char, kMostPathBytes> folder{};   ///< empty: no file
  std::array<char, kMostPathBytes> file{};
};

/// Signals with a handler from report_crashes().
std::vector<int>& crash_signals_taken() {
  static std::vector<int> signals;
  return signals;
}

// A function, since a signal handler has no other access.
CrashPlace& crash_place() {
  static CrashPlace place;
  return place;
}

std::atomic<int>& crashing_thread() {
  static std::atomic<int> thread{0};
  return thread;
}
static_assert(std::atomic<int>::is_always_lock_free);

/// Writes to stderr and to the report's file, with nothing but write().
class CrashWriter {
 public:
  explicit CrashWriter(int file) : file_(file) {}

  void text(const char* text) { bytes(text, std::strlen(text)); }
  void number(std::uint64_t value, unsigned base = 10) {
    std::array<char, 24> digits{};
    std::size_t at = digits.size();
    do {
      digits[--at] = "0123456789abcdef"[value % base];
      value /= base;
    } while (value > 0);
    bytes(digits.data() + at, digits.size() - at);
  }
  void address(std::uintptr_t value) {
    text("0x");
    number(value, 16);
  }
  void byte_in_hex(unsigned char value) {
    const std::array<char, 2> digits = {"0123456789abcdef"[value >> 4U], "0123456789abcdef"[value & 0xFU]};
    bytes(digits.data(), digits.size());
  }
  /// Writes a line in one call, so that others' lines on stderr do not mix with it.
  void end_line() {
    text("\n");
    for (const int target : {STDERR_FILENO, file_}) {
      if (target >= 0) {
        [[maybe_unused]] const ssize_t written = ::write(target, line_.data(), length_);
      }
    }
    length_ = 0;
  }

 private:
  void bytes(const char* begin, std::size_t count) {
    count = std::min(count, line_.size() - length_);
    std::memcpy(line_.data() + length_, begin, count);
    length_ += count;
  }

  int file_;
  std::array<char, 2 * kMostPathBytes> line_{};
  std::size_t length_ = 0;
};

const char* name_of_signal(int signal) {
  switch (signal) {
    case SIGSEGV:
      return "SIGSEGV (invalid memory access)";
    case SIGBUS:
      return "SIGBUS (memory that is not there)";
    case SIGABRT:
      return "SIGABRT (abort)";
    case SIGFPE:
      return "SIGFPE (arithmetic)";
    case SIGILL:
      return "SIGILL (invalid instruction)";
    default:
      return "signal";
  }
}

/// The program counter at the signal; 0 on unsupported processors.
std::uintptr_t counter_of(const void* context) {
  [[maybe_unused]] const auto* const state = static_cast<const ucontext_t*>(context);
#if defined(__x86_64__)
  return static_cast<std::uintptr_t>(state->uc_mcontext.gregs[REG_RIP]);
#elif defined(__aarch64__)
  return state->uc_mcontext.pc;
#else
  return 0;
#endif
}

/// Writes "(_ZN9nearfield6daemon6Daemon10run_engineEv+0x1c)" if the file of the module has the name.
void write_function(CrashWriter& out, const char* file, std::span<const unsigned char> build_id,
                    std::uintptr_t address) {
  const FunctionNames names(file, build_id);
  if (const FunctionNames::Found found = names.find(address); found.name != nullptr) {
    out.text(" (");
    out.text(found.name);
    out.text("+");
    out.address(found.offset);
    out.text(")");
  }
}

/// Writes "#3 /usr/bin/nearfieldd+0x1a2b3 (NAME+0x1c) build-id 09af...": input of addr2line, and the function's name.
/// For a caller, `counter` is the return address, and the call precedes it.
void write_frame(CrashWriter& out, std::size_t index, std::uintptr_t counter, bool is_caller) {
  out.text("#");
  out.number(index);
  out.text(" ");
  const std::uintptr_t place = counter - (is_caller && counter > 0 ? 1 : 0);
  dl_find_object found{};
  // NOLINTNEXTLINE(performance-no-int-to-ptr): a program counter
  if (_dl_find_object(reinterpret_cast<void*>(place), &found) != 0) {
    out.address(place);
    out.text(" in no module");
  } else {
    const char* const name = found.dlfo_link_map->l_name;
    const bool is_program = name == nullptr || *name == '\0';
    const std::uintptr_t address = place - found.dlfo_link_map->l_addr;
    const auto* const begin = static_cast<const unsigned char*>(found.dlfo_map_start);
    const auto* const end = static_cast<const unsigned char*>(found.dlfo_map_end);
    // NOLINTNEXTLINE(performance-no-int-to-ptr): where the loader put the module
    const auto* const loaded_at = reinterpret_cast<const unsigned char*>(found.dlfo_link_map->l_addr);
    const std::span<const unsigned char> build_id =
        build_id_of(begin, static_cast<std::size_t>(end - begin), loaded_at);
    out.text(is_program ? crash_place().program.data() : name);
    out.text("+");
    out.address(address);
    write_function(out, is_program ? "/proc/self/exe" : name, build_id, address);  // even if an upgrade replaced it
    out.text(build_id.empty() ? "" : " build-id ");
    for (const unsigned char byte : build_id) {
      out.byte_in_hex(byte);
    }
  }
  out.end_line();
}

void write_frames(CrashWriter& out, std::uintptr_t counter) {
  std::array<void*, kMostFrames> frames{};
  const auto count = static_cast<std::size_t>(std::max(0, backtrace(frames.data(), static_cast<int>(frames.size()))));
  const auto address_of = [&](std::size_t i) { return reinterpret_cast<std::uintptr_t>(frames[i]); };
  std::size_t first = 0;  // the frame of the signal; earlier ones belong to the handler
  while (first < count && address_of(first) != counter) {
    ++first;
  }
  const bool is_found = first < count;
  if (!is_found) {  // the unwinder did not reach it
    write_frame(out, 0, counter, false);
    first = 0;
  }
  for (std::size_t i = first; i < count; ++i) {
    const std::size_t index = i - first + (is_found ? 0 : 1);
    write_frame(out, index, address_of(i), index > 0);
  }
}

/// Makes the missing folders of the path, accessible only to its user.
void make_folders(std::array<char, kMostPathBytes> path) {
  constexpr mode_t kMode = 0700;
  for (std::size_t i = 1; i < path.size() && path[i - 1] != '\0'; ++i) {
    if (path[i] == '/' || path[i] == '\0') {
      const char end = path[i];
      path[i] = '\0';
      ::mkdir(path.data(), kMode);
      path[i] = end;
    }
  }
}

int open_report() {
  const CrashPlace& place = crash_place();
  if (place.folder[0] == '\0') {
    return -1;
  }
  make_folders(place.folder);
  constexpr mode_t kMode = 0600;
  return ::open(place.file.data(), O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, kMode);
}

void write_report(int signal, const siginfo_t& info, std::uintptr_t counter) {
  const CrashPlace& place = crash_place();
  const int file = open_report();
  CrashWriter out(file);
  std::array<char, 17> thread{};
  ::prctl(PR_GET_NAME, thread.data());
  out.text(place.head.data());
  out.text(" crashed: ");
  out.text(name_of_signal(signal));
  if (info.si_code > 0 && signal != SIGABRT) {
    out.text(" at address ");
    out.address(reinterpret_cast<std::uintptr_t>(info.si_addr));
  } else if (info.si_code <= 0) {
    out.text(" sent by process ");
    out.number(static_cast<std::uint64_t>(info.si_pid));
  }
  out.end_line();
  timespec now{};
  ::clock_gettime(CLOCK_REALTIME, &now);
  out.text("process ");
  out.number(static_cast<std::uint64_t>(::getpid()));
  out.text(", thread ");
  out.text(thread.data());
  out.text(" (");
  out.number(static_cast<std::uint64_t>(::gettid()));
  out.text("), Unix time ");
  out.number(static_cast<std::uint64_t>(now.tv_sec));
  out.text(" s, signal ");
  out.number(static_cast<std::uint64_t>(signal));
  out.text(", code ");
  out.number(static_cast<std::uint64_t>(info.si_code < 0 ? -info.si_code : info.si_code));
  out.text(info.si_code < 0 ? " (negative)" : "");
  out.end_line();
  write_frames(out, counter);
  out.text("readable names: c++filt, addr2line -Cfie MODULE ADDRESS, or nearfield report");
  out.end_line();
  if (file >= 0) {
    ::fsync(file);
    ::close(file);
  }
}

/// Resets the signal to its default action, which follows once the signal is no longer blocked.
void end_by(int signal) {
  struct sigaction action {};
  action.sa_handler = SIG_DFL;
  ::sigaction(signal, &action, nullptr);
  ::raise(signal);
}

/// Blocks other crash signals, so that the kernel ends the process at once if writing the report itself causes one.
void handle_crash(int signal, siginfo_t* info, void* context) {
  const int saved = errno;
  int nobody = 0;
  if (!crashing_thread().compare_exchange_strong(nobody, ::gettid())) {
    if (nobody == ::gettid()) {  // abort() while the report was written: it stays incomplete
      end_by(signal);
      return;
    }
    for (;;) {  // another thread writes the report, and ends the process
      ::pause();
    }
  }
  std::signal(SIGALRM, SIG_DFL);  // a daemon ignores it
  ::alarm(kTimeout_s);
  write_report(signal, *info, counter_of(context));
  end_by(signal);  // the signal is blocked until this function returns
  errno = saved;
}

using TimedReport = std::pair<std::filesystem::file_time_type, std::filesystem::path>;

void add_reports(const std::filesystem::path& folder, std::vector<TimedReport>& found) {
  std::error_code error;
  const std::filesystem::directory_iterator end;
  for (std::filesystem::directory_iterator entry(folder, error); !error && entry != end; entry.increment(error)) {
    const std::string name = entry->path().filename().string();
    std::error_code unreadable;
    const std::filesystem::file_time_type changed = entry->last_write_time(unreadable);
    if (name.starts_with("crash_") && name.ends_with(".txt") && !unreadable) {
      found.emplace_back(changed, entry->path());
    }
  }
}

/// Earlier reports in all of the folders, newest first.
std::vector<std::filesystem::path> crash_reports(const std::vector<std::filesystem::path>& folders) {
  std::vector<TimedReport> found;
  for (const std::filesystem::path& folder : folders) {
    if (!folder.empty()) {
      add_reports(folder, found);
    }
  }
  std::sort(found.rbegin(), found.rend());
  std::vector<std::filesystem::path> reports;
  for (auto& [changed, path] : found) {
    reports.push_back(std::move(path));
  }
  return reports;
}

template <std::size_t Count>
void copy_text(std::array<char, Count>& to, const std::string& text) {
  const std::size_t length = std::min(text.size(), Count - 1);
  std::copy_n(text.data(), length, to.data());
  to[length] = '\0';
}

/// Stack for an overflow of the calling thread's own; it exists as long as the process.
void use_crash_stack() {
  static std::array<std::byte, kCrashStackBytes> memory;
  stack_t stack{};
  stack.ss_sp = memory.data();
  stack.ss_size = memory.size();
  ::sigaltstack(&stack, nullptr);
}

}  // namespace

std::filesystem::path crash_folder() {
  const auto variable = [](const char* name) {
    const char* const value = std::getenv(name);
    return std::string_view(value == nullptr ? "" : value);
  };
  if (const std::string_view of_service = variable("STATE_DIRECTORY"); !of_service.empty()) {
    return std::filesystem::path(of_service.substr(0, of_service.find(':'))) / "crashes";
  }
  if (const std::string_view of_user = variable("XDG_STATE_HOME"); of_user.starts_with('/')) {
    return std::filesystem::path(of_user) / "nearfield" / "crashes";
  }
  const std::string_view home = variable("HOME");
  return home.starts_with('/') ? std::filesystem::path(home) / ".local" / "state" / "nearfield" / "crashes"
                               : std::filesystem::path();
}

void report_crashes(const std::string& program, const std::string& version, const std::filesystem::path& folder) {
  CrashPlace& place = crash_place();
  copy_text(place.head, fmt::format("{} {}", program, version));
  std::error_code unknown;
  copy_text(place.program, std::filesystem::read_symlink("/proc/self/exe", unknown).string());
  if (!folder.empty()) {
    std::array<char, 32> time{};
    const std::time_t now = std::time(nullptr);
    std::tm fields{};
    ::gmtime_r(&now, &fields);
    std::strftime(time.data(), time.size(), "%Y%m%dT%H%M%SZ", &fields);
    copy_text(place.folder, folder.string());
    copy_text(place.file, (folder / fmt::format("crash_{}_{}.txt", time.data(), ::getpid())).string());
    const std::vector<std::filesystem::path> older = crash_reports({folder});
    for (std::size_t i = kMostKept; i < older.size(); ++i) {
      std::error_code ignored;
      std::filesystem::remove(older[i], ignored);
    }
  }
  std::array<void*, 1> frame{};
  (void)backtrace(frame.data(), 1);  // loads libgcc in advance
  use_crash_stack();
  for (const int signal : kCrashSignals) {
    struct sigaction present {};
    if (::sigaction(signal, nullptr, &present) != 0 || (present.sa_flags & SA_SIGINFO) != 0 ||
        present.sa_handler != SIG_DFL) {
      continue;
    }
    crash_signals_taken().push_back(signal);
  }
  keep_crash_reports();
}

bool is_crashing() noexcept { return crashing_thread().load() != 0; }

void keep_crash_reports() {
  if (is_crashing()) {
    return;
  }
  struct sigaction action {};
  sigemptyset(&action.sa_mask);
  for (const int signal : kCrashSignals) {
    sigaddset(&action.sa_mask, signal);
  }
  action.sa_flags = SA_SIGINFO | SA_ONSTACK;
  action.sa_sigaction = handle_crash;
  for (const int signal : crash_signals_taken()) {
    ::sigaction(signal, &action, nullptr);
  }
}

std::filesystem::path newest_crash(const std::vector<std::filesystem::path>& folders) {
  const std::vector<std::filesystem::path> reports = crash_reports(folders);
  return reports.empty() ? std::filesystem::path() : reports.front();
}

std::vector<std::filesystem::path> crash_folders_of_services(const std::filesystem::path& state) {
  std::vector<std::filesystem::path> folders;
  std::error_code error;
  const std::filesystem::directory_iterator end;
  for (std::filesystem::directory_iterator entry(state, error); !error && entry != end; entry.increment(error)) {
    const std::string name = entry->path().filename().string();
    if (name == "nearfield" || name.starts_with("nearfield-")) {
      folders.push_back(entry->path() / "crashes");
    }
  }
  std::sort(folders.begin(), folders.end());
  return folders;
}

}  // namespace nearfield::control
