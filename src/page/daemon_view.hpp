#pragma once
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "page/control_desk.hpp"
#include "page/http_server.hpp"
#include "page/picture_feed.hpp"
#include "page/session.hpp"
#include "page/worker.hpp"

namespace nearfield::page {

/// What one daemon shows the clients of the page: pictures of its rings, its state, and its control socket. It reads
/// them as any other program does. While no client is connected, rings are closed and nothing is asked. Its members are
/// of the server's thread, which also makes and destroys it; it must outlive its sessions.
class DaemonView : public SessionHost {
 public:
  struct Options {
    std::string version;         ///< of the page's program
    std::string ring_socket;     ///< of the first processor, as daemon.publish.ring.socket says it; empty: none
    std::string control_socket;  ///< as daemon.control.socket says it; empty: none
    std::int64_t tick_ns = 0;    ///< between two looks at the rings while a client waits for a picture
    std::string no_ring;         ///< why there is no ring while `ring_socket` is empty
  };
  /// What the page adds.
  struct Hooks {
    std::function<void(nlohmann::json& hello)> add_to_hello;
    std::function<void(nlohmann::json& state)> add_to_state;
    /// Why a request to the control socket is not passed on; nothing: it is.
    std::function<std::optional<std::string>(const nlohmann::json& request)> refuse_request;
    /// Of SessionHost::change_players(), whose reply comes by answer().
    std::function<void(std::uint64_t client, nlohmann::json id, const nlohmann::json& message)> change_players;
  };

  DaemonView(HttpServer& server, Options options, Hooks hooks);
  ~DaemonView() override = default;
  DaemonView(const DaemonView&) = delete;
  DaemonView& operator=(const DaemonView&) = delete;

  /// The daemon's sockets, where they were not known before.
  void connect(std::string ring_socket, std::string control_socket);
  [[nodiscard]] bool has_sockets() const { return !options_.ring_socket.empty(); }
  [[nodiscard]] std::size_t clients() const { return sessions_.size(); }
  /// Sends a client the reply of a request; nothing where it has gone.
  void answer(std::uint64_t client, const nlohmann::json& id, const nlohmann::json& reply);
  /// A request of a client to the control socket; `done` receives the reply on the server's thread. False, and no
  /// reply, where too many wait.
  bool ask(std::uint64_t client, nlohmann::json request, std::function<void(const nlohmann::json& reply)> done);

  void opened(Session& session) override;
  void closed(Session& session) override;
  [[nodiscard]] PictureFeed& feed() override { return feed_; }
  [[nodiscard]] const std::string& state() const override { return state_; }
  [[nodiscard]] std::string hello(bool is_writable) const override;
  void wants_changed() override;
  void credit_given() override;
  [[nodiscard]] bool control(Session& session, nlohmann::json id, nlohmann::json request) override;
  void change_players(Session& session, nlohmann::json id, const nlohmann::json& message) override;

 private:
  [[nodiscard]] std::uint64_t number_of(const Session& session) const;
  /// Runs a function on the server's thread, unless this object is gone by then.
  [[nodiscard]] std::function<void()> while_alive(std::function<void()> task) const;

  void look_around();
  void search_rings();
  void adopt(FoundRings found);
  void ask_status();
  void make_state(std::int64_t now_ns);
  [[nodiscard]] nlohmann::json ring_state(const PictureFeed::Ring& ring, std::int64_t now_ns) const;
  void tick();
  void plan_tick(std::int64_t delay_ns);
  void wake_all();

  HttpServer* server_;
  Options options_;
  Hooks hooks_;
  std::shared_ptr<const bool> alive_ = std::make_shared<const bool>(true);

  std::map<std::uint64_t, Session*> sessions_;
  std::uint64_t next_session_ = 1;
  PictureFeed feed_;
  bool is_ticking_ = false;
  std::int64_t ticked_ns_ = 0;
  bool is_looking_ = false;  ///< twice a second, while there are sessions
  bool is_searching_ = false;
  bool is_asking_ = false;
  nlohmann::json status_reply_;
  std::uint64_t status_round_ =
      0;  ///< one more with each first session: replies to what was asked before it are dropped
  std::string state_;

  ControlDesk desk_;
  Worker searcher_{"nf-page-rings"};
};

}  // namespace nearfield::page
