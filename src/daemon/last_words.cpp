#include "daemon/last_words.hpp"

#include <fmt/format.h>
#include <unistd.h>

namespace nearfield::daemon {

void end_process(ExitCode code, const std::string& why) {
  // Straight to stderr: the journal reads the priority in front.
  const std::string line =
      fmt::format("<2>nearfieldd: {}; ending with code {} cause=end\n", why, static_cast<int>(code));
  [[maybe_unused]] const ssize_t written = ::write(STDERR_FILENO, line.data(), line.size());
  ::_exit(static_cast<int>(code));
}

}  // namespace nearfield::daemon
