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
  Worker requests_{"nf-page-ctl"};
  Worker status_{"nf-page-state"};
};

/// A refusal in the format of the control protocol.
nlohmann::json refused_reply(const std::string& message, int exit_code);

}  // namespace nearfield::page
