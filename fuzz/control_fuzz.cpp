#include <cstdint>
#include <cstdlib>
#include <string>

#include "control/socket/protocol.hpp"
#include "control/socket/status_text.hpp"
#include "core/error.hpp"

namespace {

using nearfield::control::json;

nearfield::control::Handlers stub_handlers() {
  nearfield::control::Actions actions;
  actions.status = [] { return json{{"epoch", 1}}; };
  actions.config = [] { return json{{"yaml", "version: 1"}}; };
  actions.set = [](const std::vector<std::string>& overrides) -> json {
    throw nearfield::ConfigError(overrides.front());  // comes back in the reply, whatever its bytes are
  };
  actions.reload = [] { return json::object(); };
  actions.record = [](const nearfield::control::RecordRequest& request) { return json{{"name", request.name}}; };
  actions.stop = [] { return json::object(); };
  return make_handlers(actions);
}

}  // namespace

/// One request: the answer must be one line of JSON that says whether it was taken. The same bytes as a status must
/// come out as text.
// NOLINTNEXTLINE(readability-identifier-naming): libFuzzer's name
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const nearfield::control::Handlers kHandlers = stub_handlers();
  const std::string input(data, data + size);
  const std::string reply = nearfield::control::answer(input, kHandlers);
  const json parsed = json::parse(reply, nullptr, false);
  if (reply.find('\n') != reply.size() - 1 || !parsed.is_object() || !parsed["ok"].is_boolean()) {
    std::abort();
  }
  const json status = json::parse(input, nullptr, false);
  if (!status.is_discarded() && nearfield::control::status_text(status).empty()) {
    std::abort();
  }
  return 0;
}
