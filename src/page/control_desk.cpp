#include "page/control_desk.hpp"

#include <utility>

#include "core/daemon_settings.hpp"
#include "core/error.hpp"

namespace nearfield::page {
namespace {

using nlohmann::json;

constexpr double kRequestTimeout_s = 60.0;

}  // namespace

json refused_reply(const std::string& message, int exit_code) {
  return {{"ok", false}, {"error", {{"message", message}, {"exit_code", exit_code}}}};
}

/// Opens a connection per request: that costs little, and a restarted daemon is found.
json ControlDesk::Line::call(const std::string& socket, const json& request, double timeout_s) {
  try {
    if (socket.empty()) {
      throw NoInputError("the daemon has no control socket (daemon.control.socket: off)");
    }
    auto client =
        std::make_shared<control::Client>(socket_to_connect(socket, DaemonSettings::Control::kFile), timeout_s);
    {
      const std::lock_guard lock(mutex_);
      if (is_closed_) {
        throw IoError("the page's server stops");
      }
      client_ = client;
    }
    json reply = {{"ok", true}, {"result", client->call(request)}};
    const std::lock_guard lock(mutex_);
    client_.reset();
    return reply;
  } catch (const Error& error) {
    return refused_reply(error.what(), static_cast<int>(error.exit_code()));
  } catch (const std::exception& error) {
    return refused_reply(error.what(), static_cast<int>(ExitCode::kInternal));
  }
}

void ControlDesk::Line::close() {
  const std::lock_guard lock(mutex_);
  is_closed_ = true;
  if (client_) {
    client_->break_off();
  }
}

ControlDesk::ControlDesk(std::string socket) : socket_(std::move(socket)) {}

ControlDesk::~ControlDesk() {
  requests_.close();
  status_.close();
  requests_line_.close();
  status_line_.close();
}

bool ControlDesk::request(std::uint64_t client, json request, std::function<void(json)> done) {
  auto task = [this, request = std::move(request), done = std::move(done)] {
    done(requests_line_.call(socket_, request, kRequestTimeout_s));
  };
  return requests_.run(std::move(task), client);
}

void ControlDesk::status(std::function<void(json)> done) {
  status_.run([this, done = std::move(done)] {
    done(status_line_.call(socket_, {{"command", "status"}}, kStatusTimeout_s));
  });
}

}  // namespace nearfield::page
