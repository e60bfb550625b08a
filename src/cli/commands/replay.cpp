#include "pipeline/replay.hpp"

#include <spdlog/spdlog.h>

#include <memory>
#include <utility>

#include "cli/command.hpp"
#include "cli/paths.hpp"
#include "cli/progress.hpp"
#include "cli/recorded_settings.hpp"
#include "cli/stop_signal.hpp"
#include "config/device_choice.hpp"
#include "nearfield/error.hpp"
#include "publish/outputs.hpp"

namespace nearfield::cli {
namespace {

struct ReplayArguments {
  std::string input;
  std::string config;
  std::vector<std::string> overrides;
  std::string output;
  std::string frames;
  std::string png;
  std::string device;
  std::string engine = "opencl";
  bool decibels = false;
  bool points_only = false;
};

void run(const ReplayArguments& arguments) {
  require_own_output(arguments.output, {arguments.input, arguments.config, arguments.png});
  ReplayOptions options;
  options.input = arguments.input;
  InputSettings chosen = settings_for_input(arguments.input, arguments.config, arguments.overrides);
  options.settings = std::move(chosen.settings);
  if (!chosen.description.empty()) {
    spdlog::info("{}", chosen.description);
  }
  choose_device(options.settings.device, arguments.device);
  options.engine = arguments.engine == "reference" ? EngineKind::kReference : EngineKind::kOpencl;
  options.frames = arguments.frames.empty() ? FrameRange{} : parse_frame_range(arguments.frames);
  auto progress = std::make_unique<Progress>("replay");
  options.warn = [](const std::string& message) { spdlog::warn("{}", message); };
  options.inform = [](const std::string& message) { spdlog::info("{}", message); };
  options.progress = [&progress](std::uint64_t done, std::uint64_t of) {
    progress->show(static_cast<double>(done) / static_cast<double>(of));
  };
  options.stop = StopSignal::asked;

  std::vector<std::unique_ptr<Output>> outputs;
  outputs.push_back(std::make_unique<ImagesFileOutput>(arguments.output, arguments.points_only
                                                                             ? ImagesFileOutput::Content::kPointsAlone
                                                                             : ImagesFileOutput::Content::kAll));
  if (!arguments.png.empty()) {
    PictureOptions pictures;
    pictures.decibels = arguments.decibels;
    outputs.push_back(std::make_unique<PictureOutput>(arguments.png, pictures));
  }
  StopSignal::watch();
  const ReplayResult result = replay(options, outputs);
  progress.reset();
  if (result.frames < result.frames_asked) {
    throw Error(ExitCode::kInterrupted,
                fmt::format("stopped after {} of {} frames{}", result.frames, result.frames_asked,
                            result.frames > 0 ? fmt::format("; {}.partial holds them", arguments.output) : ""));
  }
  for (const std::string& microphone : result.bad_microphones) {
    spdlog::warn("{}", microphone);
  }
  // That a wavenumber is too large for the array has been said of its frequency, before the first frame.
  if (const std::string flags = flags_in_words(result.flags & ~kFlagWavenumberAboveNyquist); !flags.empty()) {
    spdlog::warn("some frames are flagged: {}", flags);
  }
  fmt::print("{}: {} frame{} of {} x {} pixels, {} frequenc{}, {} plane{}, on {}\n", arguments.output, result.frames,
             result.frames == 1 ? "" : "s", result.header.y_m.size(), result.header.x_m.size(),
             result.header.frequencies_hz.size(), result.header.frequencies_hz.size() == 1 ? "y" : "ies",
             result.header.planes_m.size(), result.header.planes_m.size() == 1 ? "" : "s", result.header.device);
}

}  // namespace

void add_replay(CLI::App& app) {
  auto arguments = std::make_shared<ReplayArguments>();
  CLI::App* command = app.add_subcommand("replay", "Turn a recording (bits, time data or spectra) into images");
  command->add_option("input", arguments->input, "capture, time data or spectra, HDF5, or a recording of bits (.nfr)")
      ->required();
  command->add_option("-c,--config", arguments->config,
                      "settings, YAML; without it those that a recording carries, else the defaults");
  command->add_option("--set", arguments->overrides, "one setting, KEY=VALUE; may be repeated")
      ->allow_extra_args(false)
      ->take_all();
  command->add_option("-o,--output", arguments->output, "images, HDF5")->required();
  command->add_flag("--points-only", arguments->points_only, "write the values at holography.points, and no images");
  command->add_option("--frames", arguments->frames, "A:B, frames A to B-1, or N, the first N");
  command->add_option("--png", arguments->png, "folder for a picture of every image");
  command->add_flag("--db", arguments->decibels, "pictures show levels in dB");
  command->add_option("--device", arguments->device, "INDEX, or part of a platform's or device's name, or NAME:INDEX");
  command->add_option("--engine", arguments->engine, "opencl, or reference: slow, double precision, on the host")
      ->check(CLI::IsMember({"opencl", "reference"}));
  command->callback([arguments] { run(*arguments); });
}

}  // namespace nearfield::cli
