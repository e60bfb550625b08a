// The one file that includes Boost.Beast. Its own header stands first and brings <utility>, which asio of Boost 1.74
// lacks with GCC 12 in C++20.
#include "page/http_server.hpp"

#include <fmt/format.h>
#include <pthread.h>
#include <spdlog/spdlog.h>
#include <sys/socket.h>

#include <algorithm>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/beast/core.hpp>
#include <boost/beast/http.hpp>
#include <boost/beast/websocket.hpp>
#include <cerrno>
#include <chrono>
#include <exception>
#include <future>
#include <list>
#include <string_view>
#include <thread>
#include <utility>

#include "control/service/worker.hpp"
#include "core/daemon_settings.hpp"
#include "core/error.hpp"
#include "core/system/files.hpp"
#include "core/system/network.hpp"
#include "core/system/threads.hpp"

namespace nearfield::page {
namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = beast::http;
namespace websocket = beast::websocket;
using asio::ip::tcp;

constexpr std::chrono::nanoseconds kTimeout{HttpServer::kTimeoutNs};
/// Longest time to read a connection whose client still sends after the last answer, so that the client can read that.
constexpr std::chrono::seconds kLinger{1};
constexpr std::chrono::milliseconds kAcceptAgain{100};
/// Timeout of a silent WebSocket client: pinged after half of it, disconnected after all of it.
constexpr std::chrono::seconds kStreamIdle{30};
constexpr std::size_t kMostLingeringBytes = 65536;

[[noreturn]] void refuse_address(const std::string& key, const std::string& address, const std::string& reason) {
  throw IoError(fmt::format("{}: expected an address to listen at, found {}: {}{}", key, address, reason,
                            key == "--address" ? "; a nearfieldd that runs serves its page itself, and `nearfield ctl "
                                                 "page` prints the address"
                                               : ""));
}

/// Listens at the first address of the host that this machine has: localhost may be ::1 where IPv6 is off, then
/// 127.0.0.1. One that another program has is refused, as clients would reach that.
tcp::acceptor listening_acceptor(asio::io_context& io, const std::string& key, const std::string& address) {
  const std::optional<HostPort> target = parse_host_port(address);
  if (!target) {
    refuse_address(key, address, "HOST:PORT is expected");
  }
  beast::error_code error;
  const auto found = tcp::resolver(io).resolve(target->host, std::to_string(target->port),
                                               tcp::resolver::passive | tcp::resolver::numeric_service, error);
  for (const auto& entry : found) {
    const tcp::endpoint endpoint = entry.endpoint();
    FileDescriptor listener(socket(endpoint.protocol().family(), SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    const int yes = 1;
    if (listener.get() >= 0 && setsockopt(listener.get(), SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes) == 0 &&
        bind(listener.get(), endpoint.data(), static_cast<socklen_t>(endpoint.size())) == 0 &&
        ::listen(listener.get(), SOMAXCONN) == 0) {
      tcp::acceptor acceptor(io);
      acceptor.assign(endpoint.protocol(), listener.release());
      return acceptor;
    }
    error.assign(errno, boost::system::system_category());
    if (!is_address_elsewhere(errno)) {
      break;
    }
  }
  refuse_address(key, address, error.message());
}

std::string text_of(beast::string_view text) { return {text.data(), text.size()}; }

using Header = http::request<http::empty_body>;

/// True if a field that decides about admission occurs several times and could be read in two ways.
bool is_ambiguous(const Header& header) {
  return header.count(http::field::host) > 1 || header.count(http::field::origin) > 1 ||
         header.count(http::field::cookie) > 1;
}

HttpRequest request_of(const Header& header) {
  HttpRequest request;
  request.method = text_of(header.method_string());
  const std::string target = text_of(header.target());
  const std::size_t mark = target.find('?');
  request.path = target.substr(0, mark);
  request.query = mark == std::string::npos ? "" : target.substr(mark + 1);
  request.host = text_of(header[http::field::host]);
  if (header.find(http::field::origin) != header.end()) {
    request.origin = text_of(header[http::field::origin]);
  }
  request.cookies = text_of(header[http::field::cookie]);
  request.if_none_match = text_of(header[http::field::if_none_match]);
  request.wants_stream = websocket::is_upgrade(header);
  return request;
}

HttpResponse refusal_of(const beast::error_code& error) {
  if (error == http::error::header_limit || error == http::error::buffer_overflow) {
    return {.status = 431,
            .body = fmt::format("expected a request whose header has at most {} bytes, found more\n",
                                HttpServer::kMostHeaderBytes)};
  }
  return {.status = 400,
          .body = fmt::format("expected a request of HTTP/1.1, found something else: {}\n", error.message())};
}

template <typename Response>
void add_headers(Response& response, const std::vector<std::pair<std::string, std::string>>& headers) {
  for (const auto& [name, value] : headers) {
    response.set(name, value);
  }
}

/// A WebSocket after its handshake has begun.
class StreamConnection : public std::enable_shared_from_this<StreamConnection> {
 public:
  StreamConnection(beast::tcp_stream stream, std::vector<std::pair<std::string, std::string>> headers)
      : stream_(std::move(stream)), headers_(std::move(headers)) {}

  void begin(const Header& request, std::unique_ptr<StreamClient> client);
  void wake() { send_next(); }
  /// Closes without a WebSocket close frame: the server stops.
  void end();
  [[nodiscard]] bool is_open() const { return client_ != nullptr; }
  [[nodiscard]] bool has_precedence() const { return client_ && client_->has_precedence(); }

 private:
  void opened(const beast::error_code& error);
  void read_next();
  void received(const beast::error_code& error);
  void send_next();
  void sent(const beast::error_code& error);
  /// Ends later, since a call of the client must not destroy it.
  void end_later();
  template <typename Call>
  void guard(Call&& call);

  websocket::stream<beast::tcp_stream> stream_;
  std::vector<std::pair<std::string, std::string>> headers_;
  std::unique_ptr<StreamClient> client_;  ///< null after the end
  beast::flat_buffer input_;
  StreamMessage output_;
  bool is_accepted_ = false;
  bool is_reading_ = false;
  bool is_writing_ = false;
};

void StreamConnection::begin(const Header& request, std::unique_ptr<StreamClient> client) {
  client_ = std::move(client);
  beast::get_lowest_layer(stream_).expires_never();  // the WebSocket has its own timeouts
  stream_.set_option(websocket::stream_base::timeout{kTimeout, kStreamIdle, true});
  stream_.set_option(websocket::stream_base::decorator(
      [this](websocket::response_type& response) { add_headers(response, headers_); }));
  stream_.read_message_max(HttpServer::kMostMessageBytes);
  beast::error_code ignored;  // without either option pictures are somewhat older
  tcp::socket& socket = beast::get_lowest_layer(stream_).socket();
  socket.set_option(asio::socket_base::send_buffer_size(HttpServer::kStreamBufferBytes), ignored);
  socket.set_option(tcp::no_delay(true), ignored);
  stream_.async_accept(request, [self = shared_from_this()](const beast::error_code& error) { self->opened(error); });
}

void StreamConnection::end() {
  client_.reset();
  beast::get_lowest_layer(stream_).close();
}

void StreamConnection::end_later() {
  asio::post(stream_.get_executor(), [self = shared_from_this()] { self->end(); });
}

template <typename Call>
void StreamConnection::guard(Call&& call) {
  try {
    call();
  } catch (const std::exception& error) {
    spdlog::error("page: {}; this client is disconnected", error.what());
    end_later();
  }
}

void StreamConnection::opened(const beast::error_code& error) {
  if (error || !is_open()) {
    end();
    return;
  }
  is_accepted_ = true;
  send_next();
  read_next();
}

void StreamConnection::read_next() {
  if (!is_accepted_ || is_reading_ || !is_open() || !client_->is_ready_to_receive()) {
    return;
  }
  is_reading_ = true;
  stream_.async_read(input_, [self = shared_from_this()](const beast::error_code& error, std::size_t /*bytes*/) {
    self->received(error);
  });
}

void StreamConnection::received(const beast::error_code& error) {
  is_reading_ = false;
  if (error || !is_open()) {
    end();
    return;
  }
  guard([this] {
    const std::string text = stream_.got_text() ? beast::buffers_to_string(input_.data()) : std::string();
    input_.consume(input_.size());
    client_->receive(text);
  });
  send_next();
  read_next();
}

void StreamConnection::send_next() {
  if (!is_accepted_ || is_writing_ || !is_open()) {
    return;
  }
  guard([this] {
    std::optional<StreamMessage> message = client_->next();
    if (!message) {
      return;
    }
    output_ = std::move(*message);
    is_writing_ = true;
    stream_.binary(output_.is_binary);
    stream_.async_write(
        asio::buffer(output_.bytes),
        [self = shared_from_this()](const beast::error_code& error, std::size_t /*bytes*/) { self->sent(error); });
  });
}

void StreamConnection::sent(const beast::error_code& error) {
  is_writing_ = false;
  if (error || !is_open()) {
    end();
    return;
  }
  send_next();
  read_next();
}

class RequestConnection;

/// A listening socket and its connections. For the server's thread only.
class Listener : public std::enable_shared_from_this<Listener> {
 public:
  Listener(asio::io_context& io, tcp::acceptor acceptor, Site site)
      : acceptor_(std::move(acceptor)), again_(io), site_(std::move(site)) {}

  void accept_next();
  /// Closes without further messages: the server stops.
  void end();
  [[nodiscard]] const Site& site() const { return site_; }
  [[nodiscard]] int port() const { return acceptor_.local_endpoint().port(); }
  /// False if kMostStreams are connected, and none can be replaced by a client with or without precedence.
  [[nodiscard]] bool make_room_for_stream(bool has_precedence);
  void add(const std::shared_ptr<StreamConnection>& stream) { streams_.push_back(stream); }

 private:
  void accepted(const beast::error_code& error, tcp::socket socket);
  void make_room(std::size_t most);

  tcp::acceptor acceptor_;
  asio::steady_timer again_;
  Site site_;
  std::list<std::weak_ptr<RequestConnection>> requests_;  ///< oldest first
  std::list<std::weak_ptr<StreamConnection>> streams_;    ///< oldest first
};

/// A connection that sends requests, until it ends or becomes a WebSocket.
class RequestConnection : public std::enable_shared_from_this<RequestConnection> {
 public:
  RequestConnection(tcp::socket socket, std::shared_ptr<Listener> listener)
      : stream_(std::move(socket)), listener_(std::move(listener)) {}

  void read_next();
  void end() { stream_.close(); }

 private:
  void received(const beast::error_code& error);
  [[nodiscard]] HttpResponse answer_to(const HttpRequest& request) const;
  /// False if the connection has become a WebSocket.
  bool open_stream(const HttpRequest& request, HttpResponse& refusal);
  void send(HttpResponse response, bool has_no_body, bool keeps_alive);
  void sent(const beast::error_code& error, bool keeps_alive);
  void linger();

  beast::tcp_stream stream_;
  std::shared_ptr<Listener> listener_;
  beast::flat_buffer input_{2 * HttpServer::kMostHeaderBytes};
  std::optional<http::request_parser<http::empty_body>> parser_;
  http::response<http::string_body> output_;
  std::size_t lingered_bytes_ = 0;
};

void RequestConnection::read_next() {
  parser_.emplace();
  parser_->header_limit(HttpServer::kMostHeaderBytes);
  stream_.expires_after(kTimeout);  // for the request and its answer together
  http::async_read_header(
      stream_, input_, *parser_,
      [self = shared_from_this()](const beast::error_code& error, std::size_t /*bytes*/) { self->received(error); });
}

void RequestConnection::received(const beast::error_code& error) {
  const bool is_other_language = error && error.category() == make_error_code(http::error::bad_method).category();
  if (error == http::error::end_of_stream || (error && !is_other_language)) {
    return;  // the client has disconnected or timed out
  }
  if (error) {
    send(refusal_of(error), false, false);
    return;
  }
  const Header& header = parser_->get();
  const bool is_whole = parser_->is_done();
  const bool is_head = header.method() == http::verb::head;
  const bool keeps_alive = listener_->site().keeps_alive && header.keep_alive() && is_whole;
  if (is_ambiguous(header)) {
    send({.status = 400, .body = "expected one Host, one Origin and one Cookie, found more\n"}, is_head, false);
    return;
  }
  const HttpRequest request = request_of(header);
  HttpResponse response;
  if (request.wants_stream && listener_->site().open_stream) {
    if (!open_stream(request, response)) {
      return;
    }
  } else {
    response = answer_to(request);
  }
  send(std::move(response), is_head, keeps_alive);
}

HttpResponse RequestConnection::answer_to(const HttpRequest& request) const {
  try {
    return listener_->site().answer(request);
  } catch (const std::exception& error) {
    return {.status = 500, .body = fmt::format("{}\n", error.what())};
  }
}

bool RequestConnection::open_stream(const HttpRequest& request, HttpResponse& refusal) {
  // Makes the connection first: its client holds the function that wakes it.
  auto connection = std::make_shared<std::weak_ptr<StreamConnection>>();
  const Wake wake = [connection] {
    if (const std::shared_ptr<StreamConnection> stream = connection->lock()) {
      stream->wake();
    }
  };
  try {
    auto opened = listener_->site().open_stream(request, wake);
    if (HttpResponse* const refused = std::get_if<HttpResponse>(&opened)) {
      refusal = std::move(*refused);
      return true;
    }
    auto client = std::get<std::unique_ptr<StreamClient>>(std::move(opened));
    if (!listener_->make_room_for_stream(client->has_precedence())) {
      refusal = {.status = 503,
                 .body = fmt::format("expected fewer than {} clients, found so many\n", HttpServer::kMostStreams)};
      return true;
    }
    auto stream = std::make_shared<StreamConnection>(std::move(stream_), listener_->site().headers);
    *connection = stream;
    listener_->add(stream);
    stream->begin(parser_->get(), std::move(client));
    return false;
  } catch (const std::exception& error) {
    refusal = {.status = 500, .body = fmt::format("{}\n", error.what())};
    return true;
  }
}

void RequestConnection::send(HttpResponse response, bool has_no_body, bool keeps_alive) {
  output_ = {};
  output_.version(11);
  output_.result(response.status);
  output_.keep_alive(keeps_alive);
  output_.set(http::field::content_type, response.type);
  add_headers(output_, listener_->site().headers);
  add_headers(output_, response.headers);
  const bool is_unchanged = response.status == static_cast<unsigned>(http::status::not_modified);
  output_.content_length(response.body.size());
  if (!has_no_body && !is_unchanged) {
    output_.body() = std::move(response.body);
  }
  http::async_write(stream_, output_,
                    [self = shared_from_this(), keeps_alive](const beast::error_code& error, std::size_t /*bytes*/) {
                      self->sent(error, keeps_alive);
                    });
}

void RequestConnection::sent(const beast::error_code& error, bool keeps_alive) {
  if (error) {
    return;
  }
  if (keeps_alive) {
    read_next();
    return;
  }
  beast::error_code ignored;
  stream_.socket().shutdown(tcp::socket::shutdown_send, ignored);
  stream_.expires_after(kLinger);
  linger();
}

/// Reads what the client still sends: closing a socket with unread bytes would discard the answer.
void RequestConnection::linger() {
  input_.clear();
  stream_.async_read_some(input_.prepare(HttpServer::kMostHeaderBytes),
                          [self = shared_from_this()](const beast::error_code& error, std::size_t bytes) {
                            self->lingered_bytes_ += bytes;
                            if (!error && self->lingered_bytes_ < kMostLingeringBytes) {
                              self->linger();
                            }
                          });
}

void Listener::accept_next() {
  acceptor_.async_accept([self = shared_from_this()](const beast::error_code& error, tcp::socket socket) {
    self->accepted(error, std::move(socket));
  });
}

void Listener::accepted(const beast::error_code& error, tcp::socket socket) {
  if (error == asio::error::operation_aborted) {
    return;
  }
  if (error) {  // such as no free descriptor: the oldest client releases its own
    if (error == asio::error::no_descriptors && !requests_.empty()) {
      make_room(requests_.size() - 1);
    }
    again_.expires_after(kAcceptAgain);
    again_.async_wait([self = shared_from_this()](const beast::error_code& aborted) {
      if (!aborted) {
        self->accept_next();
      }
    });
    return;
  }
  make_room(HttpServer::kMostRequests - 1);
  const auto connection = std::make_shared<RequestConnection>(std::move(socket), shared_from_this());
  requests_.push_back(connection);
  connection->read_next();
  accept_next();
}

void Listener::make_room(std::size_t most) {
  requests_.remove_if([](const std::weak_ptr<RequestConnection>& request) { return request.expired(); });
  while (requests_.size() > most) {
    if (const std::shared_ptr<RequestConnection> oldest = requests_.front().lock()) {
      oldest->end();
    }
    requests_.pop_front();
  }
}

bool Listener::make_room_for_stream(bool has_precedence) {
  streams_.remove_if([](const std::weak_ptr<StreamConnection>& weak) {
    const std::shared_ptr<StreamConnection> stream = weak.lock();
    return !stream || !stream->is_open();
  });
  if (streams_.size() < HttpServer::kMostStreams) {
    return true;
  }
  const auto oldest = std::find_if(streams_.begin(), streams_.end(), [](const std::weak_ptr<StreamConnection>& weak) {
    const std::shared_ptr<StreamConnection> stream = weak.lock();
    return stream && !stream->has_precedence();
  });
  if (!has_precedence || oldest == streams_.end()) {
    return false;
  }
  if (const std::shared_ptr<StreamConnection> stream = oldest->lock()) {
    stream->end();
  }
  streams_.erase(oldest);
  return true;
}

void Listener::end() {
  beast::error_code ignored;
  acceptor_.close(ignored);
  again_.cancel();
  make_room(0);
  for (const std::weak_ptr<StreamConnection>& weak : streams_) {
    if (const std::shared_ptr<StreamConnection> stream = weak.lock()) {
      stream->end();
    }
  }
}

}  // namespace

struct HttpServer::Parts {
  std::string thread_name;
  asio::io_context io{1};
  std::vector<std::shared_ptr<Listener>> listeners;
  std::promise<void> ended;
  std::future<void> end = ended.get_future();
  std::thread thread;

  void run() {
    give_signal_stack();
    control::leave_realtime();
    pthread_setname_np(pthread_self(), thread_name.c_str());
    const auto work = asio::make_work_guard(io);
    while (!io.stopped()) {
      try {
        io.run();
      } catch (const std::exception& error) {
        spdlog::error("{}: {}", thread_name, error.what());
      }
    }
    ended.set_value();
  }
};

HttpServer::HttpServer(std::string thread_name) : parts_(std::make_unique<Parts>()) {
  parts_->thread_name = std::move(thread_name);
}

HttpServer::~HttpServer() { stop(); }

int HttpServer::listen(const std::string& key, const std::string& address, Site site) {
  parts_->listeners.push_back(
      std::make_shared<Listener>(parts_->io, listening_acceptor(parts_->io, key, address), std::move(site)));
  return parts_->listeners.back()->port();
}

void HttpServer::start() {
  for (const std::shared_ptr<Listener>& listener : parts_->listeners) {
    listener->accept_next();
  }
  parts_->thread = std::thread([parts = parts_.get()] { parts->run(); });
}

void HttpServer::stop() {
  parts_->io.stop();
  if (parts_->thread.joinable()) {
    parts_->thread.join();
  }
  for (const std::shared_ptr<Listener>& listener : parts_->listeners) {
    listener->end();
  }
  parts_->listeners.clear();
}

bool HttpServer::ends_within(std::int64_t timeout_ns) {
  parts_->io.stop();
  return !parts_->thread.joinable() ||
         parts_->end.wait_for(std::chrono::nanoseconds(timeout_ns)) == std::future_status::ready;
}

void HttpServer::post(std::function<void()> task) { asio::post(parts_->io, std::move(task)); }

void HttpServer::run_after(std::int64_t delay_ns, std::function<void()> task) {
  auto timer = std::make_shared<asio::steady_timer>(parts_->io, std::chrono::nanoseconds(delay_ns));
  timer->async_wait([timer, task = std::move(task)](const beast::error_code& error) {
    if (!error) {
      task();
    }
  });
}

}  // namespace nearfield::page
