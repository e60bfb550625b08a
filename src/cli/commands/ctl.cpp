#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <system_error>

#include "cli/command.hpp"
#include "cli/wait.hpp"
#include "control/socket/client.hpp"
#include "control/socket/status_text.hpp"
#include "nearfield/daemon_settings.hpp"
#include "nearfield/error.hpp"

namespace nearfield::cli {
namespace {

using control::json;

struct CtlArguments {
  std::string socket = DaemonSettings::Control{}.socket;
  double wait_s = 0.0;  ///< for a daemon that is still starting
  bool as_json = false;
  std::vector<std::string> settings;
  bool bits = false;
  bool images = false;
  std::optional<double> seconds;
  std::string name;
  std::string output;
};

/// Short answers of the daemon, in its own words.
std::string plain_text(const json& result) {
  const json message = result.is_object() ? result.value("message", json()) : json();
  return message.is_string() ? message.get<std::string>() + "\n" : "";
}

std::string text_of(const std::string& command, const json& result) {
  if (command == "config") {
    return result.at("yaml").get<std::string>();
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

json call(const CtlArguments& arguments, const json& request) {
  if (arguments.wait_s > 0.0) {
    wait_for(arguments.wait_s, [&arguments] { return is_there(arguments); });
  }
  return connect(arguments).call(request);
}

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

/// The daemon's file goes where the user asked for it, with the user's rights.
void move_to(const std::string& output, json& result) {
  const std::filesystem::path from = result.at("path").get<std::string>();
  std::error_code error;
  std::filesystem::rename(from, output, error);
  if (error) {  // another file system, or a folder that is the daemon's
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
  return request;
}

using Shared = std::shared_ptr<CtlArguments>;

/// A command without arguments of its own.
void add_plain(CLI::App& ctl, const Shared& arguments, const std::string& name, const std::string& about) {
  ctl.add_subcommand(name, about)->callback([arguments, name] { call_and_print(*arguments, {{"command", name}}); });
}

void add_set(CLI::App& ctl, const Shared& arguments) {
  CLI::App* set = ctl.add_subcommand("set", "Change settings from the next hop on; refused ones change nothing");
  set->add_option("settings", arguments->settings, "KEY=VALUE, as --set takes them")->required();
  set->callback([arguments] { call_and_print(*arguments, {{"command", "set"}, {"settings", arguments->settings}}); });
}

void add_recording_options(CLI::App& command, const Shared& arguments) {
  command.add_flag("--bits", arguments->bits, "record bits; with neither of these two what the configuration says");
  command.add_flag("--images", arguments->images, "record images");
  command.add_option("--seconds", arguments->seconds, "end after so long");
  command.add_option("--name", arguments->name, "of the file, in the folder of the recordings");
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
  add_set(*ctl, arguments);
  add_plain(*ctl, arguments, "reload", "Read the configuration again");
  add_record(*ctl, arguments);
  add_freeze(*ctl, arguments);
  add_plain(*ctl, arguments, "stop", "End the daemon");
}

}  // namespace nearfield::cli
