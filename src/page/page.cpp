#include "page/page.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <exception>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <random>
#include <system_error>
#include <utility>

#include "core/daemon_settings.hpp"
#include "core/error.hpp"
#include "core/system/clocks.hpp"
#include "page/assets.hpp"
#include "page/daemon_view.hpp"
#include "page/guard.hpp"
#include "page/player.hpp"
#include "page/session.hpp"

namespace nearfield::page {
namespace {

using nlohmann::json;

constexpr std::int64_t kLookAfterNs = kNsPerSecond / 2;
constexpr std::int64_t kEndedKeptNs = 600 * kNsPerSecond;  ///< time for which a player's last text is listed
constexpr std::size_t kMostListedPlayers = 16;

std::string dumped(const json& value) { return value.dump(-1, ' ', false, json::error_handler_t::replace); }

/// Reason not to pass on a request to a player's control socket: it may report and change its processing, nothing else.
std::optional<std::string> refusal_of_player(const json& request) {
  const json command = request.is_object() ? request.value("command", json()) : json();
  if (command == "status" || command == "config" || command == "events") {
    return std::nullopt;
  }
  if (command != "set") {
    return "command: expected status, config, events or set, as a recording is played, found another one";
  }
  const json settings = request.value("settings", json());
  if (!settings.is_array() ||
      !std::all_of(settings.begin(), settings.end(), [](const json& one) { return one.is_string(); })) {
    return "settings: expected a list of texts KEY=VALUE";
  }
  try {
    require_player_settings(settings.get<std::vector<std::string>>());
  } catch (const UsageError& error) {
    return error.what();
  }
  return std::nullopt;
}

/// List in the daemon's reply to "recordings". Throws DataError if the reply violates the protocol.
json recordings_of(const json& reply) {
  const auto has_text = [](const json& one, const char* key) {
    const auto found = one.find(key);
    return found != one.end() && found->is_string();
  };
  const json result = reply.value("result", json());
  json recordings = result.is_object() ? result.value("recordings", json()) : json();
  const bool is_list = recordings.is_array() && std::all_of(recordings.begin(), recordings.end(), [&](const json& one) {
                         return one.is_object() && has_text(one, "name") && has_text(one, "path") &&
                                (!one.contains("state") || has_text(one, "state"));
                       });
  if (!is_list) {
    throw DataError(
        "recordings: expected a list of recordings from the daemon, each with name and path, found something else");
  }
  return recordings;
}

/// Random first number, as a browser's window may outlive this program: its recording's number is unlikely to recur
/// after a restart. JavaScript represents the number exactly.
std::uint64_t first_player_number() {
  constexpr std::uint64_t kLargest = 1'000'000'000;
  std::random_device random;
  return std::uniform_int_distribution<std::uint64_t>(1, kLargest)(random);
}

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
  void stop_serving();
  void set_token(std::string token) { options_.token = std::move(token); }

 private:
  /// A recording that a client has opened.
  struct Opened {
    std::unique_ptr<Player> player;
    std::unique_ptr<DaemonView> view;
    std::int64_t watched_ns = 0;  ///< last time a client was connected to it, or to the daemon while it prepared
    std::int64_t ended_ns = 0;    ///< 0: it has not ended
    bool is_closed = false;       ///< a client has closed it
    bool has_rings = false;       ///< its daemon has made the socket of its rings
  };

  [[nodiscard]] HttpResponse answer(const HttpRequest& request) const;
  [[nodiscard]] std::variant<HttpResponse, std::unique_ptr<StreamClient>> open_stream(const HttpRequest& request,
                                                                                      Wake wake);
  /// The refusal of a request that this client must not make, or nullopt.
  [[nodiscard]] std::optional<HttpResponse> refusal(const HttpRequest& request) const;
  [[nodiscard]] bool has_token(const HttpRequest& request) const;
  [[nodiscard]] HttpResponse give_cookie(const HttpRequest& request) const;

  [[nodiscard]] DaemonView::Options view_options() const;
  [[nodiscard]] std::unique_ptr<DaemonView> view_of_daemon();
  [[nodiscard]] std::unique_ptr<DaemonView> view_of_player(std::uint64_t number);
  void change_players(std::uint64_t client, json id, const json& message);
  void open_player(std::uint64_t client, json id, const PlayerRequest& request);
  json play(const PlayerRequest& request, const json& recordings);
  [[nodiscard]] std::map<std::uint64_t, Opened>::const_iterator oldest_ended() const;
  json close_player(const json& message);
  void require_room() const;
  void look_after_players();
  void look_after(Opened& opened, std::int64_t now_ns) const;
  [[nodiscard]] json player_json(std::uint64_t number, const Opened& opened) const;

