#include "stream/sources/live_sources.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <net/if.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <memory>
#include <thread>

#include "core/error.hpp"
#include "core/sample_format.hpp"
#include "core/system/clocks.hpp"
#include "stream/packets/socket.hpp"

namespace nearfield {
namespace {

constexpr std::size_t kBatch = 32;
constexpr std::size_t kDatagramBytes = std::size_t{1} << 16U;  ///< above any datagram's length
constexpr suseconds_t kStopCheckUs = 20'000;
/// A sender that is faster than this thread refills the socket for ever.
constexpr std::int64_t kLongestDiscardNs = kNsPerSecond;

/// Sender of a datagram; without an address if its family is not IP, or the kernel gave none.
Peer peer_of(const sockaddr_storage& sender) {
  Peer peer;
  if (sender.ss_family == AF_INET) {
    sockaddr_in v4{};
    std::memcpy(&v4, &sender, sizeof v4);
    constexpr std::size_t kMappedBytes = 12;
    peer.address.bytes[10] = peer.address.bytes[11] = 0xFF;
    std::memcpy(peer.address.bytes.data() + kMappedBytes, &v4.sin_addr, sizeof v4.sin_addr);
    peer.port = ntohs(v4.sin_port);
  } else if (sender.ss_family == AF_INET6) {
    sockaddr_in6 v6{};
    std::memcpy(&v6, &sender, sizeof v6);
    std::memcpy(peer.address.bytes.data(), &v6.sin6_addr, sizeof v6.sin6_addr);
    peer.port = ntohs(v6.sin6_port);
  }
  return peer;
}

/// Consecutive datagrams, as recvmmsg fills them.
class Batch {
 public:
  Batch()
      : bytes_(std::make_unique_for_overwrite<std::byte[]>(kBatch * kDatagramBytes)),
        controls_(kBatch),
        senders_(kBatch),
        vectors_(kBatch),
        messages_(kBatch) {
    for (std::size_t i = 0; i < kBatch; ++i) {
      vectors_[i] = {bytes_.get() + i * kDatagramBytes, kDatagramBytes};
      messages_[i].msg_hdr.msg_iov = &vectors_[i];
      messages_[i].msg_hdr.msg_iovlen = 1;
      messages_[i].msg_hdr.msg_control = controls_[i].bytes;
      messages_[i].msg_hdr.msg_name = &senders_[i];
    }
  }

  /// Waits for the first datagram and takes any others present; 0 after kStopCheckUs without any.
  std::size_t receive(const FileDescriptor& socket) {
    for (mmsghdr& message : messages_) {
      message.msg_hdr.msg_controllen = sizeof(Control);
      message.msg_hdr.msg_namelen = sizeof(sockaddr_storage);
    }
    const int count = recvmmsg(socket.get(), messages_.data(), kBatch, MSG_WAITFORONE, nullptr);
    if (count >= 0) {
      return static_cast<std::size_t>(count);
    }
    if (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR) {
      return 0;
    }
    throw IoError(system_error("udp: receiving"));
  }

  [[nodiscard]] std::span<const std::byte> datagram(std::size_t index) const {
    return {bytes_.get() + index * kDatagramBytes, messages_[index].msg_len};
  }

  [[nodiscard]] Peer sender(std::size_t index) const { return peer_of(senders_[index]); }

  /// True if the socket was empty at some moment of the receive() that returned `count`.
  [[nodiscard]] static bool emptied(std::size_t count) { return count < kBatch; }

  /// The kernel's count of datagrams dropped on this socket, as of this datagram.
  [[nodiscard]] std::optional<std::uint32_t> drops(std::size_t index) {
    msghdr& header = messages_[index].msg_hdr;
    for (cmsghdr* control = CMSG_FIRSTHDR(&header); control != nullptr; control = CMSG_NXTHDR(&header, control)) {
      if (control->cmsg_level == SOL_SOCKET && control->cmsg_type == SO_RXQ_OVFL) {
        std::uint32_t value = 0;
        std::memcpy(&value, CMSG_DATA(control), sizeof value);
        return value;
      }
    }
    return std::nullopt;
  }

