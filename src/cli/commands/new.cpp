#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iostream>
#include <memory>
#include <string>
#include <vector>

#include "audio/capture.hpp"
#include "cli/command.hpp"
#include "config/array_presets.hpp"
#include "config/config.hpp"
#include "config/words.hpp"
#include "core/error.hpp"
#include "core/text.hpp"

namespace nearfield::cli {
namespace {

struct NewArguments {
  std::string output;
  std::string array;
  std::string device;
  std::string see;
  std::string distance;
  std::string frequencies;
};

/// The answer to a question: the option's, or the line that the user writes; "" stands for `standard`. Asks again until
/// `flaw_of` is empty; an option's flaw is thrown as UsageError.
std::string answer(const std::string& given, const char* option, const std::string& question,
                   const std::string& standard, const std::function<std::string(const std::string&)>& flaw_of) {
  if (!given.empty()) {
    if (const std::string flaw = flaw_of(given); !flaw.empty()) {
      throw UsageError(fmt::format("{}: {}", option, flaw));
    }
    return given;
  }
  for (;;) {
    fmt::print("{}{}: ", question, standard.empty() ? "" : fmt::format(" [{}]", standard));
    std::fflush(stdout);
    std::string line;
    if (!std::getline(std::cin, line)) {
      throw UsageError(fmt::format("new: expected an answer, or the option {}, found the end of the input", option));
    }
    if (isatty(STDIN_FILENO) == 0) {
      fmt::print("\n");
    }
    std::string text = line.empty() ? standard : line;
    const std::string flaw = flaw_of(text);
    if (flaw.empty()) {
      return text;
    }
    fmt::print("  {}\n", flaw);
  }
}

std::vector<double> numbers_in(const std::string& text) {
  std::vector<double> numbers;
  const char* at = text.data();
  const char* const end = at + text.size();
  while (at != end) {
    double value = 0.0;
    const auto [next, error] = number_from(at, end, value);
    if (error != std::errc() || !std::isfinite(value) || (next != end && *next != ',')) {
      return {};
    }
    numbers.push_back(value);
    at = next == end ? end : next + 1;
  }
  return numbers;
}

std::string names_of_presets() {
  std::vector<std::string_view> names;
  std::transform(array_presets().begin(), array_presets().end(), std::back_inserter(names),
                 [](const ArrayPreset& one) { return one.name; });
  return fmt::format("{}", fmt::join(names, ", "));
}

/// The first card that can have the preset's channels, as the answer that is most likely right.
std::string likely_device(const ArrayPreset& preset) {
  const auto channels = static_cast<int>(preset.positions_m.size());
  try {
    for (const audio::DeviceFacts& one : audio::list_devices()) {
      const bool has_rate =
          std::find(one.rates_hz.begin(), one.rates_hz.end(), preset.sample_rate_hz) != one.rates_hz.end();
      if (one.name.starts_with("hw:") && one.most_channels >= channels && has_rate) {
        return one.name;
      }
    }
  } catch (const NoInputError&) {  // without ALSA's library there is none
  }
  return "";
}

/// Largest distance between two microphones, m.
double size_of(const ArrayPreset& preset) {
  double largest_m = 0.0;
  for (const MicrophonePosition& a : preset.positions_m) {
    for (const MicrophonePosition& b : preset.positions_m) {
      largest_m = std::max(largest_m, std::hypot(a.x_m - b.x_m, a.y_m - b.y_m));
    }
  }
  return largest_m;
}

/// Samples of a window of some 40 ms, a power of two, as the rate of the preset has them.
int window_of(const ArrayPreset& preset) {
  constexpr double kWindow_s = 0.04;
  return 1 << static_cast<int>(std::lround(std::log2(kWindow_s * preset.sample_rate_hz)));
}

std::string processors_of(const std::string& see, double distance_m) {
  if (see == "surface") {
    return fmt::format(
        "holography:\n"
        "  standoff_m: {:g}                # from the surface to the microphones\n"
        "  upsample: 4                     # pixels to each pitch, along x and along y\n",
        distance_m);
  }
  const double half_m = distance_m * 0.75;  // some 37 degrees to each side, what a camera sees
  return fmt::format(
      "holography:\n"
      "  imager: none                    # these microphones are too few and too far for holography\n"
      "  standoff_m: {0:g}\n"
      "processors:\n"
      "  map:                            # how loud a source would be at each place\n"
      "    kind: beamform\n"
      "    grid: {{kind: plane, distance_m: [{0:g}], x_m: [{1:g}, {2:g}], y_m: [{1:g}, {2:g}], step_m: {3:g}}}\n"
      "    average: {{kind: exponential, seconds: 0.25}}\n"
      "    diagonal_removal: true          # leaves the noise of each microphone out\n",
      distance_m, -half_m, half_m, half_m / 30.0);
}

std::string configuration(const ArrayPreset& preset, const std::string& device, const std::string& see,
                          double distance_m, const std::string& frequencies) {
  const int window = window_of(preset);
  return fmt::format(
             "# Made by `nearfield new`. `nearfieldd -c FILE --check` says what is wrong with it, `nearfieldd -c FILE` "
             "starts it,\n"
             "# and `nearfield ctl page` prints the address of its page. Every other setting: `nearfield settings`.\n"
             "version: 1\n"
             "array:\n"
             "  preset: {}           # {}; by {}\n"
             "  # Levels are those of full scale until a calibrator of 94 dB has said how many pascal that is "
             "(docs/use/calibrate.md):\n"
             "  # pascal_per_unit: PASCAL\n"
             "front_end:\n"
             "  kind: dot_product               # takes tones of any frequency\n"
             "  frequencies_hz: [{}]\n"
             "  window_samples: {}            # {:.0f} ms\n"
             "  hop_samples: {}               # a frame every {:.0f} ms\n",
             preset.name, preset.description, preset.source, frequencies, window, 1e3 * window / preset.sample_rate_hz,
             window / 4, 250.0 * window / preset.sample_rate_hz) +
         processors_of(see, distance_m) +
         fmt::format(
             "daemon:\n"
             "  source: {{kind: audio, device: {}, sample_rate_hz: {:g}}}\n"
             "  recording: {{directory: \".\"}}   # what was heard is kept when `nearfield ctl record start` says so\n",
             quoted(device), preset.sample_rate_hz);
}

/// Throws IoError.
void write(const std::string& path, const std::string& text) {
  std::ofstream file(path);
  file << text;
  file.close();
  if (!file) {
    throw IoError(fmt::format("{}: can't be written", path));
  }
}

void run(const NewArguments& arguments) {
  if (std::filesystem::exists(arguments.output)) {
    throw UsageError(fmt::format("-o: expected a file that is not there yet, found {}", arguments.output));
  }
  for (const ArrayPreset& one : array_presets()) {
    if (arguments.array.empty()) {
      fmt::print("{:16} {}\n", one.name, one.description);
    }
  }
  const std::string array =
      answer(arguments.array, "--array", "which array", "minidsp-uma16", [](const std::string& text) {
        return array_preset(text) != nullptr ? std::string()
                                             : fmt::format(
                                                   "expected one of {}, found \"{}\"; docs/use/your_array.md is about "
                                                   "all others",
                                                   names_of_presets(), text);
      });
  const ArrayPreset& preset = *array_preset(array);
  const std::string device =
      answer(arguments.device, "--audio", "which audio device (`nearfield devices --audio` lists them)",
             likely_device(preset), [](const std::string& text) {
               return text.empty() || text.find('"') != std::string::npos ? "expected a name, such as hw:UMA16" : "";
             });
  const std::string see =
      answer(arguments.see, "--see", "what to see: sources at a distance, or the surface that vibrates before it",
             "sources", [](const std::string& text) {
               return text == "sources" || text == "surface" ? std::string() : "expected sources or surface";
             });
  const double size_m = size_of(preset);
  if (see == "surface") {
    fmt::print(
        "  {} microphones within {:.0f} mm see a surface coarsely, and only what lies before them: holography wants "
        "an array as large as the surface\n",
        preset.positions_m.size(), size_m * 1e3);
  }
  const std::string distance = answer(arguments.distance, "--distance", "how far away is it, in m",
                                      see == "surface" ? "0.05" : "1", [&](const std::string& text) {
                                        const std::vector<double> values = numbers_in(text);
                                        constexpr double kMost_m = 100.0;
                                        return values.size() == 1 && values[0] > 0.0 && values[0] <= kMost_m
                                                   ? std::string()
                                                   : "expected a distance above 0 and up to 100 m, such as 1.5";
                                      });
  const std::string frequencies = answer(
      arguments.frequencies, "--frequencies", "which frequencies, in Hz", "1000,2000,4000",
      [&](const std::string& text) {
        const std::vector<double> values = numbers_in(text);
        const double most_hz = preset.sample_rate_hz / 2.0;
        return !values.empty() &&
                       std::all_of(values.begin(), values.end(), [&](double hz) { return hz > 0.0 && hz < most_hz; })
                   ? std::string()
                   : fmt::format("expected numbers above 0 and below {:g}, half the sample rate, such as 1000,2000",
                                 most_hz);
      });
  const std::string text = configuration(preset, device, see, numbers_in(distance)[0], frequencies);
  write(arguments.output, text);
  try {
    (void)load_daemon_settings(arguments.output, {});  // a check of what was written
  } catch (const Error&) {
    std::filesystem::remove(arguments.output);
    throw;
  }
  fmt::print("{}\nnext: nearfieldd -c {} --check\n", arguments.output, arguments.output);
}

}  // namespace

void add_new(CLI::App& app) {
  auto arguments = std::make_shared<NewArguments>();
  CLI::App* command =
      app.add_subcommand("new", "Write a configuration for an array that can be bought, by five questions");
  command->add_option("-o,--output", arguments->output, "configuration, YAML")->required();
  command->add_option("--array", arguments->array, "its name: " + names_of_presets());
  command->add_option("--audio", arguments->device, "audio device, such as hw:UMA16");
  command->add_option("--see", arguments->see, "sources at a distance, or the surface before it")
      ->check(CLI::IsMember({"sources", "surface"}));
  command->add_option("--distance", arguments->distance, "from the array, m");
  command->add_option("--frequencies", arguments->frequencies, "Hz, separated by commas");
  command->callback([arguments] { run(*arguments); });
}

}  // namespace nearfield::cli
