#include "ring/zmq/zmq_output.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <cstring>
#include <fstream>
#include <map>
#include <optional>
#include <zmq.hpp>

#include "core/daemon_settings.hpp"
#include "core/error.hpp"
#include "ring/ring_support.hpp"
#include "support/images.hpp"

namespace nearfield::ring {
namespace {

using testing::HasSubstr;
using testing::ThrowsMessage;

struct Message {
  nf_ring_header header;
  nf_ring_slot slot;
  std::map<std::string, std::vector<std::byte>> products;

  template <class T>
  [[nodiscard]] std::vector<T> values(const std::string& name) const {
    const std::vector<std::byte>& bytes = products.at(name);
    std::vector<T> values(bytes.size() / sizeof(T));
    std::memcpy(values.data(), bytes.data(), bytes.size());
    return values;
  }
};

Message parse(const zmq::message_t& message) {
  Message parsed{};
  const auto* bytes = static_cast<const std::byte*>(message.data());
  std::memcpy(&parsed.header, bytes, sizeof parsed.header);
  const std::byte* const slot = bytes + parsed.header.header_bytes;
  std::memcpy(&parsed.slot, slot, sizeof parsed.slot);
  std::size_t end = 0;
  for (std::size_t i = 0; i < parsed.header.products; ++i) {
    nf_ring_product product;
    std::memcpy(&product, bytes + parsed.header.products_offset + i * parsed.header.product_bytes, sizeof product);
    const char* const name = static_cast<const char*>(message.data()) + product.name;
    parsed.products[name].assign(slot + product.offset, slot + product.offset + product.bytes);
    end = parsed.header.header_bytes + product.offset + (product.bytes + 7) / 8 * 8;
  }
  EXPECT_EQ(end, message.size());
  return parsed;
}

class Zmq : public testing::Test {
 protected:
  struct Keys {
    std::string open = std::string(40, ' '), secret = std::string(40, ' ');
    Keys() { zmq_curve_keypair(open.data(), secret.data()); }
  };
  /// Any free port of this machine, all frames.
  static DaemonSettings::Zmq local(const std::string& endpoint = "tcp://127.0.0.1:*") {
    return {.endpoint = endpoint, .curve_secret_file = {}, .max_rate_hz = 0.0};
  }
  static void open(const DaemonSettings::Zmq& settings) { const ZmqOutput output(settings, PhaseReference::kWindow); }
  std::unique_ptr<ZmqOutput> output(const DaemonSettings::Zmq& settings = local()) {
    auto made = std::make_unique<ZmqOutput>(settings, PhaseReference::kWindow);
    made->begin(result_header(header_), {.epoch = 2});
    return made;
  }
  zmq::socket_t subscriber(const std::string& endpoint) {
    zmq::socket_t socket(context_, zmq::socket_type::sub);
    socket.set(zmq::sockopt::subscribe, "");
    socket.connect(endpoint);
    return socket;
  }
  /// Publishes until the subscription has reached the publisher and a frame came back.
  std::optional<Message> exchange(ZmqOutput& output, zmq::socket_t& socket, std::uint64_t first = 1) {
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(20);
    socket.set(zmq::sockopt::rcvtimeo, 20);
    for (std::uint64_t sequence = first; std::chrono::steady_clock::now() < deadline; ++sequence) {
      output.write(frame_.make(sequence));
      zmq::message_t message;
      if (socket.recv(message)) {
        return parse(message);
      }
    }
    return std::nullopt;
  }
  std::string write_key(const std::string& key, std::filesystem::perms mode) {
    std::string path = folder_ / "server.key";
    std::filesystem::remove(path);
    std::ofstream(path) << key << "\n";
    std::filesystem::permissions(path, mode);
    return path;
  }
  const std::filesystem::perms private_ = std::filesystem::perms(0600);
  test::SocketFolder folder_;
  ImagesHeader header_ = test::ring_header(5, 32, 32);
  test::TestFrame frame_{header_};
  zmq::context_t context_;
};

TEST_F(Zmq, SendsHeaderAndSlotInOnePart) {
  const auto publisher = output();
  zmq::socket_t socket = subscriber(publisher->endpoint());
  const auto message = exchange(*publisher, socket);
  ASSERT_TRUE(message);
  EXPECT_EQ(message->header.magic, NF_RING_MAGIC);
  EXPECT_EQ(message->header.slot_count, 1U);
  EXPECT_EQ(message->slot.first_bit_time, 1024 * message->slot.sequence);
  EXPECT_EQ(message->values<float>("cutoff_rad_per_m")[0], 80.5F);
  EXPECT_EQ(message->values<float>("error_estimate")[0], 0.04F);
  const auto images = message->values<nf_complex>("images");
  ASSERT_EQ(images.size(), header_.values_per_frame());
  for (std::size_t i = 0; i < images.size(); ++i) {
    ASSERT_EQ(images[i].re, test::expected_value(message->slot.sequence, i).re);
    ASSERT_EQ(images[i].im, test::expected_value(message->slot.sequence, i).im);
  }
}

TEST_F(Zmq, ASubscriberThatSleptGetsFewOldFramesAndThenTheNewest) {
  const auto publisher = output();
  zmq::socket_t socket(context_, zmq::socket_type::sub);
  socket.set(zmq::sockopt::rcvhwm, 1);  // the subscriber's own queue is not what is tested
  socket.set(zmq::sockopt::rcvbuf, 65536);
  socket.set(zmq::sockopt::subscribe, "");
  socket.connect(publisher->endpoint());
  ASSERT_TRUE(exchange(*publisher, socket));
  constexpr std::uint64_t kLast = 1'003'000;
  for (std::uint64_t sequence = 1'000'001; sequence <= kLast; ++sequence) {
    publisher->write(frame_.make(sequence));
  }
  // 3000 frames are 123 MB. What comes now was in flight: kernel buffers of a few frames, then the one kept frame.
  socket.set(zmq::sockopt::rcvtimeo, 20'000);
  std::uint64_t received = 0;
  for (std::uint64_t sequence = 0; sequence != kLast; ++received) {
    zmq::message_t message;
    ASSERT_TRUE(socket.recv(message)) << "the newest frame never came";
    const std::uint64_t next = parse(message).slot.sequence;
    ASSERT_GT(next, sequence);
    sequence = next;
  }
  RecordProperty("received", std::to_string(received));
  EXPECT_LT(received, 100U);
}

TEST_F(Zmq, HasAnEndpointForEachProcessor) {
  const auto publisher = output();
  const ResultHeader powers = test::row_power_header();
  publisher->prepare(powers, {.processor = 1, .epoch = 2});
  EXPECT_EQ(publisher->endpoint(1), "");
  publisher->begin(powers, {.processor = 1, .epoch = 2});
  publisher->free_unused();
  ASSERT_NE(publisher->endpoint(1), publisher->endpoint());
  zmq::socket_t images = subscriber(publisher->endpoint());
  zmq::socket_t socket = subscriber(publisher->endpoint(1));
  ASSERT_TRUE(exchange(*publisher, images));
  test::RowPowerFrame frame(powers);
  socket.set(zmq::sockopt::rcvtimeo, 20);
  zmq::message_t received;
  for (std::uint64_t sequence = 1; received.size() == 0 && sequence < 1000; ++sequence) {
    publisher->write(frame.make(sequence));
    static_cast<void>(socket.recv(received));
  }
  const Message message = parse(received);
  EXPECT_EQ(static_cast<const char*>(received.data()) + message.header.processor, std::string("row_power"));
  const std::uint64_t sequence = message.slot.sequence;
  const auto power = message.values<float>("row_power");
  ASSERT_EQ(power.size(), 8U);
  EXPECT_EQ(power[7], test::RowPowerFrame::value(sequence, 7));
  EXPECT_EQ(message.values<double>("loudest"), std::vector{500.0 + static_cast<double>(sequence)});
  EXPECT_EQ(message.values<std::uint64_t>("peaks")[0], sequence % 4);
  EXPECT_EQ(message.values<double>("peaks")[3], static_cast<double>(sequence)) << "the second column's first row";

  publisher->begin(result_header(header_), {.epoch = 3});
  publisher->free_unused();
  EXPECT_EQ(publisher->endpoint(1), "") << "the new epoch does not have it";
  EXPECT_THROW(publisher->write(frame.frame), std::logic_error);
  ASSERT_TRUE(exchange(*publisher, images));
}

TEST(EndpointOfProcessor, IsThePortBehindOrTheNameBehind) {
  EXPECT_EQ(endpoint_of_processor("tcp://127.0.0.1:7231", 0, "surface"), "tcp://127.0.0.1:7231");
  EXPECT_EQ(endpoint_of_processor("tcp://127.0.0.1:7231", 2, "row_power"), "tcp://127.0.0.1:7233");
  EXPECT_EQ(endpoint_of_processor("tcp://[::1]:7231", 1, "row_power"), "tcp://[::1]:7232");
  EXPECT_EQ(endpoint_of_processor("tcp://127.0.0.1:*", 1, "row_power"), "tcp://127.0.0.1:*");
  EXPECT_EQ(endpoint_of_processor("tcp://127.0.0.1:0", 1, "row_power"), "tcp://127.0.0.1:0");
  EXPECT_EQ(endpoint_of_processor("ipc:///run/nearfield/dash", 1, "row_power"), "ipc:///run/nearfield/dash.row_power");
  EXPECT_THROW(endpoint_of_processor("tcp://127.0.0.1:65535", 1, "row_power"), ConfigError);
}

TEST_F(Zmq, KeepsTheRateLimit) {
  DaemonSettings::Zmq settings = local();
  settings.max_rate_hz = 30.0;
  const auto publisher = output(settings);
  std::int64_t capture_ns = 1'000'000'000'000;
  for (std::uint64_t sequence = 0; sequence < 14650; ++sequence) {  // ten seconds at 1465 frames a second
    frame_.make(sequence);
    frame_.frame.capture_mono_ns = capture_ns;
    publisher->write(frame_.frame);
    capture_ns += 1'000'000'000 / 1465;
  }
  EXPECT_NEAR(static_cast<double>(publisher->sent()), 300.0, 1.0);  // the first and the last may fall either way
}

TEST_F(Zmq, LocalEndpoints) {
  for (const char* endpoint : {"tcp://127.0.0.1:5556", "tcp://[::1]:5556", "tcp://localhost:1", "ipc:///run/x"}) {
    EXPECT_TRUE(is_local_endpoint(endpoint)) << endpoint;
  }
  for (const char* endpoint :
       {"tcp://*:5556", "tcp://0.0.0.0:5556", "tcp://192.168.1.5:1", "tcp://eth0:1", "tcp://localhost.example.com:1",
        "tcp://[::]:5556", "udp://127.0.0.1:1", "ws://127.0.0.1:1"}) {
    EXPECT_FALSE(is_local_endpoint(endpoint)) << endpoint;
  }
}

TEST_F(Zmq, LeavesLoopbackOnlyWithAKey) {
  DaemonSettings::Zmq settings = local("tcp://0.0.0.0:*");
  EXPECT_THAT([&] { open(settings); }, ThrowsMessage<ConfigError>(HasSubstr("CURVE")));
  settings.curve_secret_file = write_key(Keys().secret, private_);
  EXPECT_THAT([&] { open(settings); }, ThrowsMessage<ConfigError>(HasSubstr("curve_clients")));
  settings.curve_clients = {Keys().open};
  EXPECT_NO_THROW(open(settings));
}

TEST_F(Zmq, RefusesBadKeysAndEndpoints) {
  DaemonSettings::Zmq settings = local();
  settings.curve_secret_file = folder_ / "none";
  settings.curve_clients = {Keys().open};
  EXPECT_THROW(open(settings), NoInputError);
  settings.curve_secret_file = write_key("too short", private_);
  EXPECT_THROW(open(settings), ConfigError);
  settings.curve_secret_file = write_key(Keys().secret, std::filesystem::perms(0644));
  EXPECT_THAT([&] { open(settings); }, ThrowsMessage<ConfigError>(HasSubstr("0644")));
  settings.curve_secret_file = write_key(Keys().secret, std::filesystem::perms(0640));
  EXPECT_NO_THROW(open(settings)) << "a group that this process is in";
  if (geteuid() == 0) {  // only root can give files away
    ASSERT_EQ(chown(settings.curve_secret_file.c_str(), 0, 54321), 0);
    EXPECT_THAT([&] { open(settings); }, ThrowsMessage<ConfigError>(HasSubstr("group 54321, mode 0640")));
    ASSERT_EQ(chown(settings.curve_secret_file.c_str(), 54321, 0), 0);
    EXPECT_THAT([&] { open(settings); }, ThrowsMessage<ConfigError>(HasSubstr("found user 54321")));
  }
  settings.curve_secret_file = write_key(Keys().secret, private_);
  settings.curve_clients = {Keys().open, "not a key"};
  EXPECT_THAT([&] { open(settings); }, ThrowsMessage<ConfigError>(HasSubstr("found \"not a key\"")));
  EXPECT_THROW(open(local("tcp://127.0.0.1:port")), ConfigError);
  EXPECT_THROW(open(local("ipc:///nowhere/at/all")), IoError);
  const auto taken = output();
  EXPECT_THROW(open(local(taken->endpoint())), IoError);
  settings = local();
  settings.max_rate_hz = -1.0;
  EXPECT_THROW(open(settings), ConfigError);
}

TEST_F(Zmq, CurveLetsInWhoIsListedAndKnowsTheServersKey) {
  const Keys server, client, other_client, stranger_client, wrong;
  DaemonSettings::Zmq settings = local();
  settings.curve_secret_file = write_key(server.secret, private_);
  settings.curve_clients = {other_client.open, client.open};
  const auto publisher = output(settings);
  const auto connect = [&](const Keys& own, const std::string& server_key) {
    zmq::socket_t socket(context_, zmq::socket_type::sub);
    socket.set(zmq::sockopt::subscribe, "");
    socket.set(zmq::sockopt::curve_serverkey, server_key);
    socket.set(zmq::sockopt::curve_publickey, own.open);
    socket.set(zmq::sockopt::curve_secretkey, own.secret);
    socket.connect(publisher->endpoint());
    return socket;
  };
  zmq::socket_t misled = connect(client, wrong.open);
  zmq::socket_t stranger = connect(stranger_client, server.open);
  zmq::socket_t plain = subscriber(publisher->endpoint());
  zmq::socket_t other = connect(other_client, server.open);
  zmq::socket_t known = connect(client, server.open);
  ASSERT_TRUE(exchange(*publisher, other));
  ASSERT_TRUE(exchange(*publisher, known));
  ASSERT_TRUE(exchange(*publisher, known, 100'000));  // by now a subscription of the others would have come too
  zmq::message_t message;
  EXPECT_FALSE(misled.recv(message, zmq::recv_flags::dontwait));
  EXPECT_FALSE(stranger.recv(message, zmq::recv_flags::dontwait));
  EXPECT_FALSE(plain.recv(message, zmq::recv_flags::dontwait));
}

}  // namespace
}  // namespace nearfield::ring
