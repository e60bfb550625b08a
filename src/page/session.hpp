#pragma once
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "page/http_server.hpp"
#include "page/picture.hpp"
#include "page/picture_feed.hpp"

namespace nearfield::page {

class Session;

/// What sessions use of the page, on the server's thread.
class SessionHost {
 public:
  virtual ~SessionHost() = default;
  virtual void opened(Session& session) = 0;
  virtual void closed(Session& session) = 0;
  [[nodiscard]] virtual PictureFeed& feed() = 0;
  /// The text of the message "state".
  [[nodiscard]] virtual const std::string& state() const = 0;
  [[nodiscard]] virtual std::string hello(bool is_writable) const = 0;
  /// The subscriptions of a session have changed.
  virtual void wants_changed() = 0;
  /// A subscription waits for a picture.
  virtual void credit_given() = 0;
  /// Hands a request to the daemon; the reply comes back to Session::answer_control() of `session`, if it still exists.
  /// False, and no reply, where too many requests of all sessions wait.
  [[nodiscard]] virtual bool control(Session& session, nlohmann::json id, nlohmann::json request) = 0;
  /// Plays a recording, or ends a player, as a message says whose op is `open` or `close`; the reply comes as that of
  /// control(). Throws UsageError where the message is wrong.
  virtual void change_players(Session& session, nlohmann::json id, const nlohmann::json& message) = 0;
};

/// One client of /stream: its subscriptions, their credit, and what is to be sent to it (docs/page_protocol.md).
/// Nothing is queued but answers, of which at most kMostAnswers wait; then its messages are not read either.
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
  /// Adds the products that subscriptions have of a processor.
  void add_wanted(const std::string& processor, std::set<std::string>& wanted) const;

 private:
  struct Subscription {
    std::string processor;
    std::string product;
    Selection selection;
    std::int64_t interval_ns = 0;          ///< between two pictures at least
    bool has_credit = true;                ///< the server gives the first one itself
    std::uint64_t generation = 0;          ///< of the ring that `plan` is of; 0: none yet
    std::optional<PicturePlan> plan = {};  ///< nothing where that ring cannot serve it
    std::uint64_t number = 0;              ///< of the newest frame that was sent
    std::int64_t sent_ns = 0;
  };

  void execute(const nlohmann::json& message);
  void subscribe(const nlohmann::json& message);
  void control(const nlohmann::json& message);
  void change_players(const nlohmann::json& message);
  [[nodiscard]] bool has_room_for_request() const { return controls_ < kMostControls; }
  void refuse_reader(const nlohmann::json& id);
  void refuse(const nlohmann::json& id, const std::string& why);
  /// The picture of one subscription, or its layout if that was not sent yet; nothing where nothing newer is there.
  std::optional<StreamMessage> picture_of(std::uint32_t id, Subscription& subscription, std::int64_t now_ns);
  /// After the ring of a subscription became another one: makes its plan and answers with layout or error.
  void plan(std::uint32_t id, Subscription& subscription, const PictureFeed::Ring& ring);

  SessionHost* host_;
  Wake wake_;
  bool is_writable_;
  bool hello_is_due_ = true;
  bool state_is_due_ = false;
  std::size_t controls_ = 0;
  std::deque<std::string> answers_;
  std::map<std::uint32_t, Subscription> subscriptions_;
  std::uint32_t last_served_ = 0;  ///< the one behind it is served next
};

}  // namespace nearfield::page
