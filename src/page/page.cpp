#include "page/page.hpp"

#include <fmt/format.h>
#include <prometheus/text_serializer.h>

#include <cmath>
#include <cstddef>
#include <nlohmann/json.hpp>
#include <numbers>
#include <optional>
#include <utility>

#include "core/colours.hpp"
#include "core/daemon_settings.hpp"
#include "core/error.hpp"
#include "core/system/clocks.hpp"
#include "page/assets.hpp"
#include "page/daemon_view.hpp"
#include "page/guard.hpp"
#include "page/session.hpp"

namespace nearfield::page {
namespace {

HttpResponse plain(unsigned status, std::string text) { return {.status = status, .body = std::move(text)}; }

HttpResponse file(std::string_view type, std::string_view etag, std::string_view bytes, const HttpRequest& request) {
  HttpResponse response;
  response.type = type;
  response.headers = {{"ETag", std::string(etag)}, {"Cache-Control", "no-cache"}};
  if (request.if_none_match == etag) {
    response.status = 304;
  } else {
    response.body = bytes;
  }
  return response;
}

/// Cookie name with the port as the browser sees it (for instance through a tunnel). Browsers share a host's cookies
/// among its ports; one name per port lets several daemons' pages be open at once.
std::string token_cookie(const HttpRequest& request) {
  const std::string port = host_port(request.host);
  return port.empty() ? "nearfield_token" : "nearfield_token_" + port;
}

std::vector<std::pair<std::string, std::string>> safe_headers() {
  return {{"Content-Security-Policy",
           "default-src 'self'; img-src 'self' blob: data:; style-src 'self' 'unsafe-inline'; base-uri 'none'; "
           "form-action 'none'; frame-ancestors 'none'"},
          {"X-Content-Type-Options", "nosniff"},
          {"Referrer-Policy", "no-referrer"},
          {"X-Frame-Options", "DENY"}};
}

}  // namespace

/// Implementation of the page. Its members are for the server's thread.
class Page::Core {
 public:
  Core(HttpServer& server, PageOptions options);

  [[nodiscard]] const std::string& url() const { return url_; }
  void stop_serving() { server_->stop(); }
  void set_token(std::string token) { options_.token = std::move(token); }

 private:
  [[nodiscard]] HttpResponse answer(const HttpRequest& request) const;
  [[nodiscard]] std::variant<HttpResponse, std::unique_ptr<StreamClient>> open_stream(const HttpRequest& request,
                                                                                      Wake wake);
  /// The refusal of a request that this client must not make, or nullopt.
  [[nodiscard]] std::optional<HttpResponse> refusal(const HttpRequest& request) const;
  [[nodiscard]] bool has_token(const HttpRequest& request) const;
  [[nodiscard]] HttpResponse give_cookie(const HttpRequest& request) const;

