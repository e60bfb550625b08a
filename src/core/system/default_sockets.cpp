#include <fmt/format.h>
#include <sys/un.h>

#include <array>

#include "core/daemon_settings.hpp"
#include "core/error.hpp"
#include "core/system/runtime_folder.h"

namespace nearfield {
namespace {

static_assert(DaemonSettings::Ring::kFile == NF_FRAMES_SOCKET, "the reader in C opens the same file");
static_assert(DaemonSettings::Control::kFile == NF_CONTROL_SOCKET);

using PathBuffer = std::array<char, sizeof(sockaddr_un::sun_path)>;
using Rule = int (*)(const char* file, char* path, std::size_t bytes);

std::string path_by(Rule rule, std::string_view file) {
  PathBuffer path{};
  if (rule(std::string(file).c_str(), path.data(), path.size()) == 0) {
    throw IoError(
        fmt::format("{}: expected a default folder of sockets with a path of at most {} bytes in all, found a "
                    "longer one; set NEARFIELD_RUNTIME_DIR, or name the socket",
                    file, path.size() - 1));
  }
  return path.data();
}

/// A user other than root cannot create a folder in /run: the message names the variable to set instead.
void require_folder(const std::string& path, std::string_view file) {
  const bool is_system = path.starts_with(NF_SYSTEM_FOLDER "/");
  if (is_system && geteuid() != 0 && access(NF_SYSTEM_FOLDER, W_OK | X_OK) != 0) {
    throw IoError(
        fmt::format("{}: expected a folder in which this user may make sockets, found none, and no "
                    "XDG_RUNTIME_DIR; set NEARFIELD_RUNTIME_DIR to a folder of your own, or give "
                    "daemon.publish.ring.socket and daemon.control.socket ({})",
                    NF_SYSTEM_FOLDER, file));
  }
}

}  // namespace

std::string socket_to_serve(const std::string& setting, std::string_view file) {
  if (setting != kAutoSocket) {
    return setting;
  }
  std::string path = path_by(nf_socket_to_serve, file);
  require_folder(path, file);
  return path;
}

std::string socket_to_connect(const std::string& setting, std::string_view file) {
  return setting == kAutoSocket ? path_by(nf_socket_to_connect, file) : setting;
}

}  // namespace nearfield