 private:
  struct Control {
    alignas(cmsghdr) std::byte bytes[CMSG_SPACE(sizeof(std::uint32_t))];
  };
  /// [datagram][byte], not initialized: pages that no datagram reaches take no memory.
  std::unique_ptr<std::byte[]> bytes_;
  std::vector<Control> controls_;
  std::vector<sockaddr_storage> senders_;
  std::vector<iovec> vectors_;
  std::vector<mmsghdr> messages_;
};

void set(const FileDescriptor& socket, int level, int option, const void* value, socklen_t length,
         const std::string& what) {
  if (setsockopt(socket.get(), level, option, value, length) != 0) {
    throw IoError(system_error(what));
  }
}

void join_group(const FileDescriptor& socket, const Endpoint& endpoint, const SourceSettings& settings) {
  const unsigned index = settings.source.interface.empty() ? 0 : if_nametoindex(settings.source.interface.c_str());
  if (index == 0 && !settings.source.interface.empty()) {
    throw ConfigError(
        fmt::format("daemon.source.interface: expected a network interface, found \"{}\"", settings.source.interface));
  }
  const std::string what = fmt::format("udp: joining {}", settings.source.address);
  if (endpoint.family() == AF_INET) {
    sockaddr_in v4{};
    std::memcpy(&v4, &endpoint.address, sizeof v4);
    const ip_mreqn group{v4.sin_addr, {}, static_cast<int>(index)};
    set(socket, IPPROTO_IP, IP_ADD_MEMBERSHIP, &group, sizeof group, what);
    return;
  }
  sockaddr_in6 v6{};
  std::memcpy(&v6, &endpoint.address, sizeof v6);
  const ipv6_mreq group{v6.sin6_addr, index};
  set(socket, IPPROTO_IPV6, IPV6_JOIN_GROUP, &group, sizeof group, what);
}

FileDescriptor listening_socket(const SourceSettings& settings) {
  const Endpoint endpoint = endpoint_of(settings.source.address);
  FileDescriptor socket = datagram_socket(endpoint);
  const int on = 1;
  if (endpoint.multicast()) {
    set(socket, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on, "udp: sharing the port");
  }
  if (bind(socket.get(), endpoint.raw(), endpoint.length) != 0) {
    throw IoError(system_error(fmt::format("udp: listening on {}", settings.source.address)));
  }
  if (endpoint.multicast()) {
    join_group(socket, endpoint, settings);
  }
  set(socket, SOL_SOCKET, SO_RXQ_OVFL, &on, sizeof on, "udp: counting drops");
  const timeval wait{0, kStopCheckUs};
  set(socket, SOL_SOCKET, SO_RCVTIMEO, &wait, sizeof wait, "udp: time limit");
  return socket;
}

class UdpWorker : public SourceWorker {
 public:
  UdpWorker(FileDescriptor socket, IngestRing& ring, const IntakeSettings& settings)
      : socket_(std::move(socket)), intake_(ring, settings) {}

  void run(const std::stop_token& stop) override {
    std::int64_t empty_ns = monotonic_ns();  // later receipts arrived after this moment
    while (goes_on(stop)) {
      const std::int64_t begin_ns = monotonic_ns();
      const std::size_t count = batch_.receive(socket_);
      const std::int64_t now_ns = monotonic_ns();
      for (std::size_t i = 0; i < count; ++i) {
        intake_.take(batch_.datagram(i), {.from = batch_.sender(i), .after_ns = empty_ns, .now_ns = now_ns});
      }
      if (Batch::emptied(count)) {
        empty_ns = begin_ns;
      }
      if (count > 0) {
        note_drops(count);
      }
    }
  }

