#include "ring/ring_server.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>

#include "nearfield/error.hpp"

namespace nearfield::ring {
namespace {

constexpr int kMostWaiting = 64;
constexpr int kPauseWithoutDescriptorsMs = 100;

[[noreturn]] void fail(const std::filesystem::path& path, const char* what) {
  throw IoError(fmt::format("{}: {}: {}", path.string(), what, std::strerror(errno)));
}

/// The groups that a client is in, its first one last; that one alone on kernels that do not tell the others.
std::vector<gid_t> groups_of(int client, gid_t first) {
  std::vector<gid_t> groups(65536);  // NGROUPS_MAX
  auto bytes = static_cast<socklen_t>(groups.size() * sizeof(gid_t));
  if (getsockopt(client, SOL_SOCKET, SO_PEERGROUPS, groups.data(), &bytes) != 0) {
    bytes = 0;
  }
  groups.resize(bytes / sizeof(gid_t));
  groups.push_back(first);
  return groups;
}

template <typename T>
bool contains(const std::vector<T>& values, T value) {
  return std::find(values.begin(), values.end(), value) != values.end();
}

void block_all_signals() {
  sigset_t all;
  sigfillset(&all);
  pthread_sigmask(SIG_BLOCK, &all, nullptr);
}

}  // namespace

bool may_read(const ServerOptions& options, uid_t user, const std::vector<gid_t>& groups) {
  return user == 0 || user == geteuid() || contains(options.uids, user) ||
         std::any_of(groups.begin(), groups.end(), [&](gid_t group) { return contains(options.gids, group); });
}

RingServer::RingServer(ServerOptions options)
    : options_(std::move(options)),
      listener_(options_.socket, {.type = SOCK_SEQPACKET,
                                  .mode = options_.mode,
                                  .serves_others = !options_.uids.empty() || !options_.gids.empty(),
                                  .most_waiting = kMostWaiting}),
      stop_(eventfd(0, EFD_CLOEXEC)) {
  if (!stop_.valid()) {
    fail(options_.socket, "can't make an event");
  }
  clients_.reserve(options_.most_clients);
  thread_ = std::thread([this] {
    block_all_signals();
    run();
  });
}

RingServer::~RingServer() {
  const std::uint64_t one = 1;
  [[maybe_unused]] const auto written = ::write(stop_.get(), &one, sizeof one);
  thread_.join();
}

void RingServer::offer(int memory) {
  FileDescriptor copy(fcntl(memory, F_DUPFD_CLOEXEC, 0));
  if (!copy.valid()) {
    fail(options_.socket, "can't duplicate the ring's descriptor");
  }
  const std::lock_guard lock(mutex_);
  memory_ = std::move(copy);
}

void RingServer::run() {
  std::vector<pollfd> polled;
  bool pause = false;
  for (;;) {
    polled.clear();
    polled.push_back({stop_.get(), POLLIN, 0});
    polled.push_back({pause ? -1 : listener_.get(), POLLIN, 0});
    for (const FileDescriptor& client : clients_) {
      polled.push_back({client.get(), 0, 0});  // POLLHUP and POLLERR alone: what clients send stays unread
    }
    if (poll(polled.data(), polled.size(), pause ? kPauseWithoutDescriptorsMs : -1) < 0 && errno != EINTR) {
      return;
    }
    if (polled[0].revents != 0) {
      return;
    }
    for (std::size_t i = clients_.size(); i-- > 0;) {
      if (polled[2 + i].revents != 0) {
        clients_.erase(clients_.begin() + static_cast<std::ptrdiff_t>(i));
      }
    }
    pause = polled[1].revents != 0 && !accept_one();
    client_count_ = clients_.size();
  }
}

/// False when the process has no descriptor left for a client.
bool RingServer::accept_one() {
  FileDescriptor client(accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
  if (!client.valid()) {
    return errno != EMFILE && errno != ENFILE && errno != ENOBUFS && errno != ENOMEM;
  }
  const FileDescriptor memory = offered();
  const nf_ring_status status = judge(client.get(), memory.valid());
  refused_ += status == NF_RING_REFUSED || status == NF_RING_BUSY ? 1U : 0U;
  hand_over(client.get(), status, memory.get());
  if (status == NF_RING_OK) {
    clients_.push_back(std::move(client));
  }
  return true;
}

FileDescriptor RingServer::offered() {
  const std::lock_guard lock(mutex_);
  return FileDescriptor(memory_.valid() ? fcntl(memory_.get(), F_DUPFD_CLOEXEC, 0) : -1);
}

nf_ring_status RingServer::judge(int client, bool ready) const {
  ucred peer{};
  socklen_t bytes = sizeof peer;
  if (getsockopt(client, SOL_SOCKET, SO_PEERCRED, &peer, &bytes) != 0 ||
      !may_read(options_, peer.uid, groups_of(client, peer.gid))) {
    return NF_RING_REFUSED;
  }
  if (!ready) {
    return NF_RING_NOT_READY;
  }
  return clients_.size() < options_.most_clients ? NF_RING_OK : NF_RING_BUSY;
}

/// One message into an empty, non-blocking connection: it goes out whole or the client gets nothing.
void RingServer::hand_over(int client, nf_ring_status status, int memory) {
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

}  // namespace nearfield::ring
