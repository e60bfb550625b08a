#include "core/system/unix_server.hpp"

#include <fmt/format.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>

#include "core/error.hpp"
#include "core/system/clocks.hpp"

namespace nearfield {
namespace {

/// Longest round of an idle thread; rounds() then shows that the thread does not hang.
constexpr int kLongestRoundMs = 1000;
constexpr std::int64_t kPauseWithoutDescriptorsNs = 100 * kNsPerMillisecond;

void block_all_signals() {
  sigset_t all;
  sigfillset(&all);
  pthread_sigmask(SIG_BLOCK, &all, nullptr);
}

UnixListener::Options listener_options(const UnixServer::Options& options) {
  return {.type = options.type,
          .mode = options.access.mode,
          .serves_others = !options.access.allowed_users.empty() || !options.access.allowed_groups.empty(),
          .most_waiting = options.most_waiting};
}

}  // namespace

UnixServer::UnixServer(Options options, UnixService& service)
    : options_(std::move(options)),
      service_(&service),
      rule_(options_.access, options_.key),
      listener_(options_.socket, listener_options(options_)),
      stop_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
  if (!stop_.valid()) {
    throw IoError(fmt::format("{}: can't make an event: {}", options_.socket.string(), std::strerror(errno)));
  }
  thread_ = std::thread([this] {
    block_all_signals();
    service_->prepare_thread();
    serve();
  });
}

UnixServer::~UnixServer() {
  const std::uint64_t one = 1;
  [[maybe_unused]] const ssize_t written = write(stop_.get(), &one, sizeof one);  // an eventfd takes it or is readable
  thread_.join();
}

void UnixServer::serve() {
  while (true) {
    try {
      if (!serve_once()) {
        return;
      }
    } catch (const std::exception& error) {
      places_.clear();
      service_->recover(error);
    }
    client_count_ = places_.size();
    rounds_.store(rounds_.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);  // written here only
  }
}

bool UnixServer::serve_once() {
  const std::int64_t pause_ns = accept_again_ns_ - monotonic_ns();
  const bool accepts = pause_ns <= 0;
  std::vector<pollfd> waiting = {{stop_.get(), POLLIN, 0}, {accepts ? listener_.get() : -1, POLLIN, 0}};
  bool has_work = false;
  for (const Place& place : places_) {
    waiting.push_back({place.client->socket(), place.client->wanted(), 0});
    has_work = has_work || place.client->has_work();
  }
  const int pause_ms = accepts ? kLongestRoundMs : static_cast<int>(pause_ns / kNsPerMillisecond) + 1;
  const int timeout_ms = has_work ? 0 : pause_ms;
  poll(waiting.data(), waiting.size(), timeout_ms);
  if (waiting[0].revents != 0) {
    return false;
  }
  std::vector<Place> kept;
  for (std::size_t i = 0; i < places_.size(); ++i) {
    const UnixClient::Outcome outcome = places_[i].client->attend(waiting[i + 2].revents);
    if (outcome == UnixClient::Outcome::kClosed) {
      continue;
    }
    if (outcome == UnixClient::Outcome::kUsed) {
      places_[i].last_used = ++uses_;
    }
    kept.push_back(std::move(places_[i]));
  }
  places_ = std::move(kept);
  if (waiting[1].revents != 0) {
    accept_one();
  }
  return true;
}

void UnixServer::accept_one() {
  FileDescriptor socket(accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
  if (!socket.valid()) {
    if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM) {
      accept_again_ns_ = monotonic_ns() + kPauseWithoutDescriptorsNs;
      if (options_.replaces_idle) {
        give_up_longest_idle();
      }
    }
    return;
  }
  const PeerProcess peer = peer_of(socket.get());
  if (!rule_.permits(peer)) {
    service_->refuse(socket.get(), peer);
    return;
  }
  if (places_.size() >= options_.most_clients) {
    if (!options_.replaces_idle) {
      service_->turn_away(socket.get());
      return;
    }
    give_up_longest_idle();
  }
  if (std::unique_ptr<UnixClient> client = service_->admit(std::move(socket))) {
    places_.push_back({.client = std::move(client), .last_used = ++uses_});
  }
}

void UnixServer::give_up_longest_idle() {
  const auto longest = std::min_element(places_.begin(), places_.end(),
                                        [](const Place& a, const Place& b) { return a.last_used < b.last_used; });
  if (longest != places_.end()) {
    places_.erase(longest);
  }
}

}  // namespace nearfield
