#include <fmt/format.h>

#include <memory>
#include <optional>

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
};

/// Short answers of the daemon, in its own words.
std::string plain_text(const json& result) {
  const json message = result.is_object() ? result.value("message", json()) : json();
  return message.is_string() ? message.get<std::string>() + "\n" : "";
}

control::Client connect(const CtlArguments& arguments) {
  return control::Client(socket_to_ask(arguments.socket, DaemonSettings::Control::kFile));
}

bool is_there(const CtlArguments& arguments) {
  try {
    connect(arguments);
    return true;
  } catch (const NoInputError&) {
    return false;
  }
}

void ask(const CtlArguments& arguments, const json& request) {
  if (arguments.wait_s > 0.0) {
    wait_for(arguments.wait_s, [&arguments] { return is_there(arguments); });
  }
  const json result = connect(arguments).ask(request);
  if (arguments.as_json) {
    fmt::print("{}\n", result.dump(2, ' ', false, json::error_handler_t::replace));
  } else {
    fmt::print("{}", request["command"] == "status" ? control::status_text(result) : plain_text(result));
  }
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
  ctl.add_subcommand(name, about)->callback([arguments, name] { ask(*arguments, {{"command", name}}); });
}

void add_set(CLI::App& ctl, const Shared& arguments) {
  CLI::App* set = ctl.add_subcommand("set", "Change settings from the next hop on; refused ones change nothing");
  set->add_option("settings", arguments->settings, "KEY=VALUE, as --set takes them")->required();
  set->callback([arguments] { ask(*arguments, {{"command", "set"}, {"settings", arguments->settings}}); });
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
    command->callback([arguments, action] { ask(*arguments, record_request(*arguments, action)); });
    return command;
  };
  add_recording_options(*add("start", "Begin now, with the history that is kept"), arguments);
  add_recording_options(*add("arm", "Begin when the trigger comes"), arguments);
  add("trigger", "Be the trigger");
  add("stop", "End the recording, or disarm");
}

}  // namespace

void add_ctl(CLI::App& app) {
  const auto arguments = std::make_shared<CtlArguments>();
  CLI::App* ctl = app.add_subcommand("ctl", "Ask or tell a running nearfieldd");
  ctl->add_option("--socket", arguments->socket, "of the daemon: daemon.control.socket")->capture_default_str();
  add_wait(*ctl, arguments->wait_s);
  ctl->add_flag("--json", arguments->as_json, "print the daemon's answer as JSON");
  ctl->require_subcommand(1);
  ctl->fallthrough();
  add_plain(*ctl, arguments, "status", "Rates, ages, losses by cause, recording");
  add_set(*ctl, arguments);
  add_plain(*ctl, arguments, "reload", "Read the configuration anew");
  add_record(*ctl, arguments);
  add_plain(*ctl, arguments, "stop", "End the daemon");
}

}  // namespace nearfield::cli
