#pragma once
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

namespace nearfield::cli {

/// Names of a machine that its report must not contain.
struct PrivateNames {
  std::vector<std::string> users;  ///< login names of people
  std::vector<std::string> homes;  ///< their home folders, absolute paths
  std::vector<std::string> hosts;  ///< this machine's names, with and without a domain
};

/// Names on this machine: people are root and users with numbers from 1000 on, from the password database and from the
/// environment (USER, LOGNAME, SUDO_USER, HOME), as a directory service need not list its users. The names root and
/// nearfield are not private.
PrivateNames private_names();

/// Removes private content from a text: IP addresses beyond loopback, MAC addresses, names of this machine and of its
/// users, home folders, public keys of clients, and tokens. A word for the kind, such as "[address]", replaces each.
/// Names are matched as whole words.
std::string redacted(const std::string& text, const PrivateNames& names);
/// Like redacted(), but keeps addresses, for lists of versions, which look like addresses.
std::string without_names(const std::string& text, const PrivateNames& names);
/// Redacts each text in an object, and returns the object.
nlohmann::json redacted(const nlohmann::json& object, const PrivateNames& names);

}  // namespace nearfield::cli
