#include "ring/zmq/curve_clients.hpp"

#include <fmt/format.h>

#include <array>
#include <cerrno>
#include <cstdint>
#include <iterator>
#include <utility>
#include <zmq_addon.hpp>

#include "core/error.hpp"

namespace nearfield::ring {
namespace {

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

}  // namespace

CurveClients::CurveClients(zmq::context_t& context, const std::vector<std::string>& public_keys)
    : context_(&context), socket_(context, zmq::socket_type::rep) {
  for (const std::string& key : public_keys) {
    keys_.insert(decoded(key));
  }
  socket_.set(zmq::sockopt::linger, 0);
  socket_.bind(kEndpoint);
  thread_ = std::thread([this] { run(); });
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

}  // namespace nearfield::ring
