#include "control/socket/server.hpp"

#include <fmt/format.h>
#include <poll.h>
#include <spdlog/spdlog.h>
#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <string>
#include <utility>

#include "control/service/worker.hpp"
#include "core/daemon_settings.hpp"
#include "core/error.hpp"

namespace nearfield::control {
namespace {

constexpr std::size_t kChunkBytes = 16384;

bool would_block() { return errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR; }

/// Sends as much as the socket takes and removes it from `output`; false if the peer has disconnected.
bool flush(int socket, std::string& output) {
  while (!output.empty()) {
    const ssize_t bytes = send(socket, output.data(), output.size(), MSG_NOSIGNAL);
    if (bytes < 0) {
      return would_block();
    }
    output.erase(0, static_cast<std::size_t>(bytes));
  }
  return true;
}

/// A connection. A client that does not read its replies, or has sent more requests than were answered, is not read.
class ControlClient : public UnixClient {
 public:
  ControlClient(FileDescriptor socket, const Handlers& handlers)
      : UnixClient(std::move(socket)), handlers_(&handlers) {}

  [[nodiscard]] short wanted() const override { return !output_.empty() ? POLLOUT : (has_line() ? 0 : POLLIN); }
  [[nodiscard]] bool has_work() const override { return wanted() == 0; }
  Outcome attend(short events) override;

 private:
  [[nodiscard]] bool has_line() const { return input_.find('\n') != std::string::npos; }
  bool receive();
  /// False if there is no request.
  bool answer_next();

  const Handlers* handlers_;
  std::string input_;     ///< received and not answered yet: whole requests, then perhaps a part of one
  std::string output_;    ///< replies not sent yet
  bool closing_ = false;  ///< closes once the output is sent
};

UnixClient::Outcome ControlClient::attend(short events) {
  if ((events & POLLOUT) != 0 && !flush(socket(), output_)) {
    return Outcome::kClosed;
  }
  if ((events & (POLLIN | POLLHUP | POLLERR)) != 0 && output_.empty() && !has_line() && !receive()) {
    return Outcome::kClosed;
  }
  const bool has_answered = output_.empty() && !closing_ && answer_next();
  if (!flush(socket(), output_) || (closing_ && output_.empty())) {
    return Outcome::kClosed;
  }
  return has_answered ? Outcome::kUsed : Outcome::kIdle;
}

bool ControlClient::receive() {
  std::array<char, kChunkBytes> chunk{};
  const ssize_t bytes = recv(socket(), chunk.data(), chunk.size(), 0);
  if (bytes < 0) {
    return would_block();
  }
  input_.append(chunk.data(), static_cast<std::size_t>(bytes));
  return bytes > 0;
}

/// Answers one request per round, so that a client with many requests does not delay the others.
bool ControlClient::answer_next() {
  const std::size_t end = input_.find('\n');
  if (end == std::string::npos && input_.size() < kMostRequestBytes) {
    return false;
  }
  if (end == std::string::npos || end >= kMostRequestBytes) {
    output_ = refusal(fmt::format("request: expected a line of at most {} bytes, found more", kMostRequestBytes),
                      static_cast<int>(ExitCode::kUsage));
    closing_ = true;
    return true;
  }
  output_ = answer(std::string_view(input_).substr(0, end), *handlers_);
  input_.erase(0, end + 1);
  return true;
}

}  // namespace

Server::Server(const DaemonSettings::Control& settings, Handlers handlers, std::shared_ptr<RateLimitedLog> log)
    : settings_(settings),
      handlers_(std::move(handlers)),
      log_(std::move(log)),
      server_({.socket = settings.socket,
               .access = settings.access,
               .key = "daemon.control",
               .most_clients = kMostClients,
               .replaces_idle = true},
              *this) {}

void Server::prepare_thread() { leave_realtime(); }

std::unique_ptr<UnixClient> Server::admit(FileDescriptor socket) {
  return std::make_unique<ControlClient>(std::move(socket), handlers_);
}

void Server::refuse(int socket, const PeerProcess& peer) {
  log_->log(spdlog::level::warn, "control_refused", "control: refused user {} (process {})", peer.user, peer.process);
  std::string text = refusal(
      fmt::format("{}: user {} is not permitted; see daemon.control.allowed_users", settings_.socket, peer.user),
      static_cast<int>(ExitCode::kNoPermission));
  flush(socket, text);
}

void Server::recover(const std::exception& error) {
  spdlog::error("control: {}; all its clients are dropped", error.what());
}

}  // namespace nearfield::control
