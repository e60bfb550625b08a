#pragma once
#include <cstdint>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "control/metrics/metrics.hpp"
#include "page/camera.hpp"
#include "page/http_server.hpp"

namespace nearfield::page {

struct PageOptions {
  std::string version;
  std::string address;                       ///< HOST:PORT
  std::string address_key;                   ///< name in messages: "daemon.page.address"
  std::vector<std::string> allowed_hosts;    ///< besides localhost, 127.0.0.1 and [::1]
  std::vector<std::string> allowed_origins;  ///< besides the page's own
  std::string token;                         ///< permits its holder to change settings; empty: nobody
  std::string ring_socket;      ///< setting daemon.publish.ring.socket, for the first processor; empty: none
  std::string control_socket;   ///< setting daemon.control.socket; empty: none
  OpenCamera open_camera = {};  ///< the camera at this computer; empty: none
  double pictures_hz = 0.0;     ///< rate of checks of the rings while a client waits for a picture
};

/// The live page (docs/reference/page_protocol.md): its files, and pictures, state and control for the clients of
/// /stream. It reads the daemon's rings and its control socket like any other program, and knows no engine. While no
/// client is connected, rings are closed and no request is made.
class Page {
 public:
  /// Adds its address to `server`, which is not started yet. Throws IoError if the address is not free, ConfigError if
  /// other machines reach it and there is no token.
  Page(HttpServer& server, PageOptions options);
  /// Stops the server, whose handlers belong to the page.
  ~Page();
  Page(const Page&) = delete;
  Page& operator=(const Page&) = delete;

  /// Permits holders of `token` to change settings; before the server starts.
  void set_token(std::string token);

  /// "http://127.0.0.1:7232/".
  [[nodiscard]] const std::string& url() const;

 private:
  class Core;
  std::unique_ptr<Core> core_;
};

/// Colours of pictures, 256 entries per map: the file /colours.json.
nlohmann::json colours_json();

/// Serves Prometheus text at /metrics, for clients that address it by localhost, a number or a name in `allowed_hosts`:
/// a site whose name was made to resolve to this machine must not have a browser read it.
Site metrics_site(std::shared_ptr<const control::Metrics> metrics, std::vector<std::string> allowed_hosts);

}  // namespace nearfield::page
