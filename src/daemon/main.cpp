#include <fmt/format.h>
#include <pthread.h>
#include <spdlog/spdlog.h>

#include <CLI/CLI.hpp>
#include <csignal>
#include <cstdlib>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>

#include "control/check.hpp"
#include "daemon/daemon.hpp"
#include "daemon/faults.hpp"
#include "nearfield/error.hpp"

namespace {

using nearfield::ExitCode;
using nearfield::daemon::DaemonOptions;

struct Arguments {
  DaemonOptions options;
  std::string summary;
  bool check = false;
};

/// Before any thread starts, so that all inherit it and only run() takes them.
void block_signals() {
  sigset_t blocked;
  sigemptyset(&blocked);
  for (const int signal : {SIGTERM, SIGINT, SIGHUP}) {
    sigaddset(&blocked, signal);
  }
  pthread_sigmask(SIG_BLOCK, &blocked, nullptr);
  std::signal(SIGPIPE, SIG_IGN);  // readers may go at any time
  std::signal(SIGXFSZ, SIG_IGN);  // a file at its limit is an error to report
}

int check(const nearfield::daemon::ConfigurationSource& configuration) {
  const auto problems = nearfield::control::configuration_problems(configuration.path, configuration.overrides);
  for (const std::string& problem : problems) {
    fmt::print("{}\n", problem);
  }
  if (problems.empty()) {
    fmt::print("{}: nothing found\n", configuration.path.empty() ? "defaults" : configuration.path);
  }
  return static_cast<int>(problems.empty() ? ExitCode::kOk : ExitCode::kBadConfig);
}

void write_summary(const std::string& path, const nlohmann::json& summary) {
  std::ofstream file(path);
  file << summary.dump(2) << '\n';
  file.flush();
  if (!file) {
    throw nearfield::IoError(fmt::format("{}: can't write the summary", path));
  }
}

int run(Arguments& arguments) {
  if (arguments.check) {
    return check(arguments.options.configuration);
  }
  block_signals();
  const char* fault = std::getenv("NEARFIELDD_FAULT");
  arguments.options.fault = nearfield::daemon::fault_of(fault == nullptr ? "" : fault);
  nearfield::daemon::Daemon daemon(arguments.options);
  daemon.run();
  if (!arguments.summary.empty()) {
    write_summary(arguments.summary, daemon.summary());
  }
  return static_cast<int>(ExitCode::kOk);
}

int guarded(Arguments& arguments) {
  try {
    return run(arguments);
  } catch (const nearfield::Error& error) {
    spdlog::error("{}", error.what());
    return static_cast<int>(error.exit_code());
  } catch (const std::bad_alloc&) {
    spdlog::error("out of memory");
  } catch (const std::exception& error) {
    spdlog::error("internal error: {}", error.what());
  }
  return static_cast<int>(ExitCode::kInternal);
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app{"Nearfield's daemon: from live one-bit microphones to a controller"};
  Arguments arguments;
  app.set_version_flag("--version", NEARFIELD_VERSION);
  arguments.options.version = NEARFIELD_VERSION;
  app.add_option("-c,--config", arguments.options.configuration.path, "settings, YAML")->required();
  app.add_option("--set", arguments.options.configuration.overrides, "one setting, KEY=VALUE; may be repeated")
      ->allow_extra_args(false)
      ->take_all();
  app.add_flag("--check", arguments.check, "say what is wrong with the settings, and end");
  app.add_option("--frames", arguments.options.frames, "end after so many frames");
  app.add_option("--duration", arguments.options.duration_s, "end after so many seconds")
      ->check(CLI::NonNegativeNumber);
  app.add_option("--summary", arguments.summary, "write what the run came to here at its end, JSON");
  try {
    app.parse(argc, argv);
  } catch (const CLI::Success& request) {
    return app.exit(request);
  } catch (const CLI::ParseError& error) {
    app.exit(error);
    return static_cast<int>(ExitCode::kUsage);
  }
  const int code = guarded(arguments);
  spdlog::shutdown();
  return code;
}
