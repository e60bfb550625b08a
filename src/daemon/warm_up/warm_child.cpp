#include "daemon/warm_up/warm_child.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstring>
#include <iostream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "config/config.hpp"
#include "config/load_yaml.hpp"
#include "core/error.hpp"
#include "core/system/clocks.hpp"
#include "core/system/files.hpp"
#include "daemon/live/epoch.hpp"
#include "files/nfr/nfr_json.hpp"

namespace nearfield::daemon {
namespace {

using nlohmann::json;

/// Geometry and layout of a capture, all that plans use of it.
json capture_json(const CaptureInfo& capture) {
  return {{"geometry", nfr::json_of(capture.measurement.geometry)},
          {"standoff_m", capture.measurement.standoff_m},
          {"sensitivity_dbfs", capture.measurement.sensitivity_dbfs},
          {"correctable", capture.measurement.correctable},
          {"layout", name_of(capture.layout)}};
}

CaptureInfo capture_of(const json& from) {
  CaptureInfo capture;
  capture.measurement.geometry = nfr::geometry_of(from.at("geometry"));
  capture.measurement.standoff_m = from.at("standoff_m");
  capture.measurement.sensitivity_dbfs = from.at("sensitivity_dbfs");
  capture.measurement.correctable = from.at("correctable");
  capture.layout = wire_layout_of(from.at("layout").get<std::string>());
  return capture;
}

json positions_json(const std::vector<MicrophonePosition>& positions_m) {
  json positions = json::array();
  for (const MicrophonePosition& place : positions_m) {
    positions.push_back({place.x_m, place.y_m, place.z_m});
  }
  return positions;
}

json input_json(const LiveInput& input) {
  return {{"form", static_cast<int>(input.form)},
          {"element_rate_hz", input.element_rate_hz},
          {"words_per_element", input.words_per_element},
          {"elements_per_sample", input.elements_per_sample},
          {"capture", input.capture ? capture_json(*input.capture) : json()},
          {"positions_m", positions_json(input.positions_m)},
          {"name", input.name},
          {"waits", input.waits}};
}

LiveInput input_of(const json& from) {
  LiveInput input;
  input.form = static_cast<InputForm>(from.at("form").get<int>());
  input.element_rate_hz = from.at("element_rate_hz");
  input.words_per_element = from.at("words_per_element");
  input.elements_per_sample = from.at("elements_per_sample");
  if (!from.at("capture").is_null()) {
    input.capture = capture_of(from.at("capture"));
  }
  for (const json& place : from.at("positions_m")) {
    input.positions_m.push_back({.x_m = place.at(0), .y_m = place.at(1), .z_m = place.at(2)});
  }
  input.name = from.at("name");
  input.waits = from.at("waits");
  return input;
}

}  // namespace

FileStamp stamp_of(const std::string& path) {
  struct stat found {};
  if (stat(path.c_str(), &found) != 0) {
    throw NoInputError(fmt::format("{}: expected a readable file: {}", path, std::strerror(errno)));
  }
  if (!S_ISREG(found.st_mode)) {
    throw NoInputError(fmt::format("{}: expected a regular file, found something else", path));
  }
  return {.path = path,
          .device = found.st_dev,
          .inode = found.st_ino,
          .bytes = found.st_size,
          .modified_ns = found.st_mtim.tv_sec * kNsPerSecond + found.st_mtim.tv_nsec};
}

json to_json(const WarmRequest& request) {
  return {{"path", request.path},
          {"overrides", request.overrides},
          {"input", input_json(request.input)},
          {"standard_input", request.standard_input}};
}

WarmRequest warm_request_of(const json& json) {
  return {.path = json.at("path"),
          .overrides = json.at("overrides"),
          .input = input_of(json.at("input")),
          .standard_input = json.at("standard_input")};
}

json to_json(const FileStamp& stamp) {
  return {{"path", stamp.path},
          {"device", stamp.device},
          {"inode", stamp.inode},
          {"bytes", stamp.bytes},
          {"modified_ns", stamp.modified_ns}};
}

FileStamp file_stamp_of(const json& json) {
  return {.path = json.at("path"),
          .device = json.at("device"),
          .inode = json.at("inode"),
          .bytes = json.at("bytes"),
          .modified_ns = json.at("modified_ns")};
}

namespace {

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
  // It fails where the parent has closed the pipe.
  (void)write_all(output, message.dump(-1, ' ', false, json::error_handler_t::replace) + '\n');
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
