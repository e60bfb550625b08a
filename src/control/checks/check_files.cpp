#include <fmt/format.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "config/config.hpp"
#include "control/checks/check.hpp"
#include "control/service/service_manager.hpp"
#include "core/daemon_settings.hpp"
#include "core/error.hpp"
#include "core/system/files.hpp"
#include "core/system/unix_server.hpp"

namespace nearfield::control {
namespace {

namespace fs = std::filesystem;

/// kUnknown: this user may not connect, or the kernel refuses for another reason.
enum class Service { kNone, kSome, kUnknown };

/// Checks for a process that listens at the socket, with any protocol.
Service service_at(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  const FileDescriptor probe(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!probe.valid() || path.size() >= sizeof address.sun_path) {
    return Service::kUnknown;
  }
  std::memcpy(address.sun_path, path.data(), path.size());
  if (connect(probe.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0) {
    return Service::kSome;
  }
  switch (errno) {
    case EPROTOTYPE:  // a ring's socket has message boundaries
    case EAGAIN:      // its queue of connections is full
      return Service::kSome;
    case ECONNREFUSED:
    case ENOENT:  // removed meanwhile
      return Service::kNone;
    default:  // EACCES, EPERM
      return Service::kUnknown;
  }
}

void look_at_socket(const std::string& setting, std::string_view file, const std::string& key, CheckUp& up) {
  if (setting.empty()) {
    return;
  }
  std::string path;
  try {
    path = socket_to_serve(setting, file);
  } catch (const IoError& error) {
    up.problem(fmt::format("{}: {}", key, error.what()));
    return;
  }
  struct stat status {};
  if (lstat(path.c_str(), &status) == 0) {
    if (!S_ISSOCK(status.st_mode)) {
      up.problem(
          fmt::format("{}: expected no file at {}, or a socket, found another kind of file; move it away", key, path));
    } else if (const Service service = service_at(path); service == Service::kSome) {
      up.taken(fmt::format("{}: another process serves {}", key, path));
    } else if (service == Service::kUnknown) {
      up.problem(fmt::format(
          "{}: expected no socket, or one that this user may connect to, at {}, found one of which this user "
          "cannot know whether a process serves it; check as the daemon's user, or give another path",
          key, path));
    }
  }
  // The daemon makes the last folder of the path itself.
  const fs::path folder = fs::path(path).parent_path();
  std::error_code ignored;
  const bool is_there = fs::exists(folder, ignored);
  if (const std::string reason = why_not_writable(is_there ? folder : folder.parent_path()); !reason.empty()) {
    up.problem(fmt::format("{}: {}", key, reason));
  } else if (const std::optional<std::string> danger = socket_folder_problem(path)) {
    up.problem(fmt::format("{}: {}", key, *danger));
  }
}

/// Checks for a socket file that a process left behind, most often one that was killed.
void look_at_stale_socket(const std::string& setting, std::string_view file, const std::string& key, CheckUp& up) {
  if (setting.empty()) {
    return;
  }
  try {
    const std::string path = socket_to_serve(setting, file);
    struct stat status {};
    if (lstat(path.c_str(), &status) == 0 && S_ISSOCK(status.st_mode) && service_at(path) == Service::kNone) {
      up.note(
          fmt::format("{0}: expected no socket, or one that a process serves, at {1}, found one that no process "
                      "serves; rm {1}, or start nearfieldd, which replaces it",
                      key, path));
    }
  } catch (const IoError&) {  // look_at_sockets() reports it
  }
}

const char* kind_of(const struct stat& status) {
  return S_ISDIR(status.st_mode)    ? "a folder"
         : S_ISREG(status.st_mode)  ? "a regular file"
         : S_ISSOCK(status.st_mode) ? "a socket"
                                    : "a special file";
}

/// `is_stream`: the file is a pipe.
void look_at_file(const std::string& path, const std::string& key, bool is_stream, CheckUp& up) {
  struct stat status {};
  if (path.empty() || path == "-" || stat(path.c_str(), &status) != 0) {
    return;  // a missing file is reported with the configuration, with its line
  }
  const bool right_kind = S_ISREG(status.st_mode) || (is_stream && S_ISFIFO(status.st_mode));
  if (!right_kind) {
    up.problem(fmt::format("{}: expected a {} at {}, found {}", key, is_stream ? "named pipe" : "regular file", path,
                           kind_of(status)));
  } else if (access(path.c_str(), R_OK) != 0) {
    up.problem(
        fmt::format("{}: expected a file that this user may read at {}, found: {}; change its mode or owner, or "
                    "check as the daemon's user",
                    key, path, std::strerror(errno)));
  }
}

/// Checks a file that systemd may pass. Outside of the unit there are no credentials, which is not a fault of the
/// configuration.
void look_at_secret(const std::string& setting, const std::string& key, CheckUp& up) {
  std::string path;
  try {
    path = credential_path(setting);
  } catch (const ConfigError& error) {
    up.note(fmt::format("{}: {}", key, error.what()));
    return;
  }
  struct stat status {};
  if (path != setting && stat(path.c_str(), &status) != 0) {
    up.problem(fmt::format("{}: expected systemd's credential at {}, found: {}; LoadCredential={}:PATH in the unit",
                           key, path, std::strerror(errno), fs::path(path).filename().string()));
  }
  look_at_file(path, key, false, up);
}

/// Checks the path of a socket file that ZeroMQ makes, in an existing folder, after removing any file of that name.
void look_at_ipc(const std::string& endpoint, CheckUp& up) {
  constexpr std::string_view kIpc = "ipc://";
  constexpr const char* kKey = "daemon.publish.zmq.endpoint";
  const std::string path = endpoint.starts_with(kIpc) ? endpoint.substr(kIpc.size()) : "";
  if (path.empty() || path == "*" || path.starts_with('@')) {  // abstract or generated names, outside of folders
    return;
  }
  struct stat status {};
  if (lstat(path.c_str(), &status) == 0 && !S_ISSOCK(status.st_mode)) {
    up.problem(
        fmt::format("{}: expected no file at {}, or a socket, found {}; move it away", kKey, path, kind_of(status)));
  } else if (service_at(path) == Service::kSome) {
    up.taken(fmt::format("{}: another process serves {}", kKey, path));
  }
  const fs::path folder = fs::absolute(path).parent_path();
  if (const std::string reason = why_not_writable(folder); !reason.empty()) {
    up.problem(fmt::format("{}: {}", kKey, reason));
  }
}

/// Checks for the journal's socket, without which every line would be lost.
void look_at_journal(DaemonSettings::LogTarget target, CheckUp& up) {
  constexpr const char* kSocket = "/run/systemd/journal/socket";
  if (target == DaemonSettings::LogTarget::kJournal && access(kSocket, W_OK) != 0) {
    up.problem(
        fmt::format("daemon.log.target: expected the journal's socket at {}, found: {}; set daemon.log.target to auto "
                    "or stderr, or start systemd-journald",
                    kSocket, std::strerror(errno)));
  }
}

}  // namespace

std::string why_not_writable(const fs::path& folder) {
  struct stat status {};
  const std::string name = folder.empty() ? "/" : folder.string();
  if (stat(name.c_str(), &status) != 0) {
    return fmt::format("expected the folder {}, found: {}; mkdir -p {}", name, std::strerror(errno), name);
  }
  if (!S_ISDIR(status.st_mode)) {
    return fmt::format("expected {} to be a folder, found a file", name);
  }
  if (access(name.c_str(), W_OK | X_OK) != 0) {
    return fmt::format(
        "expected to be permitted to make files in {}, found: {}; change its owner or mode, or check as "
        "the daemon's user",
        name, std::strerror(errno));
  }
  return "";
}

bool daemon_answers(const Settings& settings) {
  const std::string& setting = settings.daemon->control.socket;
  return !setting.empty() && service_at(socket_to_connect(setting, DaemonSettings::Control::kFile)) == Service::kSome;
}

void look_at_sockets(CheckUp& up) {
  const DaemonSettings& daemon = *up.settings.daemon;
  look_at_socket(daemon.publish.ring.socket, DaemonSettings::Ring::kFile, "daemon.publish.ring.socket", up);
  look_at_socket(daemon.control.socket, DaemonSettings::Control::kFile, "daemon.control.socket", up);
}

void look_at_stale_sockets(CheckUp& up) {
  const DaemonSettings& daemon = *up.settings.daemon;
  look_at_stale_socket(daemon.publish.ring.socket, DaemonSettings::Ring::kFile, "daemon.publish.ring.socket", up);
  look_at_stale_socket(daemon.control.socket, DaemonSettings::Control::kFile, "daemon.control.socket", up);
}

namespace {

/// The device alone: it is opened when a browser shows it.
void look_at_camera(const std::string& path, CheckUp& up) {
  struct stat found {};
  if (path.empty()) {
    return;
  }
  if (stat(path.c_str(), &found) != 0 || !S_ISCHR(found.st_mode)) {
    up.problem(fmt::format(
        "daemon.page.camera: expected a device of Video4Linux, such as /dev/video0, found none at {}", path));
  } else if (access(path.c_str(), R_OK | W_OK) != 0) {
    up.problem(fmt::format("daemon.page.camera: expected the right to read and write {}, found: {}; its group is video",
                           path, std::strerror(errno)));
  }
}

}  // namespace

void look_at_files(CheckUp& up) {
  using Kind = DaemonSettings::SourceKind;
  const DaemonSettings& daemon = *up.settings.daemon;
  look_at_file(up.settings.array.calibration_path, "array.calibration", false, up);
  look_at_file(up.settings.array.positions_path, "array.positions", false, up);
  if (daemon.source.kind == Kind::kFile || daemon.source.kind == Kind::kPipe) {
    look_at_file(daemon.source.path, "daemon.source.path", daemon.source.kind == Kind::kPipe, up);
  }
  if (daemon.source.kind == Kind::kSimulate) {
    look_at_file(daemon.source.scene, "daemon.source.scene", false, up);
  }
  for (const PathOfProcessor& one : paths_of_processors(up.settings)) {
    look_at_file(one.path, one.key, false, up);
  }
  if (!daemon.publish.zmq.endpoint.empty()) {
    look_at_secret(daemon.publish.zmq.curve_secret_file, "daemon.publish.zmq.curve_secret_file", up);
    look_at_ipc(daemon.publish.zmq.endpoint, up);
  }
  if (!daemon.page.address.empty()) {
    look_at_secret(daemon.page.token_file, "daemon.page.token_file", up);
    look_at_camera(daemon.page.camera, up);
  }
  look_at_journal(daemon.log.target, up);
}

void look_at_array(CheckUp& up) {
  const ArrayGeometry& geometry = up.settings.array.geometry;
  if (const std::string origin = text_of_origin(geometry); !origin.empty()) {
    up.note(fmt::format("array.positions: {}", origin));
  }
  for (const std::string& doubt : doubts_of(geometry)) {
    up.note(fmt::format("array: {}", doubt));
  }
}

void look_at_recordings(CheckUp& up) {
  const DaemonSettings::Recording& recording = up.settings.daemon->recording;
  if (recording.directory.empty()) {
    return;
  }
  if (const std::string reason = why_not_writable(recording.directory); !reason.empty()) {
    const std::string text = fmt::format("daemon.recording.directory: {}", reason);
    recording.trigger == DaemonSettings::Trigger::kNone ? up.lack("daemon.recording.directory", text)
                                                        : up.problem(text);
  }
}

}  // namespace nearfield::control
