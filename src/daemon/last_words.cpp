#include "daemon/last_words.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include "control/crash/crash_report.hpp"

namespace nearfield::daemon {

void end_process(ExitCode code, const std::string& why) {
  while (control::is_crashing()) {  // the process ends by the crash's signal, 10 s later at most by SIGALRM
    ::pause();
  }
  // Writes directly to stderr: the journal reads the priority in front, critical or notice.
  const std::string line = fmt::format("<{}>nearfieldd: {}; ending with code {} cause=end\n",
                                       code == ExitCode::kOk ? 5 : 2, why, static_cast<int>(code));
  [[maybe_unused]] const ssize_t written = ::write(STDERR_FILENO, line.data(), line.size());
  ::_exit(static_cast<int>(code));
}

}  // namespace nearfield::daemon
