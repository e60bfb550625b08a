#include "cli/command.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <spdlog/spdlog.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <utility>

#include "config/config.hpp"
#include "core/error.hpp"
#include "core/system/host.hpp"
#include "files/files.hpp"
#include "files/nfr/nfr_reader.hpp"
#include "files/results_file.hpp"

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

namespace {

/// The epoch with the most frames of a processor; the first if several are equal.
const nfr::EpochSummary& main_epoch(const std::vector<nfr::EpochSummary>& epochs) {
  return *std::max_element(epochs.begin(), epochs.end(),
                           [](const nfr::EpochSummary& a, const nfr::EpochSummary& b) { return a.frames < b.frames; });
}

/// ", as those of the epochs 2, 3 do not"; empty where all epochs have the same settings.
std::string others(const std::vector<nfr::EpochSummary>& epochs, const nfr::EpochSummary& chosen) {
  std::vector<std::uint64_t> numbers;
  for (const nfr::EpochSummary& epoch : epochs) {
    const bool is_there = std::find(numbers.begin(), numbers.end(), epoch.epoch) != numbers.end();
    if (epoch.header.config != chosen.header.config && !is_there) {
      numbers.push_back(epoch.epoch);
    }
  }
  return numbers.empty() ? "" : fmt::format("; the epochs {} had others", fmt::join(numbers, ", "));
}

/// Settings in a run's file, as YAML, and their origin in words.
struct CarriedSettings {
  std::string yaml;
  std::string description;
};

CarriedSettings carried_by(const std::string& run) {
  const FileKind kind = detect_file_kind(run);
  CarriedSettings carried;
  if (kind == FileKind::kRecording) {
    const nfr::Reader reader{std::filesystem::path(run)};
    if (!reader.epochs().empty()) {
      const nfr::EpochSummary& epoch = main_epoch(reader.epochs());
      carried = {
          .yaml = epoch.header.config,
          .description = fmt::format("{} carries, of epoch {}", run, epoch.epoch) + others(reader.epochs(), epoch)};
    }
  } else if (kind == FileKind::kImages) {
    carried = {.yaml = ResultsReader(run).header(0).config, .description = fmt::format("{} carries", run)};
  } else {
    throw DataError(fmt::format(
        "--config-of {}: found {}, expected images or a recording (.nfr): these carry the settings of their "
        "run",
        run, name_of(kind)));
  }
  if (carried.yaml.empty()) {
    throw DataError(fmt::format("--config-of {}: found no settings in it, expected those of its run", run));
  }
  return carried;
}

}  // namespace

InputSettings settings_for_input(const std::string& input, const std::string& config,
                                 const std::vector<std::string>& overrides, const std::string& config_of) {
  const std::string with = overrides.empty() ? "" : " and --set";
  if (!config_of.empty()) {
    const CarriedSettings carried = carried_by(config_of);
    const bool has_no_geometry = detect_file_kind(input) == FileKind::kTimeData;
    return {.settings = load_recorded_settings(carried.yaml, config_of, overrides, has_no_geometry),
            .description = fmt::format("settings: those that {}{}", carried.description, with)};
  }
  if (!nfr::is_recording(input)) {
    return {.settings = load_settings(config, overrides), .description = ""};
  }
  if (!config.empty()) {
    return {.settings = load_settings(config, overrides),
            .description = fmt::format("settings: those of {}{}", config, with)};
  }
  const nfr::Reader reader{std::filesystem::path(input)};
  const std::vector<nfr::EpochSummary>& epochs = reader.epochs();
  if (epochs.empty()) {
    return {.settings = load_settings("", overrides),
            .description = fmt::format("settings: the defaults{}, as {} carries none", with, input)};
  }
  const nfr::EpochSummary& epoch = main_epoch(epochs);
  try {
    return {.settings = load_recorded_settings(epoch.header.config, input, overrides),
            .description = fmt::format("settings: those that {} carries, of epoch {}{}{}; -c takes others", input,
                                       epoch.epoch, with, others(epochs, epoch))};
  } catch (const ConfigError& error) {
    throw ConfigError(
        fmt::format("{}\n-c CONFIG.yaml takes other settings than those that {} carries", error.what(), input));
  }
}

void add_input(CLI::App& command, InputArguments& arguments) {
  command
      .add_option("input", arguments.input,
                  "capture, time data (HDF5, WAV, RF64, UFF, MAT) or spectra, or a recording of bits (.nfr)")
      ->required();
  CLI::Option* const config = command.add_option(
      "-c,--config", arguments.config,
      "settings, YAML (- is standard input); without it those that a recording carries, else the defaults");
  command
      .add_option("--config-of", arguments.config_of,
                  "images (.h5) or a recording (.nfr) whose settings are used, without its device")
      ->excludes(config);
  command.add_option("--set", arguments.overrides, "one setting, KEY=VALUE; may be repeated")
      ->allow_extra_args(false)
      ->take_all();
}

Settings settings_of(const InputArguments& arguments) {
  InputSettings chosen =
      settings_for_input(arguments.input, arguments.config, arguments.overrides, arguments.config_of);
  if (!chosen.description.empty()) {
    spdlog::info("{}", chosen.description);
  }
  return std::move(chosen.settings);
}

}  // namespace nearfield::cli
