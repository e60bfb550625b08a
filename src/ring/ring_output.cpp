#include "ring/ring_output.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <spdlog/spdlog.h>
#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <string_view>
#include <utility>

#include "core/error.hpp"
#include "nearfield/runtime_folder.h"
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

void RingServer::refuse(int socket, const PeerProcess& /*peer*/) { hand_over(socket, NF_RING_REFUSED); }

void RingServer::turn_away(int socket) { hand_over(socket, offered().valid() ? NF_RING_BUSY : NF_RING_NOT_READY); }

void RingServer::recover(const std::exception& error) {
  spdlog::error("{}: {}; all its readers are disconnected", socket_.string(), error.what());
}

namespace {

static_assert(std::string_view(NF_RING_DEFAULT_SOCKET) == NF_SYSTEM_FOLDER "/" NF_FRAMES_SOCKET,
              "the public header names the service's socket");

}  // namespace

std::filesystem::path socket_of_processor(const std::filesystem::path& first, const std::string& processor) {
  if (processor.empty() || processor.find('/') != std::string::npos) {
    throw ConfigError(fmt::format("ring: expected a processor's name that a socket can have, found \"{}\"", processor));
  }
  std::string path(first.native().size() + processor.size() + 2, '\0');
  nf_socket_of_processor(first.c_str(), processor.c_str(), path.data(), path.size());
  return path.c_str();
}

RingOutput::RingOutput(RingOptions options, ServerOptions server) : options_(options), server_(std::move(server)) {
  channel_of("");
}

RingOutput::Channel& RingOutput::channel_of(const std::string& name) {
  return channels_.get(name, [&] {
    ServerOptions server = server_;
    if (!name.empty()) {
      server.socket = socket_of_processor(server_.socket, name);
    }
    Channel channel;
    channel.server = std::make_unique<RingServer>(server);
    return channel;
  });
}

void RingOutput::prepare(const ResultHeader& header, const Beginning& beginning) {
  Channel& channel = channel_of(place_name(header, beginning));
  const bool needed = channel.writer == nullptr || !channel.writer->fits(header);
  channel.prepared = needed ? std::make_unique<RingWriter>(header, beginning.epoch, options_) : nullptr;
}

void RingOutput::begin(const ResultHeader& header, const Beginning& beginning) {
  const std::string name = place_name(header, beginning);
  Channel& channel = channel_of(name);
  if (channel.writer == nullptr || !channel.writer->fits(header)) {
    std::unique_ptr<RingWriter> next = std::move(channel.prepared);
    if (next == nullptr || !next->fits(header)) {
      next = std::make_unique<RingWriter>(header, beginning.epoch, options_);
    }
    channel.server->offer(next->memory());
    channel.ended = std::exchange(channel.writer, std::move(next));
    if (channel.ended != nullptr) {
      channel.ended->end();  // a reader that reads this connects to the server again and receives the new ring
    }
  }
  channels_.route(beginning.processor, name, beginning.epoch);
}

void RingOutput::free_unused() {
  channels_.free_unused([](Channel& channel) {
    channel.prepared.reset();
    channel.ended.reset();
  });
}

std::size_t RingOutput::readers() const {
  std::size_t readers = 0;
  channels_.for_each([&](const Channel& channel) { readers += channel.server->clients(); });
  return readers;
}

const RingWriter* RingOutput::writer(std::size_t processor) const {
  const Channel* const channel = channels_.find(processor);
  return channel == nullptr ? nullptr : channel->writer.get();
}

}  // namespace nearfield::ring
