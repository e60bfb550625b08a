#include <unistd.h>

#include <array>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

#include "core/product.hpp"
#include "page/guard.hpp"
#include "page/session.hpp"
#include "ring/ring_output.hpp"

namespace {

using nearfield::page::PictureFeed;
using nearfield::page::Session;
using nlohmann::json;

void require(bool holds) {
  if (!holds) {
    std::abort();
  }
}

/// A page with one ring, whose requests to the daemon are answered at once.
class FuzzHost : public nearfield::page::SessionHost {
 public:
  FuzzHost() {
    std::array<char, 32> folder{"/tmp/nearfield_page_XXXXXX"};
    if (mkdtemp(folder.data()) == nullptr) {
      throw std::runtime_error("can't make a temporary folder");
    }
    const std::string socket = std::string(folder.data()) + "/frames.sock";
    nearfield::ResultHeader header;
    header.processor = "surface";
    header.axes = {{.name = "frequency", .unit = "Hz", .values = {500.0, 750.0}},
                   {.name = "y", .unit = "m", .values = {0.0, 0.1, 0.2}}};
    header.products = {{.name = "images", .quantity = "pressure", .unit = "Pa", .axes = {"frequency", "y"}}};
    nearfield::ring::RingOutput output({.slots = 4}, {.socket = socket});
    output.begin(header, {.processor = 0, .epoch = 1});
    feed_.adopt(nearfield::page::find_rings(socket, {}), 0);
    unlink(socket.c_str());
    rmdir(folder.data());
  }
  void opened(Session& /*session*/) override {}
  void closed(Session& /*session*/) override {}
  PictureFeed& feed() override { return feed_; }
  [[nodiscard]] const std::string& state() const override { return state_; }
  [[nodiscard]] std::string hello(bool /*is_writable*/) const override { return R"({"kind":"hello"})"; }
  void wants_changed() override {}
  void credit_given() override {}
  bool control(Session& session, json id, json request) override {
    require(request.is_object() && request["command"].is_string());  // without a token only those that read
    session.answer_control(id, {{"ok", true}});
    return true;
  }
  nearfield::page::Camera* camera() override { return nullptr; }

 private:
  PictureFeed feed_;
  std::string state_ = R"({"kind":"state"})";
};

}  // namespace

/// Each line is a message of a client without a token; what it is sent is JSON of a known kind, and what waits for it
/// is bounded. The same bytes as headers of a request are taken apart.
// NOLINTNEXTLINE(readability-identifier-naming): libFuzzer's name
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static FuzzHost host;
  const std::string input(data, data + size);
  Session session(
      host, [] {}, false);
  std::istringstream lines(input);
  for (std::string line; std::getline(lines, line);) {
    if (session.is_ready_to_receive()) {
      session.receive(line);
    }
    if (const std::optional<nearfield::page::StreamMessage> message = session.next()) {
      const json sent = json::parse(message->bytes, nullptr, false);
      require(!message->is_binary && sent.is_object() && sent["kind"].is_string());
    }
  }
  int sent = 0;
  while (session.next()) {
    require(++sent < 1000);
  }
  require(!nearfield::page::is_token(input, "") && nearfield::page::host_name(input).size() <= input.size());
  require(nearfield::page::is_host_allowed(input, {}) == nearfield::page::is_host_allowed(input, {"localhost"}));
  require(!nearfield::page::is_origin_allowed(input, "", {}) || input.find("://") != std::string::npos);
  nearfield::page::cookie_of(input, "nearfield_token");
  nearfield::page::query_value(input, "token");
  return 0;
}
