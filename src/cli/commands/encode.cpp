#include "encode/encode.hpp"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <memory>
#include <optional>

#include "cli/command.hpp"
#include "config/config.hpp"
#include "engine/sample_input.hpp"
#include "pipeline/input.hpp"

namespace nearfield::cli {
namespace {

struct EncodeArguments {
  std::string input;
  std::string output;
  std::string config;
  std::vector<std::string> overrides;
  int order = 2;
  EncodeOptions options;
};

void run(EncodeArguments& arguments) {
  require_own_output(arguments.output, {arguments.input, arguments.config});
  Settings settings = load_settings(arguments.config, arguments.overrides);
  EncodeOptions& options = arguments.options;
  const std::optional<BareInput> bare = bare_input(arguments.input, settings.array.channels);
  if (bare) {
    std::vector<MicrophonePosition> positions_m = positions_beside(settings, bare->positions, arguments.input);
    settings = with_positions(std::move(settings), positions_m, arguments.input);
    require_channels(settings, bare->channels, arguments.input);
  }
  const bool states_pascal = !bare || bare->states_pascal;
  options.pascal_per_unit = options.pascal_per_unit
                                ? pascal_per_unit_for(options.pascal_per_unit, arguments.input, states_pascal)
                                : pascal_per_unit_for(settings, arguments.input, states_pascal);
  options.order = arguments.order == 4 ? SigmaDeltaOrder::kFourth : SigmaDeltaOrder::kSecond;
  options.channels = settings.array.channels;
  options.geometry = settings.array.geometry;
  options.clock_hz = settings.array.clock_hz;
  options.standoff_m = settings.holography.standoff_m;
  const int words = settings.front_end.decimation / kBitsPerWord;  // words per decimated sample
  options.window_samples = settings.front_end.window_samples * words;
  options.segment_samples *= words;
  EncodeReport report;
  {
    Progress progress("encode");
    report = encode_capture(arguments.input, arguments.output, options, [&](double share) { progress.show(share); });
  }
  if (!report.levels.empty()) {
    spdlog::info("{}", report.levels);
  }
  for (const std::string& warning : report.warnings) {
    spdlog::warn("{}", warning);
  }
  fmt::print("{}: {} bit-times, sensitivity {:.2f} dBFS\n", arguments.output, report.bit_times,
             report.sensitivity_dbfs);
}

}  // namespace

void add_encode(CLI::App& app) {
  auto arguments = std::make_shared<EncodeArguments>();
  EncodeOptions& options = arguments->options;
  CLI::App* command = app.add_subcommand("encode", "Turn time data, spectra or a sound file into microphone bits");
  command->add_option("input", arguments->input, "time data (HDF5, WAV, RF64, UFF, MAT), spectra, or a sound file")
      ->required();
  command->add_option("-o,--output", arguments->output, "capture, HDF5")->required();
  command->add_option("-c,--config", arguments->config,
                      "settings, YAML (- is standard input), for array and standoff of time data and sound files");
  command->add_option("--set", arguments->overrides, "one setting, KEY=VALUE; may be repeated")
      ->allow_extra_args(false)
      ->take_all();
  command->add_option("--level-dbfs", options.level_dbfs, "rms level of the bits; 0 is a full-scale sine's")
      ->capture_default_str();
  command->add_option("--order", arguments->order, "of the sigma-delta modulators")
      ->check(CLI::IsMember({2, 4}))
      ->capture_default_str();
  command->add_option("--seed", options.seed, "of the modulators' initial states")->capture_default_str();
  command->add_option("--frame", options.frame, "of a spectra file")->capture_default_str();
  command->add_flag("--segment-per-frequency", options.segment_per_frequency, "spectra: each frequency by itself");
  command->add_option("--segment-samples", options.segment_samples, "decimated samples of a segment")
      ->capture_default_str();
  command->add_flag("--bin-grid", options.bin_grid, "spectra: move frequencies to bins of front_end.window_samples");
  command->add_option("--duration-s", options.duration_s, "spectra, all frequencies together")->capture_default_str();
  command->add_option("--pascal-per-unit", options.pascal_per_unit,
                      "of samples whose file does not say it, such as a sound file's full scale; without it "
                      "array.pascal_per_unit");
  command->callback([arguments] { run(*arguments); });
}

}  // namespace nearfield::cli
