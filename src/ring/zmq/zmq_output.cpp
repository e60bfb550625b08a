#include "ring/zmq/zmq_output.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cmath>
#include <cstddef>
#include <cstring>
#include <iterator>
#include <optional>
#include <set>
#include <sstream>
#include <thread>
#include <utility>
#include <vector>
#include <zmq.hpp>
#include <zmq_addon.hpp>

#include "core/daemon_settings.hpp"
#include "core/error.hpp"
#include "core/system/files.hpp"
#include "core/system/threads.hpp"
#include "ring/frame_encoder.hpp"
#include "ring/per_processor.hpp"

namespace nearfield::ring {
namespace {

constexpr std::size_t kKeyCharacters = 40;  ///< length of a CURVE key: Z85 of 32 bytes

/// Admits the CURVE clients whose keys are listed, and no others: the one ZAP handler (ZeroMQ RFC 27) of a context,
/// with a thread of its own. Without a handler ZeroMQ admits every client that has any key.
class CurveClients {
 public:
  /// `public_keys` in Z85. Must be constructed before a CURVE socket of the context is bound. Throws ConfigError if a
  /// text is not a key.
  CurveClients(zmq::context_t& context, const std::vector<std::string>& public_keys);
  /// Shuts the context down; its other sockets must be closed.
  ~CurveClients();
  CurveClients(const CurveClients&) = delete;
  CurveClients& operator=(const CurveClients&) = delete;

 private:
  void run();
  void answer(const std::vector<zmq::message_t>& request);

  zmq::context_t* context_;
  std::set<std::string> keys_;  ///< 32 bytes each
  zmq::socket_t socket_;        ///< used only by the thread once it runs
  std::thread thread_;
};

constexpr const char* kEndpoint = "inproc://zeromq.zap.01";
constexpr std::size_t kKeyBytes = 32;
/// Indices of a request's parts: version, id, domain, address, identity, mechanism, and for CURVE the client's public
/// key.
constexpr std::size_t kVersion = 0;
constexpr std::size_t kId = 1;
constexpr std::size_t kMechanism = 5;
constexpr std::size_t kKey = 6;

std::string decoded(const std::string& key) {
  std::array<std::uint8_t, kKeyBytes> bytes{};
  if (key.size() != kKeyCharacters || zmq_z85_decode(bytes.data(), key.c_str()) == nullptr) {
    throw ConfigError(fmt::format("dashboards: expected clients' public keys in Z85, {} characters each, found \"{}\"",
                                  kKeyCharacters, key));
  }
  return {bytes.begin(), bytes.end()};
}

CurveClients::CurveClients(zmq::context_t& context, const std::vector<std::string>& public_keys)
    : context_(&context), socket_(context, zmq::socket_type::rep) {
  for (const std::string& key : public_keys) {
    keys_.insert(decoded(key));
  }
  socket_.set(zmq::sockopt::linger, 0);
  socket_.bind(kEndpoint);
  thread_ = std::thread([this] {
    give_signal_stack();
    run();
  });
}

CurveClients::~CurveClients() {
  context_->shutdown();
  thread_.join();
}

void CurveClients::run() {
  for (bool is_open = true; is_open;) {
    try {
      std::vector<zmq::message_t> request;
      if (zmq::recv_multipart(socket_, std::back_inserter(request))) {
        answer(request);
      }
    } catch (const zmq::error_t& error) {
      is_open = error.num() == EINTR;  // else the context is shut down
    }
  }
  socket_.close();
}

void CurveClients::answer(const std::vector<zmq::message_t>& request) {
  const bool is_known = request.size() == kKey + 1 && request[kMechanism].to_string_view() == "CURVE" &&
                        keys_.contains(request[kKey].to_string());
  const std::string id = request.size() > kId ? request[kId].to_string() : "";
  const std::string version = request[kVersion].to_string();
  const std::array<zmq::const_buffer, 6> reply{
      zmq::buffer(version),
      zmq::buffer(id),
      zmq::buffer(std::string_view(is_known ? "200" : "400")),
      zmq::buffer(std::string_view(is_known ? "OK" : "not among daemon.publish.zmq.curve_clients")),
      zmq::buffer(std::string_view()),
      zmq::buffer(std::string_view())};
  zmq::send_multipart(socket_, reply);
}

/// The kernel's send buffer holds old frames for a slow subscriber; two frames of 40 KiB are enough to keep a link
/// busy.
constexpr int kSendBufferBytes = 1 << 16;
constexpr const char* kZapDomain = "nearfield";

bool starts_with_any(const std::string& text, std::initializer_list<const char*> beginnings) {
  for (const char* beginning : beginnings) {
    if (text.rfind(beginning, 0) == 0) {
      return true;
    }
  }
  return false;
}

std::string read_secret_key(const std::filesystem::path& path) {
  constexpr std::size_t kMostBytes = 4096;
  std::string key;
  std::istringstream(read_secret_file(path, "a CURVE secret key", kMostBytes)) >> key;
  std::array<std::uint8_t, 32> bytes{};
  if (key.size() != kKeyCharacters || zmq_z85_decode(bytes.data(), key.c_str()) == nullptr) {
    throw ConfigError(fmt::format("{}: expected a Z85 key of {} characters, found {} that are none", path.string(),
                                  kKeyCharacters, key.size()));
  }
  return key;
}

/// Port of a tcp endpoint, after the last colon.
std::string_view port_of(std::string_view endpoint) {
  const std::size_t colon = endpoint.rfind(':');
  return endpoint.starts_with("tcp://") ? endpoint.substr(colon + 1) : std::string_view();
}

bool is_any_port(std::string_view endpoint) { return port_of(endpoint) == "*" || port_of(endpoint) == "0"; }

/// Name by which the next epoch finds the channel. Endpoints with any free port differ only by their processors.
std::string channel_name(const std::string& endpoint, const ResultHeader& header, const Beginning& beginning) {
  std::string place = place_name(header, beginning);
  return place.empty() || is_any_port(endpoint) ? place : endpoint;
}

void bind(zmq::socket_t& publisher, const std::string& endpoint) {
  try {
    publisher.bind(endpoint);
  } catch (const zmq::error_t& error) {
    const auto message = fmt::format("dashboards: {}: cannot be bound: {}", endpoint, error.what());
    if (error.num() == EINVAL || error.num() == EPROTONOSUPPORT || error.num() == ENODEV) {
      throw ConfigError(message);
    }
    throw IoError(message);
  }
}

}  // namespace

/// Publisher of one processor.
struct ZmqOutput::Channel {
  zmq::socket_t publisher;
  std::unique_ptr<FrameEncoder> encoder;
  std::vector<std::byte> header;
  std::optional<std::int64_t> due_mono_ns;
  std::uint64_t sent = 0;

