#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <system_error>
#include <utility>

#include "cli/command.hpp"
#include "cli/commands/ctl_settings.hpp"
#include "control/socket/client.hpp"
#include "control/socket/status_text.hpp"
#include "core/daemon_settings.hpp"
#include "core/error.hpp"
#include "files/facts.hpp"
#include "page/guard.hpp"

namespace nearfield::cli {
namespace {

using control::json;

struct CtlArguments {
  std::string socket = DaemonSettings::Control{}.socket;
  double wait_s = 0.0;  ///< longest wait for a daemon that is still starting
  bool as_json = false;
  std::vector<std::string> settings;
  bool bits = false;
  bool images = false;
  std::optional<double> seconds;
  std::string name;
  std::string notes;
  std::string output;
};

/// Prints short answers of the daemon, and a line for each warning in them.
std::string plain_text(const json& result) {
  if (!result.is_object()) {
    return "";
  }
  const json message = result.value("message", json());
  std::string text = message.is_string() ? message.get<std::string>() + "\n" : "";
  for (const json& warning : result.value("warnings", json::array())) {
    text += warning.is_string() ? fmt::format("warning: {}\n", warning.get<std::string>()) : "";
  }
  return text;
}

/// The beginning of a text in one line; whole characters of UTF-8, without any that moves a terminal's cursor.
std::string in_one_line(std::string text, std::size_t most) {
  if (text.size() > most) {
    while (most > 0 && (static_cast<unsigned char>(text[most]) & 0xC0U) == 0x80U) {
      --most;
    }
    text.resize(most);
  }
  return without_controls(text);
}

/// One line per recording: its begin, duration, bytes, state, name and notes.
std::string recordings_text(const json& result) {
  constexpr std::size_t kMostOfNotes = 60;
  std::string out;
  for (const json& one : result.at("recordings")) {
    const json& began = one.at("began");
    const json& seconds = one.at("seconds");
    const std::string notes = in_one_line(one.at("notes").get<std::string>(), kMostOfNotes);
    out += fmt::format(
        "{:<33}  {:>9}  {:>14}  {:<10}  {}{}{}\n", began.is_number() ? text_of_time(began.get<std::int64_t>()) : "?",
        seconds.is_number() ? fmt::format("{:.1f} s", seconds.get<double>()) : "",
        fmt::format("{} bytes", one.at("bytes").get<std::uint64_t>()), one.at("state").get<std::string>(),
        without_controls(one.at("name").get<std::string>()), notes.empty() ? "" : "  ", notes);
  }
  const auto found = result.at("found").get<std::size_t>();
  if (found > result.at("recordings").size()) {
    out += fmt::format("and {} older ones\n", found - result.at("recordings").size());
  }
  if (!result.at("is_whole").get<bool>()) {
    out += "and what else the folder holds: it has too many entries\n";
  }
  if (out.empty()) {
    out = fmt::format("no recording in {}\n", result.at("directory").get<std::string>());
  }
  const json& free_bytes = result.at("free_bytes");
  return out + fmt::format("all recordings {} bytes, free {} bytes, removed {} recordings of {} bytes\n",
                           result.at("bytes").get<std::uint64_t>(),
                           free_bytes.is_number() ? fmt::format("{}", free_bytes.get<std::uint64_t>()) : "unknown",
                           result.at("removed").get<std::uint64_t>(), result.at("removed_bytes").get<std::uint64_t>());
}

std::string text_of(const std::string& command, const json& result) {
  if (command == "config") {
    return result.at("yaml").get<std::string>();
  }
  if (command == "events") {
    return control::events_text(result);
  }
  if (command == "recordings") {
    return recordings_text(result);
  }
  return command == "status" ? control::status_text(result) : plain_text(result);
}

control::Client connect(const CtlArguments& arguments) {
  return control::Client(socket_to_connect(arguments.socket, DaemonSettings::Control::kFile));
}

bool is_there(const CtlArguments& arguments) {
  try {
    connect(arguments);
    return true;
  } catch (const NoInputError&) {
    return false;
  }
}

control::Client connect_when_there(const CtlArguments& arguments) {
  if (arguments.wait_s > 0.0) {
    wait_for(arguments.wait_s, [&arguments] { return is_there(arguments); });
  }
  return connect(arguments);
}

json call(const CtlArguments& arguments, const json& request) { return connect_when_there(arguments).call(request); }

void print(const CtlArguments& arguments, const json& request, const json& result) {
  if (arguments.as_json) {
    fmt::print("{}\n", result.dump(2, ' ', false, json::error_handler_t::replace));
  } else {
    fmt::print("{}", text_of(request["command"].get<std::string>(), result));
  }
}

void call_and_print(const CtlArguments& arguments, const json& request) {
  print(arguments, request, call(arguments, request));
}

/// Moves the daemon's file to the user's path, with the user's rights.
void move_to(const std::string& output, json& result) {
  const std::filesystem::path from = result.at("path").get<std::string>();
  std::error_code error;
  std::filesystem::rename(from, output, error);
  if (error) {  // another file system, or the daemon's folder
    const std::string partial = output + ".partial";
    std::filesystem::copy_file(from, partial, std::filesystem::copy_options::overwrite_existing, error);
    if (!error) {
      std::filesystem::rename(partial, output, error);
    }
    if (error) {
      std::error_code ignored;
      std::filesystem::remove(partial, ignored);
      throw IoError(fmt::format("{}: can't copy {} there: {}", output, from.string(), error.message()));
    }
    std::error_code stays;
    std::filesystem::remove(from, stays);
    if (stays) {
      spdlog::warn("{} stays where it is, too: {}", from.string(), stays.message());
    }
  }
  std::string message = result.at("message").get<std::string>();
  message.replace(0, std::min(message.find(": "), message.size()), output);
  result["path"] = output;
  result["message"] = message;
}

void freeze(const CtlArguments& arguments) {
  if (!arguments.output.empty() && !arguments.name.empty()) {
    throw UsageError("freeze: expected -o or --name, found both");
  }
  json request = {{"command", "freeze"}};
  if (!arguments.name.empty()) {
    request["name"] = arguments.name;
  }
  json result = call(arguments, request);
  if (!arguments.output.empty()) {
    move_to(arguments.output, result);
  }
  print(arguments, request, result);
}

json record_request(const CtlArguments& arguments, const std::string& action) {
  json request = {{"command", "record"}, {"action", action}};
  if (arguments.bits || arguments.images) {
    request["bits"] = arguments.bits;
    request["images"] = arguments.images;
  }
  if (arguments.seconds) {
    request["seconds"] = *arguments.seconds;
  }
  if (!arguments.name.empty()) {
    request["name"] = arguments.name;
  }
  if (!arguments.notes.empty()) {
    request["notes"] = arguments.notes;
  }
  return request;
}

using Shared = std::shared_ptr<CtlArguments>;

/// Adds a command without arguments of its own.
void add_plain(CLI::App& ctl, const Shared& arguments, const std::string& name, const std::string& about) {
  ctl.add_subcommand(name, about)->callback([arguments, name] { call_and_print(*arguments, {{"command", name}}); });
}

void add_set(CLI::App& ctl, const Shared& arguments) {
  CLI::App* set = ctl.add_subcommand("set", "Change settings from the next hop on; refused ones change nothing");
  set->add_option("settings", arguments->settings, "KEY=VALUE, as --set takes them")->required();
  set->callback([arguments] { call_and_print(*arguments, {{"command", "set"}, {"settings", arguments->settings}}); });
}

/// Prints values in the syntax of `ctl set`.
void print_values(const CtlArguments& arguments) {
  const json config = call(arguments, {{"command", "config"}});
  const NamedValues values = chosen_values(config.at("yaml").get<std::string>(), arguments.settings);
  json object = json::object();
  for (const auto& [key, value] : values) {
    if (arguments.as_json) {
      object[key] = json::accept(value) ? json::parse(value) : json(value);
    } else {
      fmt::print("{}={}\n", key, value);
    }
  }
  if (arguments.as_json) {
    fmt::print("{}\n", object.dump(2, ' ', false, json::error_handler_t::replace));
  }
}

void add_get(CLI::App& ctl, const Shared& arguments) {
  CLI::App* get = ctl.add_subcommand("get", "Print settings in effect, KEY=VALUE, as set takes them");
  get->add_option("keys", arguments->settings, "KEY of a setting, or of a section for all in it")->required();
  get->callback([arguments] { print_values(*arguments); });
}

/// Saves the configuration in effect to the user's path, or to the daemon's own file, with the user's rights: the
/// daemon itself writes no configuration.
void save(const CtlArguments& arguments) {
  control::Client client = connect_when_there(arguments);
  const json config = client.call({{"command", "config"}});
  const json file = config.value("file", json());
  if (arguments.output.empty() && !file.is_string()) {
    throw UsageError("save: expected -o FILE, as the daemon runs without a configuration file");
  }
  const std::string path = arguments.output.empty()
                               ? file_of_daemon(file.get<std::string>(), client.server_user()).string()
                               : arguments.output;
  const std::string yaml = config.at("yaml").get<std::string>();
  if (path == "-") {
    fmt::print("{}", yaml);
    return;
  }
  const SavedConfiguration saved = save_configuration(yaml, config.value("version", std::string()), path);
  const json backup = saved.backup ? json(saved.backup->string()) : json();
  if (arguments.as_json) {
    fmt::print("{}\n", json{{"path", saved.path.string()}, {"backup", backup}}.dump(2));
    return;
  }
  fmt::print("{}: the settings in effect{}\n", saved.path.string(),
             saved.backup ? fmt::format("; comments are lost, the file before is {}", saved.backup->string()) : "");
}

void add_save(CLI::App& ctl, const Shared& arguments) {
  CLI::App* command = ctl.add_subcommand(
      "save", "Write the settings in effect to the daemon's configuration file, which is copied beside it first");
  command->add_option("-o,--output", arguments->output, "another file, YAML; - is standard output");
  command->callback([arguments] { save(*arguments); });
}

void add_recording_options(CLI::App& command, const Shared& arguments) {
  command.add_flag("--bits", arguments->bits, "record bits; with neither of these two what the configuration says");
  command.add_flag("--images", arguments->images, "record images");
  command.add_option("--seconds", arguments->seconds, "end after so long");
  command.add_option("--name", arguments->name, "of the file, in the folder of the recordings");
  command.add_option("--notes", arguments->notes, "kept in the file, which nearfield inspect shows");
}

void add_record(CLI::App& ctl, const Shared& arguments) {
  CLI::App* record = ctl.add_subcommand("record", "Record bits and images to disk");
  record->require_subcommand(1);
  const auto add = [&](const std::string& action, const std::string& about) {
    CLI::App* command = record->add_subcommand(action, about);
    command->callback([arguments, action] { call_and_print(*arguments, record_request(*arguments, action)); });
    return command;
  };
  add_recording_options(*add("start", "Begin now, with the history that is kept"), arguments);
  add_recording_options(*add("arm", "Begin when the trigger comes"), arguments);
  add("trigger", "Be the trigger");
  add("stop", "End the recording, or disarm");
}

void add_freeze(CLI::App& ctl, const Shared& arguments) {
  CLI::App* command =
      ctl.add_subcommand("freeze", "Save the bits that the ingest ring holds, for a replay with other settings");
  command->add_option("-o,--output", arguments->output,
                      "recording of bits (.nfr) to move the file to; else it stays in the folder of the recordings");
  command->add_option("--name", arguments->name, "of the file, in the folder of the recordings");
  command->callback([arguments] { freeze(*arguments); });
}

/// Prints the URL of the daemon's page, with the token if this user may read it.
void print_page(const CtlArguments& arguments) {
  const json status = call(arguments, {{"command", "status"}});
  const json page = status.value("page", json());
  if (!page.is_object()) {
    throw NoInputError("the daemon serves no page: daemon.page.address is off, or its port was taken");
  }
  std::string url = page.at("url").get<std::string>();
  if (const json file = page.value("token_file", json()); file.is_string()) {
    try {
      url += "?token=" + page::read_token(file.get<std::string>());
    } catch (const Error& error) {
      spdlog::warn("{}; the page is read-only by this URL", error.what());
    }
  }
  if (arguments.as_json) {
    fmt::print("{}\n", json{{"url", url}}.dump(2));
  } else {
    fmt::print("{}\n", url);
  }
}

}  // namespace

void add_ctl(CLI::App& app) {
  const auto arguments = std::make_shared<CtlArguments>();
  CLI::App* ctl = app.add_subcommand("ctl", "Query and control a running nearfieldd");
  ctl->add_option("--socket", arguments->socket, "of the daemon: daemon.control.socket")->capture_default_str();
  add_wait(*ctl, arguments->wait_s);
  ctl->add_flag("--json", arguments->as_json, "print the daemon's answer as JSON");
  ctl->require_subcommand(1);
  ctl->fallthrough();
  add_plain(*ctl, arguments, "status", "Rates, ages, losses by cause, recording");
  add_plain(*ctl, arguments, "config", "Print the configuration in effect, YAML that nearfieldd -c takes");
  add_get(*ctl, arguments);
  add_set(*ctl, arguments);
  add_save(*ctl, arguments);
  add_plain(*ctl, arguments, "reload", "Read the configuration again");
  add_record(*ctl, arguments);
  add_freeze(*ctl, arguments);
  ctl->add_subcommand("page", "Print the URL of the live page, with the token by which it may change settings")
      ->callback([arguments] { print_page(*arguments); });
  add_plain(*ctl, arguments, "recordings", "List the files in the folder of the recordings, newest first");
  add_plain(*ctl, arguments, "events", "When limits were exceeded and left");
  add_plain(*ctl, arguments, "stop", "End the daemon");
}

}  // namespace nearfield::cli
