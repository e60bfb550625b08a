#pragma once
#include <gtest/gtest.h>

#include <chrono>
#include <cstdio>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <thread>

#include "control/socket/client.hpp"
#include "core/error.hpp"
#include "support/command.hpp"
#include "support/places.hpp"
#include "support/recordings.hpp"

/// nearfieldd as a process of its own, as a user and systemd see it.
namespace nearfield::test {

/// What waits for a process is given up after this long: PoCL may compile for seconds on a busy machine.
constexpr std::chrono::seconds kTimeout{120};

inline std::string file_text(const std::string& path) {
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

/// A nearfieldd that plays a capture of 8 x 8 microphones, in a folder of its own.
class NearfielddTest : public testing::Test {
 protected:
  void SetUp() override {
    write_random_capture(folder_ / "capture.h5", 200'000);
    write_configuration("343");
  }
  void TearDown() override {
    if (process_ > 0) {
      kill(process_, SIGKILL);
      wait();
    }
    if (HasFailure()) {
      std::fprintf(stderr, "nearfieldd said:\n%s\n", log().c_str());
    }
  }

  /// Frames may take long here: only tests of hung frames use a short limit.
  void write_configuration(const std::string& sound_speed_m_s) const {
    std::ofstream(folder_ / "nearfieldd.yaml")
        << "version: 1\n"
           "array: {rows: 8, columns: 8, layout: row-major}\n"
           "front_end: {window_samples: 128, hop_samples: 64, frequencies_hz: [1464.84375]}\n"
           "medium: {sound_speed_m_s: "
        << sound_speed_m_s
        << "}\nholography: {extrapolation: {order: 4}}\n"
           "daemon:\n"
           "  source: {kind: file, path: capture.h5}\n"
           "  publish: {ring: {socket: frames.sock}}\n"
           "  control: {socket: control.sock}\n"
           "  recording: {directory: .}\n"
           "  deadlines: {frame_ms: 60000}\n"
           "  metrics: {address: off}\n"
           "  page: {address: off}\n";
  }
  /// With a fault in `environment`, the program that has faults.
  void start(const std::string& arguments, const std::string& environment = "") {
    const bool has_fault = environment.find("NEARFIELDD_FAULT") != std::string::npos;
    start_program(has_fault ? NEARFIELDD_FAULTY_BINARY : NEARFIELDD_BINARY, arguments, environment);
  }
  void start_program(const std::string& program, const std::string& arguments, const std::string& environment) {
    process_ = fork();
    if (process_ == 0) {
      const std::string line = "exec env " + environment + " " + program + " -c " + (folder_ / "nearfieldd.yaml") +
                               " " + arguments + " >" + (folder_ / "log") + " 2>&1";
      execl("/bin/sh", "sh", "-c", line.c_str(), nullptr);
      _exit(127);
    }
  }
  /// The exit code, or 128 + the signal.
  int wait() {
    int status = 0;
    waitpid(process_, &status, 0);
    process_ = 0;
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  }
  int run(const std::string& arguments, const std::string& environment = "") {
    start(arguments, environment);
    return wait();
  }
  [[nodiscard]] std::string log() const { return file_text(folder_ / "log"); }
  [[nodiscard]] nlohmann::json summary() const { return nlohmann::json::parse(file_text(folder_ / "summary.json")); }
  [[nodiscard]] std::string summary_option() const { return " --summary " + (folder_ / "summary.json"); }

  nlohmann::json call(const nlohmann::json& request) const {
    return control::Client(folder_ / "control.sock").call(request);
  }
  /// Looks again and again until `holds`, which may throw while the daemon starts.
  template <typename Holds>
  void wait_until(const Holds& holds) const {
    const auto end = std::chrono::steady_clock::now() + kTimeout;
    while (std::chrono::steady_clock::now() < end) {
      try {
        if (holds()) {
          return;
        }
      } catch (const Error&) {  // not there yet
      }
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    FAIL() << log();
  }
  void wait_for_frames() const {
    wait_until([this] { return call({{"command", "status"}}).at("frames") > 0; });
  }
  /// A live stream without an end.
  void start_live(const std::string& more = "", const std::string& environment = "") {
    start("--set daemon.source.loop=true " + more, environment);
    wait_for_frames();
  }
  int stop() {
    call({{"command", "stop"}});
    return wait();
  }

  TemporaryFolder folder_;
  pid_t process_ = 0;
};

}  // namespace nearfield::test
