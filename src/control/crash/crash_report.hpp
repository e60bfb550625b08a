#pragma once
#include <filesystem>
#include <string>
#include <vector>

namespace nearfield::control {

/// Where files about crashes lie: $STATE_DIRECTORY/crashes (systemd's folder of the service), else
/// $XDG_STATE_HOME/nearfield/crashes, else $HOME/.local/state/nearfield/crashes. Empty where none of them is set: then
/// no file is written.
std::filesystem::path crash_folder();

/// Has the process write a report before it ends by SIGSEGV, SIGBUS, SIGABRT, SIGFPE or SIGILL, to stderr and to a file
/// of its own in `folder`: time, signal, address, thread, version, and the addresses of the frames relative to their
/// modules, with the modules' build-ids, as addr2line reads them, and with the names of the functions where the
/// modules' files have them. The signal's own action follows, so that there are core files as without. A signal that
/// has a handler already, such as a sanitizer's, keeps it. The folder is made when a report is written; of older
/// reports there the newest nine are kept. To be called once, before other threads start; the calling thread also gets
/// a stack for reports of a stack that overflowed.
void report_crashes(const std::string& program, const std::string& version, const std::filesystem::path& folder);

/// Takes the signals of report_crashes() again where a library has put handlers of its own in their place since: LLVM,
/// by which PoCL compiles, does so, and its handler lets a SIGABRT of abort() or of another process pass without a
/// report. To be called after libraries have compiled. During a crash it does nothing: the signal's own action is due
/// then.
void keep_crash_reports();

/// A thread of this process writes a report, or has written one: the process is about to end by its signal, and what
/// ended it in another way would cut the report. Safe in signal handlers, and in any thread.
bool is_crashing() noexcept;

/// The newest report in `folders`, of which any may be missing; empty where there is none.
std::filesystem::path newest_crash(const std::vector<std::filesystem::path>& folders);

/// Where the services of systemd have theirs, nearfieldd.service and each nearfieldd@NAME.service: the folders
/// nearfield*/crashes of `state`, sorted. Root alone may read them.
std::vector<std::filesystem::path> crash_folders_of_services(const std::filesystem::path& state = "/var/lib");

}  // namespace nearfield::control