  HttpServer* server_;
  PageOptions options_;
  std::string url_;
  bool reading_needs_token_ = false;  ///< other machines can reach the address
  std::string colours_;
  DaemonView daemon_;
};

Page::Core::Core(HttpServer& server, PageOptions options)
    : server_(&server),
      options_(std::move(options)),
      colours_(colours_json().dump()),
      daemon_(server, {.version = options_.version,
                       .ring_socket = options_.ring_socket,
                       .control_socket = options_.control_socket,
                       .open_camera = options_.open_camera,
                       .tick_ns = std::llround(static_cast<double>(kNsPerSecond) / options_.pictures_hz)}) {
  const std::optional<HostPort> target = parse_host_port(options_.address);
  reading_needs_token_ = target && !is_loopback(target->host);
  if (reading_needs_token_ && options_.token.empty()) {
    throw ConfigError(
        fmt::format("{}: expected loopback, such as 127.0.0.1:7232, as long as there is no token; found {}",
                    options_.address_key, options_.address));
  }
  Site site;
  site.answer = [this](const HttpRequest& request) { return answer(request); };
  site.open_stream = [this](const HttpRequest& request, Wake wake) { return open_stream(request, std::move(wake)); };
  site.headers = safe_headers();
  site.keeps_alive = true;
  const int port = server_->listen(options_.address_key, options_.address, std::move(site));
  const std::string host = target ? target->host : "localhost";
  url_ = fmt::format("http://{}:{}/", host.find(':') == std::string::npos ? host : "[" + host + "]", port);
}

// --- HTTP ------------------------------------------------------------------------------------------------------------

std::optional<HttpResponse> Page::Core::refusal(const HttpRequest& request) const {
  if (!is_host_allowed(request.host, options_.allowed_hosts)) {
    return plain(421,
                 "expected localhost, 127.0.0.1, [::1] or a name of daemon.page.allowed_hosts as the host, found "
                 "another one\n");
  }
  return std::nullopt;
}

bool Page::Core::has_token(const HttpRequest& request) const {
  return is_token(cookie_of(request.cookies, token_cookie(request)), options_.token);
}

HttpResponse Page::Core::give_cookie(const HttpRequest& request) const {
  if (!is_token(query_value(request.query, "token"), options_.token)) {
    return plain(403, "expected the daemon's token, found another one; `nearfield ctl page` prints the right URL\n");
  }
  HttpResponse response = plain(303, "");
  response.headers = {
      {"Location", "/"},
      {"Set-Cookie", fmt::format("{}={}; HttpOnly; SameSite=Strict; Path=/", token_cookie(request), options_.token)},
      {"Cache-Control", "no-store"}};
  return response;
}

HttpResponse Page::Core::answer(const HttpRequest& request) const {
  if (std::optional<HttpResponse> refused = refusal(request)) {
    return *refused;
  }
  if (request.method != "GET" && request.method != "HEAD") {
    HttpResponse response = plain(405, "expected GET or HEAD, found another method\n");
    response.headers = {{"Allow", "GET, HEAD"}};
    return response;
  }
  if (request.path == "/" && request.query.find("token=") != std::string::npos) {
    return give_cookie(request);
  }
  if (reading_needs_token_ && !has_token(request)) {
    return plain(403,
                 "expected the daemon's token, as other machines reach this address; `nearfield ctl page` prints "
                 "the URL\n");
  }
  if (request.path == "/colours.json") {
    return file("application/json", "\"" + options_.version + "\"", colours_, request);
  }
  if (request.path == "/stream") {
    return plain(426, "expected a WebSocket, found a plain request\n");
  }
  const std::string path = request.path == "/" ? "/index.html" : request.path;
  for (const Asset& asset : embedded_assets()) {
    if (asset.path == path) {
      return file(asset.type, asset.etag, asset.bytes, request);
    }
  }
  return plain(404, "expected a file of the page, found another path\n");
}

std::variant<HttpResponse, std::unique_ptr<StreamClient>> Page::Core::open_stream(const HttpRequest& request,
                                                                                  Wake wake) {
  if (std::optional<HttpResponse> refused = refusal(request)) {
    return *refused;
  }
  if (request.path != "/stream") {
    return plain(404, "the WebSocket is at /stream\n");
  }
  if (request.origin && !is_origin_allowed(*request.origin, request.host, options_.allowed_origins)) {
    return plain(403, "expected a page of this server or of daemon.page.allowed_origins, found another origin\n");
  }
  if (reading_needs_token_ && !has_token(request)) {
    return plain(403, "expected the daemon's token, as other machines reach this address\n");
  }
  return std::make_unique<Session>(daemon_, std::move(wake), has_token(request));
}

Page::Page(HttpServer& server, PageOptions options) : core_(std::make_unique<Core>(server, std::move(options))) {}

Page::~Page() { core_->stop_serving(); }

void Page::set_token(std::string token) { core_->set_token(std::move(token)); }

const std::string& Page::url() const { return core_->url(); }

namespace {

using nlohmann::json;

constexpr std::size_t kColours = 256;

/// The colours from `first` to `last`, inclusive.
json colours_between(double first, double last, Rgb8 (*colour)(double)) {
  json colours = json::array();
  for (std::size_t i = 0; i < kColours; ++i) {
    const Rgb8 rgb = colour(std::lerp(first, last, static_cast<double>(i) / static_cast<double>(kColours - 1)));
    colours.push_back({rgb.red, rgb.green, rgb.blue});
  }
  return colours;
}

}  // namespace

json colours_json() {
  return {{"magnitude", colours_between(0.0, 1.0, magnitude_colour)},
          {"phase", colours_between(-std::numbers::pi, std::numbers::pi, phase_colour)},
          {"signed", colours_between(-1.0, 1.0, signed_colour)}};
}

Site metrics_site(std::shared_ptr<const control::Metrics> metrics, std::vector<std::string> allowed_hosts) {
  Site site;
  site.headers = {{"Content-Security-Policy", "default-src 'none'; frame-ancestors 'none'"},
                  {"X-Content-Type-Options", "nosniff"}};
  site.answer = [metrics = std::move(metrics),
                 allowed = std::move(allowed_hosts)](const HttpRequest& request) -> HttpResponse {
    if (!is_host_allowed(request.host, allowed) && !is_host_number(request.host)) {
      return {.status = 421,
              .body =
                  "expected localhost, an address in numbers or a name of daemon.page.allowed_hosts as the "
                  "host, found another one\n"};
    }
    if (request.method != "GET" && request.method != "HEAD") {
      return {.status = 405, .body = "GET and HEAD are answered, no other method\n"};
    }
    if (request.path != "/metrics") {
      return {.status = 404, .body = "metrics are at /metrics\n"};
    }
    return {.type = "text/plain; version=0.0.4; charset=utf-8",
            .body = prometheus::TextSerializer().Serialize(metrics->Collect())};
  };
  return site;
}

}  // namespace nearfield::page
