#include "page/daemon_view.hpp"

#include <algorithm>
#include <exception>
#include <set>
#include <utility>

#include "core/daemon_settings.hpp"
#include "core/error.hpp"
#include "core/system/clocks.hpp"

namespace nearfield::page {
namespace {

using nlohmann::json;

constexpr std::int64_t kStateNs = kNsPerSecond / 2;
constexpr int kProtocol = 1;

std::string view_text(const json& value) { return value.dump(-1, ' ', false, json::error_handler_t::replace); }

const char* state_word(nf_ring_status status) {
  switch (status) {
    case NF_RING_OK:
      return "live";
    case NF_RING_NONE:
      return "none";
    case NF_RING_RETIRED:
      return "retired";
    case NF_RING_TORN:
      return "torn";
    case NF_RING_CORRUPT:
      return "corrupt";
    default:
      return "gone";
  }
}

}  // namespace

DaemonView::DaemonView(HttpServer& server, Options options)
    : server_(&server), options_(std::move(options)), desk_(options_.control_socket) {
  if (options_.open_camera) {
    camera_ = std::make_unique<Camera>(options_.open_camera, [this] { server_->post([this] { wake_watchers(); }); });
  }
}

// --- sessions --------------------------------------------------------------------------------------------------------

void DaemonView::opened(Session& session) {
  if (sessions_.empty()) {  // the daemon may have ended or changed meanwhile
    status_reply_ = nullptr;
    ++status_round_;
  }
  sessions_[next_session_++] = &session;
  if (!is_looking_) {
    is_looking_ = true;
    server_->run_after(0, [this] { look_around(); });
  }
}

void DaemonView::closed(Session& session) {
  const auto found =
      std::find_if(sessions_.begin(), sessions_.end(), [&](const auto& entry) { return entry.second == &session; });
  if (found != sessions_.end()) {
    desk_.forget(found->first);
    sessions_.erase(found);
  }
  if (sessions_.empty()) {
    feed_.close_all();
  } else {
    wants_changed();
  }
}

std::string DaemonView::hello(bool is_writable) const {
  return view_text({{"kind", "hello"},
                    {"version", options_.version},
                    {"writable", is_writable},
                    {"processors", feed_.names()},
                    {"camera", camera_ != nullptr},
                    {"protocol", kProtocol}});
}

void DaemonView::wants_changed() {
  for (const std::string& name : feed_.names()) {
    std::set<std::string> wanted;
    for (const auto& [id, session] : sessions_) {
      session->add_wanted(name, wanted);
    }
    feed_.want(*feed_.find(name), std::move(wanted));
  }
}

void DaemonView::answer(std::uint64_t client, const json& id, const json& reply) {
  const auto asker = sessions_.find(client);
  if (asker != sessions_.end()) {
    asker->second->answer_control(id, reply);
    asker->second->wake();
  }
}

bool DaemonView::control(Session& session, json id, json request) {
  const std::uint64_t client = std::find_if(sessions_.begin(), sessions_.end(), [&](const auto& entry) {
                                 return entry.second == &session;
                               })->first;
  return desk_.request(client, std::move(request), [this, client, id = std::move(id)](const json& reply) {
    server_->post([this, client, id, reply] { answer(client, id, reply); });
  });
}

void DaemonView::wake_all() {
  for (const auto& [number, session] : sessions_) {
    session->wake();
  }
}

void DaemonView::wake_watchers() {
  for (const auto& [number, session] : sessions_) {
    if (session->waits_for_frame()) {
      session->wake();
    }
  }
}

// --- pictures --------------------------------------------------------------------------------------------------------

/// Reads at once if the last read was long enough ago, so that a requested picture is as new as possible.
void DaemonView::credit_given() {
  if (!is_ticking_) {
    plan_tick(std::max<std::int64_t>(ticked_ns_ + options_.tick_ns - monotonic_ns(), 0));
  }
}

void DaemonView::plan_tick(std::int64_t delay_ns) {
  is_ticking_ = true;
  server_->run_after(delay_ns, [this] { tick(); });
}

void DaemonView::tick() {
  const std::int64_t now_ns = monotonic_ns();
  ticked_ns_ = now_ns;
  is_ticking_ = false;
  for (const std::string& name : feed_.names()) {
    PictureFeed::Ring& ring = *feed_.find(name);
    if (!ring.wanted.empty()) {
      feed_.read(ring, now_ns);
    }
  }
  wake_all();
  const bool is_waited_for = std::any_of(sessions_.begin(), sessions_.end(),
                                         [](const auto& entry) { return entry.second->waits_for_picture(); });
  if (is_waited_for && !is_ticking_) {
    plan_tick(options_.tick_ns);
  }
}

// --- rings and state -------------------------------------------------------------------------------------------------

void DaemonView::look_around() {
  if (sessions_.empty()) {
    is_looking_ = false;
    return;
  }
  const std::int64_t now_ns = monotonic_ns();
  search_rings();
  ask_status();
  feed_.look(now_ns);
  make_state(now_ns);
  for (const auto& [number, session] : sessions_) {
    session->send_state();
    if (session->waits_for_frame()) {  // the device is opened again as long as somebody waits
      camera_->watch();
    }
  }
  wake_all();
  server_->run_after(kStateNs, [this] { look_around(); });
}

void DaemonView::search_rings() {
  if (std::exchange(is_searching_, true)) {
    return;
  }
  searcher_.run([this, open = feed_.open_rings()] {
    const std::string& socket = options_.ring_socket;
    FoundRings found;
    try {
      found = find_rings(socket.empty() ? "" : socket_to_connect(socket, DaemonSettings::Ring::kFile), open);
    } catch (const std::exception&) {
      found.first = NF_RING_SYSTEM;  // such as lack of memory: the next search may succeed
    }
    server_->post([this, found = std::move(found)] { adopt(found); });
  });
}

void DaemonView::adopt(FoundRings found) {
  is_searching_ = false;
  if (sessions_.empty()) {
    return;
  }
  const bool has_changed = feed_.adopt(std::move(found), monotonic_ns());
  wants_changed();
  if (has_changed) {
    for (const auto& [number, session] : sessions_) {
      session->send_hello();
    }
  }
  wake_all();
  credit_given();
}

void DaemonView::ask_status() {
  if (std::exchange(is_asking_, true)) {
    return;
  }
  desk_.status([this, round = status_round_](const json& reply) {
    server_->post([this, round, reply] {
      is_asking_ = false;
      if (round == status_round_) {
        status_reply_ = reply;
      }
    });
  });
}

void DaemonView::make_state(std::int64_t now_ns) {
  json state = {{"kind", "state"}, {"mono_ns", std::to_string(now_ns)}, {"ring", json::object()}, {"status", nullptr}};
  for (const auto& [name, ring] : feed_.rings()) {
    state["ring"][name] = ring_state(ring, now_ns);
  }
  if (options_.ring_socket.empty()) {
    state["ring_error"] = "the daemon has no rings (daemon.publish.ring.socket: off)";
  } else if (feed_.first_status() != NF_RING_OK) {
    state["ring_error"] = nf_ring_status_text(feed_.first_status());
  }
  if (status_reply_.is_object() && status_reply_["ok"] == true) {
    state["status"] = status_reply_["result"];
  } else if (status_reply_.is_object()) {
    state["status_error"] = status_reply_["error"]["message"];
  }
  state_ = view_text(state);
}

json DaemonView::ring_state(const PictureFeed::Ring& ring, std::int64_t now_ns) const {
  json described = {{"state", state_word(ring.status)},
                    {"text", nf_ring_status_text(ring.status)},
                    {"rate_hz", ring.rate_hz},
                    {"age_ms", nullptr},
                    {"number", nullptr}};
  if (ring.has_frame) {
    described["age_ms"] = static_cast<double>(now_ns - ring.frame.capture_mono_ns) / kNsPerMillisecond;
    described["number"] = std::to_string(ring.frame.number);
  }
  return described;
}

}  // namespace nearfield::page
