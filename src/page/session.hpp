#pragma once
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "control/service/worker.hpp"
#include "control/socket/client.hpp"
#include "page/camera.hpp"
#include "page/http_server.hpp"
#include "page/picture.hpp"
#include "page/picture_feed.hpp"

namespace nearfield::page {

/// Requests to a daemon's control socket, on two threads: one for the page's clients, whose `set` may take minutes, and
/// one for the status alone. Results are delivered on those threads.
class ControlDesk {
 public:
  /// Timeout of the status, which a daemon that compiles for a `set` answers slowly.
  static constexpr double kStatusTimeout_s = 2.0;

  /// `socket` is the setting daemon.control.socket; empty: none.
  explicit ControlDesk(std::string socket);
  /// Aborts the current request.
  ~ControlDesk();
  ControlDesk(const ControlDesk&) = delete;
  ControlDesk& operator=(const ControlDesk&) = delete;

  /// `done` receives the reply of docs/reference/control.md, {"ok": true, "result": ...} or {"ok": false, "error":
  /// ...}. False, without a reply, if Worker::kMostWaiting requests of all clients are pending already.
  bool request(std::uint64_t client, nlohmann::json request, std::function<void(nlohmann::json reply)> done);
  /// Drops the pending requests of a client; the current one completes.
  void forget(std::uint64_t client) { requests_.drop(client); }
  void status(std::function<void(nlohmann::json reply)> done);

 private:
  /// A connection that another thread can abort.
  class Line {
   public:
    nlohmann::json call(const std::string& socket, const nlohmann::json& request, double timeout_s);
    void close();

   private:
    std::mutex mutex_;
    std::shared_ptr<control::Client> client_;  ///< guarded by mutex_, like is_closed_
    bool is_closed_ = false;
  };

  std::string socket_;
  Line requests_line_;
  Line status_line_;
  control::Worker requests_{"nf-page-ctl"};
  control::Worker status_{"nf-page-state"};
};

/// A refusal in the format of the control protocol.
nlohmann::json refused_reply(const std::string& message, int exit_code);

class Session;

/// Interface of the page for its sessions, on the server's thread.
class SessionHost {
 public:
  virtual ~SessionHost() = default;
  virtual void opened(Session& session) = 0;
  virtual void closed(Session& session) = 0;
  [[nodiscard]] virtual PictureFeed& feed() = 0;
  /// Text of the message "state".
  [[nodiscard]] virtual const std::string& state() const = 0;
  [[nodiscard]] virtual std::string hello(bool is_writable) const = 0;
  /// Called when the subscriptions of a session have changed.
  virtual void wants_changed() = 0;
  /// Called when a subscription waits for a picture.
  virtual void credit_given() = 0;
  /// Passes a request to the daemon; the reply is delivered to Session::answer_control() of `session`, if it still
  /// exists. False, without a reply, if too many requests of all sessions are pending.
  [[nodiscard]] virtual bool control(Session& session, nlohmann::json id, nlohmann::json request) = 0;
  /// The camera at the daemon's computer; null if the configuration names none.
  [[nodiscard]] virtual Camera* camera() = 0;
};

/// One client of /stream: its subscriptions, their credit, and pending messages (docs/reference/page_protocol.md). Only
/// answers are queued, at most kMostAnswers; with more pending its messages are not read.
class Session : public StreamClient {
 public:
  static constexpr std::size_t kMostAnswers = 16;
  static constexpr std::size_t kMostSubscriptions = 32;
  static constexpr std::size_t kMostControls = 8;  ///< requests to the daemon without a reply yet

  Session(SessionHost& host, Wake wake, bool is_writable);
  ~Session() override;

  void receive(const std::string& text) override;
  std::optional<StreamMessage> next() override;
  [[nodiscard]] bool is_ready_to_receive() const override { return answers_.size() < kMostAnswers; }
  [[nodiscard]] bool has_precedence() const override { return is_writable_; }

  void wake() const { wake_(); }
  void send_hello() { hello_is_due_ = true; }
  void send_state() { state_is_due_ = true; }
  void answer_control(const nlohmann::json& id, const nlohmann::json& reply);
  [[nodiscard]] bool waits_for_picture() const;
  [[nodiscard]] bool waits_for_frame() const { return waits_for_frame_; }
  /// Adds the products of a processor that subscriptions want.
  void add_wanted(const std::string& processor, std::set<std::string>& wanted) const;

 private:
  struct Subscription {
    std::string processor;
    std::string product;
    FixedAxes fixed_axes;
    std::int64_t interval_ns = 0;          ///< least time between two pictures
    bool has_credit = true;                ///< the first credit is implicit
    std::uint64_t generation = 0;          ///< generation of the ring of `plan`; 0: none yet
    std::optional<PicturePlan> plan = {};  ///< nullopt if that ring cannot serve it
    std::uint64_t number = 0;              ///< number of the newest frame that was sent
    std::int64_t sent_ns = 0;
  };

  void execute(const nlohmann::json& message);
  void subscribe(const nlohmann::json& message);
  void control(const nlohmann::json& message);
  void refuse(const nlohmann::json& id, const std::string& why);
  /// Picture of one subscription, or its layout if that was not sent yet; nullopt if there is nothing newer.
  std::optional<StreamMessage> picture_of(std::uint32_t id, Subscription& subscription, std::int64_t now_ns);
  /// The camera's newest frame, or why there is none, if the client waits for it; nullopt if there is nothing newer.
  std::optional<StreamMessage> frame();
  /// Handles a replaced ring of a subscription: makes its plan and answers with layout or error.
  void plan(std::uint32_t id, Subscription& subscription, const PictureFeed::Ring& ring);

  SessionHost* host_;
  Wake wake_;
  bool is_writable_;
  bool hello_is_due_ = true;
  bool state_is_due_ = false;
  std::size_t controls_ = 0;
  std::deque<std::string> answers_;
  std::map<std::uint32_t, Subscription> subscriptions_;
  std::uint32_t last_served_ = 0;  ///< the next one is served next
  bool waits_for_frame_ = false;
  std::int64_t frame_ns_ = 0;  ///< time of the newest frame that was sent
  std::string trouble_;        ///< trouble of the camera that was sent last
};

}  // namespace nearfield::page
