#include <spdlog/spdlog.h>

#include <memory>

#include "cli/command.hpp"
#include "config/device_choice.hpp"
#include "core/error.hpp"
#include "core/system/files.hpp"
#include "pipeline/replay.hpp"

namespace nearfield::cli {
namespace {

struct MasksArguments {
  InputArguments input;
  std::string output = "-";
  std::string frames;
  std::string device;
  std::string engine = "opencl";
};

void run(const MasksArguments& arguments) {
  if (arguments.output != "-") {
    require_own_output(arguments.output, {arguments.input.input, arguments.input.config, arguments.input.config_of});
  }
  ReplayOptions options;
  options.input = arguments.input.input;
  options.settings = settings_of(arguments.input);
  choose_device(options.settings.device, arguments.device);
  options.engine = arguments.engine == "reference" ? EngineKind::kReference : EngineKind::kOpencl;
  options.frames = arguments.frames.empty() ? FrameRange{} : parse_frame_range(arguments.frames);
  options.warn = [](const std::string& message) { spdlog::warn("{}", message); };
  options.stop = StopSignal::raised;
  StopSignal::watch();
  MasksOfReplay masks;
  {
    Progress progress("masks");
    options.progress = [&](std::uint64_t done, std::uint64_t of) {
      progress.show(static_cast<double>(done) / static_cast<double>(of));
    };
    masks = masks_of(options);
  }
  if (!masks.is_whole) {
    throw Error(ExitCode::kInterrupted, "stopped before all windows were looked at");
  }
  for (const std::string& microphone : masks.bad_microphones) {
    spdlog::warn("{}", microphone);
  }
  const std::string text = to_json(masks.changes, masks.microphones);
  if (arguments.output == "-") {
    fmt::print("{}", text);
    return;
  }
  write_whole_file(arguments.output, text);
  fmt::print("{}: {} change{} of masks\n", arguments.output, masks.changes.size(),
             masks.changes.size() == 1 ? "" : "s");
}

}  // namespace

void add_masks(CLI::App& app) {
  auto arguments = std::make_shared<MasksArguments>();
  CLI::App* command =
      app.add_subcommand("masks", "Print which bad microphones a replay masks, and from when on, for replay --masks");
  add_input(*command, arguments->input);
  command->add_option("-o,--output", arguments->output, "JSON; - is standard output")->capture_default_str();
  command->add_option("--frames", arguments->frames, "A:B, frames A to B-1, or N, the first N");
  command->add_option("--device", arguments->device, "INDEX, or part of a platform's or device's name, or NAME:INDEX");
  command->add_option("--engine", arguments->engine, "opencl, or reference: slow, double precision, on the host")
      ->check(CLI::IsMember({"opencl", "reference"}))
      ->capture_default_str();
  command->callback([arguments] { run(*arguments); });
}

}  // namespace nearfield::cli
