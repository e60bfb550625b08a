#include "control/socket/server.hpp"

#include <fmt/format.h>
#include <poll.h>
#include <spdlog/spdlog.h>
#include <sys/eventfd.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstring>

#include "control/service/realtime.hpp"
#include "nearfield/error.hpp"

namespace nearfield::control {
namespace {

constexpr std::size_t kChunkBytes = 16384;

constexpr std::chrono::milliseconds kNoDescriptorsPause{100};

bool has_line(const std::string& input) { return input.find('\n') != std::string::npos; }

bool would_block() { return errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR; }

}  // namespace

Server::Server(const DaemonSettings::Control& settings, Handlers handlers, std::shared_ptr<RateLimitedLog> log)
    : settings_(settings),
      handlers_(std::move(handlers)),
      log_(std::move(log)),
      rule_(settings.access, "daemon.control"),
      listener_(settings.socket,
                {.type = SOCK_STREAM,
                 .mode = settings.access.mode,
                 .serves_others = !settings.access.allowed_users.empty() || !settings.access.allowed_groups.empty()}),
      wake_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
  if (!wake_.valid()) {
    throw IoError(fmt::format("control socket: {}", std::strerror(errno)));
  }
  thread_ = std::thread([this] {
    leave_realtime();
    serve();
  });
}

Server::~Server() {
  const std::uint64_t one = 1;
  [[maybe_unused]] const ssize_t written = write(wake_.get(), &one, sizeof one);  // an eventfd takes it or is awake
  thread_.join();
}

void Server::serve() {
  while (true) {
    try {
      if (!serve_once()) {
        return;
      }
    } catch (const std::exception& error) {
      spdlog::error("control: {}; all its clients are dropped", error.what());
      clients_.clear();
    }
  }
}

bool Server::serve_once() {
  std::vector<pollfd> waiting = {{wake_.get(), POLLIN, 0}, {listener_.get(), POLLIN, 0}};
  bool work_left = false;
  for (const Client& client : clients_) {
    // Who does not read its replies, or has asked more than was answered, is not read either.
    const short wanted = !client.output.empty() ? POLLOUT : (has_line(client.input) ? 0 : POLLIN);
    waiting.push_back({client.socket.get(), wanted, 0});
    work_left = work_left || wanted == 0;
  }
  poll(waiting.data(), waiting.size(), work_left ? 0 : -1);
  if ((waiting[0].revents & POLLIN) != 0) {
    return false;
  }
  std::vector<Client> kept;
  for (std::size_t i = 0; i < clients_.size(); ++i) {
    if (attend(clients_[i], waiting[i + 2].revents)) {
      kept.push_back(std::move(clients_[i]));
    }
  }
  clients_ = std::move(kept);
  if ((waiting[1].revents & POLLIN) != 0) {
    accept_client();
  }
  return true;
}

void Server::accept_client() {
  Client client;
  client.socket = FileDescriptor(accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
  client.last_used = ++uses_;
  if (!client.socket.valid()) {
    if (errno == EMFILE || errno == ENFILE) {
      give_up_longest_idle();
      std::this_thread::sleep_for(kNoDescriptorsPause);  // else the one who waits would keep this thread spinning
    }
    return;
  }
  const Peer peer = peer_of(client.socket.get());
  if (!rule_.permits(peer)) {
    log_->log(spdlog::level::warn, "control_refused", "control: refused user {} (process {})", peer.user, peer.process);
    client.output = refusal(
        fmt::format("{}: user {} is not permitted; see daemon.control.allowed_users", settings_.socket, peer.user),
        static_cast<int>(ExitCode::kNoPermission));
    flush(client);
    return;
  }
  if (clients_.size() >= kMostClients) {
    give_up_longest_idle();
  }
  clients_.push_back(std::move(client));
}

void Server::give_up_longest_idle() {
  const auto longest = std::min_element(clients_.begin(), clients_.end(),
                                        [](const Client& a, const Client& b) { return a.last_used < b.last_used; });
  if (longest != clients_.end()) {
    clients_.erase(longest);
  }
}

bool Server::attend(Client& client, short events) {
  if ((events & POLLOUT) != 0 && !flush(client)) {
    return false;
  }
  if ((events & (POLLIN | POLLHUP | POLLERR)) != 0 && client.output.empty() && !has_line(client.input) &&
      !receive(client)) {
    return false;
  }
  if (client.output.empty() && !client.closing) {
    answer_next(client);
  }
  return flush(client) && !(client.closing && client.output.empty());
}

bool Server::receive(Client& client) {
  std::array<char, kChunkBytes> chunk{};
  const ssize_t bytes = recv(client.socket.get(), chunk.data(), chunk.size(), 0);
  if (bytes < 0) {
    return would_block();
  }
  client.input.append(chunk.data(), static_cast<std::size_t>(bytes));
  return bytes > 0;
}

/// One request a round, so that a client that asks much leaves the others their turn.
void Server::answer_next(Client& client) {
  const std::size_t end = client.input.find('\n');
  if (end == std::string::npos && client.input.size() < kMostRequestBytes) {
    return;
  }
  client.last_used = ++uses_;
  if (end == std::string::npos || end >= kMostRequestBytes) {
    client.output = refusal(fmt::format("request: expected a line of at most {} bytes, found more", kMostRequestBytes),
                            static_cast<int>(ExitCode::kUsage));
    client.closing = true;
    return;
  }
  client.output = answer(std::string_view(client.input).substr(0, end), handlers_);
  client.input.erase(0, end + 1);
}

bool Server::flush(Client& client) {
  while (!client.output.empty()) {
    const ssize_t bytes = send(client.socket.get(), client.output.data(), client.output.size(), MSG_NOSIGNAL);
    if (bytes < 0) {
      return would_block();
    }
    client.output.erase(0, static_cast<std::size_t>(bytes));
  }
  return true;
}

}  // namespace nearfield::control
