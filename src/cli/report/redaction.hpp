#pragma once
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

namespace nearfield::cli {

/// What a report must not hold of the machine that it is of.
struct PrivateNames {
  std::vector<std::string> users;  ///< login names of people
  std::vector<std::string> homes;  ///< their home folders, absolute paths
  std::vector<std::string> hosts;  ///< this machine's names, with and without a domain
};

/// Of this machine: people are root, and who has a number from 1000 on, by the password database and by the environment
/// (USER, LOGNAME, SUDO_USER, HOME), as a directory service need not list its users. The name root itself, and a user
/// nearfield, say nothing of anybody.
PrivateNames private_names();

/// A text without what others should not read: IP addresses beyond loopback, MAC addresses, names of this machine and
/// of its users, home folders, public keys of clients, and tokens. What takes their place says what stood there, as
/// "[address]". Names count as whole words.
std::string redacted(const std::string& text, const PrivateNames& names);
/// The same with addresses left as they are, for lists of versions, which look like addresses.
std::string without_names(const std::string& text, const PrivateNames& names);
/// The same of each text in an object, which stays one.
nlohmann::json redacted(const nlohmann::json& object, const PrivateNames& names);

}  // namespace nearfield::cli
