#include "cli/command.hpp"

#include <fmt/format.h>
#include <spdlog/spdlog.h>
#include <unistd.h>

#include <cmath>
#include <cstdio>
#include <filesystem>

#include "core/error.hpp"
#include "core/system/host.hpp"

namespace nearfield::cli {

void require_own_output(const std::string& output, const std::vector<std::string>& inputs) {
  if (output.empty()) {
    throw UsageError("--output: expected a path, found an empty one");
  }
  for (const std::string& input : inputs) {
    std::error_code unknown;  // either may not exist
    const bool same_name =
        std::filesystem::weakly_canonical(output, unknown) == std::filesystem::weakly_canonical(input, unknown);
    if (!input.empty() && (same_name || std::filesystem::equivalent(output, input, unknown))) {
      throw UsageError(fmt::format("--output: {} is {} too; expected a file of its own", output, input));
    }
  }
}

namespace {

constexpr int kBarWidth = 40;
constexpr std::chrono::milliseconds kRedraw{100};

}  // namespace

Progress::Progress(std::string what)
    : what_(std::move(what)), shown_(spdlog::should_log(spdlog::level::info)), terminal_(can_redraw(STDERR_FILENO)) {}

Progress::~Progress() {
  if (drawn_) {
    fmt::print(stderr, "\n");
  }
}

void Progress::show(double share) {
  if (!shown_) {
    return;
  }
  if (terminal_) {
    draw_bar(share);
    return;
  }
  const int tenth = static_cast<int>(std::floor(share * 10.0 + 1e-9));
  if (tenth > tenth_) {
    tenth_ = tenth;
    fmt::print(stderr, "{} {} %\n", what_, tenth * 10);
  }
}

void Progress::draw_bar(double share) {
  const auto now = std::chrono::steady_clock::now();
  if (drawn_ && share < 1.0 && now - last_ < kRedraw) {
    return;
  }
  last_ = now;
  drawn_ = true;
  const int filled = static_cast<int>(share * kBarWidth);
  fmt::print(stderr, "\r{} [{:#<{}}{:.<{}}] {:3.0f} %", what_, "", filled, "", kBarWidth - filled, share * 100.0);
  std::fflush(stderr);
}

}  // namespace nearfield::cli
