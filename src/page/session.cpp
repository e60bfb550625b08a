#include "page/session.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <limits>
#include <string_view>
#include <utility>

#include "core/daemon_settings.hpp"
#include "core/error.hpp"
#include "core/system/clocks.hpp"

namespace nearfield::page {
namespace {

using nlohmann::json;

constexpr double kRequestTimeout_s = 60.0;

}  // namespace

json refused_reply(const std::string& message, int exit_code) {
  return {{"ok", false}, {"error", {{"message", message}, {"exit_code", exit_code}}}};
}

/// Opens a connection per request: that costs little, and a restarted daemon is found.
json ControlDesk::Line::call(const std::string& socket, const json& request, double timeout_s) {
  try {
    if (socket.empty()) {
      throw NoInputError("the daemon has no control socket (daemon.control.socket: off)");
    }
    auto client =
        std::make_shared<control::Client>(socket_to_connect(socket, DaemonSettings::Control::kFile), timeout_s);
    {
      const std::lock_guard lock(mutex_);
      if (is_closed_) {
        throw IoError("the page's server stops");
      }
      client_ = client;
    }
    json reply = {{"ok", true}, {"result", client->call(request)}};
    const std::lock_guard lock(mutex_);
    client_.reset();
    return reply;
  } catch (const Error& error) {
    return refused_reply(error.what(), static_cast<int>(error.exit_code()));
  } catch (const std::exception& error) {
    return refused_reply(error.what(), static_cast<int>(ExitCode::kInternal));
  }
}

void ControlDesk::Line::close() {
  const std::lock_guard lock(mutex_);
  is_closed_ = true;
  if (client_) {
    client_->break_off();
  }
}

ControlDesk::ControlDesk(std::string socket) : socket_(std::move(socket)) {}

ControlDesk::~ControlDesk() {
  requests_.request_close();
  status_.request_close();
  requests_line_.close();
  status_line_.close();
}

bool ControlDesk::request(std::uint64_t client, json request, std::function<void(json)> done) {
  auto task = [this, request = std::move(request), done = std::move(done)] {
    done(requests_line_.call(socket_, request, kRequestTimeout_s));
  };
  return requests_.run(std::move(task), client);
}

void ControlDesk::status(std::function<void(json)> done) {
  status_.run([this, done = std::move(done)] {
    done(status_line_.call(socket_, {{"command", "status"}}, kStatusTimeout_s));
  });
}

namespace {

constexpr int kDeepestMessage = 32;
constexpr double kHighestPictures_hz = 1000.0;

std::string session_text(const json& message) { return message.dump(-1, ' ', false, json::error_handler_t::replace); }

/// Throws UsageError on anything that is not one JSON object of moderate depth.
json parsed_message(const std::string& text) {
  const auto hold_depth = [](int depth, json::parse_event_t /*event*/, json& /*parsed*/) {
    if (depth > kDeepestMessage) {
      throw UsageError(fmt::format("expected at most {} levels of JSON, found more", kDeepestMessage));
    }
    return true;
  };
  json message;
  try {
    message = json::parse(text, hold_depth);
  } catch (const json::exception& error) {
    throw UsageError(fmt::format("expected a text message of JSON, found something else: {}", error.what()));
  }
  if (!message.is_object()) {
    throw UsageError("expected a JSON object with an op, found another kind of value");
  }
  return message;
}

template <typename Kind>
Kind text_or_number(const json& message, const char* key, bool (json::*is_kind)() const noexcept,
                    const char* expected) {
  const auto found = message.find(key);
  if (found == message.end() || !((*found).*is_kind)()) {
    throw UsageError(fmt::format("{}: expected {}", key, expected));
  }
  return found->get<Kind>();
}

std::string text_at(const json& message, const char* key) {
  return text_or_number<std::string>(message, key, &json::is_string, "a text");
}

std::uint32_t index_of(const json& value, const std::string& key) {
  if (!value.is_number_unsigned() || value.get<std::uint64_t>() > std::numeric_limits<std::uint32_t>::max()) {
    throw UsageError(fmt::format("{}: expected a whole number from 0", key));
  }
  return value.get<std::uint32_t>();
}

std::uint32_t id_at(const json& message) {
  const std::uint32_t id = index_of(message.value("id", json()), "id");
  if (id == 0) {
    throw UsageError("id: expected a whole number from 1");
  }
  return id;
}

FixedAxes fixed_axes_at(const json& message) {
  const json given = message.value("select", json::object());
  if (!given.is_object()) {
    throw UsageError("select: expected an object of axes and indices");
  }
  FixedAxes fixed_axes;
  for (const auto& [axis, index] : given.items()) {
    fixed_axes[axis] = index_of(index, "select." + axis);
  }
  return fixed_axes;
}

std::int64_t interval_at(const json& message) {
  const json rate = message.value("most_hz", json(kHighestPictures_hz));
  if (!rate.is_number() || !(rate.get<double>() > 0.0)) {
    throw UsageError("most_hz: expected a rate above 0 Hz");
  }
  return std::llround(static_cast<double>(kNsPerSecond) / std::clamp(rate.get<double>(), 1e-3, kHighestPictures_hz));
}

/// First product of a ring, for a page that has not received the processor's layout yet.
std::string first_product(const nf_ring* ring) {
  if (ring == nullptr) {
    throw UsageError("product: expected a name, since the processor has no frames yet, found none");
  }
  return nf_ring_get_layout(ring)->products[0].name;
}

/// A frame as a binary message of docs/reference/page_protocol.md.
std::string frame_message(const CameraFrame& frame) {
  constexpr std::uint32_t kMagic = 0x4143464e;
  constexpr std::uint32_t kHeadBytes = 16;
  std::string bytes(kHeadBytes, '\0');
  std::memcpy(bytes.data(), &kMagic, sizeof kMagic);
  std::memcpy(bytes.data() + sizeof kMagic, &kHeadBytes, sizeof kHeadBytes);
  std::memcpy(bytes.data() + 2 * sizeof kMagic, &frame.captured_ns, sizeof frame.captured_ns);
  return bytes + *frame.jpeg;
}

bool only_reads(const json& request) {
  constexpr std::array<std::string_view, 4> kReading = {"status", "config", "recordings", "events"};
  const json command = request.is_object() ? request.value("command", json()) : json();
  return command.is_string() &&
         std::find(kReading.begin(), kReading.end(), command.get<std::string>()) != kReading.end();
}

}  // namespace

Session::Session(SessionHost& host, Wake wake, bool is_writable)
    : host_(&host), wake_(std::move(wake)), is_writable_(is_writable) {
  host_->opened(*this);
}

Session::~Session() { host_->closed(*this); }

void Session::receive(const std::string& text) {
  json id;
  try {
    const json message = parsed_message(text);
    id = message.value("id", json());
    execute(message);
  } catch (const UsageError& error) {
    refuse(id, error.what());
  }
}

void Session::refuse(const json& id, const std::string& why) {
  answers_.push_back(session_text({{"kind", "error"}, {"id", id}, {"message", why}}));
}

void Session::execute(const json& message) {
  const std::string op = text_at(message, "op");
  if (op == "next") {
    const auto found = subscriptions_.find(id_at(message));
    if (found != subscriptions_.end()) {  // it may have ended while the picture was on its way
      found->second.has_credit = true;
      host_->credit_given();
    }
  } else if (op == "clock") {
    const auto page_ms = text_or_number<double>(message, "page_ms", &json::is_number, "a number");
    answers_.push_back(
        session_text({{"kind", "clock"}, {"page_ms", page_ms}, {"mono_ns", std::to_string(monotonic_ns())}}));
  } else if (op == "subscribe") {
    subscribe(message);
  } else if (op == "unsubscribe") {
    subscriptions_.erase(id_at(message));
    host_->wants_changed();
  } else if (op == "control") {
    control(message);
  } else if (op == "camera") {
    if (host_->camera() == nullptr) {
      throw UsageError("the daemon has no camera: daemon.page.camera names one");
    }
    waits_for_frame_ = true;
    host_->camera()->watch();
  } else {
    throw UsageError(
        fmt::format("op: expected subscribe, unsubscribe, next, clock, control or camera, found \"{}\"", op));
  }
}

void Session::subscribe(const json& message) {
  const std::uint32_t id = id_at(message);
  Subscription subscription{.processor = text_at(message, "processor"),
                            .product = message.contains("product") ? text_at(message, "product") : "",
                            .fixed_axes = fixed_axes_at(message),
                            .interval_ns = interval_at(message)};
  const PictureFeed::Ring* const ring = host_->feed().find(subscription.processor);
  if (ring == nullptr) {
    throw UsageError(fmt::format("processor: expected one that runs, found \"{}\"", subscription.processor));
  }
  if (subscription.product.empty()) {
    subscription.product = first_product(ring->handle.get());
  }
  if (ring->handle) {  // an invalid plan throws before an earlier subscription is replaced
    const PicturePlan trial(*nf_ring_get_layout(ring->handle.get()), subscription.product, subscription.fixed_axes);
  }
  if (subscriptions_.size() >= kMostSubscriptions && !subscriptions_.contains(id)) {
    throw UsageError(fmt::format("id: expected at most {} subscriptions, found more", kMostSubscriptions));
  }
  subscriptions_.insert_or_assign(id, std::move(subscription));
  host_->wants_changed();
  host_->credit_given();
}

void Session::control(const json& message) {
  const json id = message.value("id", json());
  const json request = message.value("request", json());
  if (!is_writable_ && !only_reads(request)) {
    const json reply = refused_reply(
        "this page may only read: open it by the URL with the daemon's token, which `nearfield ctl page` prints",
        static_cast<int>(ExitCode::kNoPermission));
    answers_.push_back(session_text({{"kind", "control"}, {"id", id}, {"reply", reply}}));
  } else if (controls_ >= kMostControls) {
    throw UsageError(fmt::format("expected at most {} control requests without a reply, found more", kMostControls));
  } else if (!host_->control(*this, id, request)) {
    throw UsageError("the daemon answers other requests, and too many wait: send it again later");
  } else {
    ++controls_;
  }
}

void Session::answer_control(const json& id, const json& reply) {
  controls_ -= std::min<std::size_t>(controls_, 1);
  answers_.push_back(session_text({{"kind", "control"}, {"id", id}, {"reply", reply}}));
}

bool Session::waits_for_picture() const {
  return std::any_of(subscriptions_.begin(), subscriptions_.end(),
                     [](const auto& entry) { return entry.second.has_credit; });
}

void Session::add_wanted(const std::string& processor, std::set<std::string>& wanted) const {
  for (const auto& [id, subscription] : subscriptions_) {
    if (subscription.processor == processor) {
      wanted.insert(subscription.product);
    }
  }
}

std::optional<StreamMessage> Session::next() {
  if (std::exchange(hello_is_due_, false)) {
    return StreamMessage{.bytes = host_->hello(is_writable_)};
  }
  if (!answers_.empty()) {
    StreamMessage message{.bytes = std::move(answers_.front())};
    answers_.pop_front();
    return message;
  }
  if (std::exchange(state_is_due_, false)) {
    return StreamMessage{.bytes = host_->state()};
  }
  const std::int64_t now_ns = monotonic_ns();
  auto entry = subscriptions_.upper_bound(last_served_);
  for (std::size_t i = 0; i < subscriptions_.size(); ++i, ++entry) {
    entry = entry == subscriptions_.end() ? subscriptions_.begin() : entry;
    if (std::optional<StreamMessage> message = picture_of(entry->first, entry->second, now_ns)) {
      last_served_ = entry->first;
      return message;
    }
  }
  return frame();
}

std::optional<StreamMessage> Session::frame() {
  if (!waits_for_frame_) {
    return std::nullopt;
  }
  const CameraFrame newest = host_->camera()->newest();
  const std::string trouble = host_->camera()->trouble();
  if (trouble != trouble_) {
    trouble_ = trouble;
    return StreamMessage{.bytes = session_text({{"kind", "camera"}, {"message", trouble}})};
  }
  if (!newest.jpeg || newest.captured_ns == frame_ns_) {
    return std::nullopt;
  }
  waits_for_frame_ = false;
  frame_ns_ = newest.captured_ns;
  return StreamMessage{.is_binary = true, .bytes = frame_message(newest)};
}

std::optional<StreamMessage> Session::picture_of(std::uint32_t id, Subscription& subscription, std::int64_t now_ns) {
  const PictureFeed::Ring* const ring = host_->feed().find(subscription.processor);
  if (ring == nullptr || !ring->handle) {
    return std::nullopt;
  }
  if (subscription.generation != ring->generation) {
    plan(id, subscription, *ring);
    StreamMessage message{.bytes = std::move(answers_.back())};
    answers_.pop_back();
    return message;
  }
  const bool is_served = subscription.plan && subscription.has_credit && ring->has_frame && ring->is_selected;
  if (!is_served || ring->frame.number == subscription.number ||
      now_ns - subscription.sent_ns < subscription.interval_ns) {
    return std::nullopt;
  }
  subscription.has_credit = false;
  subscription.number = ring->frame.number;
  subscription.sent_ns = now_ns;
  return StreamMessage{.is_binary = true,
                       .bytes = subscription.plan->encode(id, ring->handle.get(), ring->frame, now_ns)};
}

void Session::plan(std::uint32_t id, Subscription& subscription, const PictureFeed::Ring& ring) {
  const nf_ring_layout& layout = *nf_ring_get_layout(ring.handle.get());
  subscription.generation = ring.generation;
  subscription.number = 0;
  try {
    subscription.plan.emplace(layout, subscription.product, subscription.fixed_axes);
  } catch (const UsageError& error) {
    refuse(id, error.what());
    return;
  }
  json message = layout_json(layout);
  message["kind"] = "layout";
  message["id"] = id;
  message["epoch"] = std::to_string(ring.has_frame ? ring.frame.epoch : 0);
  message["select"] = subscription.fixed_axes;
  answers_.push_back(session_text(message));
}

}  // namespace nearfield::page
