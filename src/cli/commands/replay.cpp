#include "pipeline/replay.hpp"

#include <spdlog/spdlog.h>

#include <memory>
#include <nlohmann/json.hpp>
#include <utility>

#include "cli/command.hpp"
#include "cli/picture_options.hpp"
#include "config/device_choice.hpp"
#include "core/error.hpp"
#include "core/images.hpp"
#include "engine/devices.hpp"
#include "files/results_file.hpp"
#include "publish/outputs.hpp"
#include "publish/sound/beam_files.hpp"

namespace nearfield::cli {
namespace {

struct ReplayArguments {
  InputArguments input;
  std::string output;
  std::string frames;
  std::string masks;
  std::string png;
  std::string wav;
  double wav_gain_db = 0.0;
  std::string device;
  std::vector<std::string> devices;
  bool are_unlike_allowed = false;
  bool is_unbounded_allowed = false;
  std::string engine = "opencl";
  PictureArguments pictures;
  bool points_only = false;
  bool plan = false;
};

/// " of 32 x 32 pixels, 2 frequencies, 1 plane"; " without images" if the first processor makes none.
std::string text_of_images(const ResultHeader& header) {
  if (images_or_points_of(header) == nullptr) {
    return " without images";
  }
  const std::size_t frequencies = header.coordinates("frequency").size();
  const std::size_t planes = header.coordinates("z").size();
  return fmt::format(" of {} x {} pixels, {} frequenc{}, {} plane{}", header.coordinates("y").size(),
                     header.coordinates("x").size(), frequencies, frequencies == 1 ? "y" : "ies", planes,
                     planes == 1 ? "" : "s");
}

/// Prints the output of `--plan`: the frames of each processor, counted in hops from the start of the input.
void print_plan(const ReplayResult& result) {
  nlohmann::json processors = nlohmann::json::array();
  for (std::size_t p = 0; p < result.places.size(); ++p) {
    const FramesOfProcessor& place = result.places[p];
    processors.push_back({{"name", result.headers[p].processor},
                          {"kind", result.headers[p].kind},
                          {"device", result.headers[p].device},
                          {"first_hop", place.first},
                          {"every_hops", place.every},
                          {"frames", place.count}});
  }
  const nlohmann::json plan = {
      {"hops", result.frames_asked}, {"masks", name_of(result.masks)}, {"processors", processors}};
  fmt::print("{}\n", plan.dump(2, ' ', false, nlohmann::json::error_handler_t::replace));
}

/// Sets the devices among which frames are distributed; the settings get the first one.
void deal_out_to(const ReplayArguments& arguments, ReplayOptions& options) {
  if (arguments.devices.empty()) {
    return;
  }
  for (const ProcessorSettings& processor : options.settings.processors) {
    if (processor.device) {
      throw UsageError(
          fmt::format("--devices: expected processors without a device of their own, as each of these "
                      "devices computes all of them, found processors.{}.device: \"{}\"",
                      processor.name, *processor.device));
    }
  }
  options.devices = choose_devices(options.settings.device, arguments.devices, arguments.are_unlike_allowed);
  options.settings.device = options.devices.front();
  options.is_unbounded_allowed = arguments.is_unbounded_allowed;
}

ImagesFileOutput::Content content_of(const ReplayArguments& arguments) {
  return arguments.points_only ? ImagesFileOutput::Content::kPointsAlone : ImagesFileOutput::Content::kAll;
}

void run(const ReplayArguments& arguments) {
  require_own_output(arguments.output, {arguments.input.input, arguments.input.config, arguments.input.config_of,
                                        arguments.masks, arguments.png});
  scale_of(arguments.pictures);  // throws on invalid options before anything is computed
  ReplayOptions options;
  options.input = arguments.input.input;
  options.settings = settings_of(arguments.input);
  choose_device(options.settings.device, arguments.device);
  deal_out_to(arguments, options);
  options.engine = arguments.engine == "reference" ? EngineKind::kReference : EngineKind::kOpencl;
  options.frames = arguments.frames.empty() ? FrameRange{} : parse_frame_range(arguments.frames);
  if (!arguments.masks.empty()) {
    options.masks_file = arguments.masks;
  }
  auto progress = std::make_unique<Progress>("replay");
  options.warn = [](const std::string& message) { spdlog::warn("{}", message); };
  options.inform = [](const std::string& message) { spdlog::info("{}", message); };
  options.progress = [&progress](std::uint64_t done, std::uint64_t of) {
    progress->show(static_cast<double>(done) / static_cast<double>(of));
  };
  options.stop = StopSignal::raised;

  options.is_plan = arguments.plan;

  std::vector<std::unique_ptr<Output>> outputs;
  auto written = std::make_unique<ImagesFileOutput>(arguments.output, content_of(arguments));
  ImagesFileOutput& images_file = *written;
  outputs.push_back(std::move(written));
  const bool are_drawn_live = !arguments.png.empty() && arguments.points_only;  // the file will not have the images
  if (are_drawn_live) {
    outputs.push_back(std::make_unique<PictureOutput>(arguments.png, scale_of(arguments.pictures)));
  }
  const WavOutput* wav = nullptr;
  if (!arguments.wav.empty()) {
    const std::vector<ProcessorSettings>& processors = options.settings.processors;
    if (std::none_of(processors.begin(), processors.end(), [](const auto& one) { return one.kind == "listen"; })) {
      throw ConfigError("--wav: expected a processor that makes beams (processors.NAME.kind: listen), found none");
    }
    auto output =
        std::make_unique<WavOutput>(arguments.wav, options.settings.front_end.hop_samples, arguments.wav_gain_db);
    wav = output.get();
    outputs.push_back(std::move(output));
  }
  StopSignal::watch();
  const ReplayResult result = replay(options, outputs);
  progress.reset();
  if (arguments.plan) {
    images_file.finish_plan();
    print_plan(result);
    return;
  }
  if (result.frames < result.frames_asked) {
    throw Error(ExitCode::kInterrupted,
                fmt::format("stopped after {} of {} frames{}", result.frames, result.frames_asked,
                            result.frames > 0 ? fmt::format("; {}.partial holds them", arguments.output) : ""));
  }
  if (!arguments.png.empty() && !are_drawn_live) {
    Progress drawing("pictures");
    (void)draw_results(arguments.png, ResultsReader(arguments.output), {}, scale_of(arguments.pictures),
                       [&](double share) { drawing.show(share); });
  }
  for (const std::string& warning : wav != nullptr ? wav->report().warnings : std::vector<std::string>()) {
    spdlog::warn("{}", warning);
  }
  for (const std::string& microphone : result.bad_microphones) {
    spdlog::warn("{}", microphone);
  }
  // Excludes the flag for wavenumbers beyond the array's limit, which was reported before the first frame.
  if (const std::string flags = flags_in_words(result.flags & ~kFlagWavenumberAboveNyquist); !flags.empty()) {
    spdlog::warn("some frames are flagged: {}", flags);
  }
  const std::size_t devices = options.devices.size();
  fmt::print("{}: {} frame{}{}, on {}{}\n", arguments.output, result.frames, result.frames == 1 ? "" : "s",
             text_of_images(result.header), devices > 1 ? fmt::format("{} devices, ", devices) : "",
             result.header.device);
  if (result.microphones.fewest_used < result.microphones.microphones) {
    fmt::print("microphones: {}\n", text_of(result.microphones));
  }
  for (const std::string& file : wav != nullptr ? wav->report().files : std::vector<std::string>()) {
    fmt::print("{}\n", file);
  }
  if (!arguments.png.empty() && has_overviews(ResultsReader(arguments.output))) {
    become_overviews({.command = "replay --png, tracks and bearings over time",
                      .input = arguments.output,
                      .folder = arguments.png,
                      .pictures = arguments.pictures});
  }
}

}  // namespace

void add_replay(CLI::App& app) {
  auto arguments = std::make_shared<ReplayArguments>();
  CLI::App* command = app.add_subcommand("replay", "Turn a recording (bits, time data or spectra) into images");
  add_input(*command, arguments->input);
  command->add_option("-o,--output", arguments->output, "images, HDF5")->required();
  command->add_flag("--points-only", arguments->points_only, "write the values at holography.points, and no images");
  command->add_option("--frames", arguments->frames, "A:B, frames A to B-1, or N, the first N");
  command->add_option("--masks", arguments->masks,
                      "which bad microphones are masked, and from when on, as nearfield masks writes it; without it as "
                      "a recording says, else as they are found");
  CLI::Option* const plan = command->add_flag("--plan", arguments->plan,
                                              "compute nothing: write the file with room for its frames and without "
                                              "them, and print as JSON which ones each processor has");
  command
      ->add_option("--png", arguments->png,
                   "folder for a picture of every image and map, of tracks and of bearings over time")
      ->excludes(plan);
  add_picture_options(*command, arguments->pictures);
  command
      ->add_option("--wav", arguments->wav,
                   "folder for a sound file of every beam, 32-bit floats in Pa (docs/use/listen.md)")
      ->excludes(plan);
  command->add_option("--wav-gain-db", arguments->wav_gain_db, "gain of the sound files")
      ->check(CLI::Range(-200.0, 200.0))
      ->needs("--wav");
  CLI::Option* const device = command->add_option("--device", arguments->device,
                                                  "INDEX, or part of a platform's or device's name, or NAME:INDEX");
  CLI::Option* const engine =
      command->add_option("--engine", arguments->engine, "opencl, or reference: slow, double precision, on the host")
          ->check(CLI::IsMember({"opencl", "reference"}));
  CLI::Option* const devices =
      command
          ->add_option("--devices", arguments->devices,
                       "several devices, such as 0,1, each as --device takes it, to which the frames are dealt out")
          ->delimiter(',')
          ->allow_extra_args(false)
          ->excludes(device)
          ->excludes(engine);
  command
      ->add_flag("--allow-unlike", arguments->are_unlike_allowed,
                 "accept devices whose frames may differ in the last bits")
      ->needs(devices);
  command
      ->add_flag("--allow-unbounded", arguments->is_unbounded_allowed,
                 "accept averages, tracks and searches that start from nothing in each block of frames")
      ->needs(devices);
  command->callback([arguments] { run(*arguments); });
}

}  // namespace nearfield::cli
