#pragma once
#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace nearfield::control {

using nlohmann::json;

/// Longest request and reply, in bytes with the line's end.
inline constexpr std::size_t kMostRequestBytes = 65536;
inline constexpr std::size_t kMostReplyBytes = std::size_t{16} << 20U;

/// The request of `nearfield ctl record`.
struct RecordRequest {
  enum class Action { kStart, kStop, kArm, kTrigger };
  Action action = Action::kStart;
  std::optional<bool> bits;       ///< else as daemon.recording.what; start and arm only
  std::optional<bool> images;     ///< likewise
  std::optional<double> seconds;  ///< > 0; else daemon.recording.max_s; start and arm only
  std::string name;               ///< of the file, without folder or suffix; empty: the daemon's choice
  std::string notes = {};         ///< kept in the file, UTF-8; start and arm only
};

/// The actions that a daemon carries out on request. Each returns its result, an object; an exception becomes the
/// reply: an nearfield::Error with its own exit code, anything else as a defect. All run on the server's thread, one
/// after another.
struct Actions {
  std::function<json()> status;
  /// The configuration in effect, as YAML in the field `yaml`.
  std::function<json()> config;
  /// KEY=VALUE each, as --set takes them.
  std::function<json(const std::vector<std::string>& overrides)> set;
  std::function<json()> reload;
  std::function<json(const RecordRequest& request)> record;
  /// `name` is a file's as of RecordRequest.
  std::function<json(const std::string& name)> freeze;
  /// The newest events of limits, in the field `events`.
  std::function<json()> events;
  /// The files in the folder of the recordings, in the field `recordings`.
  std::function<json()> recordings;
  std::function<json()> stop;
};

/// A request's fields in, the result out.
using Handler = std::function<json(const json& request)>;
using Handlers = std::map<std::string, Handler, std::less<>>;

/// The commands of the protocol (docs/control.md), each checking its fields before it calls its action. An action left
/// empty makes an unknown command.
Handlers make_handlers(const Actions& actions);

/// Answers one request, a line of JSON without its end, by the handler of its command. Whatever the line holds, the
/// answer is one line of JSON with its end, and nothing is thrown but std::bad_alloc.
std::string answer(std::string_view request, const Handlers& handlers);

/// A reply that refuses, with its end, to a request that was not read.
std::string refusal(std::string_view message, int exit_code);

}  // namespace nearfield::control