  bool is_due(const Frame& frame, std::int64_t interval_ns) {
    if (due_mono_ns && frame.capture_mono_ns < *due_mono_ns) {
      return false;
    }
    // Keeps the mean of a limit that does not divide the hop rate; missed frames are not sent after a pause.
    const std::int64_t from_ns = due_mono_ns.value_or(frame.capture_mono_ns);
    due_mono_ns = std::max(from_ns + interval_ns, frame.capture_mono_ns);
    return true;
  }
};

struct ZmqOutput::Sockets {
  zmq::context_t context{1};
  std::optional<CurveClients> clients;
  std::string secret_key;
  PerProcessor<Channel> channels;
};

bool is_local_endpoint(const std::string& endpoint) {
  return starts_with_any(endpoint,
                         {"ipc://", "inproc://", "tcp://127.", "tcp://localhost:", "tcp://lo:", "tcp://[::1]:"});
}

std::string endpoint_of_processor(const std::string& first, std::size_t index, const std::string& processor) {
  constexpr std::size_t kMostPort = 65535;
  if (index == 0 || is_any_port(first)) {
    return first;
  }
  const std::string_view text = port_of(first);
  if (text.empty()) {
    return first + "." + processor;
  }
  std::size_t port = 0;
  std::from_chars(text.data(), text.data() + text.size(), port);
  if (port + index > kMostPort) {
    throw ConfigError(fmt::format("dashboards: {}: expected a port for each processor from here on, found none for {}",
                                  first, processor));
  }
  return first.substr(0, first.size() - text.size()) + std::to_string(port + index);
}

ZmqOutput::ZmqOutput(const DaemonSettings::Zmq& settings, PhaseReference reference, std::uint32_t bit_rate_hz)
    : settings_(settings), reference_(reference), bit_rate_hz_(bit_rate_hz), sockets_(std::make_unique<Sockets>()) {
  if (!(settings.max_rate_hz >= 0.0)) {
    throw ConfigError(
        fmt::format("dashboards: expected a rate of 0 (all) or more frames a second, found {}", settings.max_rate_hz));
  }
  if (settings.max_rate_hz > 0.0) {
    interval_ns_ = std::llround(1e9 / settings.max_rate_hz);
  }
  if (!settings.curve_secret_file.empty()) {
    if (settings.curve_clients.empty()) {
      throw ConfigError("dashboards: expected public keys of those who may subscribe (curve_clients), found none");
    }
    sockets_->clients.emplace(sockets_->context, settings.curve_clients);
    sockets_->secret_key = read_secret_key(settings.curve_secret_file);
  } else if (!is_local_endpoint(settings.endpoint)) {
    throw ConfigError(
        fmt::format("dashboards: {}: expected a loopback address (tcp://127.0.0.1:PORT, ipc://PATH) or a CURVE secret "
                    "key, found neither",
                    settings.endpoint));
  }
  channel_of("", settings.endpoint);
  sockets_->channels.route(0, "", 0);
}

ZmqOutput::~ZmqOutput() = default;

ZmqOutput::Channel& ZmqOutput::channel_of(const std::string& name, const std::string& endpoint) {
  return sockets_->channels.get(name, [&] {
    Channel channel;
    channel.publisher = zmq::socket_t(sockets_->context, zmq::socket_type::pub);
    channel.publisher.set(zmq::sockopt::conflate, 1);
    channel.publisher.set(zmq::sockopt::linger, 0);
    channel.publisher.set(zmq::sockopt::sndbuf, kSendBufferBytes);
    if (!sockets_->secret_key.empty()) {
      channel.publisher.set(zmq::sockopt::zap_domain, kZapDomain);
      channel.publisher.set(zmq::sockopt::curve_server, true);
      channel.publisher.set(zmq::sockopt::curve_secretkey, sockets_->secret_key);
    }
    bind(channel.publisher, endpoint);
    return channel;
  });
}

std::string ZmqOutput::endpoint(std::size_t processor) const {
  const Channel* const channel = sockets_->channels.find(processor);
  return channel == nullptr ? "" : channel->publisher.get(zmq::sockopt::last_endpoint);
}

void ZmqOutput::prepare(const ResultHeader& header, const Beginning& beginning) {
  const std::string endpoint = endpoint_of_processor(settings_.endpoint, beginning.processor, header.processor);
  channel_of(channel_name(endpoint, header, beginning), endpoint);
}

void ZmqOutput::begin(const ResultHeader& header, const Beginning& beginning) {
  const std::string endpoint = endpoint_of_processor(settings_.endpoint, beginning.processor, header.processor);
  const std::string name = channel_name(endpoint, header, beginning);
  Channel& channel = channel_of(name, endpoint);
  auto encoder = std::make_unique<FrameEncoder>(header, beginning.epoch, reference_, bit_rate_hz_);
  channel.header = encoder->header_block(1, 0);
  channel.encoder = std::move(encoder);
  sockets_->channels.route(beginning.processor, name, beginning.epoch);
}

void ZmqOutput::free_unused() {
  sockets_->channels.free_unused([](Channel&) {});
}

void ZmqOutput::write(const Frame& frame) {
  Channel& channel = sockets_->channels.at(frame.processor);
  if (channel.encoder == nullptr) {
    throw std::logic_error("dashboards: a frame came before the first epoch");
  }
  if (interval_ns_ > 0 && !channel.is_due(frame, interval_ns_)) {
    return;
  }
  FrameEncoder& encoder = *channel.encoder;
  encoder.take(frame);
  encoder.stamp();
  nf_ring_slot head = encoder.head();
  head.lock = 2 * (channel.sent + 1);
  zmq::message_t message(channel.header.size() + encoder.used_bytes());
  auto* to = static_cast<std::byte*>(message.data());
  const auto append = [&](std::span<const std::byte> bytes) {
    std::memcpy(to, bytes.data(), bytes.size());
    to += bytes.size();
  };
  append(channel.header);
  append(std::as_bytes(std::span(&head, 1)));
  append(std::as_bytes(encoder.crcs()));
  append(encoder.payload());
  if (channel.publisher.send(message, zmq::send_flags::dontwait)) {
    ++channel.sent;
    ++sent_;
  }
}

}  // namespace nearfield::ring
