#pragma once
#include <string>
#include <vector>

namespace nearfield {

/// Users and groups that may connect to a UNIX socket, beside root and the daemon's own user; names or numbers.
struct SocketAccess {
  std::vector<std::string> allowed_users;
  std::vector<std::string> allowed_groups;
  friend bool operator==(const SocketAccess&, const SocketAccess&) = default;
};

}  // namespace nearfield
