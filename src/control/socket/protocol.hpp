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

/// Longest request and reply, in bytes with the line end.
inline constexpr std::size_t kMostRequestBytes = 65536;
inline constexpr std::size_t kMostReplyBytes = std::size_t{16} << 20U;

/// The request of `nearfield ctl record`.
struct RecordRequest {
  enum class Action { kStart, kStop, kArm, kTrigger };
  Action action = Action::kStart;
  std::optional<bool> bits;       ///< default: daemon.recording.what; start and arm only
  std::optional<bool> images;     ///< default: daemon.recording.what; start and arm only
  std::optional<double> seconds;  ///< > 0; default: daemon.recording.max_s; start and arm only
  std::string name;               ///< file name, without folder or suffix; empty: the daemon's choice
  std::string notes = {};         ///< kept in the file, UTF-8; start and arm only
};

/// The actions that a daemon performs on request. Each returns its result, an object; an exception becomes the reply:
/// an nearfield::Error with its own exit code, any other as a defect. All run on the server's thread, one after
/// another.
struct Actions {
  std::function<json()> status;
  /// Returns the configuration in effect, as YAML in the field `yaml`.
  std::function<json()> config;
  /// Applies settings KEY=VALUE, in the syntax of --set.
  std::function<json(const std::vector<std::string>& overrides)> set;
  std::function<json()> reload;
  std::function<json(const RecordRequest& request)> record;
  /// `name` is that of a file, like in RecordRequest.
  std::function<json(const std::string& name)> freeze;
  /// Returns the newest events of limits, in the field `events`.
  std::function<json()> events;
  /// Returns the files in the folder of the recordings, in the field `recordings`.
  std::function<json()> recordings;
  std::function<json()> stop;
};

/// Maps a request's fields to the result.
using Handler = std::function<json(const json& request)>;
using Handlers = std::map<std::string, Handler, std::less<>>;

/// The commands of the protocol (docs/reference/control.md), each checking its fields before it calls its action. A
/// command without an action is unknown.
Handlers make_handlers(const Actions& actions);

/// Answers one request, a line of JSON without its end, by the handler of its command. For any content of the line, the
/// answer is one line of JSON with its end, and nothing is thrown except std::bad_alloc.
std::string answer(std::string_view request, const Handlers& handlers);

/// A refusal, with its line end, of a request that was not read.
std::string refusal(std::string_view message, int exit_code);

}  // namespace nearfield::control
