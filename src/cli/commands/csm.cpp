#include <fmt/format.h>
#include <fmt/ranges.h>
#include <spdlog/spdlog.h>

#include <limits>
#include <memory>

#include "cli/command.hpp"
#include "config/device_choice.hpp"
#include "core/error.hpp"
#include "pipeline/cross_spectra/cross_spectra.hpp"

namespace nearfield::cli {
namespace {

struct CsmArguments {
  std::string input;
  std::string output;
  std::string config;
  std::vector<std::string> overrides;
  std::string device;
  std::string engine = "opencl";
  std::vector<double> bins_hz;
  bool all_bins = false;
  double overlap = 0.5;
};

CrossSpectraOptions options_of(const CsmArguments& arguments) {
  CrossSpectraOptions options;
  options.input = arguments.input;
  options.settings = settings_for_input(arguments.input, arguments.config, arguments.overrides).settings;
  choose_device(options.settings.device, arguments.device);
  options.engine = arguments.engine == "reference" ? EngineKind::kReference : EngineKind::kOpencl;
  if (arguments.all_bins) {
    options.bins_hz = Band{.low_hz = 0.0, .high_hz = std::numeric_limits<double>::infinity()};
  } else if (!arguments.bins_hz.empty()) {
    options.bins_hz = Band{.low_hz = arguments.bins_hz[0], .high_hz = arguments.bins_hz[1]};
  }
  if (!(arguments.overlap >= 0.0 && arguments.overlap < 1.0)) {
    throw UsageError(fmt::format("--overlap: expected a share from 0 to below 1, found {}", arguments.overlap));
  }
  options.overlap = arguments.overlap;
  return options;
}

void run(const CsmArguments& arguments) {
  require_own_output(arguments.output, {arguments.input, arguments.config});
  CrossSpectraOptions options = options_of(arguments);
  CrossSpectraResult result;
  {
    Progress progress("csm");
    options.progress = [&](double share) { progress.show(share); };
    result = write_cross_spectra_of(options, arguments.output);
  }
  if (!result.silent.empty()) {
    spdlog::warn("rows and columns of {} microphone{} are 0, masked or without a value: {}", result.silent.size(),
                 result.silent.size() == 1 ? "" : "s", fmt::join(result.silent, ", "));
  }
  if (!result.incomplete.empty()) {
    spdlog::warn("{} microphone{} lacked finite values in some windows, which are left out of their means: {}",
                 result.incomplete.size(), result.incomplete.size() == 1 ? "" : "s",
                 fmt::join(result.incomplete, ", "));
  }
  if (result.skipped > 0) {
    spdlog::warn("{} windows with missing bits were left out", result.skipped);
  }
  fmt::print("{}: {} frequenc{} of {} snapshot{}\n", arguments.output, result.frequencies,
             result.frequencies == 1 ? "y" : "ies", result.snapshots, result.snapshots == 1 ? "" : "s");
}

}  // namespace

void add_csm(CLI::App& app) {
  auto arguments = std::make_shared<CsmArguments>();
  CLI::App* command = app.add_subcommand("csm", "Average the cross-spectral matrix of a recording, for other programs");
  command->add_option("input", arguments->input, "capture, time data or spectra, HDF5, or a recording of bits (.nfr)")
      ->required();
  command->add_option("-o,--output", arguments->output, "matrices, HDF5")->required();
  command->add_option("-c,--config", arguments->config, "settings, YAML (- is standard input)");
  command->add_option("--set", arguments->overrides, "one setting, KEY=VALUE; may be repeated")
      ->allow_extra_args(false)
      ->take_all();
  auto* bins = command
                   ->add_option("--bins", arguments->bins_hz,
                                "LOW,HIGH in Hz: all bins of the window from low to below high, instead of "
                                "front_end.frequencies_hz")
                   ->delimiter(',')
                   ->expected(2);
  command->add_flag("--all-bins", arguments->all_bins, "all bins of the window")->excludes(bins);
  command->add_option("--overlap", arguments->overlap, "of neighbouring windows, 0 to below 1")->capture_default_str();
  command->add_option("--engine", arguments->engine, "opencl, or reference: plain double precision, slow")
      ->check(CLI::IsMember({"opencl", "reference"}))
      ->capture_default_str();
  command->add_option("--device", arguments->device, "INDEX, or part of a platform's or device's name, or NAME:INDEX");
  command->callback([arguments] { run(*arguments); });
}

}  // namespace nearfield::cli
