#pragma once
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>

#include "control/socket/client.hpp"
#include "page/worker.hpp"

namespace nearfield::page {

/// Requests to a daemon's control socket, on two threads: one of the page's clients, of which a `set` may take minutes,
/// and one for the status alone. Results are handed over on those threads.
class ControlDesk {
 public:
  /// How long the status may take, which a daemon that compiles for a `set` answers late.
  static constexpr double kStatusTimeout_s = 2.0;

  /// `socket` as the setting daemon.control.socket says it; empty: there is none.
  explicit ControlDesk(std::string socket);
  /// Breaks off the request that is under way.
  ~ControlDesk();
  ControlDesk(const ControlDesk&) = delete;
  ControlDesk& operator=(const ControlDesk&) = delete;

  /// From now on requests go to this socket. The thread that makes requests.
  void use(std::string socket) { socket_ = std::move(socket); }

  /// `done` receives the reply of docs/control.md, {"ok": true, "result": ...} or {"ok": false, "error": ...}. False,
  /// and no reply, where Worker::kMostWaiting requests wait already, of all clients together.
  bool request(std::uint64_t client, nlohmann::json request, std::function<void(nlohmann::json reply)> done);
  /// Gives up the requests of a client that wait; one that is under way ends.
  void forget(std::uint64_t client) { requests_.drop(client); }
  void status(std::function<void(nlohmann::json reply)> done);

 private:
  /// A connection that another thread can break off.
  class Line {
   public:
    nlohmann::json call(const std::string& socket, const nlohmann::json& request, double timeout_s);
    void close();

   private:
    std::mutex mutex_;
    std::shared_ptr<control::Client> client_;  ///< guarded by mutex_, as is is_closed_
    bool is_closed_ = false;
  };

  std::string socket_;
  Line requests_line_;
  Line status_line_;
  Worker requests_{"nf-page-ctl"};
  Worker status_{"nf-page-state"};
};

/// A reply that refuses, as the control protocol has it.
nlohmann::json refused_reply(const std::string& message, int exit_code);

}  // namespace nearfield::page
