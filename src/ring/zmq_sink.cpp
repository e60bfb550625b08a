#include "ring/zmq_sink.hpp"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <optional>
#include <sstream>
#include <stdexcept>
#include <vector>
#include <zmq.hpp>

#include "core/regular_file.hpp"
#include "nearfield/error.hpp"
#include "ring/curve_clients.hpp"

namespace nearfield::ring {
namespace {

/// What the kernel holds for a subscriber that is slow are old frames; two of 40 KiB are enough to keep a link busy.
constexpr int kSendBufferBytes = 1 << 16;
constexpr const char* kZapDomain = "nearfield";
constexpr std::size_t kKeyCharacters = 40;  ///< Z85 of 32 bytes

bool starts_with_any(const std::string& text, std::initializer_list<const char*> beginnings) {
  for (const char* beginning : beginnings) {
    if (text.rfind(beginning, 0) == 0) {
      return true;
    }
  }
  return false;
}

/// Whether root or this process's user alone can read and change it, or read it with a group that root or this process
/// is in: systemd hands a credential over as the group root's, readable by that group.
bool is_secret(const struct stat& status) {
  std::vector<gid_t> groups(static_cast<std::size_t>(std::max(0, getgroups(0, nullptr))));
  groups.resize(static_cast<std::size_t>(std::max(0, getgroups(static_cast<int>(groups.size()), groups.data()))));
  groups.insert(groups.end(), {0, getegid()});
  const bool own_group = std::find(groups.begin(), groups.end(), status.st_gid) != groups.end();
  const mode_t allowed = S_IRUSR | S_IWUSR | (own_group ? S_IRGRP : 0U);
  return (status.st_uid == 0 || status.st_uid == geteuid()) && (status.st_mode & 0777U & ~allowed) == 0;
}

std::string read_secret_key(const std::filesystem::path& path) {
  constexpr std::size_t kMostBytes = 4096;
  std::string key;
  std::istringstream(read_regular_file(path, "a CURVE secret key", kMostBytes)) >> key;
  struct stat status {};
  if (stat(path.c_str(), &status) == 0 && !is_secret(status)) {
    throw ConfigError(
        fmt::format("{}: expected a secret key of root or this user, of mode 0600, or 0640 with a group "
                    "of this process, found user {}, group {}, mode {:04o}",
                    path.string(), status.st_uid, status.st_gid, status.st_mode & 07777U));
  }
  std::array<std::uint8_t, 32> bytes{};
  if (key.size() != kKeyCharacters || zmq_z85_decode(bytes.data(), key.c_str()) == nullptr) {
    throw ConfigError(fmt::format("{}: expected a Z85 key of {} characters, found {} that are none", path.string(),
                                  kKeyCharacters, key.size()));
  }
  return key;
}

}  // namespace

struct ZmqSink::Socket {
  zmq::context_t context{1};
  std::optional<CurveClients> clients;
  zmq::socket_t publisher{context, zmq::socket_type::pub};
};

bool is_local_endpoint(const std::string& endpoint) {
  return starts_with_any(endpoint,
                         {"ipc://", "inproc://", "tcp://127.", "tcp://localhost:", "tcp://lo:", "tcp://[::1]:"});
}

ZmqSink::ZmqSink(const ZmqOptions& options)
    : socket_(std::make_unique<Socket>()), interval_ns_(0), phase_reference_(options.phase_reference) {
  if (!(options.most_frames_per_s >= 0.0)) {
    throw ConfigError(fmt::format("dashboards: expected a rate of 0 (all) or more frames a second, found {}",
                                  options.most_frames_per_s));
  }
  if (options.most_frames_per_s > 0.0) {
    interval_ns_ = std::llround(1e9 / options.most_frames_per_s);
  }
  zmq::socket_t& publisher = socket_->publisher;
  publisher.set(zmq::sockopt::conflate, 1);
  publisher.set(zmq::sockopt::linger, 0);
  publisher.set(zmq::sockopt::sndbuf, kSendBufferBytes);
  if (!options.curve_secret_key.empty()) {
    if (options.curve_clients.empty()) {
      throw ConfigError("dashboards: expected public keys of those who may subscribe (curve_clients), found none");
    }
    socket_->clients.emplace(socket_->context, options.curve_clients);
    publisher.set(zmq::sockopt::zap_domain, kZapDomain);
    publisher.set(zmq::sockopt::curve_server, true);
    publisher.set(zmq::sockopt::curve_secretkey, read_secret_key(options.curve_secret_key));
  } else if (!is_local_endpoint(options.endpoint)) {
    throw ConfigError(
        fmt::format("dashboards: {}: expected a loopback address (tcp://127.0.0.1:PORT, ipc://PATH) or a CURVE secret "
                    "key, found neither",
                    options.endpoint));
  }
  try {
    publisher.bind(options.endpoint);
  } catch (const zmq::error_t& error) {
    const auto message = fmt::format("dashboards: {}: cannot be bound: {}", options.endpoint, error.what());
    if (error.num() == EINVAL || error.num() == EPROTONOSUPPORT || error.num() == ENODEV) {
      throw ConfigError(message);
    }
    throw IoError(message);
  }
}

ZmqSink::~ZmqSink() = default;

std::string ZmqSink::endpoint() const { return socket_->publisher.get(zmq::sockopt::last_endpoint); }

void ZmqSink::begin(const ResultHeader& header, const Beginning& beginning) {
  encoder_.emplace(header, beginning.epoch, phase_reference_);
  header_ = encoder_->header_block(1, 0);
}

bool ZmqSink::is_due(const Frame& frame) {
  if (due_mono_ns_ && frame.capture_mono_ns < *due_mono_ns_) {
    return false;
  }
  // A limit that the hop rate does not divide keeps its mean; after a pause nothing is made up for.
  const std::int64_t from_ns = due_mono_ns_.value_or(frame.capture_mono_ns);
  due_mono_ns_ = std::max(from_ns + interval_ns_, frame.capture_mono_ns);
  return true;
}

void ZmqSink::write(const Frame& frame) {
  if (!encoder_) {
    throw std::logic_error("dashboards: a frame came before the first epoch");
  }
  if (interval_ns_ > 0 && !is_due(frame)) {
    return;
  }
  encoder_->take(frame);
  encoder_->stamp();
  nf_ring_slot head = encoder_->head();
  head.lock = 2 * (sent_ + 1);
  zmq::message_t message(header_.size() + encoder_->used_bytes());
  auto* to = static_cast<std::byte*>(message.data());
  std::memcpy(to, header_.data(), header_.size());
  std::memcpy(to + header_.size(), &head, sizeof head);
  std::memcpy(to + header_.size() + sizeof head, encoder_->payload().data(), encoder_->payload_bytes());
  if (socket_->publisher.send(message, zmq::send_flags::dontwait)) {
    ++sent_;
  }
}

}  // namespace nearfield::ring
