#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <sstream>

#include "cli/command.hpp"
#include "config/config.hpp"
#include "config/device_choice.hpp"
#include "core/error.hpp"
#include "core/text.hpp"
#include "files/files.hpp"
#include "pipeline/templates/make_templates.hpp"
#include "processors/far_field/grid.hpp"

namespace nearfield::cli {
namespace {

struct TemplatesArguments {
  std::vector<std::string> inputs;
  std::string config;
  std::vector<std::string> overrides;
  std::string output;
  std::string device;
  std::string engine = "opencl";
  std::string at;
  std::string positions;
};

/// Parses "x,y,z;x,y,z;...".
std::vector<std::array<double, 3>> parse_places(const std::string& text) {
  std::vector<std::array<double, 3>> places;
  std::istringstream parts(text);
  for (std::string part; std::getline(parts, part, ';');) {
    std::array<double, 3> place{};
    const char* at = part.data();
    const char* const end = at + part.size();
    bool is_good = true;
    for (std::size_t i = 0; i < place.size() && is_good; ++i) {
      is_good = i == 0 || (at != end && *at++ == ',');
      const auto [next, error] = number_from(at, end, place.at(i));
      is_good = is_good && error == std::errc() && std::isfinite(place.at(i));
      at = next;
    }
    if (!is_good || at != end) {
      throw UsageError(fmt::format("--at: expected x,y,z in m for each recording, separated by ;, found \"{}\"", part));
    }
    places.push_back(place);
  }
  return places;
}

std::vector<std::array<double, 3>> places_of(const TemplatesArguments& arguments) {
  if (arguments.at.empty() == arguments.positions.empty()) {
    throw UsageError(fmt::format("templates: expected either --at or --positions, found {}",
                                 arguments.at.empty() ? "neither" : "both"));
  }
  if (!arguments.at.empty()) {
    return parse_places(arguments.at);
  }
  const std::vector<double> values =
      far_field::read_points(arguments.positions, far_field::kMostPixels, "--positions", array_files_on_disk().get());
  std::vector<std::array<double, 3>> places;
  for (std::size_t i = 0; i < values.size(); i += 3) {
    places.push_back({values[i], values[i + 1], values[i + 2]});
  }
  return places;
}

void run(const TemplatesArguments& arguments) {
  std::vector<std::string> used = arguments.inputs;
  used.insert(used.end(), {arguments.config, arguments.positions});
  require_own_output(arguments.output, used);
  TemplateOptions options;
  options.inputs.assign(arguments.inputs.begin(), arguments.inputs.end());
  options.positions_m = places_of(arguments);
  options.settings = load_settings(arguments.config, arguments.overrides);
  choose_device(options.settings.device, arguments.device);
  options.engine = arguments.engine == "reference" ? EngineKind::kReference : EngineKind::kOpencl;
  options.warn = [](const std::string& message) { spdlog::warn("{}", message); };
  const Templates templates = make_templates(options);
  write_templates(arguments.output, templates);
  constexpr std::size_t kMostDoubts = 20;
  const std::vector<std::string> doubts = doubts_about(templates);
  for (std::size_t i = 0; i < std::min(doubts.size(), kMostDoubts); ++i) {
    spdlog::warn("{}", doubts[i]);
  }
  if (doubts.size() > kMostDoubts) {
    spdlog::warn("and {} more", doubts.size() - kMostDoubts);
  }
  const auto left_out = std::count_if(templates.coherence.begin(), templates.coherence.end(), [](float coherence) {
    return !(static_cast<double>(coherence) >= kLeastTemplateCoherence);
  });
  fmt::print(
      "{}: {} template{} of {} microphones at {} frequenc{}, {} of {} left out, least coherence {:.4f}, "
      "reference microphone {}\n",
      arguments.output, templates.count(), templates.count() == 1 ? "" : "s", templates.measurement.geometry.channels(),
      templates.frequencies_hz.size(), templates.frequencies_hz.size() == 1 ? "y" : "ies", left_out,
      templates.coherence.size(), *std::min_element(templates.coherence.begin(), templates.coherence.end()),
      templates.reference_channel.value());
}

}  // namespace

void add_templates(CLI::App& app) {
  auto arguments = std::make_shared<TemplatesArguments>();
  CLI::App* command =
      app.add_subcommand("templates", "Measure steering vectors from recordings of a source at known places");
  command
      ->add_option("input", arguments->inputs,
                   "captures, time data or spectra, HDF5, or recordings of bits (.nfr), one a place; recordings of one "
                   "place are taken together")
      ->required();
  command->add_option("-c,--config", arguments->config,
                      "settings, YAML (- is standard input); templates are of front_end.frequencies_hz");
  command->add_option("--set", arguments->overrides, "one setting, KEY=VALUE; may be repeated")
      ->allow_extra_args(false)
      ->take_all();
  command->add_option("-o,--output", arguments->output, "templates, HDF5: steering.file of a processor")->required();
  command->add_option("--at", arguments->at, "x,y,z of the source in m in each recording, separated by ;");
  command->add_option("--positions", arguments->positions, "instead of --at: CSV of x_m,y_m,z_m, a line a recording");
  command->add_option("--device", arguments->device, "INDEX, or part of a platform's or device's name, or NAME:INDEX");
  command->add_option("--engine", arguments->engine, "opencl, or reference: slow, double precision, on the host")
      ->check(CLI::IsMember({"opencl", "reference"}));
  command->callback([arguments] { run(*arguments); });
}

}  // namespace nearfield::cli
