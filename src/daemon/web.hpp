#pragma once
#include <atomic>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <utility>

#include "control/metrics/metrics.hpp"
#include "core/settings.hpp"
#include "page/guard.hpp"
#include "page/http_server.hpp"
#include "page/page.hpp"

namespace nearfield::daemon {

/// The HTTP services of a daemon, on one thread at ordinary priority: metrics, and the live page. The page reads rings
/// and the control socket like another program.
class Web {
 public:
  /// Serves when it returns. If another process has the page's default address, the page is left out with a warning, so
  /// that two daemons run with defaults; if no token can be written there, the page is read-only. Must be made when the
  /// control socket listens, so that the token's file is that of its only daemon. Throws IoError for other addresses
  /// that are not free or whose token cannot be written, ConfigError and NoInputError on the token.
  Web(const Settings& settings, const std::string& version, std::shared_ptr<const control::Metrics> metrics);
  ~Web();
  Web(const Web&) = delete;
  Web& operator=(const Web&) = delete;

  /// State of the thread that serves HTTP: it is asked once a second to run a task that does nothing.
  enum class Health {
    kServing,
    kHung,  ///< the task has waited for kHungNs
  };
  static constexpr std::int64_t kHungNs = 5'000'000'000;
  /// Asks, and returns the known state. For one thread, several times a second; time during which that thread did not
  /// run, because the process was stopped, does not count.
  Health look(std::int64_t now_ns);
  /// Runs a task on the thread that serves HTTP.
  void run(std::function<void()> task) { server_->post(std::move(task)); }
  /// Ends the service and removes the page's token. False if the thread hangs for longer than `timeout_ns`: then this
  /// cannot be destroyed, and the process must end.
  bool ends_within(std::int64_t timeout_ns);

  /// Page's address and token file, for the daemon's status; null if there is no page.
  [[nodiscard]] nlohmann::json status() const;

 private:
  void open_page(const Settings& settings, const std::string& version);
  /// False if the address is taken and the configuration does not name it.
  bool listen(page::PageOptions options, bool is_explicit);
  /// Makes a random token of this daemon. Throws IoError if it cannot be written and `is_explicit`, else warns.
  void make_token(const std::string& control_socket, bool is_explicit);

  std::shared_ptr<std::atomic<std::uint64_t>> answered_ = std::make_shared<std::atomic<std::uint64_t>>(0);
  std::uint64_t asked_ = 0;
  std::int64_t asked_ns_ = 0;
  std::int64_t looked_ns_ = 0;
  std::unique_ptr<page::TokenFile> made_token_;
  std::filesystem::path token_file_;
  std::unique_ptr<page::HttpServer> server_;
  std::unique_ptr<page::Page> page_;
};

}  // namespace nearfield::daemon
