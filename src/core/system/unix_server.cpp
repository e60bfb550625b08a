#include "core/system/unix_server.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <utility>

#include "core/error.hpp"
#include "core/system/clocks.hpp"
#include "core/system/threads.hpp"

namespace nearfield {
namespace {

namespace fs = std::filesystem;

constexpr mode_t kPermissions = 07777;

[[noreturn]] void fail(const fs::path& path, std::string_view what) {
  throw IoError(fmt::format("{}: {}: {}", path.string(), what, std::strerror(errno)));
}

sockaddr_un address_of(const fs::path& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.native().empty() || path.native().size() >= sizeof address.sun_path) {
    throw ConfigError(fmt::format("{}: expected a path of 1 to {} bytes for a socket, found {}", path.string(),
                                  sizeof address.sun_path - 1, path.native().size()));
  }
  path.native().copy(address.sun_path, path.native().size());
  return address;
}

/// Pointer type of the socket interface for all kinds of addresses.
const sockaddr* head_of(const sockaddr_un& address) { return reinterpret_cast<const sockaddr*>(&address); }

FileDescriptor new_socket(int type) { return FileDescriptor(socket(AF_UNIX, type | SOCK_CLOEXEC | SOCK_NONBLOCK, 0)); }

/// Problem with a folder or link on the path to a socket.
std::optional<std::string> problem_of(const fs::path& place) {
  struct stat status {};
  if (lstat(place.c_str(), &status) != 0) {
    return fmt::format("{}: {}", place.string(), std::strerror(errno));
  }
  if (status.st_uid != 0 && status.st_uid != geteuid()) {
    return fmt::format(
        "{} belongs to user {}, who could put another socket there; expected a folder of root or of this "
        "user ({})",
        place.string(), status.st_uid, geteuid());
  }
  if (S_ISLNK(status.st_mode) || (status.st_mode & S_ISVTX) != 0) {
    return std::nullopt;  // a link has no mode of its own; in a sticky folder only owners can remove and rename
  }
  const bool group_writes = (status.st_mode & S_IWGRP) != 0 && status.st_gid != 0 && status.st_gid != getegid();
  if ((status.st_mode & S_IWOTH) != 0 || group_writes) {
    return fmt::format(
        "{} has mode {:04o}, so that other users could put another socket there; expected a folder that "
        "only root and this user ({}) may write",
        place.string(), status.st_mode & kPermissions, geteuid());
  }
  return std::nullopt;
}

std::optional<std::string> problem_on_the_way_to(const fs::path& folder) {
  fs::path place;
  for (const fs::path& part : folder) {
    place /= part;
    if (std::optional<std::string> problem = problem_of(place)) {
      return problem;
    }
  }
  return std::nullopt;
}

/// Creates the last folder if it is missing. Its mode does not depend on the umask.
void make_folder(const fs::path& folder, mode_t mode) {
  if (mkdir(folder.c_str(), S_IRWXU) != 0) {
    if (errno == EEXIST) {
      return;
    }
    fail(folder, "the folder of a socket can't be made");
  }
  const FileDescriptor made(open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (!made.valid() || fchmod(made.get(), mode) != 0) {
    fail(folder, "the folder of a socket can't be given its mode");
  }
}

/// Removes a socket whose process has ended.
void remove_stale(const fs::path& path, const sockaddr_un& address, int type) {
  struct stat status {};
  if (lstat(path.c_str(), &status) != 0) {
    return;
  }
  if (!S_ISSOCK(status.st_mode)) {
    throw IoError(fmt::format("{}: expected no file, or a socket, found something else", path.string()));
  }
  const FileDescriptor probe = new_socket(type);
  if (connect(probe.get(), head_of(address), sizeof address) == 0 || errno != ECONNREFUSED) {
    throw IoError(fmt::format("{}: expected a free socket, found one that another process serves", path.string()));
  }
  unlink(path.c_str());
}

}  // namespace

std::optional<std::string> socket_folder_problem(const fs::path& socket) {
  std::error_code error;
  fs::path folder = fs::absolute(socket, error).lexically_normal().parent_path();
  if (!fs::exists(folder, error)) {
    folder = folder.parent_path();
  }
  const fs::path real = fs::canonical(folder, error);
  if (error) {
    return fmt::format("{}: expected a folder, found: {}", folder.string(), error.message());
  }
  // Checks the links on the path as well as the folders that they refer to.
  std::optional<std::string> problem = problem_on_the_way_to(folder);
  return problem ? problem : problem_on_the_way_to(real);
}

namespace {

void require_safe_folder(const fs::path& socket) {
  if (const std::optional<std::string> problem = socket_folder_problem(socket)) {
    throw ConfigError(fmt::format("{}: {}", socket.string(), *problem));
  }
}

}  // namespace

void make_socket_folder(const fs::path& socket, bool serves_others) {
  require_safe_folder(socket);
  make_folder(fs::absolute(socket).lexically_normal().parent_path(), serves_others ? 0755 : 0700);
  require_safe_folder(socket);  // another user may have created it a moment ago
}

FileIdentity set_socket_mode(const fs::path& path, mode_t mode) {
  const FileDescriptor file(open(path.c_str(), O_PATH | O_NOFOLLOW | O_CLOEXEC));
  struct stat status {};
  if (!file.valid() || fstat(file.get(), &status) != 0) {
    fail(path, "the socket was removed while it was made");
  }
  if (!S_ISSOCK(status.st_mode) || status.st_uid != geteuid()) {
    throw IoError(fmt::format("{}: was replaced while it was made: expected a socket of this user", path.string()));
  }
  // fchmod() refuses an O_PATH descriptor; the kernel's link in /proc always refers to the open file.
  const std::string opened = fmt::format("/proc/self/fd/{}", file.get());
  if ((status.st_mode & kPermissions) != mode && chmod(opened.c_str(), mode) != 0) {
    fail(path, "the socket can't be given its mode");
  }
  return {status.st_dev, status.st_ino};
}

UnixListener::UnixListener(const fs::path& path, const Options& options) : path_(path.lexically_normal()) {
  const sockaddr_un address = address_of(path_);
  make_socket_folder(path_, options.serves_others);
  remove_stale(path_, address, options.type);
  socket_ = new_socket(options.type);
  // bind() creates the file with the descriptor's mode less the umask: never too wide. The bits that the umask removed
  // are restored below. The umask itself is not changed, since it applies to all threads of the process: PoCL's, say,
  // would write files that anybody may change.
  if (!socket_.valid() || fchmod(socket_.get(), options.mode) != 0 ||
      bind(socket_.get(), head_of(address), sizeof address) != 0) {
    fail(path_, "can't be made a socket");
  }
  identity_ = set_socket_mode(path_, options.mode);
  if (listen(socket_.get(), options.most_waiting) != 0) {
    fail(path_, "can't be listened at");
  }
}

UnixListener::~UnixListener() {
  struct stat status {};
  if (lstat(path_.c_str(), &status) == 0 && FileIdentity{status.st_dev, status.st_ino} == identity_) {
    unlink(path_.c_str());  // before closing, so that no other file can reuse the inode number yet
  }
}

namespace {

/// Longest round of an idle thread; rounds() then shows that the thread does not hang.
constexpr int kLongestRoundMs = 1000;
constexpr std::int64_t kPauseWithoutDescriptorsNs = 100 * kNsPerMillisecond;

void block_all_signals() {
  sigset_t all;
  sigfillset(&all);
  pthread_sigmask(SIG_BLOCK, &all, nullptr);
}

/// Any user may connect; the peer's user, as the kernel reports it, decides who is served.
constexpr mode_t kSocketMode = 0666;

UnixListener::Options listener_options(const UnixServer::Options& options) {
  return {.type = options.type,
          .mode = kSocketMode,
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
    give_signal_stack();
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
    // No other thread writes rounds_.
    rounds_.store(rounds_.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
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
