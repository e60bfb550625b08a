#include "control/socket/protocol.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "config/words.hpp"
#include "core/error.hpp"

namespace nearfield::control {
namespace {

constexpr int kDeepest = 16;
constexpr std::size_t kMostCharactersShown = 60;
constexpr std::size_t kLongestId = 128;
constexpr std::size_t kLongestName = 100;
constexpr std::size_t kLongestNotes = 4096;
constexpr std::size_t kMostOverrides = 256;
constexpr std::array<std::string_view, 4> kRecordActions = {"start", "stop", "arm", "trigger"};

std::string shortened(std::string text) {
  if (text.size() > kMostCharactersShown) {
    text.resize(kMostCharactersShown);
    text += "...";
  }
  return text;
}

/// Any value as text for a message.
std::string shown(const json& value) { return shortened(value.dump(-1, ' ', true, json::error_handler_t::replace)); }

std::string line_of(const json& reply) { return reply.dump(-1, ' ', false, json::error_handler_t::replace) + '\n'; }

std::string refuse(const json& id, std::string_view message, ExitCode code) {
  return line_of({{"id", id}, {"ok", false}, {"error", {{"message", message}, {"exit_code", static_cast<int>(code)}}}});
}

/// Throws UsageError on anything that is not one JSON object of moderate depth.
json parse(std::string_view text) {
  const auto hold_depth = [](int depth, json::parse_event_t /*event*/, json& /*parsed*/) {
    if (depth > kDeepest) {
      throw UsageError(fmt::format("request: expected at most {} levels of JSON, found more", kDeepest));
    }
    return true;
  };
  json request;
  try {
    request = json::parse(text, hold_depth);
  } catch (const json::exception& error) {
    throw UsageError(fmt::format("request: expected a line of JSON, found something else: {}", error.what()));
  }
  if (!request.is_object()) {
    throw UsageError(fmt::format("request: expected a JSON object with a command, found {}", shown(request)));
  }
  return request;
}

/// The request's id, a number or a short text; null if absent.
json id_of(const json& request) {
  const auto found = request.find("id");
  if (found == request.end() || found->is_null() || found->is_number_integer()) {
    return found == request.end() ? json(nullptr) : *found;
  }
  if (found->is_string() && found->get_ref<const std::string&>().size() <= kLongestId) {
    return *found;
  }
  throw UsageError(
      fmt::format("id: expected an integer or a text of at most {} bytes, found {}", kLongestId, shown(*found)));
}

template <typename Names>
std::string nearest(const std::string& wrong, const Names& names) {
  Suggestion suggestion(wrong);
  for (const auto& name : names) {
    suggestion.offer(name, name);
  }
  return suggestion.best().empty() ? "" : fmt::format("; did you mean {}?", suggestion.best());
}

/// Throws UsageError if the request has fields besides these, "id" and "command".
void require_fields(const json& request, std::vector<std::string> fields) {
  fields.insert(fields.end(), {"id", "command"});
  for (const auto& [field, value] : request.items()) {
    if (std::find(fields.begin(), fields.end(), field) == fields.end()) {
      throw UsageError(fmt::format("{}: unknown field{}", shortened(field), nearest(field, fields)));
    }
  }
}

std::vector<std::string> parse_set(const json& request) {
  require_fields(request, {"settings"});
  const json& settings = request.value("settings", json());
  const bool are_texts = settings.is_array() &&
                         std::all_of(settings.begin(), settings.end(), [](const json& one) { return one.is_string(); });
  if (!are_texts || settings.empty() || settings.size() > kMostOverrides) {
    throw UsageError(
        fmt::format("settings: expected 1 to {} texts KEY=VALUE, found {}", kMostOverrides, shown(settings)));
  }
  return settings.get<std::vector<std::string>>();
}

std::optional<bool> parse_flag(const json& request, const char* field) {
  const auto found = request.find(field);
  if (found == request.end()) {
    return std::nullopt;
  }
  if (!found->is_boolean()) {
    throw UsageError(fmt::format("{}: expected true or false, found {}", field, shown(*found)));
  }
  return found->get<bool>();
}

std::optional<double> parse_seconds(const json& request) {
  constexpr double kLongest_s = 1e7;
  const auto found = request.find("seconds");
  if (found == request.end()) {
    return std::nullopt;
  }
  const double seconds = found->is_number() ? found->get<double>() : 0.0;
  if (!(seconds > 0.0) || seconds > kLongest_s) {
    throw UsageError(fmt::format("seconds: expected a number > 0, at most {}, found {}", kLongest_s, shown(*found)));
  }
  return seconds;
}

bool is_name_character(char character) {
  return (character >= 'a' && character <= 'z') || (character >= 'A' && character <= 'Z') ||
         (character >= '0' && character <= '9') || character == '-' || character == '_' || character == '.';
}

/// A file name in the recordings' folder; refuses names that lead elsewhere.
std::string parse_name(const json& request) {
  const auto found = request.find("name");
  if (found == request.end()) {
    return "";
  }
  std::string name = found->is_string() ? found->get<std::string>() : "";
  if (name.empty() || name.size() > kLongestName || name.front() == '.' || name.front() == '-' ||
      !std::all_of(name.begin(), name.end(), is_name_character)) {
    throw UsageError(fmt::format(
        "name: expected 1 to {} letters, digits, \"-\", \"_\" and \".\", the first no \".\" or \"-\", found {}",
        kLongestName, shown(*found)));
  }
  return name;
}

/// The text is UTF-8, since JSON requires it.
std::string parse_notes(const json& request) {
  const auto found = request.find("notes");
  if (found == request.end()) {
    return "";
  }
  if (!found->is_string() || found->get_ref<const std::string&>().size() > kLongestNotes) {
    throw UsageError(fmt::format(
        "notes: expected a text of at most {} bytes of UTF-8, found {}", kLongestNotes,
        found->is_string() ? fmt::format("{} bytes", found->get_ref<const std::string&>().size()) : shown(*found)));
  }
  return found->get<std::string>();
}

RecordRequest parse_record(const json& request) {
  const json& action = request.value("action", json());
  const auto* const found = action.is_string()
                                ? std::find(kRecordActions.begin(), kRecordActions.end(), action.get<std::string>())
                                : kRecordActions.end();
  if (found == kRecordActions.end()) {
    throw UsageError(
        fmt::format("action: expected one of {}, found {}", fmt::join(kRecordActions, ", "), shown(action)));
  }
  RecordRequest result;
  result.action = static_cast<RecordRequest::Action>(found - kRecordActions.begin());
  if (result.action == RecordRequest::Action::kStop || result.action == RecordRequest::Action::kTrigger) {
    require_fields(request, {"action"});
    return result;
  }
  require_fields(request, {"action", "bits", "images", "seconds", "name", "notes"});
  result.bits = parse_flag(request, "bits");
  result.images = parse_flag(request, "images");
  if (result.bits == false && result.images == false) {
    throw UsageError("bits, images: expected at least one of them, found neither");
  }
  result.seconds = parse_seconds(request);
  result.name = parse_name(request);
  result.notes = parse_notes(request);
  return result;
}

void add_plain(Handlers& handlers, const std::string& command, const std::function<json()>& action) {
  if (action) {
    handlers[command] = [action](const json& request) {
      require_fields(request, {});
      return action();
    };
  }
}

const Handler& handler_of(const json& request, const Handlers& handlers) {
  const json& command = request.value("command", json());
  const std::string name = command.is_string() ? command.get<std::string>() : "";
  const auto found = handlers.find(name);
  if (found != handlers.end()) {
    return found->second;
  }
  std::vector<std::string> names;
  std::transform(handlers.begin(), handlers.end(), std::back_inserter(names),
                 [](const auto& one) { return one.first; });
  throw UsageError(fmt::format("command: expected one of {}, found {}{}", fmt::join(names, ", "), shown(command),
                               name.empty() ? "" : nearest(name, names)));
}

}  // namespace

Handlers make_handlers(const Actions& actions) {
  Handlers handlers;
  add_plain(handlers, "status", actions.status);
  add_plain(handlers, "config", actions.config);
  add_plain(handlers, "reload", actions.reload);
  add_plain(handlers, "events", actions.events);
  add_plain(handlers, "recordings", actions.recordings);
  add_plain(handlers, "stop", actions.stop);
  if (actions.set) {
    handlers["set"] = [set = actions.set](const json& request) { return set(parse_set(request)); };
  }
  if (actions.record) {
    handlers["record"] = [record = actions.record](const json& request) { return record(parse_record(request)); };
  }
  if (actions.freeze) {
    handlers["freeze"] = [freeze = actions.freeze](const json& request) {
      require_fields(request, {"name"});
      return freeze(parse_name(request));
    };
  }
  return handlers;
}

std::string answer(std::string_view request, const Handlers& handlers) {
  json id = nullptr;
  try {
    const json parsed = parse(request);
    id = id_of(parsed);
    return line_of({{"id", id}, {"ok", true}, {"result", handler_of(parsed, handlers)(parsed)}});
  } catch (const Error& error) {
    return refuse(id, error.what(), error.exit_code());
  } catch (const std::bad_alloc&) {
    throw;
  } catch (const std::exception& error) {
    return refuse(id, fmt::format("internal error: {}", error.what()), ExitCode::kInternal);
  }
}

std::string refusal(std::string_view message, int exit_code) {
  return refuse(nullptr, message, static_cast<ExitCode>(exit_code));
}

}  // namespace nearfield::control
