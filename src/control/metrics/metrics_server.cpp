#include "control/metrics/metrics_server.hpp"

#include <fmt/format.h>
#include <netdb.h>
#include <netinet/in.h>
#include <poll.h>
#include <prometheus/text_serializer.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <exception>
#include <utility>

#include "control/service/realtime.hpp"
#include "core/system/clocks.hpp"
#include "nearfield/daemon_settings.hpp"
#include "nearfield/error.hpp"

namespace nearfield::control {
namespace {

constexpr std::size_t kLongestRequestBytes = 8192;
constexpr int kTickMs = 1000;

[[noreturn]] void refuse(const std::string& address, const std::string& reason) {
  throw IoError(fmt::format("daemon.metrics.address: expected an address to listen at, found {}: {}", address, reason));
}

FileDescriptor listen_at_address(const std::string& address) {
  const std::optional<HostPort> target = parse_host_port(address);
  if (!target) {
    refuse(address, "HOST:PORT is expected");
  }
  addrinfo hints{};
  hints.ai_family = AF_UNSPEC;
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_PASSIVE | AI_NUMERICSERV;
  addrinfo* found = nullptr;
  if (const int error = getaddrinfo(target->host.c_str(), std::to_string(target->port).c_str(), &hints, &found);
      error != 0) {
    refuse(address, gai_strerror(error));
  }
  const std::unique_ptr<addrinfo, decltype(&freeaddrinfo)> owner(found, &freeaddrinfo);
  FileDescriptor listener(socket(found->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  const int yes = 1;
  if (listener.get() < 0 || setsockopt(listener.get(), SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes) != 0 ||
      bind(listener.get(), found->ai_addr, found->ai_addrlen) != 0 || listen(listener.get(), SOMAXCONN) != 0) {
    refuse(address, std::strerror(errno));
  }
  return listener;
}

int port_of(const FileDescriptor& listener) {
  sockaddr_storage address{};
  socklen_t size = sizeof address;
  getsockname(listener.get(), reinterpret_cast<sockaddr*>(&address), &size);
  return ntohs(address.ss_family == AF_INET6 ? reinterpret_cast<const sockaddr_in6*>(&address)->sin6_port
                                             : reinterpret_cast<const sockaddr_in*>(&address)->sin_port);
}

std::string reply(const char* status, const std::string& text) {
  return fmt::format(
      "HTTP/1.1 {}\r\nContent-Type: text/plain; version=0.0.4; charset=utf-8\r\nContent-Length: {}\r\n"
      "Connection: close\r\n\r\n{}",
      status, text.size(), text);
}

bool has_ended(const std::string& request) {
  return request.find("\r\n\r\n") != std::string::npos || request.find("\n\n") != std::string::npos;
}

}  // namespace

MetricsServer::MetricsServer(const std::string& address, std::shared_ptr<Metrics> metrics)
    : metrics_(std::move(metrics)),
      listener_(listen_at_address(address)),
      wake_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)),
      port_(port_of(listener_)) {
  if (wake_.get() < 0) {
    throw IoError(fmt::format("can't make an eventfd: {}", std::strerror(errno)));
  }
  thread_ = std::thread([this] { serve(); });
}

MetricsServer::~MetricsServer() {
  const std::uint64_t one = 1;
  [[maybe_unused]] const ssize_t written = write(wake_.get(), &one, sizeof one);  // an eventfd takes it or is awake
  thread_.join();
}

void MetricsServer::serve() {
  leave_realtime();
  pthread_setname_np(pthread_self(), "nf-metrics");
  while (serve_once()) {
  }
}

bool MetricsServer::serve_once() {
  std::vector<pollfd> watched = {{.fd = wake_.get(), .events = POLLIN, .revents = 0},
                                 {.fd = listener_.get(), .events = POLLIN, .revents = 0}};
  const std::size_t first = watched.size();
  for (const Client& client : clients_) {
    watched.push_back({.fd = client.socket.get(),
                       .events = static_cast<short>(client.answer.empty() ? POLLIN : POLLOUT),
                       .revents = 0});
  }
  if (poll(watched.data(), watched.size(), clients_.empty() ? -1 : kTickMs) < 0 && errno != EINTR) {
    return false;
  }
  if (watched[0].revents != 0) {
    return false;
  }
  std::vector<Client> kept;
  const std::int64_t now = monotonic_ns();
  for (std::size_t i = 0; i < clients_.size(); ++i) {
    const short events = watched[first + i].revents;
    if ((events == 0 || attend(clients_[i], events)) && now < clients_[i].until_ns) {
      kept.push_back(std::move(clients_[i]));
    }
  }
  clients_ = std::move(kept);
  if (watched[1].revents != 0) {
    accept_client();
  }
  return true;
}

void MetricsServer::accept_client() {
  FileDescriptor socket(accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
  if (socket.get() < 0) {
    // Without a free descriptor the listener would stay readable and the loop would spin: the oldest client goes.
    if ((errno == EMFILE || errno == ENFILE) && !clients_.empty()) {
      clients_.erase(clients_.begin());
    } else if (errno == EMFILE || errno == ENFILE) {
      poll(nullptr, 0, kTickMs);
    }
    return;
  }
  if (clients_.size() == kMostClients) {
    clients_.erase(clients_.begin());
  }
  clients_.push_back(
      {.socket = std::move(socket), .until_ns = monotonic_ns() + kPatienceNs, .request = {}, .answer = {}});
}

bool MetricsServer::attend(Client& client, short events) {
  if (client.answer.empty()) {
    std::array<char, 4096> chunk{};
    const ssize_t bytes = recv(client.socket.get(), chunk.data(), chunk.size(), 0);
    if (bytes <= 0) {
      return bytes < 0 && (errno == EAGAIN || errno == EINTR);
    }
    client.request.append(chunk.data(), static_cast<std::size_t>(bytes));
    if (!has_ended(client.request)) {
      return client.request.size() <= kLongestRequestBytes;
    }
    client.answer = answer_to(client.request);
  } else if ((events & POLLOUT) == 0) {
    return false;
  }
  const ssize_t sent = send(client.socket.get(), client.answer.data(), client.answer.size(), MSG_NOSIGNAL);
  if (sent < 0) {
    return errno == EAGAIN || errno == EINTR;
  }
  client.answer.erase(0, static_cast<std::size_t>(sent));
  return !client.answer.empty();
}

std::string MetricsServer::answer_to(const std::string& request) const {
  const std::string line = request.substr(0, request.find_first_of("\r\n"));
  if (!line.starts_with("GET ")) {
    return reply("405 Method Not Allowed", "GET is answered, no other method\n");
  }
  const std::string target = line.substr(4, line.find(' ', 4) - 4);
  if (target.substr(0, target.find('?')) != "/metrics") {
    return reply("404 Not Found", "metrics are at /metrics\n");
  }
  try {
    return reply("200 OK", prometheus::TextSerializer().Serialize(metrics_->Collect()));
  } catch (const std::exception& error) {
    return reply("500 Internal Server Error", fmt::format("{}\n", error.what()));
  }
}

}  // namespace nearfield::control
