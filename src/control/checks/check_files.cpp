#include <fmt/format.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "control/checks/check_parts.hpp"
#include "control/service/service_manager.hpp"
#include "core/system/file_descriptor.hpp"
#include "core/system/unix_listener.hpp"
#include "nearfield/error.hpp"

namespace nearfield::control {
namespace {

namespace fs = std::filesystem;

/// True where a process listens at the socket, whatever its protocol.
bool is_served(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  const FileDescriptor probe(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!probe.valid() || path.size() >= sizeof address.sun_path) {
    return false;
  }
  std::memcpy(address.sun_path, path.data(), path.size());
  // EPROTOTYPE: a ring's socket keeps messages apart. EAGAIN: so many wait there that no more fit.
  return connect(probe.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0 ||
         errno == EPROTOTYPE || errno == EAGAIN;
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
    } else if (is_served(path)) {
      up.taken(fmt::format("{}: another process serves {}", key, path));
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

/// `is_stream`: a pipe, or a terminal, may stand for the file.
void look_at_file(const std::string& path, const std::string& key, bool is_stream, CheckUp& up) {
  struct stat status {};
  if (path.empty() || path == "-" || stat(path.c_str(), &status) != 0) {
    return;  // a missing file is reported with the configuration, with its line
  }
  const bool right_kind = S_ISREG(status.st_mode) || (is_stream && S_ISFIFO(status.st_mode));
  if (!right_kind) {
    up.problem(fmt::format("{}: expected a {} at {}, found {}", key, is_stream ? "named pipe" : "regular file", path,
                           S_ISDIR(status.st_mode) ? "a folder" : "a special file"));
  } else if (access(path.c_str(), R_OK) != 0) {
    up.problem(
        fmt::format("{}: expected a file that this user may read at {}, found: {}; change its mode or owner, or "
                    "check as the daemon's user",
                    key, path, std::strerror(errno)));
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
  const std::string& setting = settings.daemon.control.socket;
  return !setting.empty() && is_served(socket_to_connect(setting, DaemonSettings::Control::kFile));
}

void look_at_sockets(CheckUp& up) {
  const DaemonSettings& daemon = up.settings.daemon;
  look_at_socket(daemon.publish.ring.socket, DaemonSettings::Ring::kFile, "daemon.publish.ring.socket", up);
  look_at_socket(daemon.control.socket, DaemonSettings::Control::kFile, "daemon.control.socket", up);
}

void look_at_files(CheckUp& up) {
  using Kind = DaemonSettings::SourceKind;
  const DaemonSettings& daemon = up.settings.daemon;
  look_at_file(up.settings.array.calibration_path, "array.calibration", false, up);
  look_at_file(up.settings.array.positions_path, "array.positions", false, up);
  if (daemon.source.kind == Kind::kFile || daemon.source.kind == Kind::kPipe) {
    look_at_file(daemon.source.path, "daemon.source.path", daemon.source.kind == Kind::kPipe, up);
  }
  if (daemon.source.kind == Kind::kSimulate) {
    look_at_file(daemon.source.scene, "daemon.source.scene", false, up);
  }
  if (!daemon.publish.zmq.endpoint.empty()) {
    try {
      look_at_file(credential_path(daemon.publish.zmq.curve_secret_file), "daemon.publish.zmq.curve_secret_file", false,
                   up);
    } catch (const ConfigError& error) {
      up.note(fmt::format("daemon.publish.zmq.curve_secret_file: {}", error.what()));
    }
  }
}

void look_at_recordings(CheckUp& up) {
  const DaemonSettings::Recording& recording = up.settings.daemon.recording;
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
