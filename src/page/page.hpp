#pragma once
#include <cstdint>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "page/http_server.hpp"

namespace nearfield::page {

struct PageOptions {
  std::string version;
  std::string address;                       ///< HOST:PORT
  std::string address_key;                   ///< of messages: "daemon.page.address"
  std::vector<std::string> allowed_hosts;    ///< beside localhost, 127.0.0.1 and [::1]
  std::vector<std::string> allowed_origins;  ///< beside the page's own
  std::string token;                         ///< who has it may change settings; empty: nobody
  std::string ring_socket;      ///< of the first processor, as daemon.publish.ring.socket says it; empty: none
  std::string control_socket;   ///< as daemon.control.socket says it; empty: none
  double pictures_hz = 0.0;     ///< how often rings are looked at while a client waits for a picture
  int most_players = 2;         ///< recordings that are played at once; 0: none is opened
  double player_idle_s = 60.0;  ///< how long one is played that no client looks at
};

/// The live page (docs/page_protocol.md): its files, and pictures, state and control for the clients of /stream. It
/// reads the daemon's rings and its control socket as any other program does, and knows no engine. While no client is
/// connected, rings are closed and nothing is asked. A client with the token may open recordings, which processes of
/// their own play.
class Page {
 public:
  /// Adds its address to `server`, which is not started yet. Throws IoError where the address is not free, ConfigError
  /// where others reach it and there is no token.
  Page(HttpServer& server, PageOptions options);
  /// Stops the server, whose handlers are the page's.
  ~Page();
  Page(const Page&) = delete;
  Page& operator=(const Page&) = delete;

  /// From now on who has `token` may change settings; before the server starts.
  void set_token(std::string token);

  /// "http://127.0.0.1:7232/".
  [[nodiscard]] const std::string& url() const;

 private:
  class Core;
  std::unique_ptr<Core> core_;
};

/// The colours of pictures, 256 entries a map: the file /colours.json.
nlohmann::json colours_json();

}  // namespace nearfield::page
