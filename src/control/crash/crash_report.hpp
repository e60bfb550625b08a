#pragma once
#include <filesystem>
#include <string>
#include <vector>

namespace nearfield::control {

/// Folder of files about crashes: $STATE_DIRECTORY/crashes (systemd's folder of the service), else
/// $XDG_STATE_HOME/nearfield/crashes, else $HOME/.local/state/nearfield/crashes. Empty if none of them is set: then no
/// file is written.
std::filesystem::path crash_folder();

/// Makes the process write a report before it ends by SIGSEGV, SIGBUS, SIGABRT, SIGFPE or SIGILL, to stderr and to a
/// file of its own in `folder`: program, version, signal, address or sender, thread, time, and the stack's frames,
/// first those of the handler, as backtrace_symbols_fd() writes them: MODULE(FUNCTION+0xOFFSET) with the mangled name
/// of an exported function, else MODULE(+0xOFFSET). The signal's default action follows, so that core files are not
/// affected. A signal that has a handler already, such as a sanitizer's, keeps it. The folder is made when a report is
/// written; the newest nine older reports are kept there. To be called once, before other threads start. A report of a
/// stack overflow needs give_signal_stack() in its thread, which the calling thread gets here.
void report_crashes(const std::string& program, const std::string& version, const std::filesystem::path& folder);

/// Installs the handlers of report_crashes() again if a library has replaced them since: LLVM, with which PoCL
/// compiles, does so, and its handler lets a SIGABRT of abort() or of another process pass without a report. To be
/// called after libraries have compiled. During a crash it does nothing: the signal's default action must follow then.
void keep_crash_reports();

/// True if a thread of this process writes a report, or has written one: the process is about to end by its signal, and
/// ending it in another way would truncate the report. Safe in signal handlers, and in any thread.
bool is_crashing() noexcept;

/// The newest report in `folders`, any of which may be missing; empty if there is none.
std::filesystem::path newest_crash(const std::vector<std::filesystem::path>& folders);

/// Crash folders of the systemd services nearfieldd.service and each nearfieldd@NAME.service: the folders
/// nearfield*/crashes of `state`, sorted. Only root may read them.
std::vector<std::filesystem::path> crash_folders_of_services(const std::filesystem::path& state = "/var/lib");

}  // namespace nearfield::control