  HttpServer* server_;
  PageOptions options_;
  std::string url_;
  bool reading_needs_token_ = false;  ///< other machines can reach the address
  std::int64_t tick_ns_ = 0;
  std::string colours_;
  bool is_looking_after_ = false;  ///< checks twice a second, while there are players
  std::uint64_t next_player_ = first_player_number();
  std::map<std::uint64_t, Opened> players_;
  std::unique_ptr<DaemonView> daemon_;
};

Page::Core::Core(HttpServer& server, PageOptions options)
    : server_(&server),
      options_(std::move(options)),
      tick_ns_(std::llround(static_cast<double>(kNsPerSecond) / options_.pictures_hz)),
      colours_(dumped(colours_json())),
      daemon_(view_of_daemon()) {
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
  const std::string player = query_value(request.query, "player");
  if (player.empty()) {
    return std::make_unique<Session>(*daemon_, std::move(wake), has_token(request));
  }
  const auto found = std::find_if(players_.begin(), players_.end(),
                                  [&](const auto& entry) { return std::to_string(entry.first) == player; });
  if (found == players_.end()) {
    return plain(404, "expected the number of a recording that is open, found another one\n");
  }
  return std::make_unique<Session>(*found->second.view, std::move(wake), has_token(request));
}

// --- daemons ---------------------------------------------------------------------------------------------------------

DaemonView::Options Page::Core::view_options() const {
  return {.version = options_.version,
          .ring_socket = "",
          .control_socket = "",
          .tick_ns = tick_ns_,
          .no_ring = "the daemon has no rings (daemon.publish.ring.socket: off)"};
}

std::unique_ptr<DaemonView> Page::Core::view_of_daemon() {
  DaemonView::Options options = view_options();
  options.ring_socket = options_.ring_socket;
  options.control_socket = options_.control_socket;
  DaemonView::Hooks hooks;
  hooks.add_to_hello = [this](json& hello) {
    hello["player"] = nullptr;
    hello["most_players"] = options_.most_players;
  };
  hooks.add_to_state = [this](json& state) {
    state["players"] = json::array();
    for (const auto& [number, opened] : players_) {
      state["players"].push_back(player_json(number, opened));
    }
  };
  hooks.refuse_request = [](const json&) { return std::nullopt; };
  hooks.change_players = [this](std::uint64_t client, json id, const json& message) {
    change_players(client, std::move(id), message);
  };
  return std::make_unique<DaemonView>(*server_, std::move(options), std::move(hooks));
}

std::unique_ptr<DaemonView> Page::Core::view_of_player(std::uint64_t number) {
  DaemonView::Options options = view_options();
  options.no_ring = "the recording is not played yet, or no longer";
  DaemonView::Hooks hooks;
  hooks.add_to_hello = [this, number](json& hello) {
    const Opened& opened = players_.at(number);
    hello["player"] = {{"number", number}, {"recording", opened.player->request().recording}};
    hello["most_players"] = 0;
  };
  hooks.add_to_state = [this, number](json& state) { state["player"] = player_json(number, players_.at(number)); };
  hooks.refuse_request = refusal_of_player;
  hooks.change_players = [](std::uint64_t, const json&, const json&) {
    throw UsageError("op: expected one of a player's page, found open or close, which belong to the daemon's own page");
  };
  return std::make_unique<DaemonView>(*server_, std::move(options), std::move(hooks));
}

// --- recordings that are played --------------------------------------------------------------------------------------

json Page::Core::player_json(std::uint64_t number, const Opened& opened) const {
  const Player::State state = opened.player->state();
  return {{"number", number},
          {"recording", opened.player->request().recording},
          {"settings", opened.player->request().settings},
          {"state", name_of(state.phase)},
          {"text", state.text},
          {"clients", opened.view->clients()}};
}

void Page::Core::require_room() const {
  const auto running = static_cast<int>(std::count_if(players_.begin(), players_.end(), [](const auto& entry) {
    return entry.second.player->state().phase != Player::Phase::kEnded;
  }));
  if (options_.most_players == 0) {
    throw UsageError("this page opens no recordings (--players 0)");
  }
  if (running >= options_.most_players) {
    throw UsageError(
        fmt::format("expected at most {} recordings that are played at once, found one more; close one first",
                    options_.most_players));
  }
  if (players_.size() >= kMostListedPlayers && oldest_ended() == players_.end()) {
    throw UsageError(fmt::format(
        "expected at most {} recordings in the list, found as many, which are played or which browsers look at; close "
        "the windows of some that have ended",
        players_.size()));
  }
}

/// The first opened of the recordings that have ended and have no clients; the end iterator if there is none.
std::map<std::uint64_t, Page::Core::Opened>::const_iterator Page::Core::oldest_ended() const {
  return std::find_if(players_.begin(), players_.end(), [](const auto& entry) {
    const Opened& opened = entry.second;
    return opened.player->state().phase == Player::Phase::kEnded && opened.view->clients() == 0;
  });
}

void Page::Core::change_players(std::uint64_t client, json id, const json& message) {
  if (message.at("op") == "close") {
    const json reply = {{"ok", true}, {"result", close_player(message)}};
    server_->post([this, client, id = std::move(id), reply] { daemon_->answer(client, id, reply); });
    return;
  }
  const PlayerRequest request = player_request_of(message);
  require_room();
  open_player(client, std::move(id), request);
}

/// Opens a recording by its name in the daemon's list, so that no path comes from a client.
void Page::Core::open_player(std::uint64_t client, json id, const PlayerRequest& request) {
  const auto opened = [this, client, id = std::move(id), request](const json& reply) {
    if (reply.value("ok", json()) != true) {
      daemon_->answer(client, id, reply);
      return;
    }
    try {
      daemon_->answer(client, id, {{"ok", true}, {"result", play(request, recordings_of(reply))}});
    } catch (const Error& error) {
      daemon_->answer(client, id, refused_reply(error.what(), static_cast<int>(error.exit_code())));
    } catch (const std::exception& error) {  // no thread or memory for another player; the others continue
      daemon_->answer(client, id, refused_reply(error.what(), static_cast<int>(ExitCode::kInternal)));
    }
  };
  if (!daemon_->ask(client, {{"command", "recordings"}}, opened)) {
    throw UsageError("the daemon answers other requests, and too many wait: send it again later");
  }
}

json Page::Core::play(const PlayerRequest& request, const json& recordings) {
  require_room();  // others may have been opened meanwhile
  const auto found = std::find_if(recordings.begin(), recordings.end(),
                                  [&](const json& one) { return one.at("name") == request.recording; });
  if (found == recordings.end()) {
    throw NoInputError(
        fmt::format("recording: expected one that `nearfield ctl recordings` lists, found \"{}\"", request.recording));
  }
  if (found->value("state", "") == "damaged") {
    throw DataError(
        fmt::format("{}: expected a recording, found a file that does not begin as one", request.recording));
  }
  if (players_.size() >= kMostListedPlayers) {
    players_.erase(oldest_ended());
  }
  const std::uint64_t number = next_player_++;
  Opened opened;  // listed once it is complete: every function that reads the list uses both parts
  opened.view = view_of_player(number);
  opened.player = std::make_unique<Player>(found->at("path").get<std::string>(), request);
  opened.watched_ns = monotonic_ns();
  players_.emplace(number, std::move(opened));
  if (!std::exchange(is_looking_after_, true)) {
    server_->run_after(kLookAfterNs, [this] { look_after_players(); });
  }
  return {{"player", number}, {"message", fmt::format("{} is opened", request.recording)}};
}

json Page::Core::close_player(const json& message) {
  const json number = message.value("player", json());
  const auto found = number.is_number_unsigned() ? players_.find(number.get<std::uint64_t>()) : players_.end();
  if (found == players_.end()) {
    throw UsageError(fmt::format("player: expected the number of a recording that is open, found {}", dumped(number)));
  }
  found->second.is_closed = true;
  found->second.player->end("it was closed");
  return {{"message", fmt::format("{} is closed", found->second.player->request().recording)}};
}

/// Connects a player to its sockets once they exist, and ends it when it has no viewers.
void Page::Core::look_after(Opened& opened, std::int64_t now_ns) const {
  const Player::State state = opened.player->state();
  if (state.phase == Player::Phase::kPlaying && !opened.view->has_sockets()) {
    opened.view->connect(state.ring_socket, state.control_socket);
    opened.watched_ns = now_ns;
  }
  if (!opened.has_rings && state.phase == Player::Phase::kPlaying) {  // before the daemon compiles its programs
    std::error_code unknown;
    opened.has_rings = std::filesystem::exists(state.ring_socket, unknown);
  }
  // Until there is a picture, a window that can show its state suffices.
  if (opened.view->clients() > 0 || (!opened.has_rings && daemon_->clients() > 0)) {
    opened.watched_ns = now_ns;
  }
  if (state.phase == Player::Phase::kEnded && opened.ended_ns == 0) {
    opened.ended_ns = now_ns;
  }
  const auto idle_ns = std::llround(options_.player_idle_s * static_cast<double>(kNsPerSecond));
  if (now_ns - opened.watched_ns > idle_ns) {
    opened.player->end(fmt::format("no browser looked at it for {:g} s", options_.player_idle_s));
  }
}

void Page::Core::look_after_players() {
  const std::int64_t now_ns = monotonic_ns();
  for (auto& [number, opened] : players_) {
    look_after(opened, now_ns);
  }
  std::erase_if(players_, [&](const auto& entry) {
    const Opened& opened = entry.second;
    const bool is_done = opened.is_closed || now_ns - opened.ended_ns > kEndedKeptNs;
    return opened.ended_ns != 0 && opened.view->clients() == 0 && is_done;
  });
  is_looking_after_ = !players_.empty();
  if (is_looking_after_) {
    server_->run_after(kLookAfterNs, [this] { look_after_players(); });
  }
}

void Page::Core::stop_serving() {
  server_->stop();
  for (const auto& [number, opened] : players_) {  // all first: each destructor waits for its player
    opened.player->end("the page's server stops");
  }
}

Page::Page(HttpServer& server, PageOptions options) : core_(std::make_unique<Core>(server, std::move(options))) {}

Page::~Page() { core_->stop_serving(); }

void Page::set_token(std::string token) { core_->set_token(std::move(token)); }

const std::string& Page::url() const { return core_->url(); }

}  // namespace nearfield::page
