#pragma once
#include <cstdint>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>

#include "control/service/worker.hpp"
#include "page/camera.hpp"
#include "page/http_server.hpp"
#include "page/picture_feed.hpp"
#include "page/session.hpp"

namespace nearfield::page {

/// View of one daemon for the clients of the page: pictures of its rings, its state, and its control socket. It reads
/// them like any other program. While no client is connected, rings are closed and no request is made. Its members are
/// for the server's thread, which ends before this object is destroyed.
class DaemonView : public SessionHost {
 public:
  struct Options {
    std::string version;          ///< version of the page's program
    std::string ring_socket;      ///< setting daemon.publish.ring.socket, for the first processor; empty: none
    std::string control_socket;   ///< setting daemon.control.socket; empty: none
    OpenCamera open_camera = {};  ///< empty: no camera
    std::int64_t tick_ns = 0;     ///< interval of checks of the rings while a client waits for a picture
  };

  DaemonView(HttpServer& server, Options options);
  ~DaemonView() override = default;
  DaemonView(const DaemonView&) = delete;
  DaemonView& operator=(const DaemonView&) = delete;

  void opened(Session& session) override;
  void closed(Session& session) override;
  [[nodiscard]] PictureFeed& feed() override { return feed_; }
  [[nodiscard]] const std::string& state() const override { return state_; }
  [[nodiscard]] std::string hello(bool is_writable) const override;
  void wants_changed() override;
  void credit_given() override;
  [[nodiscard]] bool control(Session& session, nlohmann::json id, nlohmann::json request) override;
  [[nodiscard]] Camera* camera() override { return camera_.get(); }

 private:
  /// Sends a client the reply of a request; does nothing if it has disconnected.
  void answer(std::uint64_t client, const nlohmann::json& id, const nlohmann::json& reply);

  void look_around();
  void search_rings();
  void adopt(FoundRings found);
  void ask_status();
  void make_state(std::int64_t now_ns);
  [[nodiscard]] nlohmann::json ring_state(const PictureFeed::Ring& ring, std::int64_t now_ns) const;
  void tick();
  void plan_tick(std::int64_t delay_ns);
  void wake_all();
  /// Wakes the sessions that wait for a frame of the camera.
  void wake_watchers();

  HttpServer* server_;
  Options options_;

  std::map<std::uint64_t, Session*> sessions_;
  std::uint64_t next_session_ = 1;
  PictureFeed feed_;
  bool is_ticking_ = false;
  std::int64_t ticked_ns_ = 0;
  bool is_looking_ = false;  ///< checks twice a second, while there are sessions
  bool is_searching_ = false;
  bool is_asking_ = false;
  nlohmann::json status_reply_;
  std::uint64_t status_round_ = 0;  ///< incremented with each first session: replies to earlier requests are dropped
  std::string state_;

  ControlDesk desk_;
  control::Worker searcher_{"nf-page-rings"};
  std::unique_ptr<Camera> camera_;  ///< null: none
};

}  // namespace nearfield::page
