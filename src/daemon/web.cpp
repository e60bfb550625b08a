#include "daemon/web.hpp"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <nlohmann/json.hpp>
#include <utility>

#include "control/service/service_manager.hpp"
#include "core/daemon_settings.hpp"
#include "core/error.hpp"
#include "page/page.hpp"
#include "page/video_device.hpp"

namespace nearfield::daemon {
namespace {

constexpr const char* kPageAddressKey = "daemon.page.address";

constexpr std::int64_t kAskEveryNs = 1'000'000'000;
/// Longest time between two calls of look() by a thread that runs.
constexpr std::int64_t kLatestWebLookNs = 1'000'000'000;

std::string served_socket(const std::string& setting, std::string_view file) {
  return setting.empty() ? "" : socket_to_serve(setting, file);
}

}  // namespace

Web::Web(const Settings& settings, const std::string& version, std::shared_ptr<const control::Metrics> metrics)
    : server_(std::make_unique<page::HttpServer>("nf-page")) {
  if (const std::string& address = settings.daemon->metrics.address; !address.empty()) {
    const int port = server_->listen("daemon.metrics.address", address,
                                     page::metrics_site(std::move(metrics), settings.daemon->page.allowed_hosts));
    spdlog::info("metrics at port {}", port);
  }
  if (!settings.daemon->page.address.empty()) {
    open_page(settings, version);
  }
  server_->start();
}

Web::~Web() { server_->stop(); }

void Web::make_token(const std::string& control_socket, bool is_explicit) {
  try {
    made_token_ =
        std::make_unique<page::TokenFile>(fmt::format("{}.{}", control_socket, DaemonSettings::Page::kTokenFile));
  } catch (const IoError& error) {
    if (is_explicit) {
      throw;
    }
    spdlog::warn("{}; the page is read-only: give a token_file", error.what());
    return;
  }
  token_file_ = made_token_->path();
  page_->set_token(made_token_->token());
}

bool Web::listen(page::PageOptions options, bool is_explicit) {
  try {
    page_ = std::make_unique<page::Page>(*server_, std::move(options));
  } catch (const IoError& error) {
    if (is_explicit) {
      throw;
    }
    spdlog::warn("{}; no page is served: give another address, or off", error.what());
  }
  return page_ != nullptr;
}

void Web::open_page(const Settings& settings, const std::string& version) {
  const DaemonSettings& daemon = *settings.daemon;
  page::PageOptions options;
  options.version = version;
  options.address = daemon.page.address;
  options.address_key = kPageAddressKey;
  options.allowed_hosts = daemon.page.allowed_hosts;
  options.allowed_origins = daemon.page.allowed_origins;
  options.pictures_hz = daemon.page.pictures_hz;
  options.ring_socket = served_socket(daemon.publish.ring.socket, DaemonSettings::Ring::kFile);
  options.control_socket = served_socket(daemon.control.socket, DaemonSettings::Control::kFile);
  if (!daemon.page.camera.empty()) {
    options.open_camera = [path = daemon.page.camera] { return page::open_video_device(path); };
  }
  const bool has_control = !daemon.control.socket.empty();
  if (has_control && !daemon.page.token_file.empty()) {
    token_file_ = control::credential_path(daemon.page.token_file);
    options.token = page::read_token(token_file_);
  }
  const std::string control_socket = options.control_socket;
  const bool is_explicit = settings.explicit_keys.contains(kPageAddressKey);
  if (!listen(std::move(options), is_explicit)) {
    return;
  }
  if (has_control && token_file_.empty()) {  // only once the address is this daemon's
    make_token(control_socket, is_explicit);
  }
  if (token_file_.empty()) {
    spdlog::info("page at {}, read-only without {}", page_->url(), has_control ? "a token" : "a control socket");
  } else {
    spdlog::info("page at {}; `nearfield ctl page` prints the URL that may change settings, by the token in {}",
                 page_->url(), token_file_.string());
  }
}

Web::Health Web::look(std::int64_t now_ns) {
  if (looked_ns_ != 0 && now_ns - looked_ns_ > kLatestWebLookNs) {
    asked_ns_ += now_ns - looked_ns_;
  }
  looked_ns_ = now_ns;
  const bool has_answered = answered_->load() == asked_;
  if (has_answered && now_ns - asked_ns_ >= kAskEveryNs) {
    asked_ns_ = now_ns;
    ++asked_;
    server_->post([answered = answered_, number = asked_] { answered->store(number); });
    return Health::kServing;
  }
  return has_answered || now_ns - asked_ns_ < kHungNs ? Health::kServing : Health::kHung;
}

bool Web::ends_within(std::int64_t timeout_ns) {
  made_token_.reset();
  return server_->ends_within(timeout_ns);
}

nlohmann::json Web::status() const {
  if (!page_) {
    return nullptr;
  }
  return {{"url", page_->url()},
          {"token_file", token_file_.empty() ? nlohmann::json(nullptr) : nlohmann::json(token_file_.string())}};
}

}  // namespace nearfield::daemon