  std::uint64_t discard_waiting() override {
    std::uint64_t dropped = 0;
    const std::int64_t deadline_ns = monotonic_ns() + kLongestDiscardNs;
    for (std::size_t count = kBatch; count == kBatch && monotonic_ns() < deadline_ns;) {
      count = batch_.receive(socket_);
      dropped += count;
      if (const auto drops = count > 0 ? batch_.drops(count - 1) : std::nullopt) {
        dropped += *drops - last_drops_;
        last_drops_ = *drops;
      }
    }
    return dropped;
  }

  void count(SourceCounters& counters) const override {
    counters.packets = intake_.counters();
    counters.sender = intake_.sender();
    counters.other = intake_.other();
    counters.kernel_drops = kernel_drops_.load(std::memory_order_relaxed);
  }

  [[nodiscard]] std::uint16_t port() const override {
    Endpoint bound;
    bound.length = sizeof bound.address;
    getsockname(socket_.get(), reinterpret_cast<sockaddr*>(&bound.address), &bound.length);
    return bound.port();
  }

 private:
  void note_drops(std::size_t count) {
    if (const auto drops = batch_.drops(count - 1)) {
      kernel_drops_.fetch_add(*drops - last_drops_, std::memory_order_relaxed);  // modulo 2^32
      last_drops_ = *drops;
    }
  }

  FileDescriptor socket_;
  PacketIntake intake_;
  Batch batch_;
  std::uint32_t last_drops_ = 0;
  std::atomic<std::uint64_t> kernel_drops_{0};
};

}  // namespace

std::unique_ptr<Source> make_udp_source(const SourceSettings& settings) {
  const IntakeSettings intake = intake_settings(settings.source, settings.bit_times_per_element);
  auto ring = std::make_unique<IngestRing>(ring_settings(settings));
  FileDescriptor socket = listening_socket(settings);
  std::vector<std::string> warnings;
  const auto wanted = static_cast<std::uint64_t>(settings.source.receive_buffer_bytes);
  const std::uint64_t got = enlarge_buffer(socket, SO_RCVBUF, SO_RCVBUFFORCE, wanted);
  if (got < wanted) {
    warnings.push_back(
        fmt::format("udp: the kernel gave {} of {} bytes of receive buffer; raise net.core.rmem_max", got, wanted));
  }
  auto worker = std::make_unique<UdpWorker>(std::move(socket), *ring, intake);
  return std::make_unique<Source>(std::move(ring), std::move(worker), std::nullopt, std::move(warnings));
}

namespace {

constexpr std::size_t kChunkBytes = std::size_t{1} << 20U;
constexpr int kStopCheckMs = 20;

bool is_standard_input(const SourceSettings& settings) { return settings.source.path == "-"; }

FileDescriptor open_input(const SourceSettings& settings) {
  const int number = is_standard_input(settings)
                         ? fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 0)
                         : open(settings.source.path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC);
  if (number < 0) {
    throw NoInputError(system_error(fmt::format("pipe: {}", settings.source.path)));
  }
  return FileDescriptor(number);
}

bool is_named_pipe(const FileDescriptor& input, const SourceSettings& settings) {
  struct stat status {};
  return !is_standard_input(settings) && fstat(input.get(), &status) == 0 && S_ISFIFO(status.st_mode);
}

class PipeWorker : public SourceWorker {
 public:
  PipeWorker(FileDescriptor input, IngestRing& ring, const SourceSettings& settings)
      : settings_(settings),
        ring_(&ring),
        input_(std::move(input)),
        reopens_(is_named_pipe(input_, settings)),
        element_bytes_(settings.words_per_element * bytes_of(settings.source.format)),
        bytes_(std::max(element_bytes_, kChunkBytes / element_bytes_ * element_bytes_)) {
    fcntl(input_.get(), F_SETPIPE_SZ, static_cast<int>(kChunkBytes));  // fails where it is no pipe or not permitted
  }

