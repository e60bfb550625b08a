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
#include "nearfield/settings.hpp"
#include "page/http_server.hpp"
#include "page/page.hpp"
#include "page/token.hpp"

namespace nearfield::daemon {

/// What a daemon serves by HTTP, on one thread at ordinary priority: metrics, and the live page. The page reads rings
/// and the control socket as another program would.
class Web {
 public:
  /// Serves when it returns. A page at the default address that another process has is left out with a warning, so that
  /// two daemons run with defaults; where no token can be written there, the page is read-only. To be made when the
  /// control socket listens, so that the token's file is that of its only daemon. Throws IoError on other addresses
  /// that are not free and where their token cannot be written, ConfigError and NoInputError on the token.
  Web(const Settings& settings, const std::string& version, std::shared_ptr<const control::Metrics> metrics);
  ~Web();
  Web(const Web&) = delete;
  Web& operator=(const Web&) = delete;

  /// Whether the thread that serves HTTP answers: it is asked once a second to run a task that does nothing.
  enum class Health {
    kServing,
    kHung,  ///< the task has waited for kHungNs
  };
  static constexpr std::int64_t kHungNs = 5'000'000'000;
  /// Asks, and returns what is known. To be called by one thread, several times a second; time in which that thread did
  /// not run, because the process was stopped, does not count.
  Health look(std::int64_t now_ns);
  /// Runs a task on the thread that serves HTTP.
  void run(std::function<void()> task) { server_->post(std::move(task)); }
  /// Ends the service and removes the page's token. False where the thread hangs for longer than `patience_ns`: then
  /// this cannot be destroyed, and the process must end.
  bool ends_within(std::int64_t patience_ns);

  /// Of the page, for the daemon's status: its address and the token's file; null where there is no page.
  [[nodiscard]] nlohmann::json status() const;

 private:
  void open_page(const Settings& settings, const std::string& version);
  /// False where the address is taken, which the configuration does not name.
  bool listen(page::PageOptions options, bool is_explicit);
  /// A random token of this daemon's. Throws IoError where it cannot be written and `is_explicit`, else warns.
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
