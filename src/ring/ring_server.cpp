#include "ring/ring_server.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <spdlog/spdlog.h>
#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <utility>

#include "core/error.hpp"
#include "nearfield_ring.h"

namespace nearfield::ring {
namespace {

constexpr int kMostWaiting = 64;

/// Sends one message into an empty, non-blocking connection: the kernel takes all of it or the client receives nothing.
void hand_over(int client, nf_ring_status status, int memory = -1) {
  nf_ring_hello hello{NF_RING_MAGIC, NF_RING_VERSION, static_cast<std::int32_t>(status)};
  iovec text{&hello, sizeof hello};
  alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof(int))> control{};
  msghdr message{};
  message.msg_iov = &text;
  message.msg_iovlen = 1;
  if (status == NF_RING_OK) {
    message.msg_control = control.data();
    message.msg_controllen = control.size();
    cmsghdr* rights = CMSG_FIRSTHDR(&message);
    rights->cmsg_level = SOL_SOCKET;
    rights->cmsg_type = SCM_RIGHTS;
    rights->cmsg_len = CMSG_LEN(sizeof(int));
    std::memcpy(CMSG_DATA(rights), &memory, sizeof memory);
  }
  sendmsg(client, &message, MSG_NOSIGNAL | MSG_DONTWAIT);
}

/// A client that has the ring's descriptor: the server only waits for its end and reads no data from it.
class RingReader : public UnixClient {
 public:
  using UnixClient::UnixClient;
  [[nodiscard]] short wanted() const override { return 0; }
  [[nodiscard]] bool has_work() const override { return false; }
  Outcome attend(short events) override { return events != 0 ? Outcome::kClosed : Outcome::kIdle; }
};

}  // namespace

RingServer::RingServer(const ServerOptions& options)
    : socket_(options.socket),
      server_({.socket = options.socket,
               .access = options.access,
               .key = "daemon.publish.ring",
               .type = SOCK_SEQPACKET,
               .most_waiting = kMostWaiting,
               .most_clients = options.most_clients},
              *this) {}

void RingServer::offer(int memory) {
  FileDescriptor copy(fcntl(memory, F_DUPFD_CLOEXEC, 0));
  if (!copy.valid()) {
    throw IoError(fmt::format("{}: can't duplicate the ring's descriptor: {}", socket_.string(), std::strerror(errno)));
  }
  const std::lock_guard lock(mutex_);
  memory_ = std::move(copy);
}

FileDescriptor RingServer::offered() {
  const std::lock_guard lock(mutex_);
  return FileDescriptor(memory_.valid() ? fcntl(memory_.get(), F_DUPFD_CLOEXEC, 0) : -1);
}

std::unique_ptr<UnixClient> RingServer::admit(FileDescriptor socket) {
  const FileDescriptor memory = offered();
  hand_over(socket.get(), memory.valid() ? NF_RING_OK : NF_RING_NOT_READY, memory.get());
  return memory.valid() ? std::make_unique<RingReader>(std::move(socket)) : nullptr;
}

void RingServer::refuse(int socket, const PeerProcess& /*peer*/) {
  ++refused_;
  hand_over(socket, NF_RING_REFUSED);
}

void RingServer::turn_away(int socket) {
  const bool is_ready = offered().valid();
  refused_ += is_ready ? 1U : 0U;
  hand_over(socket, is_ready ? NF_RING_BUSY : NF_RING_NOT_READY);
}

void RingServer::recover(const std::exception& error) {
  spdlog::error("{}: {}; all its readers are disconnected", socket_.string(), error.what());
}

}  // namespace nearfield::ring