  void run(const std::stop_token& stop) override {
    bool may_have_ended = false;
    while (goes_on(stop)) {
      if (!may_have_ended && !wait_for_input()) {
        continue;
      }
      const ssize_t count = read(input_.get(), bytes_.data() + held_, bytes_.size() - held_);
      // read() reports the end of a writer that closed before this end of a named pipe was opened; poll() does not.
      may_have_ended = count > 0 && reopens_;
      if (count > 0) {
        take(static_cast<std::size_t>(count), stop);
      } else if (count == 0) {
        if (!end_of_input()) {
          return;
        }
      } else if (errno != EAGAIN && errno != EINTR) {
        throw IoError(system_error(fmt::format("pipe: reading {}", settings_.source.path)));
      }
    }
  }

  void count(SourceCounters& counters) const override {
    counters.cut_bytes = cut_bytes_.load(std::memory_order_relaxed);
  }

 private:
  bool wait_for_input() {
    pollfd poll_for{input_.get(), POLLIN, 0};
    return poll(&poll_for, 1, kStopCheckMs) > 0;
  }

  void take(std::size_t count, const std::stop_token& stop) {
    const std::int64_t now_ns = monotonic_ns();
    held_ += count;
    const std::size_t whole = held_ / element_bytes_ * element_bytes_;
    if (whole == 0) {
      return;
    }
    if (!streaming_) {
      begin(stop);
    }
    ring_->store(next_element_, words_of(std::span(bytes_).first(whole)), now_ns);
    next_element_ += whole / element_bytes_;
    std::copy(bytes_.begin() + static_cast<std::ptrdiff_t>(whole), bytes_.begin() + static_cast<std::ptrdiff_t>(held_),
              bytes_.begin());
    held_ -= whole;
  }

  /// Words of bits, and samples as float32.
  std::span<const std::byte> words_of(std::span<const std::byte> bytes) {
    if (settings_.source.format == SampleFormat::kF32) {
      return bytes;
    }
    values_.resize(bytes.size() / bytes_of(settings_.source.format));
    to_floats(settings_.source.format, bytes, static_cast<int>(settings_.words_per_element), {}, values_);
    return std::as_bytes(std::span(values_));
  }

  /// Begins a stream. The reader may be copying what its start would overwrite, which takes a moment.
  void begin(const std::stop_token& stop) {
    while (!ring_->begin_stream(stream_id_, 0) && goes_on(stop)) {
      std::this_thread::yield();
    }
    streaming_ = true;
    next_element_ = 0;
    ++stream_id_;
  }

  /// True if another writer may come.
  bool end_of_input() {
    cut_bytes_.fetch_add(held_, std::memory_order_relaxed);
    held_ = 0;
    if (!reopens_) {
      return false;
    }
    if (streaming_) {
      ring_->end_stream();
      streaming_ = false;
    }
    // Opens the pipe again: one that had writers reports its end from then on, while a newly opened one waits for the
    // next writer. The old one stays open until then, so that nothing a quick writer has sent is lost.
    input_ = open_input(settings_);
    return true;
  }

  SourceSettings settings_;
  IngestRing* ring_;
  FileDescriptor input_;
  bool reopens_;
  std::size_t element_bytes_;
  std::vector<std::byte> bytes_;
  std::vector<float> values_;
  std::size_t held_ = 0;  ///< bytes of an incomplete element
  bool streaming_ = false;
  std::uint32_t stream_id_ = 1;
  std::uint64_t next_element_ = 0;
  std::atomic<std::uint64_t> cut_bytes_{0};
};

}  // namespace

std::unique_ptr<Source> make_pipe_source(const SourceSettings& settings) {
  if (settings.source.path.empty()) {
    throw ConfigError("source.path: expected a named pipe, or - for standard input, found nothing");
  }
  auto ring = std::make_unique<IngestRing>(ring_settings(settings));
  auto worker = std::make_unique<PipeWorker>(open_input(settings), *ring, settings);
  return std::make_unique<Source>(std::move(ring), std::move(worker), std::nullopt, std::vector<std::string>{});
}

}  // namespace nearfield
