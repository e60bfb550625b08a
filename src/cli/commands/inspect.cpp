#include <fmt/format.h>
#include <fmt/ranges.h>

#include <memory>
#include <nlohmann/json.hpp>
#include <optional>

#include "cli/command.hpp"
#include "config/config.hpp"
#include "config/device_choice.hpp"
#include "core/error.hpp"
#include "core/text.hpp"
#include "engine/microphone_watch.hpp"
#include "files/files.hpp"
#include "pipeline/microphones/microphone_inspection.hpp"

namespace nearfield::cli {
namespace {

using nlohmann::json;

struct InspectArguments {
  std::string path;
  std::string config;
  std::vector<std::string> overrides;
  std::string device;
  bool json = false;
};

/// The result of an inspection, or the reason of its failure.
struct Judgement {
  std::optional<MicrophoneInspection> found;
  std::string reason;
  std::optional<ArrayGeometry> geometry = {};
};

bool has_microphones(FileKind kind) {
  return kind != FileKind::kImages && kind != FileKind::kCalibration && kind != FileKind::kCrossSpectra &&
         kind != FileKind::kTemplates;
}

/// Settings for the inspection: a recording's array and medium matter, as it is not imaged.
Settings settings_to_judge_by(const InspectArguments& arguments) {
  Settings found = settings_for_input(arguments.path, arguments.config, arguments.overrides).settings;
  if (!arguments.config.empty()) {
    return found;
  }
  Settings settings = load_settings("", arguments.overrides);
  settings.array = found.array;
  settings.medium = found.medium;
  return settings;
}

Judgement judge(const InspectArguments& arguments) {
  const bool are_given = !arguments.config.empty() || !arguments.overrides.empty();
  Settings settings;
  try {
    settings = settings_to_judge_by(arguments);
  } catch (const ConfigError& error) {
    if (are_given) {
      throw;
    }
    return {.found = std::nullopt, .reason = error.what()};  // the recording's settings cannot be used here
  }
  choose_device(settings.device, arguments.device);
  Judgement judgement;
  try {
    judgement.geometry = geometry_of_recording(arguments.path, settings);
    judgement.found = inspect_microphones(arguments.path, settings);
  } catch (const Error& error) {  // too short, a recording of images, no device: other results are still printed
    judgement.reason = message_for_owner(error);
  }
  return judgement;
}

/// Adds a description of the microphones' positions, from the file or the settings.
void add_places(std::vector<FileFact>& facts, const std::optional<ArrayGeometry>& found) {
  const ArrayGeometry geometry = found.value_or(ArrayGeometry());
  if (const std::string origin = text_of_origin(geometry); !origin.empty()) {
    facts.push_back({"origin", origin});
  }
  for (const std::string& doubt : doubts_of(geometry)) {
    facts.push_back({"doubt", doubt});
  }
}

void add_facts(std::vector<FileFact>& facts, const Judgement& judgement) {
  add_places(facts, judgement.geometry);
  if (!judgement.found) {
    facts.push_back({"microphones", "not judged: " + judgement.reason});
    return;
  }
  const MicrophoneInspection& found = *judgement.found;
  facts.push_back({"microphones", text_of(found.use)});
  facts.push_back({"", fmt::format("{} of {} look bad, by {} windows at {:.4g} Hz", found.bad.size(),
                                   found.geometry.channels(), found.windows, fmt::join(found.frequencies_hz, ", "))});
  for (const health::Change& change : found.bad) {
    facts.push_back({"", text_of(change, found.geometry) + (change.is_certain ? ", masked by default" : "")});
  }
}

json to_json(const Judgement& judgement) {
  if (!judgement.found) {
    return {{"judged", false}, {"reason", judgement.reason}};
  }
  const MicrophoneInspection& found = *judgement.found;
  json bad = json::array();
  for (const health::Change& change : found.bad) {
    bad.push_back({{"channel", change.channel},
                   {"row", change.channel / found.geometry.columns},
                   {"column", change.channel % found.geometry.columns},
                   {"cause", health::name_of(change.now)},
                   {"certain", change.is_certain}});
  }
  return {{"judged", true},
          {"windows", found.windows},
          {"frequencies_hz", found.frequencies_hz},
          {"microphones", found.geometry.channels()},
          {"used", found.use.most_used},
          {"masked", found.use.masked},
          {"missing_information", found.use.missing_information},
          {"bad", bad}};
}

/// Converts facts; one with several lines is a text with line feeds.
json to_json(const std::vector<FileFact>& facts) {
  json object = json::object();
  std::string name;
  for (const FileFact& fact : facts) {
    const bool goes_on = fact.name.empty() || object.contains(fact.name);
    name = fact.name.empty() ? name : fact.name;
    object[name] = goes_on ? object[name].get<std::string>() + "\n" + fact.text : fact.text;
  }
  return object;
}

void run(const InspectArguments& arguments) {
  const bool are_given = !arguments.config.empty() || !arguments.overrides.empty();
  const ArraySettings array = are_given ? load_settings(arguments.config, arguments.overrides).array : ArraySettings();
  std::vector<FileFact> facts = facts_of_file(arguments.path, array.pascal_per_unit, array.channels);
  std::optional<Judgement> judgement;
  if (has_microphones(detect_file_kind(arguments.path))) {
    judgement = judge(arguments);
  }
  if (arguments.json) {
    json object{{"facts", to_json(facts)}};
    if (judgement) {
      object["microphones"] = to_json(*judgement);
    }
    fmt::print("{}\n", object.dump(2, ' ', false, json::error_handler_t::replace));
    return;
  }
  if (judgement) {
    add_facts(facts, *judgement);
  }
  fmt::print("{}", text_of(facts));
}

}  // namespace

void add_inspect(CLI::App& app) {
  auto arguments = std::make_shared<InspectArguments>();
  CLI::App* command = app.add_subcommand("inspect", "Say what a file holds, and which of its microphones look bad");
  command
      ->add_option("file", arguments->path,
                   "any of Nearfield's files, a recording, or time data (HDF5, WAV, RF64, UFF, MAT)")
      ->required();
  command->add_flag("--json", arguments->json, "print it as JSON");
  command->add_option("-c,--config", arguments->config,
                      "settings, YAML (- is standard input): of the array, where the file does not say");
  command->add_option("--set", arguments->overrides, "one setting, KEY=VALUE; may be repeated")
      ->allow_extra_args(false)
      ->take_all();
  command->add_option("--device", arguments->device, "INDEX, or part of a platform's or device's name, or NAME:INDEX");
  command->callback([arguments] { run(*arguments); });
}

}  // namespace nearfield::cli
