#include "daemon/faults.hpp"

#include <fmt/format.h>

#include <array>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <sstream>
#include <thread>
#include <vector>

#include "core/error.hpp"
#include "core/system/clocks.hpp"

namespace nearfield::daemon {
namespace {

std::vector<std::string> parts_of(const std::string& text) {
  std::vector<std::string> parts;
  std::istringstream stream(text);
  for (std::string part; std::getline(stream, part, ':');) {
    parts.push_back(part);
  }
  return parts;
}

void be_busy(std::int64_t duration_ns) {
  const std::int64_t end_ns = monotonic_ns() + duration_ns;
  while (monotonic_ns() < end_ns) {
  }
}

/// Prints a line for tests/daemon/live_runs.py, which measures how soon after it the process ends.
void say(const std::string& what) {
  fmt::print(stderr, "NEARFIELDD_FAULT: {} at {} ns of CLOCK_MONOTONIC\n", what, monotonic_ns());
}

void hang() {
  for (;;) {
    std::this_thread::sleep_for(std::chrono::hours(1));
  }
}

/// Not inlined: tests look for it in the backtrace.
[[gnu::noinline]] void write_to_nowhere() {
  volatile std::uintptr_t nowhere = 0x10;         // nothing is mapped there
  *reinterpret_cast<volatile int*>(nowhere) = 1;  // NOLINT(performance-no-int-to-ptr)
}

/// Overflows the stack of its thread. Not inlined, and with a read behind the call, so that each call has its own part
/// of the stack, smaller than the guard page at its end.
[[gnu::noinline]] int fill_stack(volatile int& depth) {
  std::array<volatile char, 1024> room;
  room[0] = 1;
  depth = depth + 1;
  const int below = depth == 0 ? 0 : fill_stack(depth);
  return below + room[0];
}

/// The fault of a frame; empty if the words name none.
std::function<void(std::uint64_t)> frame_fault(const std::vector<std::string>& parts) {
  if (parts[0].ends_with("-hang")) {
    return {};
  }
  std::vector<std::uint64_t> numbers;
  for (std::size_t i = 1; i < parts.size(); ++i) {
    numbers.push_back(std::stoull(parts[i]));
  }
  if (parts[0] == "hang" && numbers.size() == 1) {
    return [at = numbers[0]](std::uint64_t sequence) {
      if (sequence >= at) {
        say(fmt::format("frame {} hangs", sequence));
        hang();
      }
    };
  }
  if (parts[0] == "device" && numbers.size() == 1) {
    return [at = numbers[0]](std::uint64_t sequence) {
      if (sequence >= at) {
        say(fmt::format("frame {} fails", sequence));
        throw DeviceError(fmt::format("NEARFIELDD_FAULT: frame {} fails as if the device had", sequence));
      }
    };
  }
  if (parts[0] == "crash" && numbers.size() == 1) {
    return [at = numbers[0]](std::uint64_t sequence) {
      if (sequence >= at) {
        write_to_nowhere();
      }
    };
  }
  if (parts[0] == "overflow" && numbers.size() == 1) {
    return [at = numbers[0]](std::uint64_t sequence) {
      if (volatile int depth = 0; sequence >= at) {
        fill_stack(depth);
      }
    };
  }
  if (parts[0] == "slow" && numbers.size() == 3) {
    return [numbers](std::uint64_t sequence) {
      if (sequence >= numbers[0] && sequence < numbers[1]) {
        be_busy(static_cast<std::int64_t>(numbers[2]) * kNsPerMicrosecond);
      }
    };
  }
  return {};
}

std::function<void()> hang_while_there(const std::string& file) {
  return [file] {
    constexpr std::chrono::milliseconds kLook{20};
    while (std::filesystem::exists(file)) {
      std::this_thread::sleep_for(kLook);
    }
  };
}

/// Hangs once: later events show that the thread continues.
std::function<void()> web_fault(const std::vector<std::string>& parts) {
  if (parts[0] != "web-hang" || parts.size() != 2) {
    return {};
  }
  if (parts[1].starts_with('/')) {
    return hang_while_there(parts[1]);
  }
  return [seconds = std::stod(parts[1])] { std::this_thread::sleep_for(std::chrono::duration<double>(seconds)); };
}

/// The fault of a change of masks.
std::function<void()> mask_fault(const std::string& word) {
  if (word != "mask-device") {
    return {};
  }
  return [] { throw DeviceError("NEARFIELDD_FAULT: a mask fails as if the device had"); };
}

std::function<void()> warming_fault(const std::string& word) {
  if (word == "warm-hang") {
    return hang;
  }
  if (word == "warm-crash") {
    return [] {
      std::signal(SIGSEGV, SIG_DFL);
      std::raise(SIGSEGV);
    };
  }
  return {};
}

}  // namespace

Faults faults_of(const std::string& text) {
  if (text.empty()) {
    return {};
  }
  const std::vector<std::string> parts = parts_of(text);
  Faults faults;
  faults.frame = frame_fault(parts);
  faults.warming = warming_fault(parts[0]);
  faults.web = web_fault(parts);
  faults.mask = mask_fault(parts[0]);
  if (parts[0] == "start-hang" && parts.size() == 2) {
    faults.start = [hang = hang_while_there(parts[1])] {
      say("the start waits");
      hang();
    };
  }
  if (parts[0] == "warm-hang" && parts.size() == 2) {
    faults.warming_limit_s = std::stod(parts[1]);
  }
  if (parts.size() == 2 && (parts[0] == "source-hang" || parts[0] == "control-hang")) {
    (parts[0] == "source-hang" ? faults.source : faults.control) = hang_while_there(parts[1]);
    faults.turn_limit_s = 1.0;
  }
  if (!faults.start && !faults.frame && !faults.warming && !faults.web && !faults.source && !faults.control &&
      !faults.mask) {
    throw UsageError(fmt::format(
        "NEARFIELDD_FAULT: expected hang:N, device:N, crash:N, overflow:N, slow:A:B:US, web-hang:S, web-hang:FILE, "
        "start-hang:FILE, source-hang:FILE, control-hang:FILE (as long as there is one of this absolute "
        "path), warm-hang:S, warm-crash or mask-device, found \"{}\"",
        text));
  }
  return faults;
}

}  // namespace nearfield::daemon
