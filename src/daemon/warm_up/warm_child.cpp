#include "daemon/warm_up/warm_child.hpp"

#include <fcntl.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <csignal>
#include <iostream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "config/config.hpp"
#include "config/standard_input.hpp"
#include "core/error.hpp"
#include "daemon/live/epoch.hpp"
#include "daemon/warm_up/warm_messages.hpp"

namespace nearfield::daemon {
namespace {

using nlohmann::json;

/// Low priority: the stream takes precedence.
constexpr int kNice = 5;

/// Permits any processor, not only those of the real-time threads; ends the child with the thread that waits for it.
void make_modest() {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  (void)setpriority(PRIO_PROCESS, 0, kNice);
  cpu_set_t all;
  CPU_ZERO(&all);
  for (std::size_t cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
    CPU_SET(cpu, &all);
  }
  (void)sched_setaffinity(0, sizeof all, &all);
}

/// Reserves standard output for messages: output of libraries goes to stderr instead.
int take_output() {
  const int output = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, kGoOnDescriptor + 1);
  dup2(STDERR_FILENO, STDOUT_FILENO);
  return output;
}

void say(int output, const json& message) {
  const std::string line = message.dump(-1, ' ', false, json::error_handler_t::replace) + '\n';
  for (std::size_t said = 0; said < line.size();) {
    const ssize_t bytes = write(output, line.data() + said, line.size() - said);
    if (bytes <= 0) {
      return;  // the parent has closed the pipe
    }
    said += static_cast<std::size_t>(bytes);
  }
}

bool may_go_on() {
  char byte = 0;
  return read(kGoOnDescriptor, &byte, 1) == 1;
}

void warm(int output, const std::function<void()>& fault) {
  const std::string text(std::istreambuf_iterator<char>(std::cin), {});
  const WarmRequest request = warm_request_of(json::parse(text));
  json stamps = json::array();
  if (request.path == kStandardInput) {
    give_standard_input(request.standard_input);
  } else if (!request.path.empty()) {
    stamps.push_back(to_json(stamp_of(request.path)));
  }
  const Settings settings = load_daemon_settings(request.path, request.overrides);
  std::vector<std::string> files = {settings.array.calibration_path, settings.array.positions_path};
  for (const PathOfProcessor& one : paths_of_processors(settings)) {
    files.push_back(one.path);
  }
  for (const std::string& file : files) {
    if (!file.empty()) {
      stamps.push_back(to_json(stamp_of(file)));
    }
  }
  say(output, {{"loaded", stamps}});
  if (!may_go_on()) {
    return;
  }
  if (fault) {
    fault();
  }
  const std::unique_ptr<Epoch> epoch = make_epoch(settings, request.input, 1);
  say(output, {{"warmed", true}});
  _exit(0);  // skips destructors; the process frees the epoch
}

json error_json(ExitCode code, const std::string& message) {
  return {{"error", {{"exit_code", static_cast<int>(code)}, {"message", message}}}};
}

}  // namespace

int run_warm_child(const std::function<void()>& fault) {
  make_modest();
  const int output = take_output();
  json problem;
  try {
    warm(output, fault);
    return static_cast<int>(ExitCode::kOk);
  } catch (const Error& error) {
    problem = error_json(error.exit_code(), error.what());
  } catch (const std::bad_alloc&) {
    problem = error_json(ExitCode::kBadConfig, "out of memory while the new configuration was made");
  } catch (const std::exception& error) {
    problem = error_json(ExitCode::kInternal, error.what());
  }
  say(output, problem);
  return problem["error"]["exit_code"];
}

}  // namespace nearfield::daemon
