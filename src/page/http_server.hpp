#pragma once
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace nearfield::page {

/// Head of a request. Texts are unchanged from the client.
struct HttpRequest {
  std::string method;
  std::string path;                   ///< path of the target, up to the question mark
  std::string query;                  ///< parameters of the target, behind the question mark
  std::string host;                   ///< empty if absent
  std::optional<std::string> origin;  ///< browsers send it with each WebSocket, other programs may omit it
  std::string cookies;
  std::string if_none_match;
  bool wants_stream = false;  ///< asks for a WebSocket
};

struct HttpResponse {
  unsigned status = 200;
  std::string type = "text/plain; charset=utf-8";
  std::string body;
  std::vector<std::pair<std::string, std::string>> headers = {};
};

struct StreamMessage {
  bool is_binary = false;
  std::string bytes;
};

/// One client of a WebSocket, called only on the server's thread and destroyed there when the connection ends.
class StreamClient {
 public:
  virtual ~StreamClient() = default;
  /// Receives a whole text message.
  virtual void receive(const std::string& text) = 0;
  /// The next message to send, requested whenever nothing is being sent; nullopt: none at present.
  virtual std::optional<StreamMessage> next() = 0;
  /// False while the client must not be read further, because answers to it are pending.
  [[nodiscard]] virtual bool is_ready_to_receive() const = 0;
  /// True if it may replace the oldest client without precedence, once kMostStreams are connected.
  [[nodiscard]] virtual bool has_precedence() const { return false; }
};

/// Makes the server call StreamClient::next(), on the server's thread. Does nothing once the connection has ended.
using Wake = std::function<void()>;

/// Handlers of one listening address. They run on the server's thread and must not wait.
struct Site {
  std::function<HttpResponse(const HttpRequest&)> answer;
  /// Handles requests for a WebSocket: returns a refusal, or the client of the new connection. Empty: no WebSockets.
  std::function<std::variant<HttpResponse, std::unique_ptr<StreamClient>>(const HttpRequest&, Wake)> open_stream = {};
  std::vector<std::pair<std::string, std::string>> headers = {};  ///< added to every answer
  bool keeps_alive = false;                                       ///< connections serve several requests
};

/// Serves HTTP/1.1 (GET, HEAD) and WebSockets at one or more addresses, on one thread at ordinary priority. Sockets
/// never block, so a client that is slow or idle delays no other: a request and its answer have a timeout of
/// kTimeoutNs, after which the connection is closed, and when kMostRequests of an address are connected and another
/// arrives, the oldest is closed. A WebSocket client with precedence replaces another likewise. A WebSocket sends one
/// message at a time; one whose client neither reads nor answers pings is closed.
class HttpServer {
 public:
  static constexpr std::size_t kMostRequests = 64;
  static constexpr std::size_t kMostStreams = 64;
  static constexpr std::size_t kMostHeaderBytes = 8192;
  static constexpr std::size_t kMostMessageBytes = 65536;
  static constexpr int kStreamBufferBytes = 65536;  ///< SO_SNDBUF: limits the old pictures that the kernel holds
  static constexpr std::int64_t kTimeoutNs = 10'000'000'000;

  explicit HttpServer(std::string thread_name);
  /// Stops.
  ~HttpServer();
  HttpServer(const HttpServer&) = delete;
  HttpServer& operator=(const HttpServer&) = delete;

  /// Listens at HOST:PORT, the first address of the host that this machine has, port 0 for a free one, and returns the
  /// port; before start(). `key` names the address in messages. Throws IoError if it is not free.
  int listen(const std::string& key, const std::string& address, Site site);
  void start();
  /// Ends the thread and all connections; no handler runs afterwards. Waits for a running handler.
  void stop();
  /// Performs the first part of stop(): no further handler begins. False if the thread has not ended within
  /// `timeout_ns`, because a handler hangs: then neither stop() nor the destructor may be called.
  bool ends_within(std::int64_t timeout_ns);

  /// Runs a function on the server's thread. Any thread; after stop() it does not run.
  void post(std::function<void()> task);
  /// Like post(), after a delay.
  void run_after(std::int64_t delay_ns, std::function<void()> task);

 private:
  struct Parts;
  std::unique_ptr<Parts> parts_;
};

}  // namespace nearfield::page
