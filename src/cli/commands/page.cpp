#include "page/page.hpp"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <chrono>
#include <cstdio>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "cli/command.hpp"
#include "core/daemon_settings.hpp"
#include "page/guard.hpp"
#include "page/http_server.hpp"
#include "version/version.hpp"

namespace nearfield::cli {
namespace {

struct PageArguments {
  std::string socket = DaemonSettings::Ring{}.socket;
  std::string control = DaemonSettings::Control{}.socket;
  std::string address = DaemonSettings::Page{}.address;
  std::string token_file;
  std::vector<std::string> allowed_hosts;
  std::vector<std::string> allowed_origins;
};

void serve_page(const PageArguments& arguments) {
  constexpr std::chrono::milliseconds kLookForStop{50};
  page::HttpServer server("nf-page");
  const page::Page page(server, {.version = std::string(version()),
                                 .address = arguments.address,
                                 .address_key = "--address",
                                 .allowed_hosts = arguments.allowed_hosts,
                                 .allowed_origins = arguments.allowed_origins,
                                 .token = arguments.token_file.empty() ? "" : page::read_token(arguments.token_file),
                                 .ring_socket = arguments.socket,
                                 .control_socket = arguments.control,
                                 .pictures_hz = DaemonSettings::Page{}.pictures_hz});
  StopSignal::watch();
  server.start();
  fmt::print("{}\n", page.url());
  std::fflush(stdout);
  while (!StopSignal::raised()) {
    std::this_thread::sleep_for(kLookForStop);
  }
}

}  // namespace

void add_page(CLI::App& app) {
  const auto arguments = std::make_shared<PageArguments>();
  CLI::App* page = app.add_subcommand("page", "Serve the live page of a running nearfieldd from a process of its own");
  page->add_option("--socket", arguments->socket, "of the first processor's ring: daemon.publish.ring.socket")
      ->capture_default_str();
  page->add_option("--control", arguments->control, "of the daemon: daemon.control.socket")->capture_default_str();
  page->add_option("--address", arguments->address, "HOST:PORT to listen at; port 0 takes a free one")
      ->capture_default_str();
  page->add_option("--token-file", arguments->token_file,
                   "holds the token by which a browser may change settings; without it the page only reads");
  page->add_option("--allowed-host", arguments->allowed_hosts,
                   "a name by which browsers may reach it, beside localhost, 127.0.0.1 and [::1]");
  page->add_option("--allowed-origin", arguments->allowed_origins, "a page of another server that may read through it");
  page->callback([arguments] { serve_page(*arguments); });
}

}  // namespace nearfield::cli
