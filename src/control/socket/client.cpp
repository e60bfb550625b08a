#include "control/socket/client.hpp"

#include <fmt/format.h>
#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <cstring>

#include "control/socket/unix_socket.hpp"
#include "core/error.hpp"
#include "core/system/network.hpp"

namespace nearfield::control {
namespace {

/// Exit codes of Nearfield; any other number in a reply is a defect.
ExitCode exit_code_of(const json& error) {
  constexpr std::array kKnown = {ExitCode::kUsage, ExitCode::kBadData,      ExitCode::kNoInput,  ExitCode::kNoDevice,
                                 ExitCode::kIo,    ExitCode::kNoPermission, ExitCode::kBadConfig};
  const auto given = error.find("exit_code");
  if (given != error.end() && given->is_number_integer()) {
    for (const ExitCode code : kKnown) {
      if (*given == static_cast<int>(code)) {
        return code;
      }
    }
  }
  return ExitCode::kInternal;
}

}  // namespace

Client::Client(const std::string& path, double timeout_s) : path_(path), socket_(connect_to(path, timeout_s)) {}

json Client::call(const json& request) {
  const json command = request.is_object() ? request.value("command", json()) : json();
  if (command == "set" || command == "reload" || command == "freeze") {  // freeze writes gigabytes
    set_timeout(socket_.get(), kConfigurationTimeout_s);
  }
  const std::string line = request.dump(-1, ' ', false, json::error_handler_t::replace) + '\n';
  std::size_t sent = 0;
  while (sent < line.size()) {
    const ssize_t bytes = send(socket_.get(), line.data() + sent, line.size() - sent, MSG_NOSIGNAL);
    if (bytes < 0) {
      break;  // a daemon that refuses has sent the reason before closing the connection
    }
    sent += static_cast<std::size_t>(bytes);
  }
  const json reply = json::parse(read_line(), nullptr, false);
  if (!reply.is_object() || !reply.contains("ok") || !reply["ok"].is_boolean()) {
    throw DataError(fmt::format("{}: expected a reply of nearfieldd, found something else", path_));
  }
  if (reply["ok"].get<bool>()) {
    return reply.value("result", json());
  }
  const json error = reply.value("error", json::object());
  const json message = error.is_object() ? error.value("message", json()) : json();
  throw Error(error.is_object() ? exit_code_of(error) : ExitCode::kInternal,
              message.is_string() ? message.get<std::string>() : "refused without a reason");
}

uid_t Client::server_user() const { return peer_of(socket_.get()).user; }

void Client::break_off() noexcept { shutdown(socket_.get(), SHUT_RDWR); }

std::string Client::read_line() {
  constexpr std::size_t kChunkBytes = 65536;
  std::string chunk(kChunkBytes, '\0');
  while (input_.find('\n') == std::string::npos) {
    if (input_.size() > kMostReplyBytes) {
      throw DataError(fmt::format("{}: expected a reply of at most {} bytes, found more", path_, kMostReplyBytes));
    }
    const ssize_t bytes = recv(socket_.get(), chunk.data(), chunk.size(), 0);
    if (bytes == 0) {
      throw IoError(fmt::format("{}: expected a reply, found the connection closed", path_));
    }
    if (bytes < 0 && errno != EINTR) {
      throw IoError(fmt::format("{}: expected a reply, found none: {}", path_,
                                errno == EAGAIN ? "the time is over" : std::strerror(errno)));
    }
    input_.append(chunk, 0, static_cast<std::size_t>(std::max<ssize_t>(bytes, 0)));
  }
  const std::size_t end = input_.find('\n');
  std::string line = input_.substr(0, end);
  input_.erase(0, end + 1);
  return line;
}

}  // namespace nearfield::control
