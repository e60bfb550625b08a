#include <fmt/format.h>
#include <fmt/ranges.h>
#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <filesystem>
#include <fstream>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "cli/command.hpp"
#include "cli/commands/inspect_statistics.hpp"
#include "config/config.hpp"
#include "config/device_choice.hpp"
#include "core/error.hpp"
#include "core/text.hpp"
#include "engine/microphone_watch.hpp"
#include "files/files.hpp"
#include "pipeline/microphones/microphone_inspection.hpp"
#include "pipeline/microphones/microphone_statistics.hpp"
#include "simulate/scene.hpp"

namespace nearfield::cli {
namespace {

using nlohmann::json;

struct InspectArguments {
  std::string path;
  std::string config;
  std::vector<std::string> overrides;
  std::string device;
  bool json = false;
  bool microphones = false;
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

/// Statistics of the microphones, or the reason why there are none; empty for files without signals.
struct SignalReport {
  std::optional<MicrophoneStatistics> found;
  std::string reason;
};

SignalReport report_on_signals(const InspectArguments& arguments, Settings settings,
                               const std::optional<ArrayGeometry>& geometry) {
  choose_device(settings.device, arguments.device);
  SignalReport report;
  try {
    report.found = statistics_of_file(arguments.path, settings);
  } catch (const Error& error) {  // too short, no device: other results are still printed
    report.reason = message_for_owner(error);
  }
  if (report.found && !report.found->geometry) {
    report.found->geometry = geometry;
  }
  return report;
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

/// Quotes a word for a shell where it needs that.
std::string in_shell(const std::string& word) {
  const auto is_plain = [](unsigned char c) {
    return std::isalnum(c) != 0 || std::string_view("/._-+=,:").find(static_cast<char>(c)) != std::string_view::npos;
  };
  std::string quoted = "'";
  for (const char c : word) {
    quoted += c == '\'' ? "'\\''" : std::string(1, c);
  }
  return std::all_of(word.begin(), word.end(), is_plain) ? word : quoted + "'";
}

bool has_fact(const std::vector<FileFact>& facts, std::string_view name, std::string_view begin) {
  return std::any_of(facts.begin(), facts.end(),
                     [&](const FileFact& fact) { return fact.name == name && fact.text.starts_with(begin); });
}

/// Options that an inspection got, and those that a replay of the file needs.
std::string options_of(const std::vector<FileFact>& facts, const InspectArguments& arguments) {
  std::string options;
  if (!arguments.config.empty()) {
    options += " -c " + in_shell(arguments.config);
  } else if (has_fact(facts, "array", "not stated") || has_fact(facts, "kind", "calibration")) {
    options += " -c SETTINGS";
  }
  for (const std::string& setting : arguments.overrides) {
    options += " --set " + in_shell(setting);
  }
  return options + (has_fact(facts, "unit", "not stated") ? " --set array.pascal_per_unit=PASCAL" : "");
}

/// Commands that take such a file.
std::vector<std::string> next_steps(FileKind kind, const std::vector<FileFact>& facts,
                                    const InspectArguments& arguments) {
  const std::string file = in_shell(arguments.path);
  const std::string options = options_of(facts, arguments);
  const std::string replay = fmt::format("nearfield replay {} -o images.h5{}", file, options);
  const std::string of_another = "nearfield replay RECORDING -o images.h5" + options;
  switch (kind) {
    case FileKind::kCapture:
      return {replay, "nearfield play " + file};
    case FileKind::kRecording:
      return has_fact(facts, "bits", "") || has_fact(facts, "samples", "")
                 ? std::vector<std::string>{replay, "nearfield play " + file}
                 : std::vector<std::string>{fmt::format("nearfield convert {} -o images.h5", file)};
    case FileKind::kTimeData:
    case FileKind::kSpectra:
      return {replay};
    case FileKind::kImages:
      return {fmt::format("nearfield pictures {} -o pictures", file),
              fmt::format("nearfield export {} -o images.csv", file)};
    case FileKind::kCalibration:
      return {of_another + " --set array.calibration=" + file};
    case FileKind::kTemplates:
      return {of_another + " --set holography.imager=operators --set holography.operators.templates=" + file};
    case FileKind::kCrossSpectra:
      return {};
  }
  return {};
}

void add_next(std::vector<FileFact>& facts, const std::vector<std::string>& commands) {
  const char* name = "next";
  for (const std::string& command : commands) {
    facts.push_back({name, command});
    name = "";
  }
}

bool is_yaml(const std::filesystem::path& path) {
  std::string extension = path.extension().string();
  std::transform(extension.begin(), extension.end(), extension.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return std::filesystem::is_regular_file(path) && (extension == ".yaml" || extension == ".yml");
}

/// A scene has keys at its top that settings do not have.
bool is_scene(const YAML::Node& top) {
  constexpr std::array kKeys = {"sources", "duration_s", "seed", "sigma_delta", "standoff_m", "microphones"};
  return top.IsMap() && std::any_of(kKeys.begin(), kKeys.end(), [&](const char* key) { return top[key].IsDefined(); });
}

/// Throws ConfigError if the file is wrong, UsageError for options that it does not take.
std::vector<FileFact> facts_of_yaml(const InspectArguments& arguments) {
  const std::string& path = arguments.path;
  YAML::Node top;
  try {
    top = YAML::LoadFile(path);
  } catch (const YAML::Exception&) {
    top = YAML::Node();  // the reader of settings names the place
  }
  const bool is_of_scene = is_scene(top);
  if (!arguments.config.empty() || (is_of_scene && !arguments.overrides.empty())) {
    throw UsageError(fmt::format("{}: expected no --config of {}", path,
                                 is_of_scene ? "a scene, nor --set" : "settings, which --set may change"));
  }
  std::vector<FileFact> facts;
  if (is_of_scene) {
    const Scene scene = load_scene(path);
    facts = {{"kind", "scene"},
             {"array", text_of_size(scene.measurement.geometry)},
             {"sources", std::to_string(scene.tones.size() + scene.tracks.size() + scene.noises.size())},
             {"duration", fmt::format("{} s", scene.duration_s)}};
    if (!arguments.json) {
      add_next(facts, {fmt::format("nearfield simulate {} -o recording.h5", in_shell(path))});
    }
    return facts;
  }
  const Settings settings = load_settings(path, arguments.overrides);
  const std::set<std::string>& keys = settings.explicit_keys;
  facts = {{"kind", "settings"},
           {"array", text_of_size(settings.array.geometry)},
           {"given", keys.empty() ? "nothing: all defaults" : fmt::format("{}", fmt::join(keys, ", "))}};
  std::vector<std::string> next = {"nearfield replay RECORDING -o images.h5 -c " + in_shell(path)};
  if (std::any_of(keys.begin(), keys.end(), [](const std::string& key) { return key.starts_with("daemon."); })) {
    next.push_back("nearfieldd -c " + in_shell(path));
  }
  if (!arguments.json) {
    add_next(facts, next);
  }
  return facts;
}

void run(const InspectArguments& arguments) {
  if (is_yaml(arguments.path)) {
    const std::vector<FileFact> facts = facts_of_yaml(arguments);
    fmt::print("{}", arguments.json
                         ? json{{"facts", to_json(facts)}}.dump(2, ' ', false, json::error_handler_t::replace) + "\n"
                         : text_of(facts));
    return;
  }
  const bool are_given = !arguments.config.empty() || !arguments.overrides.empty();
  const Settings given = are_given ? load_settings(arguments.config, arguments.overrides) : Settings();
  std::vector<FileFact> facts = facts_of_file(arguments.path, given.array.pascal_per_unit, given.array.channels);
  const FileKind kind = detect_file_kind(arguments.path);
  std::optional<Judgement> judgement;
  std::optional<SignalReport> signals;
  if (has_microphones(kind)) {
    judgement = judge(arguments);
    signals = report_on_signals(arguments, given, judgement->geometry);
  }
  if (arguments.json) {
    json object{{"facts", to_json(facts)}};
    if (judgement) {
      object["microphones"] = to_json(*judgement);
    }
    if (signals && (signals->found || !signals->reason.empty())) {
      object["statistics"] = signals->found ? json_of(*signals->found) : json{{"reason", signals->reason}};
    }
    fmt::print("{}\n", object.dump(2, ' ', false, json::error_handler_t::replace));
    return;
  }
  if (judgement) {
    add_facts(facts, *judgement);
  }
  if (signals && signals->found) {
    const std::vector<FileFact> lines = facts_of(*signals->found, arguments.microphones);
    facts.insert(facts.end(), lines.begin(), lines.end());
  } else if (signals && !signals->reason.empty()) {
    facts.push_back({"statistics", "none: " + signals->reason});
  }
  add_next(facts, next_steps(kind, facts, arguments));
  fmt::print("{}", text_of(facts));
}

}  // namespace

void add_inspect(CLI::App& app) {
  auto arguments = std::make_shared<InspectArguments>();
  CLI::App* command = app.add_subcommand("inspect",
                                         "Say what a file holds, which of its microphones look bad, and what can be "
                                         "done with it; nearfield FILE is the same");
  command
      ->add_option("file", arguments->path,
                   "any of Nearfield's files, a recording, time data (HDF5, WAV, RF64, UFF, MAT), a scene or settings")
      ->required();
  command->add_flag("--json", arguments->json, "print it as JSON");
  command->add_flag("--microphones", arguments->microphones,
                    "print level, peak, offset and loudest line of every microphone, not only of those that stand out");
  command->add_option("-c,--config", arguments->config,
                      "settings, YAML (- is standard input): of the array, where the file does not say");
  command->add_option("--set", arguments->overrides, "one setting, KEY=VALUE; may be repeated")
      ->allow_extra_args(false)
      ->take_all();
  command->add_option("--device", arguments->device, "INDEX, or part of a platform's or device's name, or NAME:INDEX");
  command->callback([arguments] { run(*arguments); });
}

}  // namespace nearfield::cli
